package imagine

import (
	"math"
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
)

// imaginer is an agent that imagines for itself, for one worker. The others act in its
// copies as it expects them to: by its beliefs and its model of others, from what
// happened in the imagined episode. It watches a slot before anybody acts there, once,
// whoever comes first.
//
// An action that is drawn from the mixture over hypotheses, after which the belief is
// updated by it, is distributed as if a hypothesis had been drawn from the belief at the
// episode's start and followed to its end.
type imaginer struct {
	learner.Foreseeing
	me    agent.ID
	place []int        // [A] each agent's place among those whom it models; -1: its own
	slot  []int32      // [copies of the worker and others] the slot that it has watched last; -1: none
	view  rollout.View // of its own
	rows  []int32
	reads []float64 // [Actions]
	probs []float32
}

func newImaginer(p learner.Foreseeing, me agent.ID, agents, actions, envs int) *imaginer {
	d := &imaginer{
		Foreseeing: p, me: me, slot: make([]int32, envs), rows: make([]int32, 0, envs), reads: make([]float64, actions),
		probs: make([]float32, actions),
	}
	for a := range agent.ID(agents) {
		d.place = append(d.place, slices.Index(p.Others(), a))
	}
	return d
}

// forget makes it watch anew: another window begins.
func (d *imaginer) forget() {
	for n := range d.slot {
		d.slot[n] = -1
	}
}

// look watches what there is to see at a slot, if it has not yet.
func (d *imaginer) look(v *rollout.View, envs []int32) {
	d.rows = d.rows[:0]
	for _, n := range envs {
		if d.slot[n] != int32(v.T) {
			d.slot[n] = int32(v.T)
			d.rows = append(d.rows, n)
		}
	}
	if len(d.rows) > 0 {
		d.view = *v
		d.view.Agent = d.me
		d.Watch(&d.view, d.rows)
	}
}

// act lets another agent act as it is expected to.
func (d *imaginer) act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		d.Read(d.reads, int(n), d.place[v.Agent])
		sum := 0.
		for k, legal := range v.LegalAt(v.SlotOf(int(n))) {
			if !legal {
				d.reads[k] = 0
			}
			sum += d.reads[k]
		}
		for k, p := range d.reads {
			d.probs[k] = float32(p / sum)
		}
		if !(sum > 0) { // nothing that it expects is possible
			game.Spread(d.probs, v.LegalAt(v.SlotOf(int(n))))
		}
		step := v.StepOf(int(n))
		k := game.Sample(d.probs, v.Rand(int(n)))
		v.Action[step], v.Own[step] = k, false
		v.LogProb[step] = float32(math.Log(float64(d.probs[k])))
	}
}

// seat plays one agent in the copies of all who imagine: itself in its own, and as it
// is expected to act in the others'.
type seat struct {
	agent     agent.ID
	copies    int         // of each agent
	imaginers []*imaginer // [A]
}

// Act acts in all of them.
func (p *seat) Act(v *rollout.View, envs []int32) {
	p.each(envs, func(d *imaginer, rows []int32) {
		if d.look(v, rows); d.me == p.agent {
			d.Choose(v, rows)
		} else {
			d.act(v, rows)
		}
	})
}

// Evaluate writes the values of its own imagination.
func (p *seat) Evaluate(v *rollout.View, envs []int32) {
	p.each(envs, func(d *imaginer, rows []int32) {
		if d.me == p.agent {
			d.Evaluate(v, rows)
		}
	})
}

// EpisodeOver passes on to who imagined the episode.
func (p *seat) EpisodeOver(v *rollout.View, n int) {
	if d := p.imaginers[n/p.copies]; d.me == p.agent {
		if w, ok := d.Foreseeing.(rollout.Watcher); ok {
			w.EpisodeOver(v, n)
		}
	}
}

// each calls do with those who imagine and with the copies of each, which follow each
// other.
func (p *seat) each(envs []int32, do func(d *imaginer, rows []int32)) {
	for len(envs) > 0 {
		who, n := int(envs[0])/p.copies, 1
		for n < len(envs) && int(envs[n])/p.copies == who {
			n++
		}
		do(p.imaginers[who], envs[:n])
		envs = envs[n:]
	}
}

var _ rollout.Watcher = (*seat)(nil)
