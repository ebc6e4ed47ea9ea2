package hop

import (
	"hop/mind"
	"hop/ppo"
	"hop/rollout"
)

// networkPlayer lets one agent decide by its own network alone, for one worker: PPO
// that reads what the co-players are inferred to be after, and learns from what it read.
type networkPlayer struct {
	*watcher
	own *ppo.Player
}

func (m *Mind) networkPlayer(envs int) *networkPlayer {
	p := &networkPlayer{m.watcher(envs, 1), m.Brain.Player(m.me, envs)}
	p.own.Goals = make([]float32, envs*m.goalLen)
	return p
}

// Act infers, predicts and chooses.
func (p *networkPlayer) Act(v *rollout.View, envs []int32) {
	p.Watch(v, envs)
	p.Choose(v, envs)
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

// read hands the posterior to the network, and to the window it will learn from.
func (p *networkPlayer) read(v *rollout.View, envs []int32) {
	if p.goalLen == 0 {
		return
	}
	for _, n := range envs {
		p.posterior(p.own.Goals[int(n)*p.goalLen:][:p.goalLen], v, int(n))
	}
	p.writePosterior(v, envs)
}

// Dream returns the mind as it plays in envs that are made up.
func (m *Mind) Dream(envs int) (mind.Mind, func()) {
	d := *m
	switch g := m.goals.(type) {
	case *latent:
		c := *g
		d.goals = &c
	case *classes:
		c := *g
		d.goals = &c
	}
	d.Remember(envs, 0)
	return &d, func() {
		for n, b := range d.beliefs {
			b.CopyCounts(m.beliefs[n%len(m.beliefs)])
		}
	}
}

var (
	_ mind.Believing  = (*networkPlayer)(nil)
	_ mind.Wording    = (*networkPlayer)(nil)
	_ mind.Foreseeing = (*networkPlayer)(nil)
	_ rollout.Watcher = (*networkPlayer)(nil)
)
