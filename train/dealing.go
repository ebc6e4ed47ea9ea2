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

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// maxPast is how many of its own earlier selves an agent can meet.
const maxPast = 8

// Who a place is played by in an episode: own, or a number of the population,
// or past+slot for an earlier self.
const (
	own  = int16(-1)
	past = int16(1000)
)

// dealing decides who plays each agent in each env, anew each episode, or each
// trial of several episodes for minds that live through trials. Its choices
// and streams are kept by env, so workers with ranges of their own do not meet.
type dealing struct {
	agents, envs int
	choice       [][]int16      // [A][N]
	rand         [][]rng.Rand   // [A][N]
	share        float64        // probability of a stand-in
	who          int            // size of the population
	hasPast      bool           // one of the population is "past"
	isPast       []bool         // [population] that one is
	ring         [][]*nn.Params // [mind][maxPast] earlier selves
	taken        int            // how many have been taken in all
	learns       []bool         // [A] the agent's own policy is its mind's, now
	teams        *teams         // nil: stand-ins are drawn one by one only
	trial        int            // episodes for which a choice holds
	shown        bool           // learners read whether a stand-in plays
}

func newDealing(agents, envs int, minds []abilities, who []string, key rng.Key) (*dealing, error) {
	d := &dealing{agents: agents, envs: envs, who: len(who), isPast: make([]bool, len(who)), learns: make([]bool, agents), trial: 1}
	for _, m := range minds {
		if t, ok := learner.As[learner.Trials](m.Mind); ok {
			d.trial = max(d.trial, t.Trial())
		}
	}
	for a := range agents {
		ch := make([]int16, envs)
		for n := range ch {
			ch[n] = own
		}
		d.choice = append(d.choice, ch)
		d.rand = append(d.rand, key.Child("cast", a).Rands("env", envs))
	}
	for i, w := range who {
		if w == "past" {
			d.hasPast, d.isPast[i] = true, true
		}
	}
	if d.hasPast {
		for _, m := range minds {
			if m.snapshots == nil || m.snapshots.Weights() == nil {
				return nil, config.Bad("train.standins.who", who,
					"no past selves, because agents cannot be met as they were: they do not play by one network without memory")
			}
			slots := make([]*nn.Params, maxPast)
			for i := range slots {
				slots[i] = m.snapshots.Weights().Clone()
			}
			d.ring = append(d.ring, slots)
		}
	}
	return d, nil
}

// remember keeps the minds as they are now, for later episodes to meet.
func (d *dealing) remember(minds []abilities) {
	if !d.hasPast {
		return
	}
	for i, m := range minds {
		d.ring[i][d.taken%maxPast].CopyFrom(m.snapshots.Weights())
	}
	d.taken++
}

// draw chooses who plays agent a in env n for the episode, or trial, that starts.
func (d *dealing) draw(a agent.ID, n int) int16 {
	if d.teams != nil {
		if a == firstDealt {
			d.teams.deal(d, n)
		}
		if d.teams.dealt[n] && d.learns[a] {
			return d.choice[a][n]
		}
	}
	if d.who == 0 || !d.learns[a] {
		return own
	}
	r := &d.rand[a][n]
	stand, who := r.Float64() < d.share, int16(r.IntN(d.who))
	slot := r.IntN(maxPast)
	switch {
	case !stand:
		return own
	case !d.isPast[who]:
		return who
	case d.taken == 0:
		return own
	}
	return past + int16(slot%min(d.taken, maxPast))
}

// Dealt returns who of the population of stand-ins plays an agent in an env, below 0 if its own
// policy does, for audits.
func (s *SelfPlay) Dealt(a agent.ID, n int) int { return int(s.dealing.choice[a][n]) }

// dealtPlayer plays one agent for one worker: whoever is dealt to it.
type dealtPlayer struct {
	d     *dealing
	agent agent.ID
	own   rollout.Player
	who   []rollout.Player // [population]; nil for "past"
	past  []rollout.Player // [maxPast]
	rows  []int32          // that the agent's own player asks about
	rollout.Split
}

// Ask deals in envs that start an episode or trial, then lets the agent's own player ask where it plays.
func (p *dealtPlayer) Ask(v *rollout.View, envs []int32) {
	for _, n := range envs {
		if v.Start[v.Moment(v.T, int(n))] && v.EpisodeOf(int(n))%p.d.trial == 0 {
			p.d.choice[p.agent][n] = p.d.draw(p.agent, int(n))
		}
		if p.d.choice[p.agent][n] != own {
			v.Mix(int(n))
		}
	}
	p.show(v, envs)
	asking, ok := p.own.(rollout.Asking)
	if !ok {
		return
	}
	p.rows = p.rows[:0]
	for _, n := range envs {
		if p.d.choice[p.agent][n] == own {
			p.rows = append(p.rows, n)
		}
	}
	if len(p.rows) > 0 {
		asking.Ask(v, p.rows)
	}
}

// Evaluate lets each player write its values.
func (p *dealtPlayer) Evaluate(v *rollout.View, envs []int32) {
	p.show(v, envs)
	p.Split.Evaluate(v, envs)
}

// show writes into what the agent reads beside its observation whether a stand-in plays.
func (p *dealtPlayer) show(v *rollout.View, envs []int32) {
	if !p.d.shown {
		return
	}
	for _, n := range envs {
		for _, who := range p.d.choice {
			if who[n] != own {
				v.GoalAt(v.SlotOf(int(n)))[0] = 1
			}
		}
	}
}

// player returns who plays by a choice.
// Prepare lets the agent's own player prepare a window.
func (p *dealtPlayer) Prepare(w rollout.Window) {
	if own, ok := p.own.(rollout.Preparing); ok {
		own.Prepare(w)
	}
}

// Shares reports whether the agents' own players prepare the same.
func (p *dealtPlayer) Shares(other rollout.Player) bool {
	own, ok := p.own.(rollout.Preparing)
	q, dealt := other.(*dealtPlayer)
	return ok && dealt && own.Shares(q.own)
}

// Follow lets the agent's own player follow another's.
func (p *dealtPlayer) Follow(first rollout.Player) {
	if own, ok := p.own.(rollout.Preparing); ok {
		own.Follow(first.(*dealtPlayer).own)
	}
}

func (p *dealtPlayer) player(choice int) rollout.Player {
	switch {
	case choice == int(own):
		return p.own
	case choice >= int(past):
		return p.past[choice-int(past)]
	}
	return p.who[choice]
}

var (
	_ rollout.Watcher   = (*dealtPlayer)(nil)
	_ rollout.Preparing = (*dealtPlayer)(nil)
	_ rollout.Asking    = (*dealtPlayer)(nil)
)

// save adds the dealing to a checkpoint.
func (d *dealing) save(f *safetensors.File) error {
	var b []byte
	for a := range d.agents {
		for n := range d.envs {
			b = binary.LittleEndian.AppendUint16(b, uint16(d.choice[a][n]))
			var err error
			if b, err = d.rand[a][n].AppendBinary(b); err != nil {
				return err
			}
		}
	}
	f.PutBytes("dealing", b)
	if err := d.teams.save(f); err != nil {
		return err
	}
	f.PutInt64("dealing/taken", []int64{int64(d.taken)}, 1)
	for i, slots := range d.ring {
		for k := range min(d.taken, maxPast) {
			slots[k].Save(f, fmt.Sprintf("past/%d/%d/", i, k))
		}
	}
	return nil
}

func (d *dealing) load(f *safetensors.File) error {
	b, err := f.Bytes("dealing")
	if err != nil {
		return err
	}
	if len(b) != 18*d.agents*d.envs {
		return errors.New("train: loading who plays: the checkpoint is of a run with other agents or envs")
	}
	var taken [1]int64
	if err := f.Int64(taken[:], "dealing/taken", 1); err != nil {
		return err
	}
	d.taken = int(taken[0])
	for a := range d.agents {
		for n := range d.envs {
			d.choice[a][n] = int16(binary.LittleEndian.Uint16(b))
			if err := d.rand[a][n].UnmarshalBinary(b[2:18]); err != nil {
				return err
			}
			b = b[18:]
		}
	}
	if err := d.teams.load(f); err != nil {
		return err
	}
	for i, slots := range d.ring {
		for k := range min(d.taken, maxPast) {
			if err := slots[k].Load(f, fmt.Sprintf("past/%d/%d/", i, k)); err != nil {
				return err
			}
		}
	}
	return nil
}

// role is a policy in an agent's place: "learn" for its mind, or another.
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
// that do not play at present among them. What minds remember is saved with
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
