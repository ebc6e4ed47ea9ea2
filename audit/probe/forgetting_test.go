package probe_test

import (
	"math"
	"strings"
	"testing"

	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/audit/probe"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/runlog"
)

// rows is a run of 200 windows whose mean return is by share of the run, with noise.
func rows(seed uint64, of func(x float64) float64, lr func(x float64) float64) []runlog.Row {
	r := rng.New(seed).Rand()
	var list []runlog.Row
	for i := range 200 {
		x, step := float64(i)/200, int64(1000*(i+1))
		list = append(list, runlog.Row{Step: step, Name: "return/mean", Agent: -1, Value: of(x) + 0.2*(r.Float64()-0.5)},
			runlog.Row{Step: step, Name: "ppo/lr", Agent: 0, Value: lr(x)}, runlog.Row{Step: step, Name: "ppo/kl", Agent: 0, Value: 0.01})
	}
	return list
}

// A return that rises and falls is found, with what moved meanwhile; ones that rise, stay or
// only fall from a lucky start are not.
func TestFallsAreFound(t *testing.T) {
	plain, bonus := ppo.Default(), ppo.Default()
	bonus.EntropyEnd = 1
	flat := func(float64) float64 { return 1e-3 }
	rises := func(x float64) float64 { return 5 * (1 - math.Exp(-5*x)) }
	grows := func(x float64) float64 { return 1e-3 + 0.05*max(0, x-0.7) }
	falls := func(x float64) float64 { return rises(x) - 4*max(0, x-0.6) }
	for _, c := range []struct {
		name, says string
		of, lr     func(float64) float64
		cfg        ppo.Config
		want       check.Status
	}{
		{"rises", "No seed", rises, flat, plain, check.Pass},
		{"stays", "No seed", func(float64) float64 { return 3 }, flat, plain, check.Pass},
		{"only falls", "No seed", func(x float64) float64 { return 3 - x }, flat, plain, check.Pass},
		{"rises and falls", "no number of a learner grew", falls, flat, plain, check.Note},
		{"falls as the rate fades", "selfish learners", falls, func(x float64) float64 { return 1e-3 * (1.1 - x) }, plain, check.Note},
		{"falls as the rate grows", "the learning rate went from", falls, grows, plain, check.Suspect},
		{"falls as a bonus grows", "lets the bonus for entropy grow, from 0.01 to 1", falls, flat, bonus, check.Suspect},
	} {
		var q probe.Forgetting
		for seed := range uint64(3) {
			q.Take(seed, rows(seed, c.of, c.lr), 0)
		}
		if f := q.Finding(c.cfg); f.Status != c.want || !strings.Contains(f.Says, c.says) {
			t.Errorf("%s: %v, %s", c.name, f.Status, f.Says)
		}
	}
	c := ppo.Default()
	var q probe.Forgetting
	q.Take(1, rows(1, falls, flat)[:20], 0)
	if f := q.Finding(c); f.Status != check.NotAsked {
		t.Errorf("of seven windows: %v, %s", f.Status, f.Says)
	}
}
