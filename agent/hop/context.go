package hop

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/model/sequence"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// contexts is what a sequence model has read of the co-players: in context, over all the
// episodes of a lifetime among them, without changing a weight.
//
// A step of a co-player becomes a token once the agent has seen what came of it, which is
// at its own next decision; so a decision costs one token for each co-player. What has been
// read is the context. There is a hypothesis for each type of the population, and the model
// says itself how likely each is, in place of Bayes' rule; its action head, which is the
// model of others here, predicts, of any state and for any type, what the co-player does.
// In a search the context is that of the root: no token is read for an imagined step.
//
// A lifetime begins when memory is made for it (Remember): co-players who change later do
// so unannounced, and what they do must tell.
type contexts struct {
	model          *sequence.Model
	params         *nn.Params
	sees           *visible
	within, across bool    // as of beliefs: what is read counts in the running episode; and in those after it
	odds           float64 // factor on the odds of acting at random: a planner's own doubt in place of the lifetimes'
	types          []int32 // [hypotheses] each type's number in the population; noType alone: whatever has been read
	life           *int    // episodes of a life; 0: one without end
	random         int     // the number of acting at random among the model's types; -1: it knows none

	x      *Inferred // its Mean is the contexts that the heads are given, [N][others][Width]
	mem    *sequence.Memory
	likely []float32 // [N][others][all types] how likely each type is, by the context
	seen   []float32 // [N][others][ObsLen] what the co-player saw at the agent's last decision: no token yet
	waits  []byte    // [N][others] whether there is such a step, and whether the episode began with it
}

// What a step that waits to be a token is.
const (
	nothing = byte(iota)
	step
	firstStep
)

// noType is the number of no type.
const noType = -1

func newContexts(m *Mind) (*contexts, error) {
	s := m.models.Sequence
	if head := s.Head; !reflect.DeepEqual(head, m.cfg.MOA.Config) {
		return nil, fmt.Errorf("hop: models.sequence predicts actions by the net %+v, moa.* says %+v; train it with the spec's net, such as "+
			"--set model.head.hidden=[64,64] --set model.head.distances=false", head, m.cfg.MOA.Config)
	}
	if who := m.population.names; !s.Untyped && !slices.Equal(s.Kinds, who) {
		return nil, fmt.Errorf("hop: models.sequence knows the types %v, the agent takes its co-players to be of %v; record the lifetimes "+
			"that it learns from among them, such as with hop collect --population", s.Kinds, who)
	}
	w := &contexts{
		model: s, params: m.models.Lifetimes, sees: m.sees, within: m.cfg.Belief.Within, across: m.cfg.Belief.Across,
		odds: 1, types: s.Given(), random: s.KindOf(sequence.Random), life: &m.cfg.Goals.Life,
	}
	if s.Untyped {
		w.types = []int32{noType}
		return w, nil
	}
	if len(w.types) == 0 {
		return nil, errors.New("hop: models.sequence knows nobody but those who act at random; record lifetimes among more types")
	}
	w.doubt(m.cfg.Goals.DoubtStart)
	return w, nil
}

// doubt makes somebody new act at random with probability p; below 0: as the lifetimes have
// it that the model learnt from.
func (w *contexts) doubt(p float64) {
	if w.random < 0 || p < 0 {
		return
	}
	w.Remember(&Inferred{}, 1)
	first := float64(w.likely[w.random])
	p = min(p, 1-1e-9) // its odds are finite
	w.odds = p / (1 - p) * (1 - first) / first
}

// features returns how many numbers say what a co-player is: its context, then the type, one-hot.
func (w *contexts) features() int { return w.model.Act.GoalLen }

// Remember begins lifetimes in envs copies.
func (w *contexts) Remember(x *Inferred, envs int) {
	n, width, h := envs*len(w.sees.others), w.model.ReadLen(), len(w.types)
	w.x, w.mem, w.waits, w.seen = x, w.model.Memory(w.params, n), make([]byte, n), make([]float32, n*w.sees.spec.Obs.Len())
	w.likely = make([]float32, n*len(w.model.Kinds))
	x.Mean, x.Spread, x.Belief, x.Alike = make([]float32, n*width), make([]float32, n*width), make([]float64, n*(h+1)), ADecision
	x.Present = w.types[0] == noType
	x.fit(n, h, w.features())
	w.weigh(w.model.Work())
}

// weigh computes how likely all types are from all contexts.
func (w *contexts) weigh(ws *sequence.Work) {
	ws.Room(len(w.waits))
	ws.KindsOf(w.params, w.likely, w.x.Mean)
	for at := range w.waits {
		w.hold(at)
	}
}

// hold writes what follows from the context at a place: features and belief.
func (w *contexts) hold(at int) {
	context, _ := w.x.point(at, w.model.ReadLen())
	for g := range w.types {
		w.write(w.x.of(at, g), context, g)
	}
	h := len(w.types) + 1
	w.posterior(w.x.Belief[at*h:(at+1)*h], w.likely[at*len(w.model.Kinds):])
}

// posterior writes how likely a co-player is of each type; the last number is that it acts at
// random. A prior that is not the lifetimes' own multiplies the odds, by Bayes' rule.
func (w *contexts) posterior(dst []float64, likely []float32) {
	if w.types[0] == noType {
		dst[0], dst[1] = 1, 0
		return
	}
	for g, t := range w.types {
		dst[g] = float64(likely[t])
	}
	if dst[len(w.types)] = 0; w.random >= 0 {
		dst[len(w.types)] = w.odds * float64(likely[w.random])
	}
	sum := 0.
	for _, x := range dst {
		sum += x
	}
	for g := range dst {
		dst[g] /= sum
	}
}

// write writes the features of a context and a type; -1: of no type.
func (w *contexts) write(dst, context []float32, g int) {
	clear(dst[:w.features()])
	if copy(dst, context); g >= 0 && w.types[g] != noType {
		dst[w.model.ReadLen()+g] = 1
	}
}

// Apart returns a copy on the same network.
func (w *contexts) Apart() GoalModel { c := *w; return &c }

// row returns what the agent wrote of co-player a at slot t of env n for its own network, when
// it played: beliefs times features, the last number being that a acts at random, of which
// nothing else is written. It is nil where it was not there to write, or its network reads
// nothing.
func (w *contexts) row(ro *batch.Rollout, a agent.ID, t, n int) []float32 {
	width, slot := w.features()+1, ro.Slot(w.sees.me, t, n)
	if !ro.Alive[slot] || ro.GoalLen != len(w.sees.others)*width {
		return nil
	}
	place := w.sees.place(ro, a, t, n)
	row, sum := ro.GoalAt(slot)[place*width:(place+1)*width], float32(0)
	for _, b := range row[w.model.ReadLen():] {
		sum += b
	}
	if sum < 0.5 { // somebody else played in its place
		return nil
	}
	return row
}

// Trajectories returns steps up to the last one at which the agent was there to read.
func (w *contexts) Trajectories(ro *batch.Rollout) (kept []trajectory) {
	for _, p := range w.sees.episodes(ro, true) {
		read := p.lo
		for read < p.hi && w.row(ro, p.agent, read, p.env) != nil {
			read++
		}
		if p.hi = read; p.hi > p.lo {
			kept = append(kept, p)
		}
	}
	return kept
}

// Label gives every step what had been read by then, and the type that was believed at the
// last: a draw from it.
func (w *contexts) Label(dst []float32, ro *batch.Rollout, list []trajectory, _ float64, r *rng.Rand) []agent.Stat {
	for _, p := range list {
		u, which := r.Float64(), -1 // acts at random
		for g, b := range w.row(ro, p.agent, p.hi-1, p.env)[w.model.ReadLen():][:len(w.types)] {
			if u -= float64(b); u < 0 {
				which = g
				break
			}
		}
		for t := p.lo; t < p.hi; t++ {
			row := w.row(ro, p.agent, t, p.env)
			w.write(dst, row[:w.model.ReadLen()], which)
			known := 1 - row[len(row)-1]
			if w.types[0] == noType {
				known = 1
			}
			for k := range w.model.ReadLen() {
				dst[k] /= max(known, 1e-6)
			}
			dst = dst[w.features():]
		}
	}
	return nil
}

// Fit does nothing: nothing is learnt but in context.
func (w *contexts) Fit(*rng.Rand) ([]agent.Stat, error) { return nil, nil }

// Networks returns none.
func (w *contexts) Networks() []learner.Network { return nil }

// Save adds all memories to f under prefix; the weights are with the run's models.
func (w *contexts) Save(f *safetensors.File, prefix string) {
	w.mem.Save(f, prefix+"memory/")
	f.PutFloat32(prefix+"context", w.x.Mean, len(w.x.Mean))
	f.PutFloat32(prefix+"seen", w.seen, len(w.seen))
	f.PutBytes(prefix+"waits", w.waits)
}

// Load restores what Save stored for as many envs, exactly.
func (w *contexts) Load(f *safetensors.File, prefix string, weights bool) error {
	if weights {
		return nil
	}
	waits, err := f.Bytes(prefix + "waits")
	if err == nil && (len(waits) != len(w.waits) || len(waits) > 0 && slices.Max(waits) > firstStep) {
		err = fmt.Errorf("hop: loading %swaits: made for another number of envs, or damaged", prefix)
	}
	if err = cmp.Or(w.mem.Load(w.params, f, prefix+"memory/"), f.Float32(w.x.Mean, prefix+"context", len(w.x.Mean)),
		f.Float32(w.seen, prefix+"seen", len(w.seen)), err); err != nil {
		return err
	}
	copy(w.waits, waits)
	w.weigh(w.model.Work())
	return nil
}

// Inference returns a worker's part.
func (w *contexts) Inference(envs int) Inference {
	n := envs * len(w.sees.others)
	f := &contextInference{
		w: w, ws: w.model.Work(), places: make([]int, 0, n), some: make([]float32, n*w.model.ReadLen()),
		likely: make([]float32, n*len(w.model.Kinds)), goal: w.model.Goal.Work(1), probs: make([]float32, len(w.model.Goals)+1),
	}
	f.ws.Room(n)
	return f
}

// contextInference reads for one worker.
type contextInference struct {
	w      *contexts
	ws     *sequence.Work
	places []int     // whose tokens are read, in [N][others]
	some   []float32 // [places][Width] their contexts
	likely []float32 // [places][all types]
	goal   *moa.Work // what co-players reach next, for people to look at
	probs  []float32 // [goals + 1]
}

// Infer takes in what the co-players of the envs did in the step before, what came of it,
// and what they see now.
func (f *contextInference) Infer(v *rollout.View, envs []int32) {
	w := f.w
	f.ws.Reset()
	f.places = f.places[:0]
	width := w.sees.spec.Obs.Len()
	for _, e := range envs {
		n := int(e)
		start := v.Start[v.Moment(v.T, n)]
		for j, a := range w.sees.others {
			at, there := w.sees.at(n, j), w.sees.there(v.Rollout, a, v.T, n)
			seen := w.seen[at*width : (at+1)*width]
			if start {
				f.begin(at, v.EpisodeOf(n))
			}
			if w.waits[at] != nothing && w.sees.saw(v.Rollout, a, v.T, n) { // whoever sees a step sees what comes of it
				f.ws.Add(sequence.Token{
					Obs: seen, Action: w.sees.lastAction(v, n, j), Start: w.waits[at] == firstStep, Left: !v.Alive[v.Slot(a, v.T, n)],
					Reached: v.ReachedOf(n, a),
				})
				f.places = append(f.places, at)
			}
			switch {
			case !there:
				w.waits[at] = nothing
				continue
			case start:
				w.waits[at] = firstStep
			default:
				w.waits[at] = step
			}
			copy(seen, w.sees.obs(seen, v.Rollout, a, v.T, n))
		}
	}
	f.ws.Read(w.params, w.mem, f.places)
	if w.within {
		f.hold(f.places)
	}
}

// begin starts an episode at a place, or a life. The step before it is over unseen: nobody is
// there to see what comes of an episode's last one.
func (f *contextInference) begin(at, episode int) {
	f.w.waits[at] = nothing
	if life := *f.w.life; !f.w.across || !f.w.model.Across || life > 0 && episode%life == 0 {
		f.w.mem.Forget(at)
	}
	f.hold(append(f.places[len(f.places):], at))
}

// hold gives the heads what has been read at some places.
func (f *contextInference) hold(places []int) {
	w, d, k := f.w, f.w.model.ReadLen(), len(f.w.model.Kinds)
	for i, at := range places {
		copy(w.x.Mean[at*d:(at+1)*d], w.mem.At(at))
		copy(f.some[i*d:(i+1)*d], w.mem.At(at))
	}
	f.ws.KindsOf(w.params, f.likely[:len(places)*k], f.some[:len(places)*d])
	for i, at := range places {
		copy(w.likely[at*k:(at+1)*k], f.likely[i*k:(i+1)*k])
		w.hold(at)
	}
}

// Draw writes what a tree's co-player j is if it is of type g.
func (f *contextInference) Draw(dst []float32, n, j int, g int32, _ *rng.Rand) (partner int32) {
	copy(dst, f.w.x.of(f.w.sees.at(n, j), int(g)))
	return f.w.types[g]
}

// Explain names the goals that the model's goal head expects. Types are not told apart.
func (f *contextInference) Explain(n, j, _ int) []Word {
	w, at, width := f.w, f.w.sees.at(n, j), f.w.sees.spec.Obs.Len()
	goals := w.model.Goals
	if len(goals) == 0 || w.waits[at] == nothing {
		return []Word{{"some goal", 1}}
	}
	context, _ := w.x.point(at, w.model.ReadLen())
	f.goal.Predict(w.params, w.seen[at*width:(at+1)*width], context, f.probs)
	sum := float32(0)
	for _, p := range f.probs[:len(goals)] {
		sum += p
	}
	var list []Word
	for g, name := range goals {
		list = append(list, Word{name, float64(f.probs[g] / max(sum, 1e-9))})
	}
	return list
}
