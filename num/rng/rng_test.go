package rng_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hop-marl/hop/num/rng"
)

// The generator is the standard library's PCG: same state, same numbers.
func TestUint64IsStandardPCG(t *testing.T) {
	var r rng.Rand
	r.UnmarshalBinary([]byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0})
	std := rand.NewPCG(1, 2)
	for i := range 1000 {
		if got, want := r.Uint64(), std.Uint64(); got != want {
			t.Fatalf("draw %d: got %d, want %d", i, got, want)
		}
	}
}

func TestStreamsDependOnlyOnTheirPath(t *testing.T) {
	a := rng.New(7).Child("act", 1).Child("env", 3).Rand()
	other := rng.New(7).Child("rules", 0).Rand()
	other.Uint64()
	b := rng.New(7).Child("act", 1).Child("env", 3).Rand()
	if a.Uint64() != b.Uint64() {
		t.Error("the same path gave two streams")
	}
	seen := map[uint64]string{}
	for name, k := range map[string]rng.Key{
		"seed 7": rng.New(7), "seed 8": rng.New(8),
		"act": rng.New(7).Child("act"), "act 0": rng.New(7).Child("act", 0), "act 1": rng.New(7).Child("act", 1),
		"act 0 1": rng.New(7).Child("act", 0, 1), "a ct": rng.New(7).Child("a").Child("ct"), "act-1": rng.New(7).Child("act", -1),
	} {
		r := k.Rand()
		v := r.Uint64()
		if was, ok := seen[v]; ok {
			t.Errorf("%s and %s are the same stream", name, was)
		}
		seen[v] = name
	}
}

func TestCopyForks(t *testing.T) {
	r := rng.New(1).Rand()
	r.Uint64()
	fork := r
	b, _ := r.MarshalBinary()
	var loaded rng.Rand
	if err := loaded.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		want := r.Uint64()
		if got := fork.Uint64(); got != want {
			t.Fatalf("fork: got %d, want %d", got, want)
		}
		if got := loaded.Uint64(); got != want {
			t.Fatalf("loaded: got %d, want %d", got, want)
		}
	}
	if err := loaded.UnmarshalBinary(b[:15]); err == nil {
		t.Error("15 bytes were accepted as a stream")
	}
}

// Each bound is 5 standard errors: a false alarm in about 2 runs of a million,
// and the seed is fixed, so never.
func TestMoments(t *testing.T) {
	const n = 1_000_000
	r := rng.New(3).Rand()
	for _, c := range []struct {
		name     string
		draw     func() float64
		mean, sd float64
	}{
		{"Float64", r.Float64, 0.5, math.Sqrt(1. / 12)},
		{"Float32", func() float64 { return float64(r.Float32()) }, 0.5, math.Sqrt(1. / 12)},
		{"IntN(7)", func() float64 { return float64(r.IntN(7)) }, 3, 2},
		{"Norm", r.Norm, 0, 1},
		{"Norm^2", func() float64 { x := r.Norm(); return x * x }, 1, math.Sqrt2},
		{"Gumbel", r.Gumbel, 0.57721566, math.Pi / math.Sqrt(6)},
	} {
		sum := 0.
		for range n {
			sum += c.draw()
		}
		if got, tol := sum/n, 5*c.sd/math.Sqrt(n); math.Abs(got-c.mean) > tol {
			t.Errorf("%s: mean %.5f, want %.5f ± %.5f", c.name, got, c.mean, tol)
		}
	}
}

func TestPermIsUniform(t *testing.T) {
	const n = 240_000
	r := rng.New(4).Rand()
	count := map[[4]int]int{}
	var p [4]int
	for range n {
		r.Perm(p[:])
		count[p]++
	}
	want := n / 24.
	for p, c := range count {
		if math.Abs(float64(c)-want) > 5*math.Sqrt(want) {
			t.Errorf("permutation %v drawn %d times, want about %.0f", p, c, want)
		}
	}
	if len(count) != 24 {
		t.Errorf("%d permutations seen, want 24", len(count))
	}
}

func TestDrawsDoNotAllocate(t *testing.T) {
	k := rng.New(1)
	r := k.Rand()
	perm := make([]int, 4)
	if n := testing.AllocsPerRun(100, func() {
		r.Uint64()
		r.Norm()
		r.Perm(perm)
		c := k.Child("act", 3)
		r = c.Rand()
	}); n != 0 {
		t.Errorf("draws allocate %v times, want 0", n)
	}
}

func BenchmarkIntN(b *testing.B) {
	r := rng.New(1).Rand()
	for b.Loop() {
		r.IntN(7)
	}
}
