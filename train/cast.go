package train

import (
	"cmp"
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hop/agent"
	"hop/model/actor"
	"hop/nn"
	"hop/ppo"
	"hop/rng"
	"hop/rollout"
	"hop/safetensors"
)

// maxPast is how many of its own earlier selves an agent can meet.
const maxPast = 8

// Who a place is played by in an episode: own, or a number of the population,
// or past+slot for an earlier self.
const (
	own  = int16(-1)
	past = int16(1000)
)

// cast decides who plays each agent in each env, anew each episode. Its choices
// and streams are kept by env, so workers with ranges of their own do not meet.
type cast struct {
	agents, envs int
	choice       [][]int16      // [A][N]
	rand         [][]rng.Rand   // [A][N]
	share        float64        // probability of a stand-in
	who          int            // size of the population
	hasPast      bool           // one of the population is "past"
	pastAt       int16          // its number
	ring         [][]*nn.Params // [brain][maxPast] earlier selves
	taken        int            // how many have been taken in all
	learns       []bool         // [A] the agent's own policy is its brain, now
	teams        *teams         // nil: stand-ins are drawn one by one only
}

func newCast(agents, envs int, brains []*ppo.Brain, who []string, key rng.Key) *cast {
	c := &cast{agents: agents, envs: envs, who: len(who), pastAt: -1, learns: make([]bool, agents)}
	for a := range agents {
		ch := make([]int16, envs)
		for n := range ch {
			ch[n] = own
		}
		c.choice = append(c.choice, ch)
		c.rand = append(c.rand, key.Child("cast", a).Rands("env", envs))
	}
	for i, w := range who {
		if w == "past" {
			c.hasPast, c.pastAt = true, int16(i)
		}
	}
	if c.hasPast {
		for _, b := range brains {
			slots := make([]*nn.Params, maxPast)
			for i := range slots {
				slots[i] = b.Params.Clone()
			}
			c.ring = append(c.ring, slots)
		}
	}
	return c
}

// remember keeps the brains as they are now, for later episodes to meet.
func (c *cast) remember(brains []*ppo.Brain) {
	if !c.hasPast {
		return
	}
	for i, b := range brains {
		c.ring[i][c.taken%maxPast].CopyFrom(b.Params)
	}
	c.taken++
}

// draw chooses who plays agent a in env n for the episode that starts.
func (c *cast) draw(a agent.ID, n int) int16 {
	if c.teams != nil {
		if a == lead {
			c.teams.deal(c, n)
		}
		if c.teams.dealt[n] && c.learns[a] {
			return c.choice[a][n]
		}
	}
	if c.who == 0 || !c.learns[a] {
		return own
	}
	r := &c.rand[a][n]
	stand, who := r.Float64() < c.share, int16(r.IntN(c.who))
	slot := r.IntN(maxPast)
	switch {
	case !stand:
		return own
	case who != c.pastAt:
		return who
	case c.taken == 0:
		return own
	}
	return past + int16(slot%min(c.taken, maxPast))
}

// castPlayer plays one agent for one worker: whoever the cast says.
type castPlayer struct {
	c     *cast
	agent agent.ID
	own   rollout.Player
	who   []rollout.Player // [population]; nil for "past"
	past  []rollout.Player // [maxPast]
	split []int32
	left  []int32
}

// Act draws the cast of envs that start an episode, then lets each player act.
func (p *castPlayer) Act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		if v.Start[v.Moment(v.T, int(n))] {
			p.c.choice[p.agent][n] = p.c.draw(p.agent, int(n))
		}
		if p.c.choice[p.agent][n] != own {
			v.Mix(int(n))
		}
	}
	p.each(envs, func(q rollout.Player, rows []int32) { q.Act(v, rows) })
}

// Evaluate lets each player write its values.
func (p *castPlayer) Evaluate(v *rollout.View, envs []int32) {
	p.each(envs, func(q rollout.Player, rows []int32) { q.Evaluate(v, rows) })
}

// each splits envs by who plays there.
func (p *castPlayer) each(envs []int32, do func(rollout.Player, []int32)) {
	p.left = append(p.left[:0], envs...)
	for len(p.left) > 0 {
		choice := p.c.choice[p.agent][p.left[0]]
		p.split = p.split[:0]
		rest := p.left[:0]
		for _, n := range p.left {
			if p.c.choice[p.agent][n] == choice {
				p.split = append(p.split, n)
			} else {
				rest = append(rest, n)
			}
		}
		p.left = rest
		do(p.player(choice), p.split)
	}
}

func (p *castPlayer) player(choice int16) rollout.Player {
	switch {
	case choice == own:
		return p.own
	case choice >= past:
		return p.past[choice-past]
	}
	return p.who[choice]
}

// EpisodeOver tells every player that remembers.
func (p *castPlayer) EpisodeOver(v *rollout.View, n int) {
	if w, ok := p.player(p.c.choice[p.agent][n]).(rollout.Watcher); ok {
		w.EpisodeOver(v, n)
	}
}

var _ rollout.Watcher = (*castPlayer)(nil)

// pastPlayer plays an earlier self. Earlier selves with an LSTM would need
// memories of their own, so exp refuses that combination.
func pastPlayer(m *actor.Model, p *nn.Params, envs int) rollout.Player {
	q := ppo.NewPlayer(m, p, envs, nil, 1)
	q.Frozen = true
	return q
}

// save adds the cast to a checkpoint.
func (c *cast) save(f *safetensors.File) error {
	var b []byte
	for a := range c.agents {
		for n := range c.envs {
			b = binary.LittleEndian.AppendUint16(b, uint16(c.choice[a][n]))
			var err error
			if b, err = c.rand[a][n].AppendBinary(b); err != nil {
				return err
			}
		}
	}
	f.PutBytes("cast", b)
	if err := c.teams.save(f); err != nil {
		return err
	}
	f.PutInt64("cast/taken", []int64{int64(c.taken)}, 1)
	for i, slots := range c.ring {
		for k := range min(c.taken, maxPast) {
			slots[k].Save(f, fmt.Sprintf("past/%d/%d/", i, k))
		}
	}
	return nil
}

func (c *cast) load(f *safetensors.File) error {
	b, err := f.Bytes("cast")
	if err != nil {
		return err
	}
	if len(b) != 18*c.agents*c.envs {
		return errors.New("train: loading the cast: the checkpoint is of a run with other agents or envs")
	}
	var taken [1]int64
	if err := f.Int64(taken[:], "cast/taken", 1); err != nil {
		return err
	}
	c.taken = int(taken[0])
	for a := range c.agents {
		for n := range c.envs {
			c.choice[a][n] = int16(binary.LittleEndian.Uint16(b))
			if err := c.rand[a][n].UnmarshalBinary(b[2:18]); err != nil {
				return err
			}
			b = b[18:]
		}
	}
	if err := c.teams.load(f); err != nil {
		return err
	}
	for i, slots := range c.ring {
		for k := range min(c.taken, maxPast) {
			if err := slots[k].Load(f, fmt.Sprintf("past/%d/%d/", i, k)); err != nil {
				return err
			}
		}
	}
	return nil
}

// role is a policy in an agent's place: "learn" for its brain, or another.
type role struct {
	agent agent.ID
	who   string
}

// keeper is a Player that remembers something from one episode to the next.
type keeper interface {
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// memories is where checkpoints hold what players remember: memories + AGENT/WHO.
const memories = "memory/"

// saveMemories adds what bots and frozen agents remember to a checkpoint, those
// that do not play at present among them. What brains remember is saved with
// them. Workers share a memory, so their first player stands for all.
func (s *SelfPlay) saveMemories(f *safetensors.File) error {
	roles := slices.SortedFunc(maps.Keys(s.roles), func(a, b role) int {
		return cmp.Or(cmp.Compare(a.agent, b.agent), cmp.Compare(a.who, b.who))
	})
	for _, r := range roles {
		k, ok := s.roles[r][0].(keeper)
		if !ok || r.who == "learn" {
			continue
		}
		b, err := k.AppendBinary(nil)
		if err != nil {
			return fmt.Errorf("train: saving %s, who plays %v: %w", r.who, r.agent, err)
		}
		if len(b) > 0 {
			f.PutBytes(fmt.Sprintf("%s%d/%s", memories, r.agent, r.who), b)
		}
	}
	return nil
}

// loadMemories hires whoever had a memory and gives it back.
func (s *SelfPlay) loadMemories(f *safetensors.File) error {
	for _, t := range f.Tensors {
		name, ok := strings.CutPrefix(t.Name, memories)
		if !ok {
			continue
		}
		number, who, _ := strings.Cut(name, "/")
		a, err := strconv.Atoi(number)
		if err != nil || a < 0 || a >= s.spec.Seats {
			return fmt.Errorf("train: loading %s: there is no such agent; use the spec of the saved run", t.Name)
		}
		players, err := s.play(who, agent.ID(a))
		if err != nil {
			return fmt.Errorf("train: loading %s: %w", t.Name, err)
		}
		k, ok := players[0].(keeper)
		if !ok {
			return fmt.Errorf("train: loading %s: %s remembers nothing now; use the version of hop that saved it", t.Name, who)
		}
		if err := k.UnmarshalBinary(t.Data); err != nil {
			return fmt.Errorf("train: loading %s: %w", t.Name, err)
		}
	}
	return nil
}
