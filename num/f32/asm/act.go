package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The constants stand in memory as whole vectors, so that both instruction sets
// can use them as operands.
var (
	tailTable, iota16 Mem
	numbers           = map[string]Mem{}
)

func constants() {
	tailTable = GLOBL("tailTable", RODATA|NOPTR)
	for i := range 16 {
		v := U32(0)
		if i < 8 {
			v = 0xffffffff
		}
		DATA(4*i, v)
	}
	iota16 = GLOBL("iota16", RODATA|NOPTR)
	for i := range 16 {
		DATA(4*i, U32(i))
	}
	for _, c := range []struct {
		name string
		v    float64
	}{
		{"one", 1}, {"two", 2}, {"half", 0.5}, {"minusInf", math.Inf(-1)}, {"logZero", -1e9}, {"zero", 0},
		// The bounds of Adam's square root: 2^-100 and 2^126.
		{"rootMin", 0x1p-100}, {"rootMax", 0x1p126},
		// e^x: the bounds of x, 1/ln 2, ln 2 in two parts and the polynomial of
		// Cephes' expf for (e^r-1-r)/r².
		{"expMin", -87.33654475}, {"expMax", 89}, {"log2e", math.Log2E}, {"ln2hi", 0.693359375}, {"ln2lo", -2.12194440e-4},
		{"exp0", 1.9875691500e-4}, {"exp1", 1.3981999507e-3}, {"exp2", 8.3334519073e-3},
		{"exp3", 4.1665795894e-2}, {"exp4", 1.6666665459e-1}, {"exp5", 5.0000001201e-1},
		// tanh near 0: Cephes' tanhf for (tanh x-x)/x³.
		{"tanhSmall", 0.625}, {"tanh0", -5.70498872745e-3}, {"tanh1", 2.06390887954e-2}, {"tanh2", -5.37397155531e-2},
		{"tanh3", 1.33314422036e-1}, {"tanh4", -3.33332819422e-1},
		// log: Cephes' logf for (log(1+x)-x+x²/2)/x³.
		{"log0", 7.0376836292e-2}, {"log1", -1.1514610310e-1}, {"log2", 1.1676998740e-1}, {"log3", -1.2420140846e-1},
		{"log4", 1.4249322787e-1}, {"log5", -1.6668057665e-1}, {"log6", 2.0000714765e-1}, {"log7", -2.4999993993e-1},
		{"log8", 3.3333331174e-1}, {"sqrtHalf", math.Sqrt2 / 2},
	} {
		bits(c.name, math.Float32bits(float32(c.v)))
	}
	bits("abs", 0x7fffffff)
	bits("sign", 0x80000000)
	bits("bias", 127)
	bits("mantissa", 0x007fffff)
	bits("halfBits", 0x3f000000)
	bits("bias126", 126)
}

func bits(name string, v uint32) {
	numbers[name] = GLOBL("c_"+name, RODATA|NOPTR)
	for i := range 16 {
		DATA(4*i, U32(v))
	}
}

func num(name string) Mem {
	m, ok := numbers[name]
	if !ok {
		panic("no constant " + name)
	}
	return m
}

func (s isa) and(a Op, b, dst Op) {
	if s.is512() {
		VPANDD(a, b, dst)
	} else {
		VANDPS(a, b, dst)
	}
}

func (s isa) or(a Op, b, dst Op) {
	if s.is512() {
		VPORD(a, b, dst)
	} else {
		VORPS(a, b, dst)
	}
}

func (s isa) xor(a Op, b, dst Op) {
	if s.is512() {
		VPXORD(a, b, dst)
	} else {
		VXORPS(a, b, dst)
	}
}

// keepWhere sets x to 0 where not (a pred b); tmp is scratch.
func (s isa) keepWhere(pred uint8, b Op, a reg.VecPhysical, x, tmp reg.VecPhysical) {
	if s.is512() {
		VCMPPS(U8(pred), b, a, reg.K2)
		VMOVAPS_Z(x, reg.K2, x)
	} else {
		VCMPPS(U8(pred), b, a, tmp)
		VANDPS(tmp, x, x)
	}
}

// choose sets x to alt where a pred b.
func (s isa) choose(pred uint8, b Op, a reg.VecPhysical, alt, x, tmp reg.VecPhysical) {
	if s.is512() {
		VCMPPS(U8(pred), b, a, reg.K2)
		VMOVAPS(alt, reg.K2, x)
	} else {
		VCMPPS(U8(pred), b, a, tmp)
		VBLENDVPS(tmp, alt, x, x)
	}
}

// Predicates of VCMPPS. Those called not are true for NaN.
const (
	lessThan    = 1
	notLess     = 5
	greaterThan = 14
)

// horner computes dst = dst*x + c for each named constant.
func horner(dst, x reg.VecPhysical, names ...string) {
	for _, n := range names {
		VFMADD213PS(num(n), x, dst)
	}
}

// exp writes x = e^x; t0 to t3 are scratch.
func (s isa) exp(x, t0, t1, t2, t3 reg.VecPhysical) {
	n, r, p := t0, t1, t2
	// What is too small counts as 0 until the end: a result below the normal
	// numbers would cost the processor a hundred cycles.
	VMOVUPS(num("expMax"), n)
	if s.is512() {
		VCMPPS(U8(notLess), num("expMin"), x, reg.K2)
		VMINPS_Z(x, n, reg.K2, r) // NaN stays
	} else {
		VCMPPS(U8(notLess), num("expMin"), x, t3)
		VANDPS(t3, x, r)
		VMINPS(r, n, r)
	}
	VMULPS(num("log2e"), r, n)
	if s.is512() {
		VRNDSCALEPS(U8(0), n, n)
	} else {
		VROUNDPS(U8(0), n, n)
	}
	VFNMADD231PS(num("ln2hi"), n, r)
	VFNMADD231PS(num("ln2lo"), n, r)
	VMOVUPS(num("exp0"), p)
	horner(p, r, "exp1", "exp2", "exp3", "exp4", "exp5")
	VMULPS(r, r, t3)
	VFMADD213PS(r, t3, p)
	VADDPS(num("one"), p, p)
	if s.is512() {
		VSCALEFPS(n, p, p)
	} else {
		// 2^n in two factors, since 2^128 is no float32.
		VCVTPS2DQ(n, n)
		VPSRAD(U8(1), n, r)
		VPSUBD(r, n, n)
		for _, h := range []reg.VecPhysical{r, n} {
			VPADDD(num("bias"), h, h)
			VPSLLD(U8(23), h, h)
			VMULPS(h, p, p)
		}
	}
	if s.is512() {
		VMOVAPS_Z(p, reg.K2, x)
	} else {
		VCMPPS(U8(notLess), num("expMin"), x, t3)
		VANDPS(t3, p, x)
	}
}

// log writes x = ln x for x normal and positive; NaN and +Inf become NaN.
func (s isa) log(x, t0, t1, t2, t3 reg.VecPhysical) {
	e, m, p, sq := t0, t1, t2, t3
	VPSRLD(U8(23), x, e)
	VPSUBD(num("bias126"), e, e)
	VCVTDQ2PS(e, e)
	s.and(num("mantissa"), x, m)
	s.or(num("halfBits"), m, m) // in [1/2, 1)
	// Below sqrt(1/2) take twice m and one less of e.
	VMOVAPS(m, p)
	s.keepLess(m, p, sq)
	VADDPS(p, m, m)
	if s.is512() {
		VSUBPS(num("one"), e, reg.K2, e)
	} else {
		VANDPS(num("one"), sq, sq)
		VSUBPS(sq, e, e)
	}
	VSUBPS(num("one"), m, m)
	VMULPS(m, m, sq)
	VMOVUPS(num("log0"), p)
	horner(p, m, "log1", "log2", "log3", "log4", "log5", "log6", "log7", "log8")
	VMULPS(sq, p, p)
	VMULPS(m, p, p)
	VFMADD231PS(num("ln2lo"), e, p)
	VFNMADD231PS(num("half"), sq, p)
	VADDPS(m, p, p)
	VFMADD231PS(num("ln2hi"), e, p)
	VFMADD132PS(num("zero"), p, x) // x*0 + log: NaN stays
}

// keepLess sets p to 0 where m is not below sqrt(1/2) and leaves the comparison
// in K2 or in tmp.
func (s isa) keepLess(m, p, tmp reg.VecPhysical) { s.keepWhere(lessThan, num("sqrtHalf"), m, p, tmp) }

// logistic writes x = 1/(1+e^-x).
func (s isa) logistic(x, t0, t1, t2, t3 reg.VecPhysical) {
	s.xor(num("sign"), x, x)
	s.exp(x, t0, t1, t2, t3)
	VMOVUPS(num("one"), t0)
	VADDPS(t0, x, x)
	VDIVPS(x, t0, x)
}

// tanh writes x = tanh x; registers 1 to 7 are scratch.
func (s isa) tanh(x reg.VecPhysical) {
	t, a, big, small := s.regs[1:5], s.regs[5], s.regs[6], s.regs[7]
	s.and(num("abs"), x, a)
	VADDPS(a, a, big)
	s.exp(big, t[0], t[1], t[2], t[3])
	VADDPS(num("one"), big, big)
	VMOVUPS(num("two"), t[0])
	VDIVPS(big, t[0], big)
	VMOVUPS(num("one"), t[0])
	VSUBPS(big, t[0], big)
	s.and(num("sign"), x, t[0])
	s.or(t[0], big, big)
	VMULPS(x, x, t[0])
	VMOVUPS(num("tanh0"), small)
	horner(small, t[0], "tanh1", "tanh2", "tanh3", "tanh4")
	VMULPS(t[0], small, small)
	VFMADD213PS(x, x, small)
	s.choose(lessThan, num("tanhSmall"), a, small, big, t[1])
	VMOVAPS(big, x)
}

func activations(s isa) {
	r := s.regs
	x, t := r[0], r[1:5]
	unary := func(name string, op func()) {
		elementwise(s, name, "func(dst, x []float32)", []string{"dst", "x"}, nil, func(p []reg.GPPhysical, tail bool) {
			s.load(at(p[1], 0), x, tail)
			op()
			s.store(x, at(p[0], 0), tail)
		})
	}
	unary("exp", func() { s.exp(x, t[0], t[1], t[2], t[3]) })
	unary("sigmoid", func() { s.logistic(x, t[0], t[1], t[2], t[3]) })
	unary("tanh", func() { s.tanh(x) })

	grad := func(name string, op func(y, dy reg.VecPhysical)) {
		elementwise(s, name, "func(dx, y, dy []float32)", []string{"dx", "y", "dy"}, nil, func(p []reg.GPPhysical, tail bool) {
			s.load(at(p[1], 0), r[0], tail)
			s.load(at(p[2], 0), r[8], tail)
			op(r[0], r[8])
			s.store(r[8], at(p[0], 0), tail)
		})
	}
	// dy where y > 0, dy (1-y²), dy y (1-y).
	grad("reluGrad", func(y, dy reg.VecPhysical) {
		s.zero(r[1])
		s.keepWhere(greaterThan, r[1], y, dy, r[2])
	})
	grad("tanhGrad", func(y, dy reg.VecPhysical) {
		VMOVUPS(num("one"), r[1])
		VFNMADD231PS(y, y, r[1])
		VMULPS(r[1], dy, dy)
	})
	grad("sigmoidGrad", func(y, dy reg.VecPhysical) {
		VMOVAPS(y, r[1])
		VFNMADD231PS(y, y, r[1])
		VMULPS(r[1], dy, dy)
	})
}
