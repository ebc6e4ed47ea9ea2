package check

import (
	"fmt"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/audit/reference"
)

const readsAt = "agent/hop: Infer, begin and hold in context.go; model/sequence: Memory and Read in play.go"

// reading follows what a sequence model reads of the co-players at a decision, and holds what the
// agent has of it against that: a token for every step that it saw come to something, over all
// episodes of a life.
func (x *walk) reading(t, n int, start bool, held []learner.Belief) {
	p := x.p
	forgets := start && (!x.cfg.Belief.Across || !x.goals.Lifelong() || x.cfg.Goals.Life > 0 && p.episode[n]%x.cfg.Goals.Life == 0)
	before := make([]*reference.Reader, len(x.others))
	for j, r := range p.read[n] {
		before[j] = r.Copy()
		x.next(r, t, n, j, start, forgets)
	}
	if !x.cfg.Belief.Within && !start {
		return
	}
	for j, a := range x.others {
		want := p.read[n][j].Says()
		x.history.rows++
		if far := distance(held[j].Mean, want, 2e-3); far > 0 {
			says := fmt.Sprintf("at step %d of env %d what is read of agent %d, %s, does not follow from what it did in its life: %s.",
				t, n, a, code(wide(held[j].Mean)), code(want))
			if start && p.episode[n] > 0 {
				says += fmt.Sprintf(" Episode %d starts there.", p.episode[n])
			}
			x.history.miss(far, "%s", readsAt, says+x.misread(n, j, forgets, before[j], wide(held[j].Mean)))
		}
		if belief := held[j].Posterior; x.goals.Untyped() && (belief[0] != 1 || belief[len(belief)-1] != 0) {
			x.history.miss(1, "at step %d of env %d the belief about agent %d is %s, but there is one hypothesis, whatever was read.",
				"agent/hop: posterior in context.go", t, n, a, numbers(belief))
		}
	}
}

// next lets a reader see what came of a co-player's last step, and what it sees now.
func (x *walk) next(r *reference.Reader, t, n, j int, start, forgets bool) {
	ro, a := x.ro, x.others[j]
	slot := ro.Slot(a, t, n)
	if start {
		r.Waits = nil // nobody is there to see what comes of an episode's last step
	}
	if forgets {
		r.Forget()
	}
	action, goal := x.played(a, t, n)
	r.Read(action, !ro.Alive[slot], goal)
	if r.Waits = nil; ro.Alive[slot] {
		r.Waits = &reference.Token{Obs: append([]float32(nil), ro.ObsAt(slot)...), Start: start}
	}
}

// misread names what a wrong reading agrees with; before is what had been read at the last decision.
func (x *walk) misread(n, j int, forgets bool, before *reference.Reader, got []float64) string {
	is := func(want []float64) bool { return distance(got, want, 2e-3) == 0 }
	switch r := x.p.read[n][j]; {
	case forgets && is(before.Says()):
		return " A life begins there: what was read in the one before is not forgotten."
	case is(before.Says()):
		return " It agrees with what had been read a step before."
	case is(r.Unbound()):
		return " It agrees without the bound of the code, tanh."
	case is(x.goals.NewReader().Says()):
		return " It agrees with having read nothing."
	}
	for i, o := range x.others {
		if i != j && is(x.p.read[n][i].Says()) {
			return fmt.Sprintf(" It agrees with what was read of agent %d.", o)
		}
	}
	return ""
}
