package learned

import (
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/model/vector"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
)

// Vectors is World for games whose observations are vectors: it sees what every seat of a real state observes, once,
// and goes on from there by model/vector. A step has one outcome, so a state's key is that of its root and of what was
// played since.
type Vectors struct {
	spec  game.Spec
	m     *vector.Model
	net   *nn.Params
	scale *vector.Scale
	work  *vector.Work
	trees int // a decision
	spare int32
	envs  []root
	state []seen
	obs   []float32 // [slots][Seats][Width]
	legal []uint32  // [slots][Seats] 0: it has left
	last  []int8    // [slots][Seats]
	batch *vector.Batch
	whole []float32 // one observation
	mask  [game.MaxActions]bool
}

// root is the state of a decision.
type root struct {
	seats []game.Seat // of the places
	obs   []float32   // [Seats][Width]
	legal []uint32
	last  []int8
	seen
}

// seen is what a state is beside what its seats observe.
type seen struct {
	key uint64
	t   int32
}

// NewVectors returns a world that plays by the model in a game, for a forest.
func NewVectors(spec game.Spec, m *vector.Model, p *nn.Params, s *vector.Scale, f *search.Forest) *Vectors {
	slots, n := f.Slots()+2*f.Group(), spec.Seats
	w := &Vectors{
		spec: spec, m: m, net: p, scale: s, work: m.Work(f.Group()), trees: f.Trees, spare: int32(f.Slots()),
		envs: make([]root, f.Envs), state: make([]seen, slots),
		obs: make([]float32, slots*n*m.Width), legal: make([]uint32, slots*n), last: make([]int8, slots*n),
		batch: vector.NewBatch(m.Input, f.Group()), whole: make([]float32, spec.Obs.Len()),
	}
	for e := range w.envs {
		w.envs[e] = root{seats: make([]game.Seat, n), obs: make([]float32, n*m.Width), legal: make([]uint32, n), last: make([]int8, n)}
	}
	return w
}

// Set makes decision env plan from st for the agent on seats[0]. The state is read now.
func (w *Vectors) Set(env int, st game.State, seats []game.Seat) {
	d, l, width := &w.envs[env], w.spec.Obs, w.m.Width
	copy(d.seats, seats)
	d.t, d.key = 0, fold(1, uint64(seats[0]))
	for s := range w.spec.Seats {
		st.Observe(game.Seat(s), w.whole)
		copy(d.obs[s*width:(s+1)*width], w.whole)
		st.Legal(game.Seat(s), w.mask[:w.m.Actions])
		d.legal[s] = uint32(bitsOf(w.mask[:w.m.Actions]))
	}
	st.Observe(seats[0], w.whole)
	if l.Time > 0 {
		d.t = int32(w.whole[l.TimeAt()]*float32(w.spec.Horizon) + 0.5)
	}
	for i := range d.last {
		if d.last[i] = int8(game.NoAction); l.Last > 0 {
			place := (i - int(seats[0]) + w.spec.Seats) % w.spec.Seats
			d.last[i] = int8(l.LastOf(w.whole, place, w.m.Actions))
		}
		d.key = fold(d.key, uint64(d.legal[i])<<8|uint64(uint8(d.last[i])))
	}
	for _, x := range d.obs {
		d.key = fold(d.key, uint64(math.Float32bits(x)))
	}
	d.key = fold(d.key, uint64(d.t)) | 1
}

// Root puts the decision's state into a slot.
func (w *Vectors) Root(tree, slot int32) (legal uint32, key uint64) {
	d := w.of(tree)
	copy(w.seats(slot), d.obs)
	copy(w.legalOf(slot), d.legal)
	copy(w.lastOf(slot), d.last)
	w.state[slot] = d.seen
	return d.legal[d.seats[0]], d.key
}

// Expand predicts one step for each leaf, all in one batch.
func (w *Vectors) Expand(leaves []search.Leaf, others []int32, _ []rng.Rand) {
	n, co, size := w.spec.Seats, w.spec.Seats-1, w.spec.Seats*w.m.Width
	b := w.batch.Part(w.m.Input, 0, len(leaves))
	for i := range leaves {
		l, joint := &leaves[i], b.Joint[i*n:(i+1)*n]
		d := w.of(l.Tree)
		joint[d.seats[0]] = l.Action
		for j, a := range others[i*co : (i+1)*co] {
			joint[d.seats[j+1]] = a
		}
		copy(b.Obs[i*size:(i+1)*size], w.seats(l.From))
		b.Time[i] = float32(w.state[l.From].t) / float32(w.spec.Horizon)
	}
	w.work.Step(w.net, w.scale, b)
	for i := range leaves {
		w.enter(&leaves[i], b, i)
	}
}

// enter puts step i of a batch into a leaf's slot.
func (w *Vectors) enter(l *search.Leaf, b *vector.Batch, i int) {
	n, size := w.spec.Seats, w.spec.Seats*w.m.Width
	me, from, to := int(w.of(l.Tree).seats[0]), w.state[l.From], &w.state[l.To]
	copy(w.seats(l.To), b.Next[i*size:(i+1)*size])
	copy(w.legalOf(l.To), b.Legal[i*n:(i+1)*n])
	to.t, to.key = from.t+1, from.key
	for s, a := range b.Joint[i*n : (i+1)*n] {
		w.lastOf(l.To)[s] = int8(a)
		to.key = fold(to.key, uint64(uint32(a+1)))
	}
	to.key |= 1
	if w.spec.Obs.Time > 0 && int(to.t) >= w.spec.Horizon { // who sees the time knows that limit
		clear(w.legalOf(l.To))
	}
	l.Reward, l.Legal, l.Key = b.Reward[i*n+me], w.legalOf(l.To)[me], to.key
	l.Over = l.Legal == 0
}

// Spare returns the first of two slots a row that the search does not use.
func (w *Vectors) Spare() int32 { return w.spare }

// Legal returns the mask of a place.
func (w *Vectors) Legal(tree, slot int32, place int) uint32 {
	return w.legalOf(slot)[w.of(tree).seats[place]]
}

// Observe writes what a place sees.
func (w *Vectors) Observe(dst []float32, tree, slot int32, place int) {
	s, width := w.of(tree).seats[place], w.m.Width
	clear(dst[width:])
	copy(dst, w.seats(slot)[int(s)*width:(int(s)+1)*width])
	set := w.legalOf(slot)[s]
	for k := range w.m.Actions {
		w.mask[k] = set>>k&1 != 0
	}
	w.spec.Obs.Tail(dst, s, w.mask[:w.m.Actions], int(w.state[slot].t), w.spec.Horizon, w.lastOf(slot))
}

// of returns the decision of a tree.
func (w *Vectors) of(tree int32) *root { return &w.envs[int(tree)/w.trees] }

// seats returns what the seats observe in a slot, a view.
func (w *Vectors) seats(slot int32) []float32 {
	size := w.spec.Seats * w.m.Width
	return w.obs[int(slot)*size : (int(slot)+1)*size]
}

// legalOf returns the masks of the seats in a slot, a view.
func (w *Vectors) legalOf(slot int32) []uint32 {
	return w.legal[int(slot)*w.spec.Seats : (int(slot)+1)*w.spec.Seats]
}

// lastOf returns the last joint action of a slot, a view.
func (w *Vectors) lastOf(slot int32) []int8 {
	return w.last[int(slot)*w.spec.Seats : (int(slot)+1)*w.spec.Seats]
}

var (
	_ search.Dynamics = (*Vectors)(nil)
	_ search.Observer = (*Vectors)(nil)
)
