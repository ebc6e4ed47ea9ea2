package weaklink

import (
	"fmt"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/rules"
)

// Rules writes the game's rules down a second time, for hop audit: from what seats see and
// the parameters of the spec, without a line of the game's own code. What contradicts them
// is a fault of the game, in words.
func Rules(b *rules.Book, p *rules.Params) func() rules.Law {
	l := law{b: b, agents: p.Whole("agents"), levels: p.Whole("levels"), rounds: p.Whole("rounds"), cost: p.Number("cost")}
	spec := game.Spec{Name: "weaklink", Kind: game.GeneralSum, Seats: l.agents, Horizon: l.rounds, Symmetric: true, Deterministic: true,
		Obs: game.Layout{Legal: l.levels, Time: 1, Last: l.agents}}
	for k := range l.levels {
		spec.Actions = append(spec.Actions, fmt.Sprint("effort", k))
	}
	b.SpecIs(spec)
	return func() rules.Law { own := l; return &own }
}

// law follows one env.
type law struct {
	b                      *rules.Book
	agents, levels, rounds int
	cost                   float64
	t                      int
}

// Begin looks at the start of an episode.
func (l *law) Begin(now *rules.Seen) {
	l.t = 0
	l.look(now, nil)
}

// Step looks at what came of a joint action.
func (l *law) Step(now *rules.Seen, efforts []int32, rewards []float32) {
	l.t++
	lowest := efforts[0]
	for _, e := range efforts {
		lowest = min(lowest, e)
	}
	for s, e := range efforts {
		if want := float64(lowest) - l.cost*float64(e); !near(float64(rewards[s]), want) {
			l.b.Contradict("pay", "seat %d, whose effort is %d while the lowest is %d, is paid %.4g; the rules say %.4g", s, e, lowest,
				rewards[s], want)
		}
	}
	l.look(now, efforts)
}

// look checks the end, the masks, and that everybody sees what all did, itself first.
func (l *law) look(now *rules.Seen, efforts []int32) {
	if over := l.t >= l.rounds; now.Over != over {
		l.b.Contradict("end", "the episode is over: %v after %d rounds; the rules say %v", now.Over, l.t, over)
	}
	for s := range l.agents {
		want := make([]float64, l.levels+1+l.agents*l.levels)
		for k, ok := range now.Legal[s] {
			if ok == now.Over {
				l.b.Contradict("mask", "seat %d may play effort %d: %v after %d of %d rounds", s, k, ok, l.t, l.rounds)
			}
			if ok {
				want[k] = 1
			}
		}
		want[l.levels] = float64(l.t) / float64(l.rounds)
		for o := range efforts {
			want[l.levels+1+o*l.levels+int(efforts[(s+o)%l.agents])] = 1
		}
		for i, x := range want {
			if !near(float64(now.Obs[s][i]), x) {
				l.b.Contradict("view", "after %d rounds seat %d sees number %d as %.4g; the rules say %.4g", l.t, s, i, now.Obs[s][i], x)
				break
			}
		}
	}
}

func near(a, b float64) bool { return a-b < 1e-5 && b-a < 1e-5 }
