package check

import (
	"hop/audit/reference"
	"hop/batch"
)

// slip is a way in which rows of a model of others may be wrong, to be named if it
// explains what was learnt.
type othersSlip struct {
	says, next string
	rows       rowsMaker
}

// rowsMaker makes the rows that a slip would.
type rowsMaker func(s *Study, o reference.Others, ro *batch.Rollout, labels []reference.Label) []reference.Step

// edited makes rows of labels that were changed one by one; false leaves one out.
func edited(edit func(s *Study, ro *batch.Rollout, l *reference.Label, i int, all []reference.Label) bool) rowsMaker {
	return func(s *Study, o reference.Others, ro *batch.Rollout, labels []reference.Label) []reference.Step {
		var list []reference.Label
		for i, l := range labels {
			if edit(s, ro, &l, i, labels) {
				list = append(list, l)
			}
		}
		return o.Steps(ro, list)
	}
}

// seen makes rows whose observations are others'.
func seen(obs func(s *Study, ro *batch.Rollout, l reference.Label) []float32) rowsMaker {
	return func(s *Study, o reference.Others, ro *batch.Rollout, labels []reference.Label) []reference.Step {
		var kept []reference.Step
		for i, row := range o.Steps(ro, labels) {
			row.Obs = obs(s, ro, labels[i])
			if at := s.spec.Obs.LegalAt(); s.spec.Obs.Legal > 0 {
				row.Legal = make([]bool, len(row.Legal))
				for k := range row.Legal {
					row.Legal[k] = row.Obs[at+k] != 0
				}
			}
			if row.Legal[row.Action] { // the model refuses what it takes for illegal
				kept = append(kept, row)
			}
		}
		return kept
	}
}

var othersSlips = []othersSlip{
	{"with the observations of the step after", "mind/hop: rows in learn.go",
		seen(func(_ *Study, ro *batch.Rollout, l reference.Label) []float32 {
			return ro.ObsAt(ro.Slot(l.Agent, l.T+1, l.Env))
		})},
	{"with the observations of the step before", "mind/hop: rows in learn.go",
		seen(func(_ *Study, ro *batch.Rollout, l reference.Label) []float32 {
			if !ro.Start[ro.Moment(l.T, l.Env)] {
				l.T--
			}
			return ro.ObsAt(ro.Slot(l.Agent, l.T, l.Env))
		})},
	{"with the agent's own observations in place of its co-players'", "mind/hop: rows in learn.go",
		seen(func(s *Study, ro *batch.Rollout, l reference.Label) []float32 {
			return ro.ObsAt(ro.Slot(s.me, l.T, l.Env))
		})},
	{"with the number of another co-player", "mind/hop: features in hop.go",
		edited(func(s *Study, _ *batch.Rollout, l *reference.Label, _ int, _ []reference.Label) bool {
			l.Other = (l.Other + 1) % len(s.others)
			return true
		})},
	{"without saying which co-player it is", "mind/hop: features in hop.go",
		func(_ *Study, o reference.Others, ro *batch.Rollout, labels []reference.Label) []reference.Step {
			rows := o.Steps(ro, labels)
			for i := range rows {
				clear(rows[i].Features[o.Width:])
			}
			return rows
		}},
	{"without the goals", "mind/hop: features in hop.go",
		func(_ *Study, o reference.Others, ro *batch.Rollout, labels []reference.Label) []reference.Step {
			rows := o.Steps(ro, labels)
			for i := range rows {
				clear(rows[i].Features[:o.Width])
			}
			return rows
		}},
	{"with the label of the step before", "mind/hop: rows in learn.go",
		edited(func(_ *Study, _ *batch.Rollout, l *reference.Label, i int, all []reference.Label) bool {
			l.Goal = all[max(i-1, 0)].Goal
			return true
		})},
	{"with the label of the step after", "mind/hop: rows in learn.go",
		edited(func(_ *Study, _ *batch.Rollout, l *reference.Label, i int, all []reference.Label) bool {
			l.Goal = all[min(i+1, len(all)-1)].Goal
			return true
		})},
	{"with one label for all steps of an episode, its first", "mind/hop: rows in learn.go",
		edited(func(_ *Study, _ *batch.Rollout, l *reference.Label, i int, all []reference.Label) bool {
			for i > 0 && all[i-1].Agent == l.Agent && all[i-1].Env == l.Env && all[i-1].T == all[i].T-1 {
				i--
			}
			l.Goal = all[i].Goal
			return true
		})},
	{"without the last step of every episode", "mind/hop: rows in learn.go",
		edited(func(_ *Study, _ *batch.Rollout, l *reference.Label, i int, all []reference.Label) bool {
			return i+1 < len(all) && all[i+1].Agent == l.Agent && all[i+1].Env == l.Env && all[i+1].T == l.T+1
		})},
	{"without the first step of every episode", "mind/hop: rows in learn.go",
		edited(func(_ *Study, ro *batch.Rollout, l *reference.Label, _ int, _ []reference.Label) bool {
			return !ro.Start[ro.Moment(l.T, l.Env)]
		})},
}
