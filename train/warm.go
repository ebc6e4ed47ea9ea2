package train

import (
	"hop/agent"
	"hop/rollout"
)

// warm reports whether the run is still watching bots.
func (s *SelfPlay) warm() bool { return s.update < s.cfg.Warm.Windows }

// showBots puts bots on agent a's place: in env n, n mod (A+1) agents are the
// first bot, and which ones goes round with n.
func (s *SelfPlay) showBots(a agent.ID) error {
	s.dealing.learns[a] = false
	first, err := s.play(s.cfg.Warm.Who[0], a)
	if err != nil {
		return err
	}
	second, err := s.play(s.cfg.Warm.Who[1], a)
	if err != nil {
		return err
	}
	for w := range s.players {
		s.players[w][a].(*dealtPlayer).own = &shown{a: int(a), agents: s.spec.Seats, first: first[w], second: second[w]}
	}
	return nil
}

// shown plays one of two bots, by env.
type shown struct {
	a, agents     int
	first, second rollout.Player
	rows          []int32
}

// Act lets both play their envs. The rows are the agent's own to learn from, and
// what was played is the policy to learn.
func (p *shown) Act(v *rollout.View, envs []int32) {
	for _, first := range []bool{true, false} {
		p.rows = p.rows[:0]
		for _, n := range envs {
			if p.isFirst(int(n)) == first {
				p.rows = append(p.rows, n)
			}
		}
		switch {
		case len(p.rows) == 0:
		case first:
			p.first.Act(v, p.rows)
		default:
			p.second.Act(v, p.rows)
		}
	}
	for _, n := range envs {
		step := v.StepOf(int(n))
		v.Own[step] = true
		target := v.TargetAt(step)
		clear(target)
		target[v.Action[step]] = 1
	}
}

func (p *shown) isFirst(n int) bool { return (p.a+n/(p.agents+1))%p.agents < n%(p.agents+1) }

// Evaluate writes nothing: bots have no values.
func (p *shown) Evaluate(*rollout.View, []int32) {}
