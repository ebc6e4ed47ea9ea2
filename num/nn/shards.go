package nn

import (
	"sync"
	"sync/atomic"

	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/f32"
)

// shards splits a batch into a fixed number of row ranges that run at the same
// time, each with gradients of its own, which are then added up in a fixed tree:
// 0+1, 2+3, ..., then (0+1)+(2+3), ... The result depends on the number of shards
// but not on the number of cores.
type shards struct {
	params []*Params   // one per shard, on the weights of the model; the first is the model
	grain  int         // ranges are multiples of so many rows, but for the last one; 0: 1
	most   int         // rows of a range; a small batch is cut into no more ranges than that takes; 0: into all
	cores  *cores.Pool // whose workers compute shards; nil: a goroutine each

	runs []Span // of the gradients that shards have of their own
	rows int
	do   func(shard, worker, lo, hi int)
	job  cores.Job
	part func(shard, worker int)
	work []func() // [shard] part with its number, where there is no pool
	wait sync.WaitGroup
	came []atomic.Int32 // [shard] of the two sides that meet where that one is the first of the right side
}

// ShardsOf returns into how many shards a batch of so many rows is cut: enough for many
// cores, of so many rows that one core loses little by adding up their gradients. It
// follows from the batch alone, never from the machine.
func ShardsOf(rows int) int { return max(1, min(rows/leastRows, maxShards)) }

const (
	near      = 2048 // gradients that are added at a time: few enough to be still near when they are cleared
	leastRows = 128  // of a shard
	maxShards = 64
)

// newShards prepares n shards of a model, after its Init, to be computed by do. Gradients at
// the spans in except, in their order, are not added up. It panics if n is not positive.
func newShards(model *Params, n int, except []Span, do func(shard, worker, lo, hi int)) *shards {
	if n <= 0 {
		panic("nn: a batch needs at least one shard")
	}
	s := &shards{came: make([]atomic.Int32, n), do: do}
	for i := range n {
		p := model
		if i > 0 {
			p = model.Shard()
		}
		s.params = append(s.params, p)
		s.work = append(s.work, func() {
			defer s.wait.Done()
			s.compute(i, i)
		})
	}
	from := 0
	for _, e := range append(except, Span{len(model.G), 0}) {
		if e.Off > from {
			s.runs = append(s.runs, Span{from, e.Off - from})
		}
		from = e.Off + roundUp(e.Len)
	}
	s.part = s.compute // made once: handing it over does not allocate
	return s
}

// run calls do for each shard with its range of rows, leaving out empty ones, and
// adds the gradients they left in their Params to the model's. It runs once at a time.
func (s *shards) run(rows int) {
	s.rows = rows
	if s.cores != nil {
		s.cores.DoOn(&s.job, len(s.params), s.part)
		return
	}
	s.wait.Add(len(s.work))
	for _, w := range s.work[1:] {
		go w()
	}
	s.work[0]()
	s.wait.Wait()
}

// span returns the rows of a shard of a batch.
func (s *shards) span(rows, shard int) (lo, hi int) {
	grain := max(1, s.grain)
	groups, n := (rows+grain-1)/grain, len(s.params)
	if s.most > 0 {
		n = min(n, (rows+s.most-1)/s.most)
	}
	if shard >= n {
		return rows, rows
	}
	return min(groups*shard/n*grain, rows), min(groups*(shard+1)/n*grain, rows)
}

// compute computes a shard. Whoever comes second to where two sides of the tree
// meet adds them up, so that nobody waits.
func (s *shards) compute(shard, worker int) {
	if lo, hi := s.span(s.rows, shard); lo < hi {
		s.do(shard, worker, lo, hi)
	}
	for side := 1; side < len(s.params); side *= 2 {
		left := shard &^ (2*side - 1)
		right := left + side
		if right >= len(s.params) {
			continue
		}
		if s.came[right].Add(1) == 1 {
			return
		}
		s.came[right].Store(0)
		if lo, hi := s.span(s.rows, right); lo >= hi && s.most > 0 {
			continue // nor are there rows after it
		}
		for _, r := range s.runs {
			sum, more := s.params[left].g(r), s.params[right].g(r)
			for lo := 0; lo < len(sum); lo += near {
				hi := min(lo+near, len(sum))
				f32.Add(sum[lo:hi], sum[lo:hi], more[lo:hi])
				clear(more[lo:hi])
			}
		}
	}
}
