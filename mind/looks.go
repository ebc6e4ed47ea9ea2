package mind

import (
	"math"

	"hop/agent"
	"hop/game"
	"hop/rollout"
)

// Look is one step of one co-player that an agent was there to see: what was held of it
// before it acted, and what came of it.
type Look struct {
	Env, Episode, Step int
	Other              int    // which co-player
	Pursues            string // what it was after, if that can be told at once
	Next               int    // the goal that it reached next in the episode, or game.NoGoal
	Acted              bool   // what it did is known: not of the agent's last look at an episode
	Held               []Held // by the agent, then by those who watch beside it
}

// Held is what somebody held of a co-player.
type Held struct {
	Top1, CE float64   // of the action: 1 if the likeliest one was played, of equally likely ones its share; -ln p of it
	Names    []string  // goals in words, nothing where none are inferred
	Probs    []float64 // of each
}

// Right returns whether the likeliest goal is the one of that name: 1, 0, or the share
// of several that are equally likely.
func (h *Held) Right(name string) float64 {
	for i, n := range h.Names {
		if n == name {
			return top1(h.Probs, i)
		}
	}
	return 0
}

// Of returns how likely a goal is held to be.
func (h *Held) Of(name string) float64 {
	for i, n := range h.Names {
		if n == name {
			return h.Probs[i]
		}
	}
	return 0
}

// Witness watches one env's co-players beside an agent: the Bayes observer, for one.
type Witness interface {
	// See takes in env n at a slot at which the agent acts.
	See(v *rollout.View, n int)
	// Predict writes what co-player j is expected to do then, dst [Actions].
	Predict(dst []float64, j int)
	// InWords returns how likely co-player j is to be after each goal; nothing if that
	// cannot be said.
	InWords(j int) (names []string, probs []float64)
}

// Looks calls f with every look, env by env, in the order of time.
func (r *Readings) Looks(f func(l *Look)) {
	for n := range r.env {
		for i := range r.env[n].list {
			f(&r.env[n].list[i])
		}
	}
}

// looks are one env's.
type looks struct {
	list    []Look
	beside  []Witness
	open    []int     // [others] the look whose action is not known yet, -1: none
	waiting [][]int   // [others] this episode's looks since a goal was reached
	reached []bool    // [others] one was reached in this episode
	dist    []float64 // [others][1+beside][MaxActions] what was expected at the open looks
}

// watch prepares for the co-players of env n.
func (e *looks) watch(r *Readings, n int, others []agent.ID) {
	if e.open != nil {
		return // another worker's player has done it
	}
	if r.Beside != nil {
		e.beside = r.Beside(n, others)
	}
	e.open, e.waiting, e.reached = make([]int, len(others)), make([][]int, len(others)), make([]bool, len(others))
	e.dist = make([]float64, len(others)*(1+len(e.beside))*game.MaxActions)
	e.begin()
}

// begin starts an episode.
func (e *looks) begin() {
	for j := range e.open {
		e.open[j], e.waiting[j], e.reached[j] = -1, e.waiting[j][:0], false
	}
}

// at returns where what was expected of co-player j by a holder is kept.
func (e *looks) at(j, holder int) []float64 {
	i := (j*(1+len(e.beside)) + holder) * game.MaxActions
	return e.dist[i : i+game.MaxActions]
}

// settle notes what the co-players did since the last slot, and what they reached.
func (e *looks) settle(v *rollout.View, n int, others []agent.ID) {
	for j, a := range others {
		if i := e.open[j]; i >= 0 {
			e.open[j] = -1
			if k := v.PlayedOf(n, a); k != game.NoAction {
				l := &e.list[i]
				l.Acted = true
				for h := range l.Held {
					p := e.at(j, h)[:v.Actions]
					l.Held[h].Top1, l.Held[h].CE = top1(p, int(k)), -math.Log(max(p[k], 1e-9))
				}
			}
		}
		if g := v.ReachedOf(n, a); g != game.NoGoal {
			e.reach(j, g)
		}
	}
}

// reach says of the looks that waited for it which goal co-player j reached.
func (e *looks) reach(j, goal int) {
	for _, i := range e.waiting[j] {
		e.list[i].Next = goal
	}
	e.waiting[j], e.reached[j] = e.waiting[j][:0], true
}

// end notes what the co-players reached in the episode's last step or, if the agent had
// left before, since then: the last goal, unless it was there to see one.
func (e *looks) end(v *rollout.View, n int, others []agent.ID) {
	for j, a := range others {
		g := game.NoGoal
		if v.Alive[v.SlotOf(n)] {
			g = v.ReachedOf(n, a)
		} else if !e.reached[j] {
			g = v.GoalOf(n, a)
		}
		if g != game.NoGoal {
			e.reach(j, g)
		}
	}
}

// look keeps what is held of co-player j, which is there; expected is what the agent
// expects it to do.
func (p *reader) look(v *rollout.View, n, j int, expected []float64) {
	e := &p.r.env[n]
	l := Look{Env: n, Episode: e.episode, Step: e.step, Other: j, Next: game.NoGoal, Held: make([]Held, 1+len(e.beside))}
	if p.r.Pursues != nil {
		l.Pursues = p.r.Pursues(v.State(n), v.SeatAt(v.Slot(p.others[j], v.T, n)), e.episode, j)
	}
	copy(e.at(j, 0), expected)
	if p.words != nil {
		l.Held[0].Names, l.Held[0].Probs = p.words.InWords(n, j)
	}
	for i, w := range e.beside {
		w.Predict(e.at(j, 1+i)[:v.Actions], j)
		l.Held[1+i].Names, l.Held[1+i].Probs = w.InWords(j)
	}
	e.open[j] = len(e.list)
	e.waiting[j] = append(e.waiting[j], len(e.list))
	e.list = append(e.list, l)
}

// top1 is 1 if entry k is the largest, of several that are the share of one, else 0.
func top1(p []float64, k int) float64 {
	const equal = 1e-9
	best, ties := p[0], 0
	for _, x := range p {
		best = max(best, x)
	}
	for _, x := range p {
		if x >= best-equal {
			ties++
		}
	}
	if p[k] < best-equal {
		return 0
	}
	return 1 / float64(ties)
}
