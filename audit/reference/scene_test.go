package reference

import (
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/rng"
)

// Boards that are turned, co-players who are told apart by what is said of them, and distances are
// written as frames write them, and actions come back from the same view.
func TestScenesAreTheFrames(t *testing.T) {
	hunt := staghunt.Default()
	hunt.Size, hunt.Blocks, hunt.Stags = 6, 5, 2
	g, err := staghunt.New(hunt)
	if err != nil {
		t.Fatal(err)
	}
	sp := g.Spec()
	for _, c := range []struct {
		turn, unordered, distances bool
		said                       int // of each co-player
	}{{true, false, false, 2}, {false, true, false, 3}, {true, true, false, 0}, {true, true, true, 3}, {false, false, true, 2}} {
		in := board(sp, true)
		in.Extra = c.said * (sp.Seats - 1)
		sense := frame.Sense{Turn: c.turn, Unordered: c.unordered, Distances: c.distances}
		sense = sense.Of(frame.Layout(sp.Obs), sp.Seats, sp.Horizon, sp.Actions)
		f := frame.NewScene(frame.Ego, in, len(sp.Actions), sense)
		a := Actor{Frame: frame.Ego, Actions: len(sp.Actions), Input: in, Sense: sense}
		enc, x := f.Encoder(), f32.Sparse{}
		st, r := g.New(), rng.New(1).Rand()
		obs, said := make([]float32, sp.Obs.Len()), make([]float32, in.Extra)
		actions, rewards, legal := make([]int32, sp.Seats), make([]float32, sp.Seats), make([]bool, len(sp.Actions))
		turned := 0
		st.Reset(&r)
		for step := range 300 {
			if st.Over() {
				st.Reset(&r)
			}
			me := game.Seat(step % sp.Seats)
			st.Observe(me, obs)
			for i := range said {
				said[i] = float32(r.Norm())
			}
			x.Reset(f.Cols)
			enc.Add(&x, obs, said)
			want, idx, val := make([]float64, f.Cols), x.Idx, x.Val
			for k, at := range idx {
				want[at] += float64(val[k])
			}
			got := a.Row(obs, said)
			if len(got) != len(want) {
				t.Fatalf("%+v: a row of %d numbers, the frame's has %d", c, len(got), len(want))
			}
			for k := range got {
				if d := got[k] - want[k]; d > 1e-5 || d < -1e-5 {
					t.Fatalf("%+v: step %d: number %d is %v, the frame's is %v", c, step, k, got[k], want[k])
				}
			}
			for k, to := range f.Turned(idx) {
				if turned++; a.look(obs).acts[k] != to {
					t.Fatalf("%+v: step %d: action %d looks like %d, in the frame's view like %d", c, step, k, a.look(obs).acts[k], to)
				}
			}
			for s := range actions {
				if actions[s] = game.NoAction; st.Alive(game.Seat(s)) {
					st.Legal(game.Seat(s), legal)
					actions[s] = game.Uniform(legal, &r)
				}
			}
			st.Step(actions, rewards, &r)
		}
		if c.turn != (turned > 0) {
			t.Errorf("%+v: %d actions were turned", c, turned)
		}
	}
}
