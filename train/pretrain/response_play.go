package pretrain

import (
	"encoding"
	"fmt"
	"slices"

	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// Members makes players of a kind that is no bot, one for each worker: what agents of a
// run have become, in agent a's place. They learn nothing.
type Members func(kind string, a agent.ID, workers, envs int) ([]rollout.Player, error)

// teamDealer decides of which kind each co-player is, anew each episode: half of the
// teams are all of one kind, the others are drawn one by one; or all teams are equally
// likely. All is kept by env, so that workers with ranges of their own do not meet.
type teamDealer struct {
	seats, kinds int
	share        float64              // of episodes in which all are self
	self         int8                 // the kind that is the learner itself, -1: none
	who          []int8               // [N][A] the kind of each agent; agent 0's is not used
	rand         []rng.Rand           // [N]
	others       [][][]rollout.Player // [A][kinds][worker]; what they remember is kept by env, and workers share it
	even         [][]int8             // not nil: draw one of these teams, its co-players in any order
	fixed        []int8               // [A] not nil: always this team
	dealt        [][][]int8           // [N][episodes][A] all that was dealt, if it is kept
	life         int                  // episodes of dealt that a team stays together; 0: one
}

func newTeamDealer(seats, envs int, who []string, key rng.Key) *teamDealer {
	return &teamDealer{seats: seats, kinds: len(who), self: int8(slices.Index(who, Self)), who: make([]int8, envs*seats),
		rand: key.Rands("env", envs)}
}

// deal draws the team of env n.
func (c *teamDealer) deal(n int) {
	team := c.who[n*c.seats : (n+1)*c.seats]
	if c.dealt != nil {
		defer func() { c.dealt[n] = append(c.dealt[n], slices.Clone(team)) }()
		if c.life > 1 && len(c.dealt[n])%c.life != 0 {
			return
		}
	}
	if c.fixed != nil {
		copy(team, c.fixed)
		team[0] = max(0, c.self)
		return
	}
	r := &c.rand[n]
	if c.self >= 0 && c.share > 0 && r.Float64() < c.share {
		for a := range team {
			team[a] = c.self
		}
		return
	}
	if c.even != nil {
		copy(team, c.even[r.IntN(len(c.even))])
		for i := len(team) - 1; i > 1; i-- {
			j := 1 + r.IntN(i)
			team[i], team[j] = team[j], team[i]
		}
		team[0] = max(0, c.self)
		return
	}
	alike, kind := r.Float64() < 0.5, int8(r.IntN(c.kinds))
	for a := range team {
		if team[a] = kind; !alike {
			team[a] = int8(r.IntN(c.kinds))
		}
	}
	team[0] = max(0, c.self)
}

// Teams returns every team but for the order of its members; the first is
// the learner's place.
func Teams(seats, kinds int) [][]int8 {
	teams := [][]int8{{0}}
	for range seats - 1 {
		var more [][]int8
		for _, t := range teams {
			lo := int8(0)
			if len(t) > 1 {
				lo = t[len(t)-1]
			}
			for k := lo; int(k) < kinds; k++ {
				more = append(more, append(append([]int8(nil), t...), k))
			}
		}
		teams = more
	}
	return teams
}

// players makes the learner's player and those of its co-players for each worker.
func (c *teamDealer) players(g game.Game, who []string, workers, envs int, members Members,
	learner func(a agent.ID) rollout.Player) ([][]rollout.Player, error) {
	c.others = make([][][]rollout.Player, c.seats)
	for a := 1; a < c.seats; a++ {
		c.others[a] = make([][]rollout.Player, c.kinds)
		for kind, name := range who {
			if kind == int(c.self) || c.fixed != nil && int(c.fixed[a]) != kind {
				continue
			}
			list, err := hire(g, name, agent.ID(a), workers, envs, members)
			if err != nil {
				return nil, err
			}
			c.others[a][kind] = list
		}
	}
	var all [][]rollout.Player
	for w := range workers {
		row := []rollout.Player{&answerPlayer{learner(0), c, 0}}
		for a := 1; a < c.seats; a++ {
			who := func(n int) int { return int(c.who[n*c.seats+a]) }
			var copied *answerPlayer
			if c.self >= 0 {
				copied = &answerPlayer{learner(agent.ID(a)), c, agent.ID(a)}
			}
			row = append(row, &rollout.Split{Who: who, Player: func(kind int) rollout.Player {
				if kind == int(c.self) {
					return copied
				}
				return c.others[a][kind][w]
			}})
		}
		all = append(all, row)
	}
	return all, nil
}

// hire makes the players of a bot, or else of a member.
func hire(g game.Game, name string, a agent.ID, workers, envs int, members Members) ([]rollout.Player, error) {
	bots, err := rollout.NewBots(g, name, envs)
	if err == nil {
		return slices.Repeat([]rollout.Player{bots}, workers), nil
	}
	if members == nil {
		return nil, err
	}
	return members(name, a, workers, envs)
}

// answerPlayer plays agent 0, whose turn comes first, and knows which bot each of the others is.
type answerPlayer struct {
	rollout.Player
	c  *teamDealer
	me agent.ID
}

// Act deals the teams of episodes that start.
func (p *answerPlayer) Act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		if p.me == 0 && v.Start[v.Moment(v.T, int(n))] {
			p.c.deal(int(n))
		}
	}
	p.writeKinds(v, envs)
	p.Player.Act(v, envs)
}

func (p *answerPlayer) Evaluate(v *rollout.View, envs []int32) {
	p.writeKinds(v, envs)
	p.Player.Evaluate(v, envs)
}

func (p *answerPlayer) writeKinds(v *rollout.View, envs []int32) {
	seats := p.c.seats
	for _, n := range envs {
		n := int(n)
		kinds := v.GoalAt(v.SlotOf(n))
		clear(kinds)
		for a := range seats {
			if a == int(p.me) {
				continue
			}
			slot := v.Slot(agent.ID(a), v.T, n)
			if !v.Alive[slot] {
				continue
			}
			place := (int(v.Seat[slot])-int(v.SeatOf(n))+seats)%seats - 1
			kinds[place*p.c.kinds+int(p.c.who[n*seats+a])] = 1
		}
	}
}

var _ rollout.Player = (*answerPlayer)(nil)

// save adds the teams and their streams to a checkpoint.
func (c *teamDealer) save(f *safetensors.File) error {
	b := make([]byte, 0, len(c.who)+16*len(c.rand))
	for _, k := range c.who {
		b = append(b, byte(k))
	}
	for i := range c.rand {
		var err error
		if b, err = c.rand[i].AppendBinary(b); err != nil {
			return err
		}
	}
	f.PutBytes("cast", b)
	return c.eachMemory(func(name string, k memory) error {
		b, err := k.AppendBinary(nil)
		f.PutBytes(name, b)
		return err
	})
}

// memory is what a player remembers.
type memory interface {
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// eachMemory visits what co-players remember, and what it is called in a checkpoint. The
// first worker's stands for all: they share it.
func (c *teamDealer) eachMemory(visit func(name string, k memory) error) error {
	for a, kinds := range c.others {
		for kind, players := range kinds {
			if len(players) == 0 {
				continue
			}
			if k, ok := players[0].(memory); ok {
				if err := visit(fmt.Sprintf("bots/%d/%d", a, kind), k); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *teamDealer) load(f *safetensors.File) error {
	b, err := f.Bytes("cast")
	if err != nil {
		return err
	}
	if len(b) <= len(c.who) || (len(b)-len(c.who))%len(c.rand) != 0 {
		return fmt.Errorf("loading the teams: %d bytes do not fit %d envs; use the settings of the saved run", len(b), len(c.rand))
	}
	for i := range c.who {
		if c.who[i] = int8(b[i]); int(c.who[i]) >= c.kinds || c.who[i] < 0 {
			return fmt.Errorf("loading the teams: there is no bot number %d", c.who[i])
		}
	}
	b = b[len(c.who):]
	size := len(b) / len(c.rand)
	for i := range c.rand {
		if err := c.rand[i].UnmarshalBinary(b[i*size : (i+1)*size]); err != nil {
			return err
		}
	}
	return c.eachMemory(func(name string, k memory) error {
		b, err := f.Bytes(name)
		if err != nil {
			return err
		}
		return k.UnmarshalBinary(b)
	})
}

// Population is teams of those among whom a response network learnt, the network
// among them, dealt anew each episode.
type Population struct {
	Kinds  []string // names, the network's own the last of them if it met no copies of itself
	Given  int      // numbers that its players are given
	Model  *actor.Model
	Params *nn.Params

	Life int // episodes that a team stays together; 0: one

	in    ResponseInput
	teams *teamDealer
}

// NewPopulation returns the population of a response network.
func NewPopulation(m *actor.Model, p *nn.Params, in ResponseInput) *Population {
	l := &Population{Kinds: in.Who, Given: in.Extra, Model: m, Params: p, in: in}
	if !slices.Contains(in.Who, Self) {
		l.Kinds = append(slices.Clone(in.Who), Self)
	}
	return l
}

// Players returns the players of env n < lanes, [worker][agent].
func (l *Population) Players(g game.Game, workers, lanes int, members Members, key rng.Key) ([][]rollout.Player, error) {
	l.teams = newTeamDealer(l.in.Seats, lanes, l.in.Who, key)
	l.teams.dealt, l.teams.life = make([][][]int8, lanes), l.Life
	return l.teams.players(g, l.in.Who, workers, lanes, members, func(agent.ID) rollout.Player {
		return ppo.NewPlayer(l.Model, l.Params, lanes, nil, 1)
	})
}

// Dealt returns which kind each agent was in an episode of a lane, a view.
func (l *Population) Dealt(lane, episode int) []int8 {
	team := l.teams.dealt[lane][episode]
	if l.teams.self < 0 {
		team[0] = int8(len(l.Kinds) - 1)
	}
	return team
}
