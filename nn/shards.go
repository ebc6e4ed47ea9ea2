package nn

import (
	"sync"

	"hop/f32"
)

// Shards splits a batch into a fixed number of row ranges that run at the same
// time, each with gradients of its own, which are then added up in index order.
// The result depends on the number of shards but not on the number of cores.
type Shards struct {
	Params []*Params // one per shard, on the weights of the model; the first is the model

	rows int
	do   func(shard, lo, hi int)
	work []func()
	wait sync.WaitGroup
}

// NewShards prepares n shards of a model, after its Init. It panics if n is not
// positive.
func NewShards(model *Params, n int) *Shards {
	if n <= 0 {
		panic("nn: a batch needs at least one shard")
	}
	s := &Shards{}
	for i := range n {
		p := model
		if i > 0 {
			p = model.Shard()
		}
		s.Params = append(s.Params, p)
		s.work = append(s.work, func() { // made once: starting it does not allocate
			defer s.wait.Done()
			if lo, hi := s.rows*i/n, s.rows*(i+1)/n; lo < hi {
				s.do(i, lo, hi)
			}
		})
	}
	return s
}

// Do calls do for each shard with its range of rows, leaving out empty ones, and
// adds the gradients they left in s.Params[shard].G to the model's. do must use
// only that shard's Params and workspace, and divide its losses by the weight of
// the whole batch (Rows.Total). A Shards runs one Do at a time.
func (s *Shards) Do(rows int, do func(shard, lo, hi int)) {
	s.rows, s.do = rows, do
	s.wait.Add(len(s.work))
	for _, w := range s.work[1:] {
		go w()
	}
	s.work[0]()
	s.wait.Wait()
	g := s.Params[0].G
	for _, p := range s.Params[1:] {
		f32.Add(g, g, p.G)
		p.ZeroGrad()
	}
}
