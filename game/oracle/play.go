package oracle

import (
	"context"
	"math/bits"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
)

// Responder is the best response as a bot. Bots names who sits on each seat;
// its own seat's name is not read. Of equally good actions it plays the first.
type Responder struct {
	*BR
	Bots []string
	q    [game.MaxActions]float64
}

// Name returns "br".
func (*Responder) Name() string { return "br" }

// Act returns a best action. It panics with a game.Failure if it was ended, or if Bots does
// not fit the game: check with Solvable first.
func (p *Responder) Act(st game.State, s game.Seat, _ *rng.Rand) int32 {
	legal, err := p.Q(p.q[:], st, s, p.Bots)
	if err != nil {
		panic(&game.Failure{Err: err})
	}
	best := game.NoAction
	for set := legal; set != 0; set &= set - 1 {
		if k := int32(bits.TrailingZeros(set)); best < 0 || p.q[k] > p.q[best]+1e-12 {
			best = k
		}
	}
	return best
}

// Probs writes 1 for the action that Act plays.
func (p *Responder) Probs(st game.State, s game.Seat, dst []float32) {
	clear(dst)
	if k := p.Act(st, s, nil); k >= 0 {
		dst[k] = 1
	}
}

var _ game.Policy = (*Responder)(nil)

// Player plays best responses in a rollout, whatever seats the team is dealt.
// Each worker needs one of its own.
type Player struct {
	team []string // [A]
	envs []*Responder
}

// NewPlayer returns a player of the best response against the rest of a team,
// one bot's name an agent.
func NewPlayer(g game.Game, team []string, discount float64, envs int) (*Player, error) {
	p := &Player{team: team}
	for range envs {
		br, err := NewBR(g, discount)
		if err != nil {
			return nil, err
		}
		p.envs = append(p.envs, &Responder{BR: br, Bots: make([]string, len(team))})
	}
	return p, nil
}

// Until lets ctx end it, and a number of states, as that of BR does. What plays it gets
// the error.
func (p *Player) Until(ctx context.Context, states int) *Player {
	for _, r := range p.envs {
		r.BR.Until(ctx, states)
	}
	return p
}

// Act plays a best action in each env.
func (p *Player) Act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		n := int(n)
		r := p.envs[n]
		for s := range r.Bots {
			r.Bots[s] = p.team[v.AgentAt(n, game.Seat(s))]
		}
		i := v.StepOf(n)
		v.Action[i] = r.Act(v.State(n), v.SeatOf(n), nil)
		v.LogProb[i], v.Own[i] = 0, false
	}
}

// Evaluate writes nothing.
func (p *Player) Evaluate(*rollout.View, []int32) {}

var _ rollout.Player = (*Player)(nil)

// Starts calls f with the starts of the episodes that eval.Run plays with the
// same key, lanes and dealing: lane by lane, each with its quota. bots names who
// sits where, and is valid during the call. Games that draw random numbers in a
// step have no starts in common, so it must not be used with them.
func Starts(g game.Game, key rng.Key, lanes, episodes int, fixSeat bool, team []string, focal agent.ID,
	f func(env, index int, st game.State, seat game.Seat, bots []string) error) error {
	st := g.New()
	perm, bots := make([]int, len(team)), make([]string, len(team))
	lanes = min(lanes, episodes)
	for n := range lanes {
		rules, deal := key.Child("rules", n).Rand(), key.Child("deal", n).Rand()
		for i := range (episodes + lanes - 1 - n) / lanes {
			for a := range perm {
				perm[a] = a
			}
			if !fixSeat {
				deal.Perm(perm)
			}
			st.Reset(&rules)
			for a, s := range perm {
				bots[s] = team[a]
			}
			if err := f(n, i, st, game.Seat(perm[focal]), bots); err != nil {
				return err
			}
		}
	}
	return nil
}

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
