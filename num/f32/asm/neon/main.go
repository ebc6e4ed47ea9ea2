// Command neon writes the NEON kernels of package f32 as Go assembly: avo knows no
// arm64. Run it through go generate in package f32; the files it writes are committed.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"log"
	"math"
	"os"
	"strings"
)

var text, stubs bytes.Buffer

// ins writes one instruction.
func ins(format string, args ...any) { fmt.Fprintf(&text, "\t"+format+"\n", args...) }

// note writes a comment above what follows.
func note(s string) { fmt.Fprintf(&text, "\t// %s\n", s) }

func place(label string) { fmt.Fprintf(&text, "%s:\n", label) }

// fresh returns a label that the function does not have yet.
func fresh(name string) string {
	labels++
	return fmt.Sprintf("%s_%d", name, labels)
}

var labels int

// args are where the parameters of the function being written stand: name+offset(FP).
var args map[string]string

// kernel begins a function; what it does is said above it and not in the stubs.
func kernel(name, signature, doc string) {
	labels = 0
	e, err := parser.ParseExpr(signature)
	if err != nil {
		log.Fatalf("%s: %v", signature, err)
	}
	f := e.(*ast.FuncType)
	args = map[string]string{}
	at := 0
	place := func(name, part string, size int) {
		at = (at + size - 1) / size * size
		args[name+part] = fmt.Sprintf("%s%s+%d(FP)", name, part, at)
		at += size
	}
	for _, p := range f.Params.List {
		for _, n := range p.Names {
			switch t := p.Type.(type) {
			case *ast.ArrayType:
				for _, part := range []string{"_base", "_len", "_cap"} {
					place(n.Name, part, 8)
				}
			case *ast.Ident:
				place(n.Name, "", sizes[t.Name])
			default:
				place(n.Name, "", 8)
			}
		}
	}
	if f.Results != nil {
		at = (at + 7) / 8 * 8
		place("ret", "", sizes[f.Results.List[0].Type.(*ast.Ident).Name])
	}
	fmt.Fprintf(&text, "\n// %s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", strings.ReplaceAll(doc, "\n", "\n// "), name, at)
	fmt.Fprintf(&stubs, "\n//go:noescape\nfunc %s%s\n", name, strings.TrimPrefix(signature, "func"))
}

var sizes = map[string]int{"int": 8, "float32": 4, "float64": 8}

// arg loads a parameter into a register.
func arg(name, into string) {
	if args[name] == "" {
		log.Fatalf("no parameter %s", name)
	}
	ins("MOVD %s, %s", args[name], into)
}

// vec is a vector register: four floats.
type vec int

func (v vec) f() string     { return fmt.Sprintf("F%d", v) }
func (v vec) s4() string    { return fmt.Sprintf("V%d.S4", v) }
func (v vec) b16() string   { return fmt.Sprintf("V%d.B16", v) }
func (v vec) arm() string   { return fmt.Sprintf("V%d.4S", v) }
func (v vec) lane0() string { return fmt.Sprintf("V%d.S[0]", v) }

// span returns n registers from first on.
func span(first vec, n int) []vec {
	all := make([]vec, n)
	for i := range all {
		all[i] = first + vec(i)
	}
	return all
}

// The instructions that Go's assembler does not have are written as numbers, each
// with its name in Arm's notation beside it.
func word(code uint32, format string, args ...any) {
	ins("WORD $%#08x // %s", code, fmt.Sprintf(format, args...))
}

func three(code uint32, name string, d, n, m vec) {
	word(code|uint32(m)<<16|uint32(n)<<5|uint32(d), "%s %s, %s, %s", name, d.arm(), n.arm(), m.arm())
}

func two(code uint32, name string, d, n vec) {
	word(code|uint32(n)<<5|uint32(d), "%s %s, %s", name, d.arm(), n.arm())
}

func fadd(d, n, m vec)  { three(0x4e20d400, "FADD", d, n, m) }
func fsub(d, n, m vec)  { three(0x4ea0d400, "FSUB", d, n, m) } // n - m
func fmul(d, n, m vec)  { three(0x6e20dc00, "FMUL", d, n, m) }
func fdiv(d, n, m vec)  { three(0x6e20fc00, "FDIV", d, n, m) } // n / m
func fmax(d, n, m vec)  { three(0x4e20f400, "FMAX", d, n, m) } // NaN stays
func fmin(d, n, m vec)  { three(0x4ea0f400, "FMIN", d, n, m) } // NaN stays
func fcmgt(d, n, m vec) { three(0x6ea0e400, "FCMGT", d, n, m) }
func fsqrt(d, n vec)    { two(0x6ea1f800, "FSQRT", d, n) }
func fcvtns(d, n vec)   { two(0x4e21a800, "FCVTNS", d, n) } // to the nearest int32; NaN becomes 0
func scvtf(d, n vec)    { two(0x4e21d800, "SCVTF", d, n) }

// bic computes n where m is not set.
func bic(d, n, m vec) {
	word(0x4e601c00|uint32(m)<<16|uint32(n)<<5|uint32(d), "BIC V%d.16B, V%d.16B, V%d.16B", d, n, m)
}

// fmlaBy adds n times element 0 of m to d, rounding once.
func fmlaBy(d, n, m vec) {
	word(0x4f801000|uint32(m)<<16|uint32(n)<<5|uint32(d), "FMLA %s, %s, %s", d.arm(), n.arm(), m.lane0())
}

// fmla adds n*m to d and fmls takes it away, rounding once.
func fmla(d, n, m vec) { ins("VFMLA %s, %s, %s", m.s4(), n.s4(), d.s4()) }
func fmls(d, n, m vec) { ins("VFMLS %s, %s, %s", m.s4(), n.s4(), d.s4()) }

func and(d, n, m vec) { ins("VAND %s, %s, %s", m.b16(), n.b16(), d.b16()) }
func or(d, n, m vec)  { ins("VORR %s, %s, %s", m.b16(), n.b16(), d.b16()) }
func xor(d, n, m vec) { ins("VEOR %s, %s, %s", m.b16(), n.b16(), d.b16()) }
func zero(d vec)      { xor(d, d, d) }
func move(d, n vec)   { ins("VMOV %s, %s", n.b16(), d.b16()) }

// where sets d to alt where mask is set.
func where(mask, alt, d vec) { ins("VBIT %s, %s, %s", mask.b16(), alt.b16(), d.b16()) }

// spread copies element 0 of d to all.
func spread(d vec) { ins("VDUP %s, %s", d.lane0(), d.s4()) }

// fold reduces d to one number, in all its elements, with op; t is scratch.
func fold(d, t vec, op func(d, n, m vec)) {
	ins("VEXT $8, %s, %s, %s", d.b16(), d.b16(), t.b16())
	op(d, d, t)
	ins("VEXT $4, %s, %s, %s", d.b16(), d.b16(), t.b16())
	op(d, d, t)
	spread(d)
}

const near = "R25" // scratch of load and store

// load reads a vector at off bytes beyond base. Where tail names a register, only as
// many elements as that holds, 1 to 3; the others become 0 and are not read.
func load(base string, off int, d vec, tail string) {
	if tail == "" {
		ins("FMOVQ %d(%s), %s", off, base, d.f())
		return
	}
	one, done := fresh("one"), fresh("loaded")
	ins("TBZ $1, %s, %s", tail, one)
	ins("FMOVD %d(%s), %s", off, base, d.f())
	ins("TBZ $0, %s, %s", tail, done)
	ins("ADD $%d, %s, %s", off+8, base, near)
	ins("VLD1 (%s), V%d.S[2]", near, d)
	ins("JMP %s", done)
	place(one)
	ins("FMOVS %d(%s), %s", off, base, d.f())
	place(done)
}

// store writes a vector, or its first elements, likewise.
func store(d vec, base string, off int, tail string) {
	if tail == "" {
		ins("FMOVQ %s, %d(%s)", d.f(), off, base)
		return
	}
	one, done := fresh("one"), fresh("stored")
	ins("TBZ $1, %s, %s", tail, one)
	ins("FMOVD %s, %d(%s)", d.f(), off, base)
	ins("TBZ $0, %s, %s", tail, done)
	ins("ADD $%d, %s, %s", off+8, base, near)
	ins("VST1 V%d.S[2], (%s)", d, near)
	ins("JMP %s", done)
	place(one)
	ins("FMOVS %s, %d(%s)", d.f(), off, base)
	place(done)
}

// numbers are the constants, each a whole vector in memory.
var numbers = []struct {
	name string
	bits uint32
}{
	{"one", f(1)}, {"two", f(2)}, {"half", f(0.5)}, {"minusInf", f(math.Inf(-1))}, {"logZero", f(-1e9)},
	// e^x: the bounds of x, 1/ln 2, ln 2 in two parts and the polynomial of Cephes' expf for (e^r-1-r)/r².
	{"expMin", f(-87.33654475)}, {"expMax", f(89)}, {"log2e", f(math.Log2E)}, {"ln2hi", f(0.693359375)}, {"ln2lo", f(-2.12194440e-4)},
	{"exp0", f(1.9875691500e-4)}, {"exp1", f(1.3981999507e-3)}, {"exp2", f(8.3334519073e-3)},
	{"exp3", f(4.1665795894e-2)}, {"exp4", f(1.6666665459e-1)}, {"exp5", f(5.0000001201e-1)}, {"bias254", 254},
	// tanh near 0: Cephes' tanhf for (tanh x-x)/x³.
	{"tanhSmall", f(0.625)}, {"tanh0", f(-5.70498872745e-3)}, {"tanh1", f(2.06390887954e-2)}, {"tanh2", f(-5.37397155531e-2)},
	{"tanh3", f(1.33314422036e-1)}, {"tanh4", f(-3.33332819422e-1)},
	// log: Cephes' logf for (log(1+x)-x+x²/2)/x³.
	{"log0", f(7.0376836292e-2)}, {"log1", f(-1.1514610310e-1)}, {"log2", f(1.1676998740e-1)}, {"log3", f(-1.2420140846e-1)},
	{"log4", f(1.4249322787e-1)}, {"log5", f(-1.6668057665e-1)}, {"log6", f(2.0000714765e-1)}, {"log7", f(-2.4999993993e-1)},
	{"log8", f(3.3333331174e-1)}, {"sqrtHalf", f(math.Sqrt2 / 2)}, {"mantissa", 0x007fffff}, {"halfBits", 0x3f000000}, {"bias126", 126},
	{"abs", 0x7fffffff}, {"sign", 0x80000000},
}

func f(v float64) uint32 { return math.Float32bits(float32(v)) }

const table = "R24" // where the constants stand, in functions that use them

func constants() {
	text.WriteString("\n// The constants, each four times:")
	for i, c := range numbers {
		if i%8 == 0 {
			text.WriteString("\n//")
		}
		text.WriteString(" " + c.name)
	}
	text.WriteString("\n")
	for i, c := range numbers {
		twice := uint64(c.bits)<<32 | uint64(c.bits)
		for h := range 2 {
			fmt.Fprintf(&text, "DATA numbers<>+%d(SB)/8, $%#016x\n", 16*i+8*h, twice)
		}
	}
	fmt.Fprintf(&text, "GLOBL numbers<>(SB), RODATA|NOPTR, $%d\n", 16*len(numbers))
	// Three vectors whose first 1, 2 or 3 elements are set, read from the middle of one row of bits.
	text.WriteString("\n// Before the first n elements' place stand n ones.\n")
	for i := range 4 {
		bits := "0xffffffffffffffff"
		if i >= 2 {
			bits = "0x0000000000000000"
		}
		fmt.Fprintf(&text, "DATA tails<>+%d(SB)/8, $%s\n", 8*i, bits)
	}
	text.WriteString("GLOBL tails<>(SB), RODATA|NOPTR, $32\n")
}

func loadTable() { ins("MOVD $numbers<>(SB), %s", table) }

// num loads a constant.
func num(d vec, name string) {
	for i, c := range numbers {
		if c.name == name {
			ins("FMOVQ %d(%s), %s // %s", 16*i, table, d.f(), name)
			return
		}
	}
	log.Fatalf("no constant %s", name)
}

func main() {
	to := flag.String("out", "", "the assembly to write")
	stubsTo := flag.String("stubs", "", "the declarations to write")
	flag.Parse()
	const header = "// Code generated by the program in asm/neon. DO NOT EDIT.\n"
	text.WriteString(header + "\n#include \"go_asm.h\"\n#include \"textflag.h\"\n")
	stubs.WriteString(header + "\npackage f32\n")
	constants()
	products()
	packing()
	sparse()
	vectors()
	activations()
	cells()
	rows()
	for name, b := range map[string]*bytes.Buffer{*to: &text, *stubsTo: &stubs} {
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}
