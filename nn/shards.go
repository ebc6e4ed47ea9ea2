package nn

import (
	"sync"
	"sync/atomic"

	"hop/f32"
	"hop/internal/cores"
)

// Shards splits a batch into a fixed number of row ranges that run at the same
// time, each with gradients of its own, which are then added up in a fixed tree:
// 0+1, 2+3, ..., then (0+1)+(2+3), ... The result depends on the number of shards
// but not on the number of cores.
type Shards struct {
	Params []*Params   // one per shard, on the weights of the model; the first is the model
	Grain  int         // ranges are multiples of so many rows, but for the last one; 0: 1
	Most   int         // rows of a range; a small batch is cut into no more ranges than that takes; 0: into all
	Cores  *cores.Pool // whose workers compute shards; nil: a goroutine each

	runs []Span // of the gradients that shards have of their own
	rows int
	do   func(shard, lo, hi int)
	job  cores.Job
	part func(shard, worker int)
	by   []whose  // [shard]
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

// NewShards prepares n shards of a model, after its Init. It panics if n is not
// positive.
func NewShards(model *Params, n int) *Shards {
	if n <= 0 {
		panic("nn: a batch needs at least one shard")
	}
	s := &Shards{came: make([]atomic.Int32, n), by: make([]whose, n)}
	for i := range n {
		p := model
		if i > 0 {
			p = model.Shard()
		}
		s.Params = append(s.Params, p)
		s.work = append(s.work, func() {
			defer s.wait.Done()
			s.compute(i, i)
		})
	}
	s.runs = []Span{{0, len(model.G)}}
	s.part = s.compute // made once: handing it over does not allocate
	return s
}

// Later says that the weights at these places get their gradients from GradSparse, when
// all shards are computed. It returns the shards' Params for that.
func (s *Shards) Later(spans []Span) []*Params {
	var list []*Params
	for _, p := range s.Params {
		q := *p
		q.Later = true
		list = append(list, &q)
	}
	s.runs = nil
	from := 0
	for _, l := range spans {
		if l.Off > from {
			s.runs = append(s.runs, Span{from, l.Off - from})
		}
		from = l.Off + roundUp(l.Len)
	}
	if n := len(s.Params[0].G); n > from {
		s.runs = append(s.runs, Span{from, n - from})
	}
	return list
}

// Do calls do for each shard with its range of rows, leaving out empty ones, and
// adds the gradients they left in s.Params[shard].G to the model's. do must use
// only that shard's Params and workspace, and divide its losses by the weight of
// the whole batch (Rows.Total). A Shards runs one Do at a time.
func (s *Shards) Do(rows int, do func(shard, lo, hi int)) {
	s.rows, s.do = rows, do
	if s.Cores != nil {
		s.Cores.DoOn(&s.job, len(s.Params), s.part)
		return
	}
	s.wait.Add(len(s.work))
	for _, w := range s.work[1:] {
		go w()
	}
	s.work[0]()
	s.wait.Wait()
}

// whose is who computes a shard, with a cache line of its own.
type whose struct {
	worker int
	_      [56]byte
}

// Worker returns who computes a shard, as cores.Pool.DoOn says.
func (s *Shards) Worker(shard int) int { return s.by[shard].worker }

// Range returns the rows of a shard of a batch.
func (s *Shards) Range(rows, shard int) (lo, hi int) {
	grain := max(1, s.Grain)
	groups, n := (rows+grain-1)/grain, len(s.Params)
	if s.Most > 0 {
		n = min(n, (rows+s.Most-1)/s.Most)
	}
	if shard >= n {
		return rows, rows
	}
	return min(groups*shard/n*grain, rows), min(groups*(shard+1)/n*grain, rows)
}

// compute computes a shard. Whoever comes second to where two sides of the tree
// meet adds them up, so that nobody waits.
func (s *Shards) compute(shard, worker int) {
	s.by[shard].worker = worker
	if lo, hi := s.Range(s.rows, shard); lo < hi {
		s.do(shard, lo, hi)
	}
	for side := 1; side < len(s.Params); side *= 2 {
		left := shard &^ (2*side - 1)
		right := left + side
		if right >= len(s.Params) {
			continue
		}
		if s.came[right].Add(1) == 1 {
			return
		}
		s.came[right].Store(0)
		if lo, hi := s.Range(s.rows, right); lo >= hi && s.Most > 0 {
			continue // nor are there rows after it
		}
		for _, r := range s.runs {
			sum, more := s.Params[left].g(r), s.Params[right].g(r)
			for lo := 0; lo < len(sum); lo += near {
				hi := min(lo+near, len(sum))
				f32.Add(sum[lo:hi], sum[lo:hi], more[lo:hi])
				clear(more[lo:hi])
			}
		}
	}
}
