package actor_test

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// Narrow rows on folded weights give what rows give on the weights, and unfolded
// gradients are those of the weights. Some rows are picked where they lie.
func TestNarrowRowsLearnTheSame(t *testing.T) {
	for name, c := range map[string]actor.Config{
		"egof":     {Net: "dense", Frame: "egof", Hidden: []int{8, 6}, Act: "relu"},
		"separate": {Net: "dense", Frame: "egof", Hidden: []int{8}, Act: "tanh", Separate: true},
		"ego":      {Net: "dense", Frame: "ego", Hidden: []int{8}, Act: "relu"},
		"board":    {Net: "dense", Frame: "board", Hidden: []int{8}, Act: "relu"},
		"conv":     {Net: "conv", Frame: "board", Act: "relu"},
	} {
		m, p, err := actor.New(c, in, rng.New(1))
		must(t, err)
		const rows = 9
		full, narrow := m.Work(rows), m.Work(rows)
		var x f32.Sparse
		x.Reset(m.Cols())
		r := rng.New(2).Rand()
		var obs, goal [rows][]float32
		pick := make([]int32, rows)
		for i := range pick {
			obs[i], goal[i] = row(&r)
			full.Add(obs[i], goal[i])
			pick[i] = int32(rows - 1 - i)
		}
		for _, i := range pick { // backwards, to be picked forwards
			narrow.Encode(&x, obs[i], goal[i])
		}
		narrow.Pick(&x, pick)
		q := *p
		q.W, q.G = make([]float32, len(p.W)), make([]float32, len(p.G))
		m.Fold(q.W, p, 0, 1)
		run := func(ws *actor.Work, p *nn.Params) {
			ws.Forward(p)
			for i := range ws.DLogits {
				ws.DLogits[i] = float32(i%7) - 2.5
			}
			for i := range ws.DValue {
				ws.DValue[i] = float32(i%3) - 0.5
			}
			ws.Backward(p)
		}
		run(full, p)
		run(narrow, &q)
		m.Unfold(&q, 0, 1)
		near(t, name+" logits", narrow.Logits, full.Logits)
		near(t, name+" value", narrow.Value, full.Value)
		near(t, name+" gradient", q.G, p.G)
	}
}

func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= 1e-4*(1+math.Abs(float64(want[i])))) {
			t.Fatalf("%s: element %d: got %v, want %v", what, i, got[i], want[i])
		}
	}
}
