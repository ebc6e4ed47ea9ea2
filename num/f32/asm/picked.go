package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// picked writes what is done to rows of sixteen numbers, picked one after the other by bytes. Every operation is
// rounded as Go rounds it: models that are made in play follow from each other for thousands of steps.
func picked(s isa) {
	r, n := s.regs, 16/s.width // registers a row
	part := func(i int) int { return i * s.bytes() }
	each := func(f func(i int)) {
		for i := range n {
			f(i)
		}
	}
	// over writes a loop over the rows; body gets where the row lies from the tables' beginnings.
	over := func(body func(row reg.GPPhysical)) {
		at, left, row := reg.R8, reg.RCX, reg.RAX
		Load(Param("at").Base(), at)
		Load(Param("at").Len(), left)
		Label("row")
		TESTQ(left, left)
		JZ(ref("done"))
		MOVBLZX(Mem{Base: at}, row.As32())
		SHLQ(U8(6), row)
		body(row)
		INCQ(at)
		DECQ(left)
		JMP(ref("row"))
		Label("done")
	}
	finish := func() {
		VZEROUPPER()
		RET()
	}
	store := func(p reg.GPPhysical) {
		each(func(i int) { VMOVUPS(r[i], at(p, part(i))) })
		finish()
	}

	dst, a, b := reg.RDI, reg.RSI, reg.RDX
	kernel("mulPicked"+s.name, "func(dst, a *float32, at []byte)", dst, a)
	each(func(i int) { VMOVUPS(num("one"), r[i]) })
	over(func(row reg.GPPhysical) {
		each(func(i int) { VMULPS(indexed(a, row, 1, part(i)), r[i], r[i]) })
	})
	store(dst)

	kernel("addPicked"+s.name, "func(dst, a, b *float32, at []byte)", dst, a, b)
	each(func(i int) { s.zero(r[i]) })
	over(func(row reg.GPPhysical) {
		each(func(i int) {
			VMOVUPS(indexed(a, row, 1, part(i)), r[2+i])
			VADDPS(indexed(b, row, 1, part(i)), r[2+i], r[2+i])
			VADDPS(r[2+i], r[i], r[i])
		})
	})
	store(dst)

	w, m, g := reg.RDI, reg.RSI, reg.RDX
	pull, rate, one := r[6], r[7], r[8]
	kernel("adaGradPicked"+s.name, "func(w, m, grad *float32, at []byte, pull, rate float32)", w, m, g)
	broadcast("pull", pull)
	broadcast("rate", rate)
	VMOVUPS(num("one"), one)
	each(func(i int) { VMOVUPS(at(g, part(i)), r[9+i]) })
	over(func(row reg.GPPhysical) {
		each(func(i int) {
			x, d, t := r[0], r[1], r[2]
			VMOVUPS(indexed(w, row, 1, part(i)), x)
			VMULPS(pull, x, t)
			VSUBPS(t, r[9+i], d)
			VMULPS(d, d, t)
			VADDPS(indexed(m, row, 1, part(i)), t, t)
			VMOVUPS(t, indexed(m, row, 1, part(i)))
			VADDPS(t, one, t)
			VSQRTPS(t, t)
			VMULPS(rate, d, d)
			VDIVPS(t, d, d)
			VADDPS(d, x, x)
			VMOVUPS(x, indexed(w, row, 1, part(i)))
		})
	})
	finish()
}
