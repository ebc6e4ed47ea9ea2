package nn

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/rng"
)

// Gradients of shards are added in a fixed tree, whoever computes them.
func TestShardsAddUpInATreeOnAnyPool(t *testing.T) {
	const n, rows = 7, 100
	part := func(shard int) []float32 {
		r := rng.New(5).Child("shard", shard).Rand()
		g := make([]float32, 48)
		for i := range g {
			g[i] = float32(r.Float64() - 0.5)
		}
		return g
	}
	plus := func(a, b []float32) []float32 {
		sum := slices.Clone(a)
		for i := range sum {
			sum[i] += b[i]
		}
		return sum
	}
	want := plus(plus(plus(part(0), part(1)), plus(part(2), part(3))), plus(plus(part(4), part(5)), part(6)))
	for _, workers := range []int{0, 1, 2, 3, 7, 16} {
		p := &Params{}
		p.Add("w", Zeros, 48)
		p.Init(rng.New(1))
		var s *shards
		s = newShards(p, n, nil, func(shard, _, lo, hi int) {
			if lo%12 != 0 || hi%12 != 0 && hi != rows {
				t.Errorf("shard %d has the rows %d to %d, want multiples of 12", shard, lo, hi)
			}
			copy(s.params[shard].G, part(shard))
		})
		s.grain = 12
		if workers > 0 {
			s.cores = cores.New(workers, nil)
			s.cores.Open()
		}
		for range 50 {
			p.ZeroGrad()
			s.run(rows)
			if !slices.Equal(p.G, want) {
				t.Fatalf("%d workers: the gradient is not the tree's", workers)
			}
		}
		if workers > 0 {
			s.cores.Close()
		}
	}
}

// A small batch is cut into fewer ranges, which hold every row once.
func TestSmallBatchesHaveFewerShards(t *testing.T) {
	p := &Params{}
	p.Add("w", Zeros, 16)
	p.Init(rng.New(1))
	s := newShards(p, 4, nil, nil)
	s.grain, s.most = 12, 132
	for rows, want := range map[int]int{1: 1, 100: 1, 132: 1, 133: 2, 264: 2, 300: 3, 396: 3, 512: 4, 2000: 4} {
		next, used := 0, 0
		for shard := range s.params {
			lo, hi := s.span(rows, shard)
			if lo < hi {
				if used++; rows < 528 && hi-lo > 132 {
					t.Errorf("%d rows: shard %d has %d of them, want 132 at most", rows, shard, hi-lo)
				}
				if lo != next {
					t.Errorf("%d rows: shard %d begins at %d, want %d", rows, shard, lo, next)
				}
				next = hi
			}
		}
		if next != rows || used != want {
			t.Errorf("%d rows: %d shards hold %d rows, want %d", rows, used, next, want)
		}
	}
}
