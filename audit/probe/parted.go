package probe

import (
	"slices"
	"strings"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/train/spec"
)

// stage is a window as it was played, what was seen as fingerprints, and what the run was when that had been learnt from.
type stage struct {
	*batch.Rollout
	seen  []uint64 // [A][T+1][N] what was seen, and what may be done
	after *safetensors.File
}

// see keeps a window that was played.
func (r *resumer) see(ro *batch.Rollout, imagined bool) {
	if imagined || !r.watched {
		return
	}
	shape := ro.Shape
	shape.ObsLen, shape.GoalLen = 0, 0
	s := &stage{Rollout: batch.New(shape)}
	s.CopyFrom(ro)
	for slot := range ro.Alive {
		s.seen = append(s.seen, record.Print(ro.ObsAt(slot))*31+record.Bits(ro.LegalAt(slot)))
	}
	r.stages = append(r.stages, s)
}

// culprit names the module in which two runs first part, and where to look.
func (r *resumer) culprit(o *resumer, s *spec.Spec) (module, next string) {
	for i := range min(len(r.stages), len(o.stages)) {
		a, b := r.stages[i], o.stages[i]
		switch who, decides, played := a.parts(b); {
		case decides:
			return decider(s, who), "what workers' players share: Prepare and Follow, and whatever is made anew when a window begins"
		case played:
			return "rollout", "what workers share while they play: streams, buffers and scratch of envs that another worker has"
		case a.after == nil || b.after == nil:
			continue
		}
		lost := Unlike(a.after, b.after)
		begins := func(with string) bool {
			return slices.ContainsFunc(lost, func(name string) bool { return strings.HasPrefix(name, with) })
		}
		const sums = "sums over shards: as many parts and the same order, however many cores there are, and nothing left of the window before"
		switch {
		case begins("envs"):
			return "rollout", "what workers share while they play: streams, buffers and scratch of envs that another worker has"
		case begins("imagine/"):
			return "world", sums
		case begins("mind/"):
			return check.PPO, sums
		}
	}
	return "", ""
}

// parts says whether two windows are played otherwise, and whether it is first so in what an agent decided or took something to be
// worth though it saw the same: by its network or its search, not by which action was drawn.
func (s *stage) parts(o *stage) (who agent.ID, decides, played bool) {
	for t := range s.Steps + 1 {
		for i := range s.Agents * s.Envs {
			if a, n := agent.ID(i/s.Envs), i%s.Envs; s.showsElse(o, a, t, n) {
				return a, false, true
			}
		}
		for i := range s.Agents * s.Envs {
			if a, n := agent.ID(i/s.Envs), i%s.Envs; s.decidesElse(o, a, t, n) {
				return a, true, true
			}
		}
		for i := range s.Agents * s.Envs {
			if a, n := agent.ID(i/s.Envs), i%s.Envs; t < s.Steps && s.goesElse(o, a, t, n) {
				return a, false, true
			}
		}
	}
	return 0, false, false
}

func (s *stage) showsElse(o *stage, a agent.ID, t, n int) bool {
	slot, moment := s.Slot(a, t, n), s.Moment(t, n)
	return s.seen[slot] != o.seen[slot] || s.Alive[slot] != o.Alive[slot] || s.Seat[slot] != o.Seat[slot] ||
		s.Start[moment] != o.Start[moment]
}

func (s *stage) decidesElse(o *stage, a agent.ID, t, n int) bool {
	slot := s.Slot(a, t, n)
	if s.Value[slot] != o.Value[slot] || t == s.Steps {
		return s.Value[slot] != o.Value[slot]
	}
	step := s.Step(a, t, n)
	return s.Own[step] == o.Own[step] && (!slices.Equal(s.TargetAt(step), o.TargetAt(step)) ||
		s.Action[step] == o.Action[step] && s.LogProb[step] != o.LogProb[step])
}

func (s *stage) goesElse(o *stage, a agent.ID, t, n int) bool {
	step := s.Step(a, t, n)
	return s.Action[step] != o.Action[step] || s.Own[step] != o.Own[step] || !slices.Equal(s.VectorAt(step), o.VectorAt(step)) ||
		s.Reward[step] != o.Reward[step] || s.End[step] != o.End[step] || s.Reached[step] != o.Reached[step]
}

// decider is the module that decides for an agent.
func decider(s *spec.Spec, a agent.ID) string {
	if _, plans := spec.SettingsAs[hop.Planning](s.LearnsAs(a)); plans {
		return "planner"
	}
	return check.PPO
}
