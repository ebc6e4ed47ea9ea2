package f32

import (
	"fmt"
	"os"
)

// kernelSet is one of the implementations of every function.
type kernelSet int

const (
	generic kernelSet = iota
	avx2
	avx512
	neon
)

var setNames = [...]string{generic: "generic", avx2: "avx2", avx512: "avx512", neon: "neon"}

func (s kernelSet) String() string { return setNames[s] }

// active is the set in use and activeErr why it is not the one asked for. They are
// written once, before main, and by tests.
var active, activeErr = choose(os.Getenv("HOP_KERNELS"), bestSet())

// Kernels returns the name of the kernel set in use: "avx512", "avx2", "neon" or "generic".
func Kernels() string { return active.String() }

// KernelsErr returns an error if HOP_KERNELS asks for a set that does not exist or
// that this machine cannot run; the best one it can run is then in use. A program
// should refuse to go on, since its numbers would not be those asked for.
func KernelsErr() error { return activeErr }

// runsWhere says whether s runs on a machine whose best set is best: the plain one runs
// on all, and a processor has none of the other kind's.
func (s kernelSet) runsWhere(best kernelSet) bool {
	return s == generic || s <= best && (s == neon) == (best == neon)
}

// choose returns the set called want, or best if want is empty or cannot be had.
func choose(want string, best kernelSet) (kernelSet, error) {
	if want == "" {
		return best, nil
	}
	for s, name := range setNames {
		if name != want {
			continue
		}
		if !kernelSet(s).runsWhere(best) {
			return best, fmt.Errorf("f32: choosing kernels: this machine cannot run HOP_KERNELS=%s, its best is %s; unset it or ask for less",
				want, best)
		}
		return kernelSet(s), nil
	}
	return best, fmt.Errorf("f32: choosing kernels: HOP_KERNELS=%q is unknown; use generic, avx2, avx512 or neon, or unset it", want)
}

// PeakLoop runs iters rounds of independent multiply-adds that never leave the
// registers, with the active kernels' widest instructions, and returns how many
// floating-point operations that was. Divided by the time it took it is the most
// that one core can do.
func PeakLoop(iters int) (flops float64) {
	if iters <= 0 {
		return 0
	}
	return float64(iters) * peakLoop(iters)
}

// peakGeneric returns the operations per round: eight chains of one multiplication
// and one addition.
func peakGeneric(iters int) float64 {
	var s [8]float32
	s0, s1, s2, s3, s4, s5, s6, s7 := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
	x, y := float32(1), float32(0x1p-20)
	for range iters {
		s0 = float32(s0*x) + y
		s1 = float32(s1*x) + y
		s2 = float32(s2*x) + y
		s3 = float32(s3*x) + y
		s4 = float32(s4*x) + y
		s5 = float32(s5*x) + y
		s6 = float32(s6*x) + y
		s7 = float32(s7*x) + y
	}
	sink(s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7)
	return 16
}

//go:noinline
func sink(float32) {}
