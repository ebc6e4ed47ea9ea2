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
// cooperate, and not blindly: they pay a defector back.
func TestAwareLearnersCooperateWhereNaiveOnesDefect(t *testing.T) {
	for _, c := range []struct {
		eta    string
		lo, hi float64 // of ten rounds together; 10 is defection, 30 cooperation
	}{{"0", 9, 12}, {"1", 26, 30}} {
		s, err := registry.New().Load("lola-matrix", []string{"lola.eta=" + c.eta})
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "run")
		text, err := s.YAML()
		if err != nil {
			t.Fatal(err)
		}
		run, err := runlog.Create(dir, text, runlog.Info{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		loop, err := s.Build(1, spec.Machine{Workers: 1})
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
		meet := func(other eval.Member) *eval.Result {
			res, err := eval.Run(context.Background(), eval.Config{Game: agents.Game, Team: []eval.Member{agents.Members[0], other}, Episodes: 500,
				Key: rng.New(1)})
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		if got := meet(agents.Members[1]).Mean.Mean(); got < c.lo || got > c.hi {
			t.Errorf("eta %s: each gets %.2f over ten rounds, want %.0f to %.0f", c.eta, got, c.lo, c.hi)
		}
		// Blind cooperation would get 0 from a defector, who would get 50.
		if got := meet(eval.Bot(agents.Game, "alld")).Return[0].Mean(); got < 6 {
			t.Errorf("eta %s: gets %.2f from one who always defects, want nearly 10", c.eta, got)
		}
	}
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
