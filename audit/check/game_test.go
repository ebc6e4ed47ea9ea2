package check

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
)

// Both tests of evenness see what they are for: 5 % more for one of four columns
// in 2000 episodes, and nothing in level ones. At a limit of 5e-4 a level game is
// called suspect once in 2000 seeds; the seed is fixed.
func TestUnevenColumnsAreSeen(t *testing.T) {
	r := rng.New(4).Child("even").Rand()
	x := make([][]float64, 4)
	for range 2000 {
		for s := range x {
			x[s] = append(x[s], 1+0.3*r.Norm())
		}
	}
	if f := compareMeans(x, "random", "name", "agent", "rollout", "look"); f.Status != check.Pass {
		t.Errorf("level columns: got %v: %s", f.Status, f.Says)
	}
	for i := range x[2] {
		x[2][i] += 0.05
	}
	f := compareMeans(x, "random", "name", "agent", "rollout", "look")
	if f.Status == check.Pass || f.Module != "rollout" {
		t.Errorf("agent 2 earns 5 %% more: got %v in %q (p as said: %s)", f.Status, f.Module, f.Says)
	}
	if math.Abs(f.Effect-0.0375) > 0.015 || f.Lo > f.Effect || f.Hi < f.Effect {
		t.Errorf("effect %.4f (%.4f to %.4f), want about 0.0375 above the mean", f.Effect, f.Lo, f.Hi)
	}
}

func TestUnevenDealsAreSeen(t *testing.T) {
	g := gametest.New(t, staghunt.New, staghunt.Default())
	r := NewReplay(g, rng.New(1), 1)
	for a := range r.dealt {
		for s := range r.dealt[a] {
			r.dealt[a][s] = 100 + (a*7+s*5)%9
		}
	}
	if f := r.dealing(); f.Status != check.Pass {
		t.Errorf("an even deal: got %v: %s", f.Status, f.Says)
	}
	for a := range r.dealt {
		r.dealt[a][a] += 60
	}
	if f := r.dealing(); f.Status != check.Fault || f.Module != "rollout" {
		t.Errorf("agents sit on the seat of their number 60 times too often: got %v in %q", f.Status, f.Module)
	}
}
