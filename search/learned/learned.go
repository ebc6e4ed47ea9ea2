// Package learned lets plan search on a learnt model of a game's rules, so that
// an agent needs to know nothing of the game but what it observed.
//
// A World is search.Dynamics and search.Observer. It sees a real state once, through
// the planning agent's observation and everyone's masks, and goes on from there
// by model/world: a round's steps are predicted in one batch, at their likeliest
// outcome or, if the model knows how the rules draw, at one that is drawn. What a
// board holds is 0 or 1, so a slot is a row of bits, with a few words for numbers.
//
// Predicted steps are kept by state and joint action, since the trees of an
// episode meet the same ones again and again. The cache forgets what is in the
// way and holds only what can be computed again, so results do not depend on it.
// Drawn steps are not kept.
// A World is for one goroutine.
package learned

import (
	"errors"
	"math"
	"math/bits"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
)

// Config says how much room a World needs.
type Config struct {
	Envs  int // most decisions at once
	Trees int // a decision
	Log   int // predicted steps kept: 2^Log
}

// World is a learnt model as a search plays on it.
type World struct {
	Asked, Found int64   // steps wanted, and those that were kept
	Doubted      float64 // sum of the model's doubt over the steps that it was asked to predict

	in   world.Input
	m    *world.Model
	net  *nn.Params
	work *world.Work

	env  []int32 // [trees of all decisions] the decision of each
	envs []decision

	// A state is a row of words: what the planning agent observes, a bit each;
	// the time, and whether nothing is left to decide; the features, two a word;
	// a mask for each agent; the reward on the way in, and the model's doubt.
	width, time, feat, mask, pay int
	featAt, timeAt               int      // of the observation
	state                        []uint64 // [slots][width]
	key                          []uint64 // [slots]

	kept    []uint64 // [2^Log][width]
	keptKey []uint64 // [2^Log]
	asked   []int32  // [2^Log] 1 + the row of this batch that will predict it; 0: it is there

	// One batch of predictions.
	obs   []float32 // [group][Len]
	joint []int32   // [group][Agents]
	next  world.Next
	miss  []int32     // leaves that are predicted
	steps []uint64    // their keys
	same  []twin      // leaves whose step another leaf of the batch asks for
	rands []rng.Rand  // a stream for each row to draw from
	draws []*rng.Rand // the same; empty if nothing is drawn
	seen  []float32
	legal []bool
}

// twin is a leaf and the row that predicts its step.
type twin struct{ leaf, row int32 }

// decision is what the states of one decision share.
type decision struct {
	place []int32 // [Agents] ego-first number of each place
	root  []uint64
	key   uint64
	salt  uint64
}

// New returns a world that plays by the model. Errors name what is wrong.
func New(m *world.Model, p *nn.Params, c Config) (*World, error) {
	if m == nil || p == nil {
		return nil, errors.New("search: there is no world model yet; load one or learn it first")
	}
	if c.Envs < 1 || c.Trees < 1 || c.Log < 0 || c.Log > 30 {
		return nil, errors.New("search: at least one decision and one tree are needed, and room for 2^0 to 2^30 steps")
	}
	planes := m.Height * m.Width * m.Planes
	w := &World{in: m.Input, featAt: planes, timeAt: planes + m.Features + m.Legal,
		env: make([]int32, c.Envs*c.Trees), envs: make([]decision, c.Envs)}
	w.time = (m.Len() + 63) / 64
	w.feat = w.time + 1
	w.mask = w.feat + (m.Features+1)/2
	w.pay = w.mask + m.Agents
	w.width = w.pay + 1
	for tree := range w.env {
		w.env[tree] = int32(tree / c.Trees)
	}
	for e := range w.envs {
		w.envs[e] = decision{place: make([]int32, m.Agents), root: make([]uint64, w.width)}
	}
	w.kept, w.keptKey, w.asked = make([]uint64, w.width<<c.Log), make([]uint64, 1<<c.Log), make([]int32, 1<<c.Log)
	w.seen, w.legal = make([]float32, m.Len()), make([]bool, m.Actions)
	return w, w.Use(m, p)
}

// Use plays by these weights from now on and forgets what was predicted by
// others. It must be called whenever weights have changed. The model may know
// other rewards than before, but must be of the same game.
func (w *World) Use(m *world.Model, p *nn.Params) error {
	in := m.Input
	if in.Rewards = nil; in.Len() != w.in.Len() || in.Agents != w.in.Agents || in.Actions != w.in.Actions || in.Planes != w.in.Planes ||
		in.Features != w.in.Features || in.Horizon != w.in.Horizon {
		return errors.New("search: the world model is of another game")
	}
	if w.m != m {
		w.m, w.in, w.work = m, m.Input, m.Work()
	}
	w.net = p
	clear(w.keptKey)
	return nil
}

// Fit makes room for a forest's slots.
func (w *World) Fit(f *search.Forest) {
	slots, rows := f.Slots(), f.Group()
	w.state, w.key = make([]uint64, slots*w.width), make([]uint64, slots)
	w.obs, w.joint = make([]float32, rows*w.in.Len()), make([]int32, rows*w.in.Agents)
	w.miss, w.steps, w.same = make([]int32, 0, rows), make([]uint64, 0, rows), make([]twin, 0, rows)
	w.rands, w.draws = make([]rng.Rand, rows), make([]*rng.Rand, rows)
	for i := range w.rands {
		w.draws[i] = &w.rands[i]
	}
	w.next = world.Next{
		Obs: [][]float32{make([]float32, rows*w.in.Len())}, Reward: [][]float32{make([]float32, rows)},
		End: [][]bool{make([]bool, rows)}, Doubt: make([]float32, rows),
	}
	for range w.in.Agents {
		w.next.Legal = append(w.next.Legal, make([]bool, rows*w.in.Actions))
	}
}

// Set makes decision env plan from st for the agent on seats[0], with
// co-players on the other seats, in the order in which Others knows them. The
// state is read now.
func (w *World) Set(env int, st game.State, seats []game.Seat) {
	d := &w.envs[env]
	st.Observe(seats[0], w.seen)
	w.pack(d.root, w.seen)
	d.root[w.pay], d.salt = 0, 1
	for place, seat := range seats {
		d.place[place] = int32((int(seat) - int(seats[0]) + len(seats)) % len(seats))
		d.salt = fold(d.salt, uint64(d.place[place]))
		st.Legal(seat, w.legal)
		d.root[w.mask+int(d.place[place])] = bitsOf(w.legal)
	}
	d.key = w.keyOf(d, d.root)
}

// Root puts the decision's state into a slot.
func (w *World) Root(tree, slot int32) (uint32, uint64) {
	d := &w.envs[w.env[tree]]
	copy(w.at(slot), d.root)
	w.key[slot] = d.key
	return uint32(d.root[w.mask]), d.key
}

// Expand predicts one step for each leaf. Where the model sees oneself on the
// board with nothing to do it is lost: the search looks no further.
func (w *World) Expand(leaves []search.Leaf, others []int32, rs []rng.Rand) {
	w.miss, w.steps, w.same = w.miss[:0], w.steps[:0], w.same[:0]
	n, size := w.in.Agents, w.in.Len()
	for i := range leaves {
		l, rows := &leaves[i], len(w.miss)
		d, joint := &w.envs[w.env[l.Tree]], w.joint[rows*n:(rows+1)*n]
		joint[0] = l.Action
		for j, a := range others[i*(n-1) : (i+1)*(n-1)] {
			joint[d.place[j+1]] = a
		}
		step := w.key[l.From]
		for _, a := range joint {
			step = fold(step, uint64(uint32(a+1)))
		}
		step |= 1
		w.Asked++
		if w.m.Draws() {
			w.rands[rows] = Stream(&rs[l.Tree])
			w.unpack(w.obs[rows*size:(rows+1)*size], l.From)
			w.miss, w.steps = append(w.miss, int32(i)), append(w.steps, 0)
			continue
		}
		if at := int(step>>20) & (len(w.keptKey) - 1); w.keptKey[at] == step {
			w.Found++
			if row := w.asked[at]; row > 0 {
				w.same = append(w.same, twin{int32(i), row - 1})
			} else {
				copy(w.at(l.To), w.kept[at*w.width:(at+1)*w.width])
			}
			continue
		} else {
			w.keptKey[at], w.asked[at] = step, int32(rows)+1
		}
		w.unpack(w.obs[rows*size:(rows+1)*size], l.From)
		w.miss, w.steps = append(w.miss, int32(i)), append(w.steps, step)
	}
	if len(w.miss) > 0 {
		w.predict(leaves)
	}
	for i := range leaves {
		l := &leaves[i]
		s := w.at(l.To)
		l.Reward, l.Legal = math.Float32frombits(uint32(s[w.pay])), uint32(s[w.mask])
		l.Over = s[w.time]>>63 != 0
		w.key[l.To] = w.keyOf(&w.envs[w.env[l.Tree]], s)
		l.Key = w.key[l.To]
	}
}

// Stream returns the stream that a step of a tree is drawn from, named by the tree's.
func Stream(r *rng.Rand) rng.Rand { return rng.Raw(r.Uint64(), r.Uint64()) }

// predict asks the model about the steps that are not kept, and keeps them.
func (w *World) predict(leaves []search.Leaf) {
	rows, size, k := len(w.miss), w.in.Len(), w.in.Actions
	if w.m.Draws() {
		w.work.Sample(w.net, &w.next, w.obs, w.joint, rows, w.draws)
	} else {
		w.work.Step(w.net, &w.next, w.obs, w.joint, rows)
	}
	for row, i := range w.miss {
		s := w.at(leaves[i].To)
		w.pack(s, w.next.Obs[0][row*size:(row+1)*size])
		for a, masks := range w.next.Legal {
			s[w.mask+a] = bitsOf(masks[row*k : (row+1)*k])
		}
		if w.next.End[0][row] || s[w.mask] == 0 {
			s[w.time] |= 1 << 63
		}
		doubt := w.next.Doubt[row]
		s[w.pay] = uint64(math.Float32bits(w.next.Reward[0][row])) | uint64(math.Float32bits(doubt))<<32
		w.Doubted += float64(doubt)
		if w.steps[row] == 0 {
			continue
		}
		at := int(w.steps[row]>>20) & (len(w.keptKey) - 1)
		w.keptKey[at], w.asked[at] = w.steps[row], 0
		copy(w.kept[at*w.width:(at+1)*w.width], s)
	}
	for _, t := range w.same {
		copy(w.at(leaves[t.leaf].To), w.at(leaves[w.miss[t.row]].To))
	}
}

// Doubt returns how unsure the model was of the step into a slot, 0 to 1.
func (w *World) Doubt(slot int32) float32 {
	return math.Float32frombits(uint32(w.at(slot)[w.pay] >> 32))
}

// Legal returns the mask of a place.
func (w *World) Legal(tree, slot int32, place int) uint32 {
	return uint32(w.at(slot)[w.mask+int(w.envs[w.env[tree]].place[place])])
}

// Observe writes what a place sees.
func (w *World) Observe(dst []float32, tree, slot int32, place int) {
	s := int(w.envs[w.env[tree]].place[place])
	if s == 0 {
		w.unpack(dst, slot)
		return
	}
	w.unpack(w.seen, slot)
	mask := w.at(slot)[w.mask+s]
	for k := range w.legal {
		w.legal[k] = mask>>k&1 != 0
	}
	w.in.View(dst, w.seen, s, w.legal)
}

// at returns the row of a slot.
func (w *World) at(slot int32) []uint64 {
	return w.state[int(slot)*w.width : (int(slot)+1)*w.width]
}

// pack writes an observation to a row's bits, time and features.
func (w *World) pack(dst []uint64, obs []float32) {
	clear(dst[:w.mask])
	for i, x := range obs {
		if x != 0 {
			dst[i>>6] |= 1 << (i & 63)
		}
	}
	if w.in.Time > 0 {
		dst[w.timeAt>>6] &^= 1 << (w.timeAt & 63)
		dst[w.time] = uint64(obs[w.timeAt]*float32(w.in.Horizon) + 0.5)
	}
	for f, v := range obs[w.featAt : w.featAt+w.in.Features] {
		at := w.featAt + f
		dst[at>>6] &^= 1 << (at & 63)
		dst[w.feat+f>>1] |= uint64(math.Float32bits(v)) << (32 * (f & 1))
	}
}

// unpack writes what the planning agent observes in a slot.
func (w *World) unpack(dst []float32, slot int32) {
	s := w.at(slot)
	clear(dst)
	for i, word := range s[:w.time] {
		for ; word != 0; word &= word - 1 {
			dst[i<<6+bits.TrailingZeros64(word)] = 1
		}
	}
	if w.in.Time > 0 {
		dst[w.timeAt] = float32(s[w.time]<<1>>1) / float32(w.in.Horizon)
	}
	for f := range w.in.Features {
		dst[w.featAt+f] = math.Float32frombits(uint32(s[w.feat+f>>1] >> (32 * (f & 1))))
	}
}

// keyOf names a state: what is observed, the time, the features, and who is who.
func (w *World) keyOf(d *decision, s []uint64) uint64 {
	k := d.salt
	for _, word := range s[:w.mask] {
		k = fold(k, word)
	}
	return k | 1
}

// fold adds a number to a hash.
func fold(h, x uint64) uint64 {
	h = (h ^ x) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// bitsOf returns a bit for each true entry.
func bitsOf(mask []bool) uint64 {
	set := uint64(0)
	for k, ok := range mask {
		if ok {
			set |= 1 << k
		}
	}
	return set
}

var (
	_ search.Dynamics = (*World)(nil)
	_ search.Observer = (*World)(nil)
)
