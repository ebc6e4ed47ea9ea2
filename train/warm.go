package train

import (
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/store/runlog"
)

// WarmUp names the windows in which bots play all places, wherever they are shown:
// what is returned there is not the agents'.
const WarmUp = "warm-up: bots play, agents watch"

// Covers reports whether bots play the window of that number, the first being 0.
func (w Warm) Covers(window int) bool { return window < w.Windows }

// Until returns the last env step of the warm-up, 0 if there is none, from the rows
// of a run's metrics.csv: every window has written some, at a step of its own. Of a
// run that is still in its warm-up it is the last step so far.
func (w Warm) Until(rows []runlog.Row) int64 {
	last, window := int64(0), -1
	for _, row := range rows {
		if row.Step != last {
			window++
		}
		if !w.Covers(window) {
			break
		}
		last = row.Step
	}
	return last
}

// warm reports whether the run is still watching bots.
func (s *SelfPlay) warm() bool { return s.cfg.Warm.Covers(s.update) }

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
