package ppo_test

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/model/actor"
)

// and is the window with the rows of another one as imagined ones beside it.
func (w *world) and(imagined *world, ratio float64) *learner.Window {
	u := w.window()
	u.Imagined = &learner.Imagined{Rollout: imagined.ro, RealRatio: ratio}
	return u
}

func stat(t *testing.T, list []agent.Stat, name string) agent.Stat {
	t.Helper()
	for _, s := range list {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("%s is not reported", name)
	return agent.Stat{}
}

// Imagined rewards reach no return, no advantage and no statistic of
// played rows. The weights stand still, so what is reported of played rows must
// be what Learn reports, however wild the imagined ones are.
func TestImaginedRowsNeverMeetPlayedOnes(t *testing.T) {
	cfg := ppo.Default()
	cfg.LR = 1e-30
	alone, mixed, wild := newWorld(t, actor.Default(), cfg), newWorld(t, actor.Default(), cfg), newWorld(t, actor.Default(), cfg)
	for i := range wild.ro.Reward {
		wild.ro.Reward[i] += 50
	}
	want, err := alone.brains[0].Learn(alone.window())
	if err != nil {
		t.Fatal(err)
	}
	got, err := mixed.brains[0].Learn(mixed.and(wild, 0.8))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ppo/value_loss", "ppo/explained"} {
		if g, w := stat(t, got, name), stat(t, want, name); math.Abs(g.Value-w.Value) > 1e-6 || g.N != w.N {
			t.Errorf("%s of played rows: got %v over %d rows, want %v over %d: imagined rewards are mixed into played returns",
				name, g.Value, g.N, w.Value, w.N)
		}
	}
	if g, w := stat(t, got, "ppo/value_loss_imagined").Value, stat(t, want, "ppo/value_loss").Value; g < 100*w {
		t.Errorf("the value loss on imagined rows is %v, want far above the played %v", g, w)
	}
	// Advantages are normalised apart: each kind's mean is 0, so before the first
	// step the policy's loss is too, but for which imagined rows were drawn (a
	// deviation of 0.01). Together, the played rows' mean would be about -1.
	if g := stat(t, got, "ppo/policy_loss").Value; math.Abs(g) > 0.1 {
		t.Errorf("the policy's loss is %v before the first step, want 0: advantages are normalised together", g)
	}
}

// A pass sees every played row once, RealRatio of a minibatch at a time.
func TestMinibatchesKeepTheRatio(t *testing.T) {
	for _, c := range []struct {
		ratio float64
		part  int
	}{{0.5, 32}, {0.25, 16}, {0.9, 58}} {
		cfg := ppo.Default()
		cfg.Minibatch, cfg.Epochs = 64, 2
		w, im := newWorld(t, actor.Default(), cfg), newWorld(t, actor.Default(), cfg)
		stats, err := w.brains[1].Learn(w.and(im, c.ratio))
		if err != nil {
			t.Fatal(err)
		}
		n := stat(t, stats, "ppo/value_loss").N
		if got, want := w.brains[1].Counts().Steps, 2*((n+c.part-1)/c.part); got != want {
			t.Errorf("ratio %v: %d gradient steps over %d rows, want %d", c.ratio, got, n, want)
		}
		if got := w.brains[1].Counts(); got.Rows != n || got.Updates != 1 {
			t.Errorf("ratio %v: %d rows of %d windows are counted, want %d of 1", c.ratio, got.Rows, got.Updates, n)
		}
	}
}
