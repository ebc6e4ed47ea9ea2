package frame_test

import (
	"testing"

	"hop/f32"
	"hop/frame"
	"hop/rng"
)

func BenchmarkScene(b *testing.B) {
	in := frame.Input{Height: 8, Width: 8, Planes: 7, Rest: 7 + 1 + 28, Extra: 12}
	m := frame.Meaning{Seats: 4, Moves: [4]int32{0, 1, 2, 3}, Block: 4, LegalAt: 448, LastAt: 456}
	r := rng.New(1).Rand()
	obs, extra := make([]float32, in.Len()), make([]float32, 12)
	for s := range 4 {
		obs[r.IntN(64)*7+s] = 1
	}
	for range 18 {
		obs[r.IntN(64)*7+4] = 1
	}
	for range 2 {
		obs[r.IntN(64)*7+5] = 1
	}
	for range 4 {
		obs[r.IntN(64)*7+6] = 1
	}
	for s := range 4 {
		obs[456+s*7+r.IntN(7)] = 1
	}
	extra[1], extra[4], extra[11] = 1, 1, 1
	for name, s := range map[string]frame.Sense{"plain": {}, "distances": {Distances: true}, "unordered": {Unordered: true}, "turn": {Turn: true}, "all": {true, true, true, 0, frame.Meaning{}}} {
		s.Actions, s.Meaning = 7, m
		f := frame.New("egof", in)
		if name != "plain" {
			f = frame.NewScene("egof", in, s)
		}
		e := f.Encoder()
		var x f32.Sparse
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				x.Reset(f.Cols)
				e.AddNarrow(&x, obs, extra)
			}
			b.ReportMetric(float64(len(x.Idx)), "entries")
		})
	}
}
