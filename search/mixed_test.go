package search

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/num/rng"
)

// A mixed policy is prior exp(beta Q) over what was tried, normalised, and its mode is
// what act prior plays.
func TestMixedPoliciesAreThePriorTimesTheExponentialOfQ(t *testing.T) {
	for _, c := range []struct {
		name  string
		pays  []float32
		prior []float64
		legal uint32
		beta  float64
		sims  int
	}{
		{"prior and Q", []float32{1, 2, 1.5, 0}, []float64{.5, .1, .3, .1}, 0b1111, 2, 4},
		{"Q counts for nothing", []float32{1, 2, 3, 4}, []float64{.4, .3, .2, .1}, 0b1111, 0, 4},
		{"what is even stays open", []float32{1, 1, 0, 0}, []float64{.25, .25, .25, .25}, 0b1111, 30, 4},
		{"what is not legal", []float32{1, 9, 2, 9}, []float64{.2, .3, .4, .1}, 0b0101, 1, 4},
		{"what was not tried", []float32{1, 2, 9, 9}, []float64{.4, .3, .2, .1}, 0b1111, 1, 2},
		{"large numbers", []float32{1000, 999, -1000, 0}, []float64{.1, .7, .1, .1}, 0b1111, 5, 4},
	} {
		g := matrix([][]float32{{c.pays[0]}, {c.pays[1]}, {c.pays[2]}, {c.pays[3]}})
		g.logits = func(_ int, dst []float32) {
			for k, p := range c.prior {
				dst[k] = float32(math.Log(p))
			}
		}
		g.legal = func(int) uint32 { return c.legal }
		cfg := Default()
		cfg.Trees, cfg.Sims, cfg.Beta, cfg.Act, cfg.VisitAll = 3, c.sims, c.beta, "mixed", true
		f := g.search(t, cfg, 1, 4)
		logits, tried := make([]float64, 4), make([]bool, 4)
		for k, q := range c.pays {
			logits[k], tried[k] = math.Log(c.prior[k])+c.beta*float64(q), c.legal>>k&1 != 0 && f.Visits[k] > 0
		}
		want := reference.Softmax(logits, tried)
		for k := range want {
			if d := math.Abs(float64(f.Policy[k]) - want[k]); !(d <= 1e-5) { // no number at all is none either
				t.Errorf("%s: the policy is %v, want %v of Q %v", c.name, f.Policy, want, f.Q)
				break
			}
		}
		cfg.Act = "prior"
		mode := g.search(t, cfg, 1, 4)
		for k, p := range mode.Policy {
			for _, other := range f.Policy {
				if p == 1 && f.Policy[k] < other-1e-6 {
					t.Errorf("%s: act prior plays action %d, the policy %v has another mode", c.name, k, f.Policy)
				}
			}
		}
	}
	if cfg := Default(); cfg.Sure() {
		if cfg.Act = "mixed"; cfg.Sure() {
			t.Error("a mixed policy is said to be all on one action")
		}
	}
}

// Noise may have tried only what the prior takes for impossible: that is played.
func TestMixedPoliciesOfImpossibleActionsAreStillPolicies(t *testing.T) {
	g := matrix([][]float32{{1}, {2}, {1}})
	g.logits = func(_ int, dst []float32) { copy(dst, []float32{0, 200, 0}) }
	cfg := Default()
	cfg.Trees, cfg.Sims, cfg.Act, cfg.Beta, cfg.VisitAll, cfg.NoiseEps, cfg.NoiseA = 1, 1, "mixed", 1, false, 1, 1
	odd := 0
	for round := range 5 {
		f, err := New(cfg, 3, 1, 8, 8)
		must(t, err)
		g.at = make([]int, f.Slots())
		f.Search(g, g, g, rng.New(uint64(round)).Rands("tree", 8))
		for env := range 8 {
			p, visits := f.Policy[3*env:][:3], f.Visits[3*env:][:3]
			for k, n := range visits {
				if p[k] != float32(n) { // one simulation: what it tried is played
					t.Fatalf("the policy is %v, visits are %v", p, visits)
				}
			}
			if visits[1] == 0 {
				odd++
			}
		}
	}
	if odd == 0 {
		t.Error("the impossible action was never tried: the test saw nothing")
	}
}
