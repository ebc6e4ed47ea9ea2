package check

import (
	"math"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/search/bandit"
)

// guarded is what an agent's guards are to choose in play, by the record of what was expected and
// earned.
type guarded struct {
	scripts []game.Bot         // [answers but the first]
	lives   []*reference.Guard // [N]
	now     []reference.Played // [N] the running episode
	scale   float64            // of rewards in values
}

// Guarded makes the study one of play whose answers are guarded, if those of the agent f are.
func (s *Study) Guarded(f *safetensors.File, g game.Game, scale float64, envs int) error {
	goals, _, _, err := s.loaded(f)
	if err != nil || !goals.Untyped() {
		return err
	}
	s.guard = &guarded{now: make([]reference.Played, envs), scale: scale}
	for _, name := range bandit.Scripts(g) {
		b, err := game.NewBot(g, name)
		if err != nil {
			return err
		}
		s.guard.scripts = append(s.guard.scripts, b)
	}
	for range envs {
		s.guard.lives = append(s.guard.lives, &reference.Guard{Answers: 1 + len(s.guard.scripts)})
	}
	return nil
}

// Plans reports whether the plan is what is to answer in env n.
func (s *Study) Plans(n int) bool { return s.guard == nil || s.guard.now[n].Answer == 0 }

// answered holds what was done against the answer that was due, and notes what is expected of an
// episode that has just begun. What a plan against somebody unknown has moved is held against that.
func (s *Study) answered(v *rollout.View, n int, moved bool) {
	if s.guard == nil {
		return
	}
	const next = "agent/hop: Play and Over in answers.go; search/bandit: Guard"
	e, step := &s.guard.now[n], v.StepOf(n)
	if v.Start[v.Moment(v.T, n)] {
		e.Expected, e.Foreseen = float64(v.Value[v.SlotOf(n)])/s.guard.scale, true
	}
	act, probs, who := v.Action[step], v.TargetAt(step), "the plan"
	if e.Answer > 0 {
		p, says := s.guard.scripts[e.Answer-1].(game.Policy)
		if !says {
			return
		}
		probs, who = make([]float32, len(s.spec.Actions)), p.Name()
		p.Probs(v.State(n), v.SeatOf(n), probs)
	}
	if moved {
		return
	}
	s.answers.rows++
	switch {
	case act < 0 || probs[act] <= 0:
		s.answers.miss(1, "at step %d of env %d, in an episode that is %s's by what was expected and earned before, it plays %s, to which "+
			"that gives no probability.", next, v.T, n, who, s.name(act))
	case e.Answer == 0 && !agree(float64(v.LogProb[step]), math.Log(float64(probs[act])), 1e-4):
		s.answers.miss(1, "at step %d of env %d, in an episode that is the plan's by what was expected and earned before, it plays %s with "+
			"a probability of %.4f, the plan's is %.4f.", next, v.T, n, s.name(act), math.Exp(float64(v.LogProb[step])), probs[act])
	}
}

// Earned takes in what an episode earned.
func (s *Study) Earned(n int, earned float64) {
	if s.guard == nil {
		return
	}
	e := &s.guard.now[n]
	e.Earned = earned
	*e = reference.Played{Answer: s.guard.lives[n].Add(*e)}
}
