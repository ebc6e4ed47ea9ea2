// Package incontext lets a planner read its co-players with a sequence model: in
// context, over all the episodes of a life among the same co-players, without changing
// a weight.
//
// A step of a co-player becomes a token once the agent has seen what came of it, which is
// at its own next decision; so a decision costs one token for each co-player. What has been
// read is the context. The model's kind head turns it into the belief over the kinds of the
// population, in place of Bayes' rule; its action head predicts, of any state and for any
// kind, what the co-player does. In a search the context is that of the root: no token is
// read for an imagined step.
//
// A life begins when memory is made for it (Reader.Remember): co-players who change later do
// so unannounced, and what they do must tell.
package incontext

import (
	"errors"
	"fmt"
	"slices"

	"hop/agent"
	"hop/batch"
	"hop/mind/hop/sight"
	"hop/model/sequence"
	"hop/nn"
	"hop/safetensors"
)

// Reader is what one agent has read of its co-players. All memory is kept by env, so that
// workers, who each have a Worker, never meet.
type Reader struct {
	*sequence.Model
	Within, Across bool // as of beliefs: what is read counts in the running episode; and in those after it

	odds   float64 // factor on the odds of acting at random: a planner's own doubt in place of the lives'
	params *nn.Params
	sight  sight.Sight
	others []agent.ID
	who    []int32 // [hypotheses] each kind's number in the population
	random int     // the number of acting at random among the model's kinds; -1: it knows none

	mem     *sequence.Memory
	context []float32 // [N][others][Width] what heads are given
	kinds   []float32 // [N][others][Kinds] how likely each kind is, by that
	seen    []float32 // [N][others][ObsLen] what the co-player saw at the agent's last decision: no token yet
	none    []float32 // [Width] zeros
	waits   []byte    // [N][others] whether there is such a step, and whether the episode began with it
}

// What a step that waits to be a token is.
const (
	nothing = byte(iota)
	step
	firstStep
)

// New returns the reader of an agent that sees by s, takes its co-players to be of the
// population who and, of somebody new, believes with probability doubt that it acts at random;
// below 0: as the lives have it that the model learnt from.
func New(m *sequence.Model, p *nn.Params, s sight.Sight, others []agent.ID, who []string, doubt float64) (*Reader, error) {
	if !slices.Equal(m.Kinds, who) {
		return nil, fmt.Errorf("incontext: models.sequence knows the kinds %v, the agent takes its co-players to be of %v; record the lives "+
			"that it learns from among them, such as with hop collect --population", m.Kinds, who)
	}
	r := &Reader{Model: m, params: p, sight: s, others: others, random: m.KindOf(sequence.Random), who: m.Given(), odds: 1}
	if len(r.who) == 0 {
		return nil, errors.New("incontext: models.sequence knows nobody but those who act at random; record lives among more kinds")
	}
	if r.random >= 0 && doubt >= 0 {
		r.Remember(1)
		first := float64(r.kinds[r.random])
		doubt = min(doubt, 1-1e-9) // its odds are finite
		r.odds = doubt / (1 - doubt) * (1 - first) / first
	}
	return r, nil
}

// Remember begins lives in envs copies.
func (r *Reader) Remember(envs int) {
	n := envs * len(r.others)
	r.mem, r.waits, r.seen = r.Memory(n), make([]byte, n), make([]float32, n*r.sight.Spec.Obs.Len())
	r.context, r.kinds = make([]float32, n*r.Width), make([]float32, n*len(r.Kinds))
	r.none = make([]float32, r.Width)
	r.weigh(r.Work())
}

// weigh computes how likely all kinds are from all contexts.
func (r *Reader) weigh(ws *sequence.Work) {
	n := len(r.waits)
	ws.Room(n)
	ws.KindsOf(r.params, r.kinds, r.context)
}

// place indexes co-player j of env n.
func (r *Reader) place(n, j int) int { return n*len(r.others) + j }

// At returns what has been read of co-player j of env n, a view.
func (r *Reader) At(n, j int) []float32 {
	at := r.place(n, j) * r.Width
	return r.context[at : at+r.Width]
}

// Spread returns how wide a draw from a context is: not at all.
func (r *Reader) Spread() []float32 { return r.none }

// Hypotheses returns how many kinds may be given to the action's head: all but acting at random.
func (r *Reader) Hypotheses() int { return len(r.who) }

// Features returns how many numbers say what one co-player is: its context, then the kind, one-hot.
func (r *Reader) Features() int { return r.Width + len(r.who) }

// Posterior writes how likely co-player j of env n is of each kind; the last number is that
// it acts at random. A prior that is not the lives' own multiplies the odds, by Bayes' rule.
func (r *Reader) Posterior(dst []float64, n, j int) {
	k := len(r.Kinds)
	p := r.kinds[r.place(n, j)*k:][:k]
	for g, kind := range r.who {
		dst[g] = float64(p[kind])
	}
	if dst[len(r.who)] = 0; r.random >= 0 {
		dst[len(r.who)] = r.odds * float64(p[r.random])
	}
	sum := 0.
	for _, x := range dst {
		sum += x
	}
	for g := range dst {
		dst[g] /= sum
	}
}

// write writes the features of a context and a kind; -1: of no kind.
func (r *Reader) write(dst, context []float32, g int) {
	clear(dst[:r.Features()])
	if copy(dst, context); g >= 0 {
		dst[r.Width+g] = 1
	}
}

// row returns what the agent wrote of co-player a at slot t of env n for its own network, when
// it played: beliefs times features, the last number being that a acts at random, of which
// nothing else is written. It is nil where it was not there to write, or its network reads
// nothing.
func (r *Reader) row(ro *batch.Rollout, a agent.ID, t, n int) []float32 {
	width, slot := r.Features()+1, ro.Slot(r.sight.Me, t, n)
	if !ro.Alive[slot] || ro.GoalLen != len(r.others)*width {
		return nil
	}
	seats := r.sight.Spec.Seats
	place := (int(ro.Seat[ro.Slot(a, t, n)])-int(ro.Seat[slot])+seats)%seats - 1
	row, sum := ro.GoalAt(slot)[place*width:(place+1)*width], float32(0)
	for _, b := range row[r.Width:] {
		sum += b
	}
	if sum < 0.5 { // somebody else played in its place
		return nil
	}
	return row
}

// Read returns up to where, from lo to hi, the agent was there to read co-player a in env n.
func (r *Reader) Read(ro *batch.Rollout, a agent.ID, n, lo, hi int) int {
	for t := lo; t < hi; t++ {
		if r.row(ro, a, t, n) == nil {
			return t
		}
	}
	return hi
}

// Label writes into dst, [steps][Features], what had been read of co-player a at the steps lo
// to hi-1 of env n, which it all was, and the kind that u, from [0, 1), draws from what was
// believed at the last of them. It returns the rest of dst.
func (r *Reader) Label(dst []float32, ro *batch.Rollout, a agent.ID, n, lo, hi int, u float64) []float32 {
	kind := -1 // acts at random
	for g, b := range r.row(ro, a, hi-1, n)[r.Width:][:len(r.who)] {
		if u -= float64(b); u < 0 {
			kind = g
			break
		}
	}
	for t := lo; t < hi; t++ {
		row := r.row(ro, a, t, n)
		r.write(dst, row[:r.Width], kind)
		known := 1 - row[len(row)-1]
		for k := range r.Width {
			dst[k] /= max(known, 1e-6)
		}
		dst = dst[r.Features():]
	}
	return dst
}

// Save adds all memories to f under prefix.
func (r *Reader) Save(f *safetensors.File, prefix string) {
	r.mem.Save(f, prefix+"memory/")
	f.PutFloat32(prefix+"context", r.context, len(r.context))
	f.PutFloat32(prefix+"seen", r.seen, len(r.seen))
	f.PutBytes(prefix+"waits", r.waits)
}

// Load restores what Save stored for as many envs, exactly.
func (r *Reader) Load(f *safetensors.File, prefix string) error {
	if err := r.mem.Load(f, prefix+"memory/"); err != nil {
		return err
	}
	if err := f.Float32(r.context, prefix+"context", len(r.context)); err != nil {
		return err
	}
	if err := f.Float32(r.seen, prefix+"seen", len(r.seen)); err != nil {
		return err
	}
	waits, err := f.Bytes(prefix + "waits")
	if err == nil && (len(waits) != len(r.waits) || len(waits) > 0 && slices.Max(waits) > firstStep) {
		err = fmt.Errorf("incontext: loading %swaits: made for another number of envs, or damaged", prefix)
	}
	if err != nil {
		return err
	}
	copy(r.waits, waits)
	r.weigh(r.Work())
	return nil
}
