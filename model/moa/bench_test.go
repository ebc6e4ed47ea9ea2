package moa

import (
	"testing"

	"github.com/hop-marl/hop/num/rng"
)

// BenchmarkEpoch is a pass over 200 sequences of co-players, and BenchmarkPredict what a decision asks of the model.
func BenchmarkEpoch(b *testing.B) {
	for _, c := range []struct {
		name    string
		history int
	}{{"goals", 0}, {"history", 16}} {
		b.Run(c.name, func(b *testing.B) {
			l := newLearner(b, c.history)
			r := rng.New(4).Rand()
			rows := l.Model.NewRows()
			seqs := fill(rows, 200, 10, &r)
			for b.Loop() {
				_, err := l.Epoch(rows, seqs, 3e-4, &r, nil)
				must(b, err)
			}
		})
	}
}

func BenchmarkPredict(b *testing.B) {
	const rows = 48
	l := newLearner(b, 0)
	r := rng.New(4).Rand()
	var obs []float32
	for range rows {
		obs = append(obs, look(&r, 0)...)
	}
	ws, probs := l.Model.Work(rows), make([]float32, rows*l.Model.GoalLen*l.Model.Actions)
	for b.Loop() {
		ws.PredictGoals(l.Params, obs, nil, probs)
	}
}

func newLearner(b *testing.B, history int) *Learner {
	l, err := NewLearner(Config{Net: "dense", Frame: "egof", Hidden: []int{32, 32}, History: history}, DefaultLearning(), input(2), rng.New(1))
	must(b, err)
	return l
}
