package incontext

import (
	"math"

	"hop/agent"
	"hop/game"
	"hop/model/moa"
	"hop/model/sequence"
	"hop/rng"
	"hop/rollout"
)

// Worker reads, and draws for searches, for one worker.
type Worker struct {
	*Reader
	ws     *sequence.Work
	places []int     // whose tokens are read
	some   []float32 // [places][Width] their contexts
	likely []float32 // [places][Kinds]
	z      []float32 // [trees][others][Features] drawn
	kind   []int32   // [trees][others] whom, of all of the population
	goal   []float32 // [Features] of a hypothesis
	next   int32     // name of the first context of the running decision
	again  bool      // names have started anew

	after *moa.Work // what co-players are after, for people to look at
	probs []float32
}

// firstName leaves room for the hypotheses' own numbers: kinds are counted in bytes.
const firstName = 256

// Worker makes one for up to envs decisions of so many trees.
func (r *Reader) Worker(envs, trees int) *Worker {
	n, drawn := envs*len(r.others), envs*trees*len(r.others)
	w := &Worker{
		Reader: r, ws: r.Work(), places: make([]int, 0, n), some: make([]float32, n*r.Width), likely: make([]float32, n*len(r.Kinds)),
		z: make([]float32, drawn*r.Features()), kind: make([]int32, drawn), goal: make([]float32, r.Features()), next: firstName,
		after: r.Goal.Work(1), probs: make([]float32, len(r.Goals)+1),
	}
	w.ws.Room(n)
	return w
}

// Observe takes in what the co-players of the envs did in the step before, what came of it,
// and what they see now.
func (w *Worker) Observe(v *rollout.View, envs []int32) {
	w.ws.Reset()
	w.places = w.places[:0]
	width := w.sight.Spec.Obs.Len()
	for _, e := range envs {
		n := int(e)
		start := v.Start[v.Moment(v.T, n)]
		for j, a := range w.others {
			at, there := w.place(n, j), v.Alive[v.Slot(a, v.T, n)]
			seen := w.seen[at*width : (at+1)*width]
			if start {
				w.begin(at)
			}
			if w.waits[at] != nothing {
				t := sequence.Token{Obs: seen, Action: w.lastAction(v, n, a), Start: w.waits[at] == firstStep, Left: !there, Reached: v.ReachedOf(n, a)}
				w.ws.Add(t)
				w.places = append(w.places, at)
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
			copy(seen, v.ObsAt(v.Slot(a, v.T, n)))
		}
	}
	w.ws.Read(w.params, w.mem, w.places)
	if w.Within {
		w.hold(w.places)
	}
	names := int32(len(w.waits) * len(w.who))
	if w.next += names; w.next > math.MaxInt32/2 {
		w.next, w.again = firstName, true
	}
}

// lastAction returns what co-player a of env n did in the last step, as the agent's own
// observation shows it; in games whose observations have no place for it, what was earned tells it.
func (w *Worker) lastAction(v *rollout.View, n int, a agent.ID) int32 {
	s := &w.sight.Spec
	if s.Obs.Last == 0 {
		return v.PlayedOf(n, a)
	}
	place := (int(v.Seat[v.Slot(a, v.T, n)]) - int(v.SeatOf(n)) + s.Seats) % s.Seats
	return s.Obs.LastOf(v.ObsAt(v.SlotOf(n)), place, len(s.Actions))
}

// begin starts an episode at a place. The step before it is over unseen: nobody is there to
// see what comes of an episode's last one.
func (w *Worker) begin(at int) {
	w.waits[at] = nothing
	if !w.Across || !w.Model.Across {
		w.mem.Forget(at)
	}
	w.hold(append(w.places[len(w.places):], at))
}

// hold gives the heads what has been read at some places.
func (w *Worker) hold(places []int) {
	d, k := w.Width, len(w.Kinds)
	for i, at := range places {
		copy(w.context[at*d:(at+1)*d], w.mem.At(at))
		copy(w.some[i*d:(i+1)*d], w.mem.At(at))
	}
	w.ws.KindsOf(w.params, w.likely[:len(places)*k], w.some[:len(places)*d])
	for i, at := range places {
		copy(w.kinds[at*k:(at+1)*k], w.likely[i*k:(i+1)*k])
	}
}

// Open reports that co-players are read wherever they are.
func (w *Worker) Open(int, int) bool { return true }

// Renamed reports that names have started anew since it was last asked.
func (w *Worker) Renamed() bool {
	was := w.again
	w.again = false
	return was
}

// Goal returns the features of hypothesis g on co-player j of env n, a view.
func (w *Worker) Goal(n, j, g int) []float32 {
	w.write(w.goal, w.At(n, j), g)
	return w.goal
}

// Reached returns no goal: the context tells whatever was reached.
func (w *Worker) Reached(*rollout.View, int, int) int { return game.NoGoal }

// Outcome says that beliefs count no episodes: the context remembers them.
func (w *Worker) Outcome(*rollout.View, int, int) (goal int, counts bool) { return game.NoGoal, false }

// Draw writes what a tree's co-player j is if it is of kind g, and returns its name: trees of
// one decision that draw the same kind share it, and so what networks say of it.
func (w *Worker) Draw(tree int32, n, j int, g int32, _ *rng.Rand) int32 {
	w.write(w.Drawn(tree, j, 0), w.At(n, j), int(g))
	w.kind[w.place(int(tree), j)] = w.who[g]
	return w.next + int32(w.place(n, j)*len(w.who)) + g
}

// Drawn returns the features of what was drawn, a view.
func (w *Worker) Drawn(tree int32, j int, _ int32) []float32 {
	d := w.Features()
	at := w.place(int(tree), j) * d
	return w.z[at : at+d]
}

// Partner returns the number of the kind that was drawn.
func (w *Worker) Partner(tree int32, j int, _ int32) int32 { return w.kind[w.place(int(tree), j)] }

// After returns how likely each of the game's goals is to be the one that co-player j of env n
// reaches next, a view; nil if there are none, or it has left. Kinds are not told apart.
func (w *Worker) After(n, j int) []float32 {
	at, width := w.place(n, j), w.sight.Spec.Obs.Len()
	goals := len(w.Model.Goals)
	if goals == 0 || w.waits[at] == nothing {
		return nil
	}
	w.after.Predict(w.params, w.seen[at*width:(at+1)*width], w.At(n, j), w.probs)
	sum := float32(0)
	for _, p := range w.probs[:goals] {
		sum += p
	}
	for g := range goals {
		w.probs[g] /= max(sum, 1e-9)
	}
	return w.probs[:goals]
}
