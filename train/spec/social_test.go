package spec_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

// Foerster et al. 2018: in the repeated prisoner's dilemma, with memory of one
// round, naive learners defect; learners that reckon with the other's learning
// cooperate, and not blindly: they pay a defector back. How well one pair does differs by seed (20 to 30 of 30 over ten) and
// by the processor's kernels, so that three pairs count together.
func TestAwareLearnersCooperateWhereNaiveOnesDefect(t *testing.T) {
	for _, c := range []struct {
		eta    string
		lo, hi float64 // of ten rounds together; 10 is defection, 30 cooperation
		pairs  uint64
	}{{"0", 9, 12, 1}, {"1", 22, 30, 3}} {
		s, err := registry.New().Load("lola-matrix", []string{"lola.eta=" + c.eta})
		if err != nil {
			t.Fatal(err)
		}
		var each, robbed float64
		for seed := range c.pairs {
			agents := trained(t, s, seed+1)
			meet := func(other eval.Member) *eval.Result {
				res, err := eval.Run(context.Background(), eval.Config{Game: agents.Game, Team: []eval.Member{agents.Members[0], other}, Episodes: 500,
					Key: rng.New(1)})
				if err != nil {
					t.Fatal(err)
				}
				return res
			}
			each += meet(agents.Members[1]).Mean.Mean() / float64(c.pairs)
			robbed += meet(eval.Bot(agents.Game, "alld")).Return[0].Mean() / float64(c.pairs)
		}
		if each < c.lo || each > c.hi {
			t.Errorf("eta %s: each gets %.2f over ten rounds, want %.0f to %.0f", c.eta, each, c.lo, c.hi)
		}
		// Blind cooperation would get 0 from a defector, who would get 50.
		if robbed < 6 {
			t.Errorf("eta %s: gets %.2f from one who always defects, want nearly 10", c.eta, robbed)
		}
	}
}

// trained trains a spec's agents and returns them.
func trained(t *testing.T, s spec.Spec, seed uint64) *spec.Agents {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	text, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	run, err := runlog.Create(dir, text, runlog.Info{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	loop, err := s.Build(seed, spec.Machine{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := loop.Run(context.Background(), run, nil); err != nil {
		t.Fatal(err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	agents, err := registry.New().LoadAgents(dir)
	if err != nil {
		t.Fatal(err)
	}
	return agents
}

func TestSocialMindsThatCannotBeAreRefused(t *testing.T) {
	for _, c := range []struct{ set, want string }{
		{"influence.weight=1", "is of mind influence, and mind is lola"},
		{"actor.lstm=8", "0, because mind is lola"},
		{"train.brains=[0,0]", "a network of its own"},
		{"lola.eta=-1", "lola.eta"},
	} {
		_, err := registry.New().Load("lola-matrix", []string{c.set})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("--set %s: %v, want something about %q", c.set, err, c.want)
		}
	}
}
