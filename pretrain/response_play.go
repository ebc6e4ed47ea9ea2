package pretrain

import (
	"fmt"

	"hop/agent"
	"hop/game"
	"hop/rng"
	"hop/rollout"
	"hop/safetensors"
)

// teamDealer decides which bot each co-player is, anew each episode: half of the
// teams are all of one kind, the others are drawn one by one. All is kept by env,
// so that workers with ranges of their own do not meet.
type teamDealer struct {
	seats, kinds int
	who          []int8            // [N][A] the kind of each agent; agent 0's is not used
	rand         []rng.Rand        // [N]
	bots         [][]*rollout.Bots // [A][kinds]; workers share them, each env has its own
	fixed        []int8            // [A] not nil: always this team
}

func newTeamDealer(seats, envs, kinds int, key rng.Key) *teamDealer {
	return &teamDealer{seats: seats, kinds: kinds, who: make([]int8, envs*seats), rand: key.Rands("env", envs)}
}

// deal draws the team of env n.
func (c *teamDealer) deal(n int) {
	team := c.who[n*c.seats : (n+1)*c.seats]
	if c.fixed != nil {
		copy(team, c.fixed)
		return
	}
	r := &c.rand[n]
	alike, kind := r.Float64() < 0.5, int8(r.IntN(c.kinds))
	for a := range team {
		if team[a] = kind; !alike {
			team[a] = int8(r.IntN(c.kinds))
		}
	}
}

// players makes the learner's player and those of its co-players for each worker.
func (c *teamDealer) players(g game.Game, who []string, workers, envs int, learner func() rollout.Player) ([][]rollout.Player, error) {
	c.bots = make([][]*rollout.Bots, c.seats)
	for a := 1; a < c.seats; a++ {
		for _, name := range who {
			b, err := rollout.NewBots(g, name, envs)
			if err != nil {
				return nil, err
			}
			c.bots[a] = append(c.bots[a], b)
		}
	}
	var all [][]rollout.Player
	for range workers {
		row := []rollout.Player{&answerPlayer{learner(), c}}
		for a := 1; a < c.seats; a++ {
			who := func(n int) int { return int(c.who[n*c.seats+a]) }
			row = append(row, &rollout.Split{Who: who, Player: func(kind int) rollout.Player { return c.bots[a][kind] }})
		}
		all = append(all, row)
	}
	return all, nil
}

// answerPlayer plays agent 0, whose turn comes first, and knows which bot each of the others is.
type answerPlayer struct {
	rollout.Player
	c *teamDealer
}

// Act deals the teams of episodes that start.
func (p *answerPlayer) Act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		if v.Start[v.Moment(v.T, int(n))] {
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
		for a := 1; a < seats; a++ {
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
	for a, kinds := range c.bots {
		for k, bots := range kinds {
			b, err := bots.AppendBinary(nil)
			if err != nil {
				return err
			}
			f.PutBytes(fmt.Sprintf("bots/%d/%d", a, k), b)
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
	for a, kinds := range c.bots {
		for k, bots := range kinds {
			b, err := f.Bytes(fmt.Sprintf("bots/%d/%d", a, k))
			if err != nil {
				return err
			}
			if err := bots.UnmarshalBinary(b); err != nil {
				return err
			}
		}
	}
	return nil
}
