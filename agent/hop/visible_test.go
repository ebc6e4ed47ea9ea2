package hop

import (
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/coin"
	"github.com/hop-marl/hop/game/foraging"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/game/tag"
	"github.com/hop-marl/hop/num/rng"
)

// Where everything is in view, what one seat sees is turned from another's place exactly as that
// seat sees it, but for the mask, which is all ones, or zeros if it has left.
func TestTurnedIsWhatTheOtherSees(t *testing.T) {
	s, _ := staghunt.New(staghunt.Default())
	c := coin.Default()
	c.Agents = 3
	k, _ := coin.New(c)
	f, _ := foraging.New(foraging.Default())
	g, _ := tag.New(tag.Default())
	for _, g := range []game.Game{s, k, f, g} {
		spec, st := g.Spec(), g.New()
		r := rng.New(1).Rand()
		mine, its, turned := make([]float32, spec.Obs.Len()), make([]float32, spec.Obs.Len()), make([]float32, spec.Obs.Len())
		acts, rewards, legal := make([]int32, spec.Seats), make([]float32, spec.Seats), make([]bool, len(spec.Actions))
		for st.Reset(&r); !st.Over(); st.Step(acts, rewards, &r) {
			for o := range spec.Seats {
				st.Observe(game.Seat(0), mine)
				st.Observe(game.Seat(o), its)
				for i := spec.Obs.LegalAt(); i < spec.Obs.TimeAt(); i++ {
					if its[i] = 0; st.Alive(game.Seat(o)) {
						its[i] = 1
					}
				}
				turn(&spec, turned, mine, o)
				for i, want := range its {
					if turned[i] != want {
						t.Fatalf("%s: number %d of seat %d turned by seat 0 is %v, want %v", spec.Name, i, o, turned[i], want)
					}
				}
				acts[o] = game.NoAction
				if st.Legal(game.Seat(o), legal); st.Alive(game.Seat(o)) {
					acts[o] = game.Uniform(legal, &r)
				}
			}
		}
	}
}
