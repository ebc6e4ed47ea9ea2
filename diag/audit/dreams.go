package audit

import (
	"hop/agent"
	"hop/batch"
	"hop/game"
)

// dreams compares imagined windows with played ones.
type dreams struct {
	windows        int
	alive, realAl  int // rows
	exits, realEx  int
	cuts           int // within an imagined window: the model lost an agent
	masks          int // slots whose mask is not the one in the observation
	masked         int // slots compared
	undead         int // rows of agents that had ended, with an action or a reward
	going          int // rows that go on without a next, or end with one
	odd            int // rows with a reward that was never paid
	paid, realPaid float64
	seen           map[float32]bool
}

// real takes in a played window.
func (d *dreams) real(ro *batch.Rollout) {
	if d.seen == nil {
		d.seen = map[float32]bool{}
	}
	for a := range agent.ID(ro.Agents) {
		each(ro, a, func(_, _, step, slot int) {
			if !ro.Alive[slot] {
				return
			}
			d.realAl++
			d.realPaid += float64(ro.Reward[step])
			d.seen[ro.Reward[step]] = true
			if ro.End[step] == batch.Exited {
				d.realEx++
			}
		})
	}
}

// take looks at an imagined window.
func (d *dreams) take(u *session, ro *batch.Rollout) {
	d.windows++
	l := u.spec.Obs
	for a := range agent.ID(ro.Agents) {
		each(ro, a, func(t, n, step, slot int) {
			if !ro.Alive[slot] {
				if ro.Action[step] != game.NoAction || ro.Reward[step] != 0 || ro.Own[step] {
					d.undead++
				}
				return
			}
			d.alive++
			d.paid += float64(ro.Reward[step])
			if !d.seen[ro.Reward[step]] {
				d.odd++
			}
			if l.Legal > 0 {
				d.masked++
				obs := ro.ObsAt(slot)[l.LegalAt():l.TimeAt()]
				for k, ok := range ro.LegalAt(slot) {
					if ok != (obs[k] > 0.5) {
						d.masks++
						break
					}
				}
			}
			next := ro.Alive[ro.Slot(a, t+1, n)] && !ro.Start[ro.Moment(t+1, n)]
			switch ro.End[step] {
			case batch.Exited:
				d.exits++
				if next {
					d.going++
				}
			case batch.Going:
				if !next {
					d.going++
				}
			case batch.Cut:
				if t < ro.Steps-1 {
					d.cuts++
				}
			}
		})
	}
}
