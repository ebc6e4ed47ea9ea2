package actor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
)

// scene is a board of four by four with two co-players, of whom two numbers each are said.
func scene() actor.Input {
	names := []string{"wait", "up", "down", "left", "right"}
	l := frame.Layout{Height: 4, Width: 4, Planes: []string{"self", "a", "b", "block", "hare"}, Legal: len(names), Time: 1, Last: 3}
	in := actor.Input{Input: l.Input(), Actions: len(names)}
	in.Extra = 4
	in.Sense = frame.Sense{Turn: true, Unordered: true, Distances: true}.Of(l, 3, 10, names)
	return in
}

func drawScene(in actor.Input, r *rng.Rand) (obs, goal []float32) {
	obs, goal = make([]float32, in.Len()), make([]float32, in.Extra)
	for p := range in.Planes {
		obs[r.IntN(16)*in.Planes+p] = 1
	}
	for i := in.Sense.LegalAt; i < len(obs); i++ {
		obs[i] = float32(r.IntN(2))
	}
	for i := range goal {
		goal[i] = r.Float32()
	}
	return obs, goal
}

// mirrored shows an observation with left and right changed.
func mirrored(in actor.Input, obs []float32) []float32 {
	out := slices.Clone(obs)
	for y := range 4 {
		for x := range 4 {
			copy(out[(y*4+3-x)*in.Planes:][:in.Planes], obs[(y*4+x)*in.Planes:])
		}
	}
	for _, at := range []int{in.Sense.LegalAt, in.Sense.LastAt, in.Sense.LastAt + 5, in.Sense.LastAt + 10} {
		out[at+3], out[at+4] = obs[at+4], obs[at+3]
	}
	return out
}

// A mirrored board has the same value, and the logits of left and right are those of right and
// left, to the last bit; some rows of a batch are mirrored and some are not.
func TestMirroredBoardsGiveMirroredPolicies(t *testing.T) {
	in := scene()
	k := in.Actions
	for _, separate := range []bool{false, true} {
		c := actor.Config{Net: "dense", Frame: "egof", Hidden: []int{7, 6}, Act: "tanh", Separate: separate}
		m, p, err := actor.New(c, in, rng.New(1))
		must(t, err)
		const rows = 30
		here, there := m.Work(rows), m.Work(rows)
		r := rng.New(2).Rand()
		for i := range rows {
			obs, goal := drawScene(in, &r)
			here.Add(obs, goal)
			if i%2 == 0 {
				obs = mirrored(in, obs)
			}
			there.Add(obs, goal)
		}
		here.Forward(p)
		there.Forward(p)
		moved := 0
		for i := range rows {
			want := slices.Clone(here.Logits[i*k : (i+1)*k])
			if i%2 == 0 {
				want[3], want[4] = want[4], want[3]
			}
			if got := there.Logits[i*k : (i+1)*k]; !slices.Equal(got, want) || here.Value[i] != there.Value[i] {
				t.Fatalf("row %d: %v, value %v; want %v, %v", i, got, there.Value[i], want, here.Value[i])
			}
			if want[3] != want[4] {
				moved++
			}
		}
		if moved < rows/2 {
			t.Errorf("left and right are the same in %d of %d rows", rows-moved, rows)
		}
	}
}

// Gradients pass through the turned actions, and what the caller wrote stays as it was.
func TestGradientsOfScenes(t *testing.T) {
	in := scene()
	for _, separate := range []bool{false, true} {
		m, p, err := actor.New(actor.Config{Net: "dense", Frame: "egof", Hidden: []int{7}, Act: "tanh", Separate: separate}, in, rng.New(1))
		must(t, err)
		ws := m.Work(6)
		r := rng.New(2).Rand()
		for range 6 {
			ws.Add(drawScene(in, &r))
		}
		nntest.Check(t, lossOf(ws, p, in.Actions, func() { ws.Forward(p) }, func() {
			before := slices.Clone(ws.DLogits)
			if ws.Backward(p); !slices.Equal(before, ws.DLogits) {
				t.Error("Backward changed DLogits")
			}
		}))
	}
}

// What a game does not have is refused by name.
func TestScenesThatAGameDoesNotHaveAreRefused(t *testing.T) {
	c := actor.Config{Net: "dense", Frame: "egof", Hidden: []int{4}, Act: "tanh"}
	for want, change := range map[string]func(in *actor.Input, c *actor.Config){
		"turn":      func(in *actor.Input, _ *actor.Config) { in.Sense.Moves = [4]int32{} },
		"distances": func(in *actor.Input, _ *actor.Config) { in.Sense.Turn, in.Sense.Moves = false, [4]int32{} },
		"unordered": func(in *actor.Input, _ *actor.Config) { in.Extra = 3 },
		"frame":     func(_ *actor.Input, c *actor.Config) { c.Frame = "board" },
		"meaning":   func(in *actor.Input, _ *actor.Config) { in.Sense.LastAt = 3 },
	} {
		in, c := scene(), c
		change(&in, &c)
		if _, _, err := actor.New(c, in, rng.New(1)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
