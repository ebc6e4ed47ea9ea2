package check_test

import (
	"strings"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	checks "github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/learned"
)

// swapped is rules on a learnt model that mix up two co-players.
type swapped struct{ *learned.World }

func (s swapped) Expand(leaves []search.Leaf, others []int32, r []rng.Rand) {
	others[0], others[1] = others[1], others[0]
	s.World.Expand(leaves, others, r)
}

// A search on a world model plays what the model's layers come to; other weights,
// or another agent's action, are found.
func TestSearchesPlayOnTheirModel(t *testing.T) {
	g := gametest.New(t, staghunt.New, staghunt.Default())
	spec := g.Spec()
	l := spec.Obs
	in := world.Input{
		Height: l.Height, Width: l.Width, Planes: len(l.Planes), Agents: spec.Seats, Actions: len(spec.Actions),
		Horizon: spec.Horizon, Legal: l.Legal, Time: l.Time, Last: l.Last, Rewards: []float32{0, 1, 5},
	}
	c := world.Default()
	c.Hidden = []int{8}
	m, p, err := world.New(c, in, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.W {
		p.W[i] *= 3 // what an untrained model says is mostly undecided
	}
	ask := func(of *nn.Params, swap bool) check.Finding {
		w, err := learned.New(m, of, learned.Config{Envs: 1, Trees: 1, Log: 8})
		if err != nil {
			t.Fatal(err)
		}
		var c checks.Layers
		made := func(f *search.Forest) (learner.Rules, learner.Scripts, error) {
			if w.Fit(f); swap {
				return swapped{w}, nil, nil
			}
			return w, nil, nil
		}
		if err := c.Search(g, checks.WorldOf(m, p), made, rng.New(2)); err != nil {
			t.Fatal(err)
		}
		return c.Say("searches ask", "")
	}
	if f := ask(p, false); f.Status != check.Pass || f.Rows == 0 {
		t.Errorf("%v: %s", f.Status, f.Says)
	}
	other := p.Clone()
	for i := range other.W {
		other.W[i] = -other.W[i]
	}
	for name, f := range map[string]check.Finding{"other weights": ask(other, false), "another order": ask(p, true)} {
		if f.Status != check.Fault || !strings.Contains(f.Says, "not what its layers come to") {
			t.Errorf("%s: %v: %s", name, f.Status, f.Says)
		}
	}
}
