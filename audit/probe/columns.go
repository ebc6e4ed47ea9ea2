package probe

import (
	"errors"
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
)

// column is a part of others' rows that a learner could read.
type column struct {
	name     string
	declared func(r learner.Reads) bool
	edit     func(ro *batch.Rollout, step, slot, goals int)
}

func never(learner.Reads) bool { return false }

// columns are all of them, but for who lived how long, and where, which everyone may
// know.
var columns = []column{
	{"observations", func(r learner.Reads) bool { return r.Obs }, func(ro *batch.Rollout, _, slot, _ int) {
		for i, x := range ro.ObsAt(slot) {
			ro.ObsAt(slot)[i] = 1 - x
		}
	}},
	{"actions", func(r learner.Reads) bool { return r.Action }, func(ro *batch.Rollout, step, slot, _ int) {
		ro.Action[step] = another(ro.LegalAt(slot), max(ro.Action[step], 0))
	}},
	{"rewards", func(r learner.Reads) bool { return r.Reward }, func(ro *batch.Rollout, step, _, _ int) {
		ro.Reward[step] += float32(1 + step*7%5)
	}},
	{"goals reached", func(r learner.Reads) bool { return r.Reached }, func(ro *batch.Rollout, step, _, goals int) {
		if g := ro.Reached[step]; g >= 0 && goals > 1 {
			ro.Reached[step] = int8((int(g) + 1) % goals)
		}
	}},
	{"values", func(r learner.Reads) bool { return r.Value }, func(ro *batch.Rollout, step, slot, _ int) {
		ro.Value[slot] += float32(1 + step%3)
	}},
	{"probabilities", never, func(ro *batch.Rollout, step, _, _ int) { ro.LogProb[step] -= 0.5 }},
	{"search policies", never, func(ro *batch.Rollout, step, slot, _ int) {
		clear(ro.TargetAt(step))
		ro.TargetAt(step)[another(ro.LegalAt(slot), max(ro.Action[step], 0))] = 1
	}},
	{"beliefs", never, func(ro *batch.Rollout, _, slot, _ int) {
		for i := range ro.GoalAt(slot) {
			ro.GoalAt(slot)[i] += 0.5
		}
	}},
}

// tamper changes everything about a row of the agent's own that a learner could
// read except whether it is alive and own. Rewards stay if the team's are
// legitimately read.
func tamper(ro *batch.Rollout, step, slot, planes int, rewards bool) {
	if k := ro.Action[step]; k >= 0 {
		ro.Action[step] = another(ro.LegalAt(slot), k)
	} else {
		ro.Action[step] = 0
	}
	if rewards {
		ro.Reward[step]++
	}
	ro.LogProb[step] -= 0.5
	ro.Value[slot]++
	obs := ro.ObsAt(slot)
	for i := range obs[:planes] {
		obs[i] = 1 - obs[i]
	}
	target := ro.TargetAt(step)
	clear(target)
	target[max(ro.Action[step], 0)] = 1
}

// mark changes one row in the way that matters most to a learner.
func mark(ro *batch.Rollout, step, slot int, prosocial bool) {
	if !prosocial {
		ro.Reward[step]++
		return
	}
	ro.Action[step] = another(ro.LegalAt(slot), ro.Action[step])
	target := ro.TargetAt(step)
	clear(target)
	target[ro.Action[step]] = 1
}

// declared asks of every column of others' rows that the mind declares to read
// whether it counts, and, where something else does, of every other one which it is.
func (p *prober) declared(src *Sources) {
	secret := false
	for b, share := range src.Share {
		secret = secret || share > 0 && !slices.Contains(src.Agents, agent.ID(b))
	}
	for _, c := range columns {
		is := c.declared(src.Reads)
		if !is && !secret || is && !p.matters(src, c) {
			continue
		}
		net := p.changed(func(ro *batch.Rollout) {
			for b := range agent.ID(ro.Agents) {
				if !slices.Contains(src.Agents, b) {
					record.Each(p.played, b, func(_, _, step, slot int) {
						if p.played.Alive[slot] {
							c.edit(ro, step, slot, p.goals)
						}
					})
				}
			}
		})
		switch {
		case is && net:
			src.Done = append(src.Done, c.name)
		case is:
			src.Undone = append(src.Undone, c.name)
		case net:
			src.Hidden = append(src.Hidden, c.name)
		}
	}
}

// matters reports whether a declared column can count in this window: there are rows
// of others, and for labels in hindsight some at which the agent itself was there.
func (p *prober) matters(src *Sources, c column) bool {
	played := p.played
	if h, ok := learner.As[Labeller](p.mind); ok && p.window.Rewards.Prosocial == 0 {
		n := 0
		for _, l := range h.Labels(p.window) {
			if played.Alive[played.Slot(src.Agents[0], l.T, l.Env)] && played.Own[played.Step(src.Agents[0], l.T, l.Env)] {
				n++
			}
		}
		p.err = errors.Join(p.err, p.saver.Load(p.start, ""))
		return n >= 20 && (c.name != "goals reached" || p.goals > 1)
	}
	for b := range agent.ID(played.Agents) {
		if slices.Contains(src.Agents, b) {
			continue
		}
		found := false
		record.Each(played, b, func(_, _, _, slot int) { found = found || played.Alive[slot] })
		if found {
			return true
		}
	}
	return false
}
