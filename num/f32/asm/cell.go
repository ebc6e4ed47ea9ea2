package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// cells writes the two passes over a row of LSTM cells.
func cells(s isa) {
	r := s.regs
	x, t := r[0], r[1:5]
	// gate i of four stands i rows of n floats beyond base.
	stride, stride3 := reg.R12, reg.R13
	gate := func(base reg.GPPhysical, i int) Mem {
		switch i {
		case 0:
			return at(base, 0)
		case 3:
			return indexed(base, stride3, 1, 0)
		}
		return indexed(base, stride, uint8(i), 0)
	}
	frame := func(name, signature string, pointers []string, body func(p []reg.GPPhysical, tail bool)) {
		kernel(name+s.name, signature)
		p := []reg.GPPhysical{reg.RDI, reg.RSI, reg.RDX, reg.R8, reg.R9, reg.R10}[:len(pointers)]
		for i, q := range pointers {
			Load(Param(q), p[i])
		}
		n := reg.RCX
		Load(Param("n"), n)
		MOVQ(n, stride)
		SHLQ(U8(2), stride)
		LEAQ(indexed(stride, stride, 2, 0), stride3)
		s.over(n, p, body)
		VZEROUPPER()
		RET()
	}

	// lstmCell applies the gates[4][n] of a row to its cells, lstmOut computes
	// tc = tanh c and h = o tc. They are two loops: in one the second tanh would wait for
	// the first, and the processor cannot see far enough ahead to work meanwhile.
	frame("lstmCell", "func(c, gates, cp *float32, n int)", []string{"c", "gates", "cp"},
		func(p []reg.GPPhysical, tail bool) {
			c, g, cp := p[0], p[1], p[2]
			in, cell := r[8], r[9]
			logistic := func(i int) {
				s.load(gate(g, i), x, tail)
				s.logistic(x, t[0], t[1], t[2], t[3])
				s.store(x, gate(g, i), tail)
			}
			logistic(3)
			logistic(0)
			VMOVAPS(x, in)
			logistic(1)
			s.load(at(cp, 0), cell, tail)
			VMULPS(x, cell, cell)
			s.load(gate(g, 2), x, tail)
			s.tanh(x)
			s.store(x, gate(g, 2), tail)
			VFMADD231PS(x, in, cell)
			s.store(cell, at(c, 0), tail)
		})
	elementwise(s, "lstmOut", "func(h, tc, c, o []float32)", []string{"h", "tc", "c", "o"}, nil,
		func(p []reg.GPPhysical, tail bool) {
			s.load(at(p[2], 0), x, tail)
			s.tanh(x)
			s.store(x, at(p[1], 0), tail)
			s.load(at(p[3], 0), r[8], tail)
			VMULPS(x, r[8], x)
			s.store(x, at(p[0], 0), tail)
		})

	frame("lstmGrad", "func(d, dh, dc, gates, cp, tc *float32, n int)",
		[]string{"d", "dh", "dc", "gates", "cp", "tc"},
		func(p []reg.GPPhysical, tail bool) {
			d, dh, dc, g, cp, tc := p[0], p[1], p[2], p[3], p[4], p[5]
			dH, dC, tC, in, next, one := r[0], r[1], r[2], r[3], r[4], r[5]
			y, v := r[6], r[7]
			// throughSigmoid stores v y (1-y) as the gradient of gate i.
			throughSigmoid := func(i int, y reg.VecPhysical) {
				VMOVAPS(y, r[8])
				VFNMADD231PS(y, y, r[8])
				VMULPS(r[8], v, v)
				s.store(v, gate(d, i), tail)
			}
			// throughTanh turns v into v (1-y²).
			throughTanh := func(y reg.VecPhysical) {
				VMOVAPS(one, r[8])
				VFNMADD231PS(y, y, r[8])
				VMULPS(r[8], v, v)
			}
			VMOVUPS(num("one"), one)
			s.load(at(dh, 0), dH, tail)
			s.load(at(dc, 0), dC, tail)
			s.load(at(tc, 0), tC, tail)
			s.load(gate(g, 3), y, tail)
			VMULPS(dH, tC, v)
			throughSigmoid(3, y)
			VMULPS(dH, y, v)
			throughTanh(tC)
			VADDPS(v, dC, dC)
			s.load(gate(g, 0), in, tail)
			s.load(gate(g, 2), next, tail)
			VMULPS(dC, next, v)
			throughSigmoid(0, in)
			VMULPS(dC, in, v)
			throughTanh(next)
			s.store(v, gate(d, 2), tail)
			s.load(gate(g, 1), y, tail)
			s.load(at(cp, 0), v, tail)
			VMULPS(dC, v, v)
			throughSigmoid(1, y)
			VMULPS(dC, y, dC)
			s.store(dC, at(dc, 0), tail)
			s.zero(dH)
			s.store(dH, at(dh, 0), tail)
		})
}
