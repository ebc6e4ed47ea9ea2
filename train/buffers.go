package train

import (
	"slices"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/store/runlog"
)

// BufferMetric is how the names of buffers' sizes begin.
const BufferMetric = "buffer/"

// buffers says how many rows there are now to learn from, by agent, in a run that has
// more than played ones: played rows, imagined ones, steps that the world model learns
// from, and co-players' steps that the model of others learnt from. Agents that are
// built alike ought to have as many.
func (s *SelfPlay) buffers(learnt [][]agent.Stat) []runlog.Row {
	predicts := slices.ContainsFunc(s.minds, func(m abilities) bool { return m.predicts })
	if s.imagine == nil && !predicts {
		return nil
	}
	var list []runlog.Row
	add := func(name string, a, n int) {
		list = append(list, runlog.Row{Name: BufferMetric + name, Agent: a, Value: float64(n), N: 1})
	}
	for a := range agent.ID(s.spec.Seats) {
		add("real", int(a), ownRows(s.ro, a))
		if s.imagine != nil {
			add("imagined", int(a), ownRows(s.imagined, a))
			if n, own := s.imagine.Rows(a); own {
				add("world", int(a), n)
			} else if a == 0 {
				add("world", -1, n)
			}
		}
		if i := s.parts.MindOf[a]; s.minds[i].predicts {
			ce, _ := stat(learnt[i], "moa/ce")
			add("others", int(a), ce.N)
		}
	}
	return list
}

// ownRows counts the rows of a window that are learnt from; 0 without a window.
func ownRows(ro *batch.Rollout, a agent.ID) (n int) {
	if ro == nil {
		return 0
	}
	for t := range ro.Steps {
		for e := range ro.Envs {
			if ro.Alive[ro.Slot(a, t, e)] && ro.Own[ro.Step(a, t, e)] {
				n++
			}
		}
	}
	return n
}
