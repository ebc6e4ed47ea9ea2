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
