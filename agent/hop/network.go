package hop

import (
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game/rollout"
)

// networkPlayer lets one agent decide by its own network alone, for one worker: PPO
// that reads what the co-players are inferred to be after, and learns from what it read.
type networkPlayer struct {
	watcher
	own     *ppo.Player
	goalLen int  // numbers that it reads about goals
	learns  bool // what it plays is learnt from: nobody looks at what it predicts
}

func (m *Mind) networkPlayer(envs int) *networkPlayer {
	p := &networkPlayer{m.watcher(envs), m.own.brain.Player(m.sees.me, envs), m.goalLen, !m.frozen}
	p.own.Goals = make([]float32, envs*m.goalLen)
	return p
}

// Act infers, predicts and chooses.
func (p *networkPlayer) Act(v *rollout.View, envs []int32) {
	if p.learns && p.inferred.Belief != nil { // beliefs do not follow from predictions
		p.goals.Infer(v, envs)
		p.beliefs.Update(v, envs, p.inferred, p.predictions)
	} else {
		p.Watch(v, envs)
	}
	p.Choose(v, envs)
	p.answers.Play(v, envs, p)
}

// Choose draws an action from the network's policy, given what was inferred last.
func (p *networkPlayer) Choose(v *rollout.View, envs []int32) {
	p.read(v, envs)
	p.own.Act(v, envs)
}

// Evaluate writes the network's values, where a window cuts an episode.
func (p *networkPlayer) Evaluate(v *rollout.View, envs []int32) {
	p.read(v, envs)
	p.own.Evaluate(v, envs)
}

// read hands what is believed to the network, and to the window it will learn from.
func (p *networkPlayer) read(v *rollout.View, envs []int32) {
	if p.goalLen == 0 {
		return
	}
	for _, n := range envs {
		p.beliefs.write(p.own.Goals[int(n)*p.goalLen:][:p.goalLen], v, int(n), p.inferred)
	}
	p.beliefs.Write(v, envs, p.inferred)
}

var (
	_ learner.Believing  = (*networkPlayer)(nil)
	_ learner.Explainer  = (*networkPlayer)(nil)
	_ learner.Foreseeing = (*networkPlayer)(nil)
	_ rollout.Watcher    = (*networkPlayer)(nil)
)
