package nn

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/safetensors"
)

// Trainer takes the gradient steps of a model: how every model of hop learns.
//
// A minibatch is cut into a fixed number of shards, which workers compute side by side,
// each with gradients of its own. The gradients are added up in a fixed tree, clipped, and
// Adam takes a step. So what is learnt depends on the number of shards but not on the
// number of cores, nor on who computes what.
//
// W is the memory that a shard is computed in, and T what it leaves behind: terms of the
// loss.
type Trainer[W any, T interface{ Plus(T) T }] struct {
	Params *Params
	Rate   Schedule // the learning rate, by steps taken
	Works  []W      // [shards]
	Adam   *Adam

	cfg    TrainerConfig
	shards *shards
	parts  []part[W, T] // [shards]
	crew   int          // parts of what is not cut into shards
	jobs   [3]cores.Job // of those
	beside [3]func(part int)
	add    func(s *Shard[W]) T
	mu     sync.Mutex // of taken
	taken  []bool     // [shards] whose Works are in use
}

// TrainerConfig sets a Trainer. Zero fields but Adam's cost nothing and do nothing.
type TrainerConfig struct {
	Adam  AdamConfig
	Clip  float64 // largest norm of a gradient; 0: any
	Grain int     // shards are multiples of so many rows, but for the last one
	// Block is how many rows go through the network at a time: few enough for what is computed on
	// the way to stay near. A small minibatch has no more shards than it has blocks. 0: a shard's.
	Block int
	// First are the weights of the MLPs that read sparse rows, in their order. They are many and
	// their gradient is cheap: it is computed when all shards are, in their order, and not added
	// up. Rows must then stay where they are until the step is over, and fill no more than a block
	// of a shard.
	First []Span
	Fold  Folding // nil: rows are read with the weights that learn
}

// Folding is a model whose rows are read with weights that are made of those that learn.
type Folding interface {
	// Folds reports whether they are any other.
	Folds() bool
	// Fold writes them to dst, of the length of p.W: one of several parts, which may be written side by side.
	Fold(dst []float32, p *Params, part, parts int)
	// Unfold turns gradients of them into gradients of the weights that learn, in parts too.
	Unfold(p *Params, part, parts int)
}

// Shard is some rows of a minibatch for somebody to compute.
type Shard[W any] struct {
	Number int
	Lo, Hi int     // rows of the minibatch
	Params *Params // the weights to read, and where to add the gradients
	Work   W
}

// part is a shard and its terms, with cache lines of its own.
type part[W, T any] struct {
	Shard[W]
	terms T
	first firstGrads
	_     [64]byte
}

// NewTrainer returns a trainer of a model, after its Init, with a shard for each of works.
func NewTrainer[W any, T interface{ Plus(T) T }](p *Params, cfg TrainerConfig, rate Schedule, works []W) *Trainer[W, T] {
	t := &Trainer[W, T]{Params: p, Rate: rate, Works: works, cfg: cfg, Adam: NewAdam(p, cfg.Adam)}
	if len(works) == 1 {
		t.cfg.First = nil
	}
	t.shards = newShards(p, len(works), slices.Clone(t.cfg.First), t.compute)
	t.shards.grain, t.shards.most = cfg.Grain, cfg.Block
	t.parts, t.taken = make([]part[W, T], len(works)), make([]bool, len(works))
	folded := p.W
	if cfg.Fold != nil && cfg.Fold.Folds() {
		folded = make([]float32, len(p.W))
	} else {
		t.cfg.Fold = nil
	}
	for i := range t.parts {
		q := *t.shards.params[i]
		q.W = folded
		if len(t.cfg.First) > 0 {
			t.parts[i].first.model = p
			q.first = &t.parts[i].first
		}
		t.parts[i].Number, t.parts[i].Params = i, &q
	}
	t.crew = 1
	t.beside = [3]func(int){t.fold, t.unfold, t.firstOf} // made once: handing them over does not allocate
	return t
}

// Share lets the workers of a pool help; nil: a goroutine a shard.
func (t *Trainer[W, T]) Share(pool *cores.Pool) { t.shards.cores, t.Adam.Cores = pool, pool }

// Crew says for how many workers there is to be work where a step is not cut into shards. It changes no number.
func (t *Trainer[W, T]) Crew(workers int) { t.crew = max(1, workers) }

// Waits reports whether gradients of first layers wait for all shards. They can be computed side by side
// then, of rows that are cut by columns.
func (t *Trainer[W, T]) Waits() bool { return len(t.cfg.First) > 0 }

// Steps returns how many steps have been taken.
func (t *Trainer[W, T]) Steps() int { return t.Adam.Steps() }

// Step takes one gradient step on a minibatch of so many rows. add adds the gradients of a
// shard's rows, and returns terms of their loss, which are added to sum in the shards' order.
// It uses only that shard's Params and Work, and divides losses by the weight of the whole
// minibatch (Rows.Total). Step returns the gradient's norm before clipping. If the gradient is
// not finite nothing is changed, and the error names the part.
func (t *Trainer[W, T]) Step(rows int, sum *T, add func(s *Shard[W]) T) (norm float64, err error) {
	t.Read()
	t.Sum(rows, sum, add)
	if t.cfg.Fold != nil {
		t.shards.cores.Do(&t.jobs[1], t.crew, t.beside[1])
	}
	norm, err = t.Adam.Step(t.Rate(t.Steps()), t.cfg.Clip)
	if err != nil {
		return norm, fmt.Errorf("step %d: %w", t.Steps(), err)
	}
	return norm, nil
}

// Read brings the weights that rows are read with up to date, and returns them.
func (t *Trainer[W, T]) Read() *Params {
	if t.cfg.Fold != nil {
		t.shards.cores.Do(&t.jobs[0], t.crew, t.beside[0])
	}
	return t.parts[0].Params
}

func (t *Trainer[W, T]) fold(part int) {
	t.cfg.Fold.Fold(t.parts[0].Params.W, t.Params, part, t.crew)
}

func (t *Trainer[W, T]) unfold(part int) { t.cfg.Fold.Unfold(t.Params, part, t.crew) }

// firstOf computes the gradients of first layers that wait, of all columns or of those of a cut.
func (t *Trainer[W, T]) firstOf(cut int) {
	for i := range t.parts {
		t.parts[i].first.compute(cut)
	}
}

// Sum computes the shards and adds their terms to sum: a Step without the step.
func (t *Trainer[W, T]) Sum(rows int, sum *T, add func(s *Shard[W]) T) {
	t.add = add
	inOrder := t.shards.cores != nil && t.shards.cores.Workers() == 1 // then gradients of first layers need not wait
	for i := range t.parts {
		var none T
		t.parts[i].terms, t.parts[i].first.now = none, inOrder
	}
	t.shards.run(rows)
	t.shards.cores.Do(&t.jobs[2], max(1, t.parts[0].first.cuts()), t.beside[2])
	for i := range t.parts {
		t.parts[i].first.used = 0
		*sum = (*sum).Plus(t.parts[i].terms)
	}
}

// compute computes a shard, a block at a time.
func (t *Trainer[W, T]) compute(shard, worker, lo, hi int) {
	p, work := &t.parts[shard], t.take(worker)
	p.Work = t.Works[work]
	block := hi - lo
	if t.cfg.Block > 0 {
		block = t.cfg.Block
	}
	for ; lo < hi; lo += block {
		p.Lo, p.Hi = lo, min(lo+block, hi)
		p.terms = p.terms.Plus(t.add(&p.Shard))
	}
	t.mu.Lock()
	t.taken[work] = false
	t.mu.Unlock()
}

// take returns a Work that nobody uses: what the worker had before, which is near, if it can be.
func (t *Trainer[W, T]) take(worker int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.taken[worker%len(t.taken)] {
		worker++
	}
	t.taken[worker%len(t.taken)] = true
	return worker % len(t.taken)
}

// Save adds weights and optimiser to f, under names that begin with prefix.
func (t *Trainer[W, T]) Save(f *safetensors.File, prefix string) {
	t.Params.Save(f, prefix+"net/")
	t.Adam.Save(f, prefix+"adam/")
}

// Load restores what Save stored, exactly.
func (t *Trainer[W, T]) Load(f *safetensors.File, prefix string) error {
	if err := t.Params.Load(f, prefix+"net/"); err != nil {
		return err
	}
	return t.Adam.Load(f, prefix+"adam/")
}

// firstGrads is where a shard's gradients of first layers go: to the model, at once where
// shards are computed one after the other, else when all are.
type firstGrads struct {
	model *Params
	now   bool
	kept  []keptGrad
	used  int // of kept
}

// keptGrad is a gradient to be computed: x' dy.
type keptGrad struct {
	layer Dense
	x     f32.Sparse
	dy    []float32
}

// add takes the gradient of a first layer's outputs and returns memory in place of dy.
func (f *firstGrads) add(layer Dense, x *f32.Sparse, dy []float32) []float32 {
	if f.now {
		layer.gradSparse(f.model, dy, x)
		return dy
	}
	if f.used == len(f.kept) {
		f.kept = append(f.kept, keptGrad{dy: make([]float32, len(dy))})
	}
	k := &f.kept[f.used]
	f.used++
	k.layer, k.x = layer, *x
	dy, k.dy = k.dy, dy
	return dy
}

// cuts returns into how many parts the columns of what waits are cut; 0: they are not.
func (f *firstGrads) cuts() int {
	if f.used == 0 {
		return 0
	}
	return len(f.kept[0].x.Cuts)
}

// compute computes what waits: all of it, or where columns are cut one of the parts.
func (f *firstGrads) compute(cut int) {
	for i := range f.kept[:f.used] {
		k := &f.kept[i]
		if len(k.x.Cuts) == 0 {
			k.layer.gradSparse(f.model, k.dy, &k.x)
			continue
		}
		x := k.x.Cuts[cut]
		x.Pick = k.x.Pick
		k.layer.gradSparse(f.model, k.dy, &x)
	}
}

// Schedule gives the learning rate, or another coefficient, of a step counted
// from 0. Before its beginning and after its end it stays constant.
type Schedule func(step int) float64

// Constant stays where it is.
func Constant(v float64) Schedule { return func(int) float64 { return v } }

// Linear goes from one value to another in steps steps.
func Linear(from, to float64, steps int) Schedule {
	return func(step int) float64 { return from + (to-from)*share(step, steps) }
}

// Cosine goes from one value to another along half a cosine in steps steps.
func Cosine(from, to float64, steps int) Schedule {
	return func(step int) float64 { return to + (from-to)*(1+math.Cos(math.Pi*share(step, steps)))/2 }
}

// share returns how much of steps lies behind step.
func share(step, steps int) float64 {
	if steps <= 0 {
		return 1
	}
	return min(max(float64(step)/float64(steps), 0), 1)
}
