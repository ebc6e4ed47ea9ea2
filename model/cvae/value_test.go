package cvae

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/rng"
)

// Agents walk down a corridor of 8 cells to a prey that half of them, unseen,
// cannot catch: one of those who can earns 2 at the end, so the exact value is
// gamma to the power of the steps left.
func TestLearntValueIsTheMeanOfReturns(t *testing.T) {
	const cells, gamma = 8, 0.8
	r := rng.New(1).Rand()
	var x f32.Sparse
	x.Reset(cells + 1)
	var earned []float32
	for range 3000 {
		at := r.IntN(cells)
		x.Idx, x.Val = append(x.Idx, int32(at), cells), append(x.Val, 1, r.Float32())
		x.EndRow()
		prize := float32(0)
		if r.Float64() < 0.5 {
			prize = 2
		}
		rewards := make([]float32, cells-at)
		rewards[len(rewards)-1] = prize
		got := make([]float32, len(rewards))
		Returns(got, rewards, gamma)
		earned = append(earned, got[0])
	}
	cfg := DefaultValue()
	cfg.Hidden, cfg.Epochs, cfg.Batch, cfg.LR = []int{16, 16}, 20, 64, 5e-3
	v, err := NewValue(cfg, x.Cols, rng.New(2))
	if err != nil {
		t.Fatal(err)
	}
	var losses []float64
	if err := v.Learn(&x, earned, &r, func(loss float64) error { losses = append(losses, loss); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(losses) != cfg.Epochs || losses[len(losses)-1] >= losses[0] {
		t.Errorf("losses %v, want %d that fall", losses, cfg.Epochs)
	}
	var probe f32.Sparse
	probe.Reset(x.Cols)
	for at := range cells {
		probe.Idx, probe.Val = append(probe.Idx, int32(at), cells), append(probe.Val, 1, 0.5)
		probe.EndRow()
	}
	got := make([]float32, cells)
	v.Of(got, &probe)
	for at, g := range got {
		if want := math.Pow(gamma, float64(cells-1-at)); math.Abs(float64(g)-want) > 0.12 {
			t.Errorf("cell %d is worth %.3f, want %.3f", at, g, want)
		}
	}
}
