package nn_test

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// The same bytes whatever GOMAXPROCS and whoever helps, and the same gradient as without
// shards.
func TestTrainingDoesNotDependOnCores(t *testing.T) {
	const m, in, shards = 50, 20, 4
	x, target, ret := random(m*in, "x"), classes(m, 7), random(m, "ret")
	train := func(procs, workers, shards int) ([]float32, float64, nn.Loss) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		model := newActor(nn.Tanh, 1, in, 16, 12)
		var local []*actor
		for range shards {
			local = append(local, newActor(nn.Tanh, m, in, 16, 12))
		}
		tr := nn.NewTrainer[*actor, nn.Loss](model.p, nn.TrainerConfig{Clip: 0.5}, nn.Constant(1e-2), local)
		if workers > 0 {
			pool := cores.New(workers, nil)
			pool.Open()
			defer pool.Close()
			tr.Share(pool)
		}
		var sum nn.Loss
		first := 0.
		for step := range 5 {
			norm, err := tr.Step(m, &sum, func(s *nn.Shard[*actor]) nn.Loss {
				lo, n := s.Lo, s.Hi-s.Lo
				return s.Work.run(s.Params, nil, x[lo*in:], target[lo:], ret[lo:], nn.Rows{N: n, Total: m}, true)
			})
			must(t, err)
			if step == 0 {
				first = norm
			}
		}
		return model.p.W, first, sum
	}
	want, norm, sum := train(1, 0, shards)
	for _, c := range [][2]int{{2, 0}, {8, 0}, {2, 1}, {2, 2}, {8, 7}} {
		if got, _, _ := train(c[0], c[1], shards); !slices.Equal(got, want) {
			t.Errorf("%d cores and %d workers give other weights than one", c[0], c[1])
		}
	}
	_, whole, all := train(1, 0, 1)
	if math.Abs(norm-whole) > 1e-5*whole {
		t.Errorf("the gradient's norm is %v over shards, %v whole", norm, whole)
	}
	if sum.Rows != 5*m || all.Rows != 5*m {
		t.Errorf("%d and %d rows behind the losses, want %d", sum.Rows, all.Rows, 5*m)
	}
}

// negated is a model whose rows are read with its weights' negatives.
type negated struct{}

func (negated) Folds() bool { return true }

func (negated) Fold(dst []float32, p *nn.Params, part, parts int) {
	for i := len(p.W) * part / parts; i < len(p.W)*(part+1)/parts; i++ {
		dst[i] = -p.W[i]
	}
}

func (negated) Unfold(p *nn.Params, part, parts int) {
	for i := len(p.G) * part / parts; i < len(p.G)*(part+1)/parts; i++ {
		p.G[i] = -p.G[i]
	}
}

// First layers whose gradients wait for all shards, blocks and folded weights give the
// step that the definition gives: the whole batch at once by the weights as they are.
func TestTricksChangeNoStep(t *testing.T) {
	const m, in = 40, 30
	var x f32.Sparse
	x.Reset(in)
	r := rng.New(3).Rand()
	for range m {
		for range 3 {
			x.AppendEntry(int32(r.IntN(in)), 1)
		}
		x.EndRow()
	}
	target := random(m*2, "target")
	train := func(shards, workers int, first bool, cfg nn.TrainerConfig, sign float32) []float32 {
		if x.Cuts = nil; workers > 2 { // the columns are cut
			var cutting f32.Cutting
			cutting.Set(&x, workers)
			x.Cuts = make([]f32.Sparse, workers)
			for i := range x.Cuts {
				x.Cuts[i].Reset(in)
			}
			cutting.Cut(&x)
		}
		p := &nn.Params{}
		net := p.MLP("net", nn.Tanh, in, 8, 2)
		p.Init(rng.New(1))
		for i := range p.W {
			p.W[i] *= sign
		}
		if first {
			cfg.First = []nn.Span{net.First()}
		}
		var works []*nn.MLPWork
		for range shards {
			works = append(works, net.Work(m))
		}
		tr := nn.NewTrainer[*nn.MLPWork, nn.Loss](p, cfg, nn.Constant(1e-2), works)
		if workers > 0 {
			pool := cores.New(workers, nil)
			pool.Open()
			defer pool.Close()
			tr.Share(pool)
			tr.Crew(workers)
		}
		views, all := make([]f32.Sparse, m), make([]int32, m)
		for i := range all {
			all[i] = int32(i)
		}
		for range 3 {
			var sum nn.Loss
			_, err := tr.Step(m, &sum, func(s *nn.Shard[*nn.MLPWork]) nn.Loss {
				n, rows := s.Hi-s.Lo, &views[s.Lo]
				rows.View(&x, 0, m)
				rows.Pick = all[s.Lo:s.Hi]
				net.ForwardSparse(s.Params, s.Work, rows)
				clear(s.Work.DY)
				loss := nn.MSE(s.Work.DY, s.Work.Y, target[s.Lo*2:], 2, nn.Rows{N: n, Total: m})
				net.BackwardSparse(s.Params, s.Work, rows)
				return loss
			})
			must(t, err)
			if sum.Rows != m {
				t.Fatalf("%d rows behind the loss, want %d", sum.Rows, m)
			}
		}
		return p.W
	}
	near := func(name string, got, want []float32) {
		for i := range want {
			if math.Abs(float64(got[i]-want[i])) > 1e-5 {
				t.Errorf("%s: weight %d is %v, want %v", name, i, got[i], want[i])
				return
			}
		}
	}
	want := train(1, 0, false, nn.TrainerConfig{}, 1)
	near("blocks of 7", train(1, 0, false, nn.TrainerConfig{Block: 7}, 1), want)
	near("first layers last", train(5, 2, true, nn.TrainerConfig{Block: 8}, 1), want)
	if !slices.Equal(train(5, 2, true, nn.TrainerConfig{Block: 8}, 1), train(5, 1, true, nn.TrainerConfig{Block: 8}, 1)) {
		t.Error("first layers last: two workers give other weights than one")
	}
	if !slices.Equal(train(5, 4, true, nn.TrainerConfig{Block: 8}, 1), train(5, 1, true, nn.TrainerConfig{Block: 8}, 1)) {
		t.Error("first layers last, of columns that are cut: four workers give other weights than one")
	}
	for _, workers := range []int{0, 4} {
		folded := train(1, workers, false, nn.TrainerConfig{Fold: negated{}}, -1)
		for i := range folded {
			folded[i] = -folded[i]
		}
		near("negated", folded, want)
	}
}
