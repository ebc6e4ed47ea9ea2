// Command asm writes the AVX2 and AVX-512 kernels of package f32 with avo. It is a
// module of its own so that hop does not depend on avo. Run it through go generate
// in package f32; the files it writes are committed.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is one instruction set. The instructions are the same words in both; what
// differs is the registers, the width and how a tail is masked.
type isa struct {
	name  string // suffix of the Go functions
	width int    // floats in a register
	regs  []reg.VecPhysical
}

var (
	z = isa{"AVX512", 16, []reg.VecPhysical{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
		reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
		reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
		reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
	}}
	y = isa{"AVX2", 8, []reg.VecPhysical{
		reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
		reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
	}}
)

// mask is the opmask of a tail with AVX-512, tailY the vector mask with AVX2.
var (
	mask  = reg.K1
	tailY = reg.Y15
)

func (s isa) is512() bool { return s.width == 16 }

func (s isa) bytes() int { return 4 * s.width }

// load reads a vector; with tail only its masked elements, the others become 0.
func (s isa) load(m operand.Mem, r reg.VecPhysical, tail bool) {
	switch {
	case !tail:
		VMOVUPS(m, r)
	case s.is512():
		VMOVUPS_Z(m, mask, r)
	default:
		VMASKMOVPS(m, tailY, r)
	}
}

// store writes a vector; with tail only its masked elements.
func (s isa) store(r reg.VecPhysical, m operand.Mem, tail bool) {
	switch {
	case !tail:
		VMOVUPS(r, m)
	case s.is512():
		VMOVUPS(r, mask, m)
	default:
		VMASKMOVPS(r, tailY, m)
	}
}

func (s isa) zero(r reg.VecPhysical) {
	if s.is512() {
		VPXORD(r, r, r)
	} else {
		VXORPS(r, r, r)
	}
}

// loadMask makes the mask of the first n elements, n below the width.
func (s isa) loadMask(n, tmp reg.GPPhysical) {
	if s.is512() {
		MOVL(operand.U32(0xffffffff), tmp.As32())
		BZHIL(n.As32(), tmp.As32(), tmp.As32())
		KMOVW(tmp.As32(), mask)
		return
	}
	LEAQ(tailTable, tmp)
	SHLQ(operand.U8(2), n)
	SUBQ(n, tmp)
	VMOVUPS(at(tmp, 32), tailY)
	SHRQ(operand.U8(2), n)
}

// kernel begins a function and loads its first parameters, none of them slices,
// into registers. What each does is said where it is written, not in the stubs.
func kernel(name, signature string, into ...reg.GPPhysical) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	for i, r := range into {
		Load(ParamIndex(i), r)
	}
}

func at(base reg.Register, disp int) operand.Mem { return operand.Mem{Base: base, Disp: disp} }

func indexed(base, index reg.Register, scale uint8, disp int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: scale, Disp: disp}
}

// label names a place of the function being written; i keeps copies apart.
func label(name string, i ...any) string {
	s := name
	for _, v := range i {
		s += fmt.Sprintf("_%v", v)
	}
	return s
}

func ref(name string) operand.LabelRef { return operand.LabelRef(name) }

func main() {
	constants()
	for _, s := range []isa{z, y} {
		products(s)
		packing(s)
		sparse(s)
		vectors(s)
		picked(s)
		activations(s)
		cells(s)
		rows(s)
		peak(s)
	}
	lanes()
	Generate()
}
