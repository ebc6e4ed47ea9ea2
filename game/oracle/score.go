package oracle

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/rollout"
)

// Verdict is what the oracle says of one episode of a player.
type Verdict struct {
	Value float64 // the best response's value of the start
	Loss  float64 // sum over decisions of the best value less the value of what was played
}

// Scorer watches a player and says how much each decision lost against the best
// response. The mean of Loss is the regret, free of the luck that is in returns:
// V(start) - E return = E sum (V(s) - Q(s, a)).
type Scorer struct {
	rollout.Player
	team     []string
	bots     []string
	envs     []*BR // [envs] made when needed
	g        game.Game
	verdicts [][]Verdict // [envs][episodes]
	running  []Verdict   // [envs]
	q        [game.MaxActions]float64
}

// NewScorer returns a scorer of a player that plays with a team, one bot's name an
// agent. Scorers of several workers may share verdicts, [envs][episodes], since
// workers share no env. It panics later if the team is not Solvable.
func NewScorer(p rollout.Player, g game.Game, team []string, verdicts [][]Verdict) *Scorer {
	return &Scorer{
		Player: p, g: g, team: team, bots: make([]string, len(team)), envs: make([]*BR, len(verdicts)),
		verdicts: verdicts, running: make([]Verdict, len(verdicts)),
	}
}

// Act lets the player act, then scores.
func (j *Scorer) Act(v *rollout.View, envs []int32) {
	j.Player.Act(v, envs)
	for _, n := range envs {
		n := int(n)
		if j.envs[n] == nil {
			br, err := NewBR(j.g, 1)
			if err != nil {
				panic("oracle: a scorer's game must be solvable")
			}
			j.envs[n] = br
		}
		for s := range j.bots {
			j.bots[s] = j.team[v.AgentAt(n, game.Seat(s))]
		}
		legal, err := j.envs[n].Q(j.q[:], v.State(n), v.SeatOf(n), j.bots)
		if err != nil {
			panic("oracle: a scorer's team must be solvable")
		}
		best, got := 0., j.q[v.Action[v.StepOf(n)]]
		for k, q := range j.q {
			if legal>>k&1 != 0 {
				best = max(best, q)
			}
		}
		if v.Start[v.Moment(v.T, n)] {
			j.running[n] = Verdict{Value: best}
		}
		j.running[n].Loss += best - got
	}
}

// EpisodeOver keeps the verdict.
func (j *Scorer) EpisodeOver(v *rollout.View, n int) {
	j.verdicts[n] = append(j.verdicts[n], j.running[n])
	if w, ok := j.Player.(rollout.Watcher); ok {
		w.EpisodeOver(v, n)
	}
}

var _ rollout.Watcher = (*Scorer)(nil)
