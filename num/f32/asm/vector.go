package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// elementwise writes a function that goes over slices of one length; body gets
// their pointers and whether the vector is a tail.
func elementwise(s isa, name, signature string, slices []string, scalars func(), body func(p []reg.GPPhysical, tail bool),
	last ...func()) {
	kernel(name+s.name, signature)
	all := []reg.GPPhysical{reg.RDI, reg.RSI, reg.RDX, reg.R8}
	p := all[:len(slices)]
	for i, name := range slices {
		Load(Param(name).Base(), p[i])
	}
	n := reg.RCX
	Load(Param(slices[0]).Len(), n)
	if scalars != nil {
		scalars()
	}
	s.over(n, p, body)
	for _, f := range last {
		f()
	}
	VZEROUPPER()
	RET()
}

// over writes a loop over n elements at each of the pointers p.
func (s isa) over(n reg.GPPhysical, p []reg.GPPhysical, body func(p []reg.GPPhysical, tail bool)) {
	Label("loop")
	CMPQ(n, U8(s.width))
	JL(ref("rest"))
	body(p, false)
	for _, r := range p {
		ADDQ(U8(s.bytes()), r)
	}
	SUBQ(U8(s.width), n)
	JMP(ref("loop"))
	Label("rest")
	TESTQ(n, n)
	JZ(ref("done"))
	s.loadMask(n, reg.RAX)
	body(p, true)
	Label("done")
}

// broadcast loads a parameter into every lane.
func broadcast(name string, x reg.VecPhysical) {
	m, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSS(m.Addr, x)
}

func vectors(s isa) {
	r := s.regs
	alpha := r[8]
	loadAlpha := func() { broadcast("alpha", alpha) }
	three := []string{"dst", "a", "b"}
	const sig3 = "func(dst, a, b []float32)"
	binary := func(name string, op func()) {
		elementwise(s, name, sig3, three, nil, func(p []reg.GPPhysical, tail bool) {
			s.load(at(p[1], 0), r[0], tail)
			s.load(at(p[2], 0), r[1], tail)
			op()
			s.store(r[2], at(p[0], 0), tail)
		})
	}
	elementwise(s, "axpy", "func(dst []float32, alpha float32, x []float32)", []string{"dst", "x"}, loadAlpha,
		func(p []reg.GPPhysical, tail bool) {
			s.load(at(p[0], 0), r[0], tail)
			s.load(at(p[1], 0), r[1], tail)
			VFMADD231PS(r[1], alpha, r[0])
			s.store(r[0], at(p[0], 0), tail)
		})
	elementwise(s, "scale", "func(dst []float32, alpha float32)", []string{"dst"}, loadAlpha,
		func(p []reg.GPPhysical, tail bool) {
			s.load(at(p[0], 0), r[0], tail)
			VMULPS(r[0], alpha, r[0])
			s.store(r[0], at(p[0], 0), tail)
		})
	binary("add", func() { VADDPS(r[1], r[0], r[2]) })
	binary("sub", func() { VSUBPS(r[1], r[0], r[2]) })
	binary("mul", func() { VMULPS(r[1], r[0], r[2]) })
	elementwise(s, "mulAdd", sig3, three, nil, func(p []reg.GPPhysical, tail bool) {
		s.load(at(p[0], 0), r[2], tail)
		s.load(at(p[1], 0), r[0], tail)
		s.load(at(p[2], 0), r[1], tail)
		VFMADD231PS(r[1], r[0], r[2])
		s.store(r[2], at(p[0], 0), tail)
	})
	adam(s)
	dot(s)
	sumSquares(s)
}

// adam writes one step of Adam; the scalars are those of f32's type adamArgs.
func adam(s isa) {
	r := s.regs
	h := reg.R9
	b1, b1c, b2, b2c, lr, c2, eps := r[6], r[7], r[8], r[9], r[10], r[11], r[12]
	decay, scale := r[13], r[14]
	var control Mem

	elementwise(s, "adam", "func(w, g, m, v []float32, h *byte)", []string{"w", "g", "m", "v"},
		func() {
			// Moments of weights that no longer learn shrink until they are below
			// the normal numbers, where each would cost a hundred cycles: they
			// count as 0, and are stored so.
			was, flush := AllocLocal(4), AllocLocal(4)
			STMXCSR(was)
			MOVL(was, reg.EAX)
			ORL(U32(0x8040), reg.EAX)
			MOVL(reg.EAX, flush)
			LDMXCSR(flush)
			control = was
			Load(Param("h"), h)
			for i, x := range []reg.VecPhysical{b1, b1c, b2, b2c, lr, c2, eps, decay, scale} {
				VBROADCASTSS(at(h, 4*i), x)
			}
		},
		func(p []reg.GPPhysical, tail bool) {
			w, g, m, v, t := r[0], r[1], r[2], r[3], r[4]
			s.load(at(p[0], 0), w, tail)
			s.load(at(p[1], 0), g, tail)
			s.zero(t)
			s.store(t, at(p[1], 0), tail)
			VMULPS(scale, g, g)
			s.load(at(p[2], 0), m, tail)
			s.load(at(p[3], 0), v, tail)
			VMULPS(m, b1, m)
			VFMADD231PS(g, b1c, m)
			VMULPS(v, b2, v)
			VMULPS(g, g, g)
			VFMADD231PS(g, b2c, v)
			s.store(m, at(p[2], 0), tail)
			s.store(v, at(p[3], 0), tail)
			VMULPS(v, c2, t)
			VMULPS(m, lr, m)
			if s.is512() {
				s.sqrt(t, r[1], r[5])
				VADDPS(eps, t, t)
				s.divide(t, m, r[1], r[5])
			} else {
				VSQRTPS(t, t)
				VADDPS(eps, t, t)
				VDIVPS(t, m, m)
			}
			VFNMADD231PS(w, decay, w)
			VSUBPS(m, w, w)
			s.store(w, at(p[0], 0), tail)
		},
		func() { LDMXCSR(control) })
}

// sqrt writes x = sqrt(x) for x from rootMin to rootMax, and as if x were at the
// nearer end beyond: an estimate and a step of Newton's method, in a third of the
// time of the instruction. NaN stays. Only with AVX-512; a and b are scratch.
func (s isa) sqrt(x, a, b reg.VecPhysical) {
	VMOVUPS(num("rootMin"), a)
	VMAXPS(x, a, x)
	VMOVUPS(num("rootMax"), a)
	VMINPS(x, a, x)
	VRSQRT14PS(x, a)
	VMULPS(a, x, b) // the root
	VMULPS(num("half"), a, a)
	VFNMADD231PS(b, b, x) // what its square lacks
	VFMADD213PS(b, a, x)
}

// divide writes x = x/d within 1.5 units in the last place, likewise. d must not
// be near the ends of what a float32 holds.
func (s isa) divide(d, x, a, b reg.VecPhysical) {
	VRCP14PS(d, a)
	VMOVUPS(num("one"), b)
	VFNMADD231PS(d, a, b)
	VFMADD231PS(a, b, a)
	VMULPS(a, x, x)
}

// accumulate writes the frame of a sum over x (and y): four independent vectors
// of partial sums, then a tree whose shape is fixed.
func accumulate(s isa, ptrs []reg.GPPhysical, n reg.GPPhysical, step int, add func(acc reg.VecPhysical, disp int, tail bool)) {
	acc := s.regs[:4]
	for _, a := range acc {
		s.zero(a)
	}
	advance := func(k int) {
		for _, p := range ptrs {
			ADDQ(U32(4*k*step), p)
		}
		SUBQ(U8(k*step), n)
	}
	Label("loop")
	CMPQ(n, U8(4*step))
	JL(ref("single"))
	for i, a := range acc {
		add(a, 4*i*step, false)
	}
	advance(4)
	JMP(ref("loop"))
	Label("single")
	CMPQ(n, U8(step))
	JL(ref("rest"))
	add(acc[0], 0, false)
	advance(1)
	JMP(ref("single"))
	Label("rest")
	TESTQ(n, n)
	JZ(ref("done"))
	s.loadMask(n, reg.RAX)
	add(acc[1], 0, true)
	Label("done")
}

// dot writes the sum of a*b.
func dot(s isa) {
	kernel("dot"+s.name, "func(a, b []float32) float32")
	a, b, n := reg.RDI, reg.RSI, reg.RCX
	Load(Param("a").Base(), a)
	Load(Param("b").Base(), b)
	Load(Param("a").Len(), n)
	r := s.regs
	accumulate(s, []reg.GPPhysical{a, b}, n, s.width, func(acc reg.VecPhysical, disp int, tail bool) {
		s.load(at(a, disp), r[4], tail)
		s.load(at(b, disp), r[5], tail)
		VFMADD231PS(r[5], r[4], acc)
	})
	VADDPS(r[1], r[0], r[0])
	VADDPS(r[3], r[2], r[2])
	VADDPS(r[2], r[0], r[0])
	fold(s, 0, 1, func(a, b, c Op) { VADDPS(a, b, c) })
	VZEROUPPER()
	Store(reg.X0, ReturnIndex(0))
	RET()
}

// fold reduces the vector in register i to its element 0 with op, using register
// j: halves on halves, in the same order for any content.
func fold(s isa, i, j int, op func(a, b, c Op)) {
	xi, xj := s.regs[i].AsX(), s.regs[j].AsX()
	if s.is512() {
		VEXTRACTF64X4(U8(1), s.regs[i], s.regs[j].AsY())
		op(s.regs[j].AsY(), s.regs[i].AsY(), s.regs[i].AsY())
	}
	VEXTRACTF128(U8(1), s.regs[i].AsY(), xj)
	op(xj, xi, xi)
	VMOVHLPS(xi, xj, xj)
	op(xj, xi, xi)
	VMOVSHDUP(xi, xj)
	op(xj, xi, xi)
}

// sumSquares writes the sum of the squares of x, added up in float64: a register of float32 fills two of float64.
func sumSquares(s isa) {
	kernel("sumSquares"+s.name, "func(x []float32) float64")
	x, n := reg.RDI, reg.RCX
	Load(Param("x").Base(), x)
	Load(Param("x").Len(), n)
	r := s.regs
	accumulate(s, []reg.GPPhysical{x}, n, s.width, func(acc reg.VecPhysical, disp int, tail bool) {
		s.load(at(x, disp), r[4], tail)
		s.upperHalf(r[4], r[5])
		for _, half := range []int{4, 5} {
			if s.is512() {
				VCVTPS2PD(r[half].AsY(), r[half])
			} else {
				VCVTPS2PD(r[half].AsX(), r[half])
			}
			VFMADD231PD(r[half], r[half], acc)
		}
	})
	VADDPD(r[1], r[0], r[0])
	VADDPD(r[3], r[2], r[2])
	VADDPD(r[2], r[0], r[0])
	if s.is512() {
		VEXTRACTF64X4(U8(1), r[0], r[1].AsY())
		VADDPD(r[1].AsY(), r[0].AsY(), r[0].AsY())
	}
	VEXTRACTF128(U8(1), r[0].AsY(), reg.X1)
	VADDPD(reg.X1, reg.X0, reg.X0)
	VUNPCKHPD(reg.X0, reg.X0, reg.X1)
	VADDSD(reg.X1, reg.X0, reg.X0)
	VZEROUPPER()
	Store(reg.X0, ReturnIndex(0))
	RET()
}

// upperHalf copies the upper half of src to the lower half of dst.
func (s isa) upperHalf(src, dst reg.VecPhysical) {
	if s.is512() {
		VEXTRACTF64X4(U8(1), src, dst.AsY())
	} else {
		VEXTRACTF128(U8(1), src, dst.AsX())
	}
}

// peak writes the loop of 12 multiply-adds on vectors that never leaves the registers.
func peak(s isa) {
	n := reg.RCX
	kernel("peak"+s.name, "func(iters int)", n)
	for i := range 14 {
		s.zero(s.regs[i])
	}
	Label("loop")
	for i := range 12 {
		VFMADD231PS(s.regs[12], s.regs[13], s.regs[i])
	}
	DECQ(n)
	JNZ(ref("loop"))
	VZEROUPPER()
	RET()
}
