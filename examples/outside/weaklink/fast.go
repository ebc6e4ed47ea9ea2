package weaklink

import (
	"fmt"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/truth"
)

// Fast is the rules once more, made for search: a state is a few bytes, and bots are efforts.
// Without it hop searches on the game's own states, with the same result and more slowly.
type Fast struct{}

var _ truth.Fast = Fast{}

// Fits reports that any parameters will do.
func (Fast) Fits(game.Game) bool { return true }

// Model returns the rules for one goroutine.
func (Fast) Model(g game.Game, c truth.For) (truth.Model, error) {
	own, ok := game.As[*Game](g)
	if !ok {
		return truth.Model{}, fmt.Errorf("%s is no weaklink", g.Spec().Name)
	}
	m := &model{cfg: own.cfg, obs: own.spec.Obs, alike: c.Alike, seats: make([][]game.Seat, c.Envs), roots: make([]position, c.Envs)}
	for env := range m.seats {
		m.seats[env] = make([]game.Seat, own.cfg.Agents)
	}
	for i, names := range [2][]string{c.Models, c.Scripts} {
		for _, name := range names {
			level, ok := own.level(name)
			if !ok {
				return truth.Model{}, fmt.Errorf("weaklink has no bot %q", name)
			}
			if i == 0 {
				m.models = append(m.models, level)
			} else {
				m.scripts = append(m.scripts, level)
			}
		}
	}
	return truth.Model{Rules: m, Views: m, Scripted: m}, nil
}

// Bot returns the script itself: all are bots of the game.
func (Fast) Bot(_ game.Game, script string) string { return script }

// DrawsForGone says that nothing is drawn for who has left, as the game's own bots do.
func (Fast) DrawsForGone() bool { return false }

// position is a state, by place: the planning agent is place 0.
type position struct {
	t    int16
	last [16]int8 // -1: nothing yet
}

// model is a truth.Model.
type model struct {
	cfg     Config
	obs     game.Layout
	alike   bool
	models  []int32 // the effort of each; anyEffort: drawn
	scripts []int32
	seats   [][]game.Seat // [decisions] of each place
	roots   []position
	slots   []position
	joint   [16]int32
	r       rng.Rand
}

// Set reads a state.
func (m *model) Set(env int, st game.State, seats []game.Seat) {
	s, p := st.(*State), &m.roots[env]
	p.t = int16(s.t)
	copy(m.seats[env], seats)
	for place, seat := range seats {
		p.last[place] = s.last[seat]
	}
}

// Size makes room for slots.
func (m *model) Size(slots int) {
	if len(m.slots) < slots {
		m.slots = make([]position, slots)
	}
}

// Root puts a decision's state into a slot.
func (m *model) Root(env int, slot int32) (legal uint32, key uint64) {
	m.slots[slot] = m.roots[env]
	return m.mask(&m.roots[env]), m.key(env, &m.roots[env])
}

func (m *model) over(p *position) bool { return int(p.t) >= m.cfg.Rounds }

// mask is every effort, until the end.
func (m *model) mask(p *position) uint32 {
	if m.over(p) {
		return 0
	}
	return 1<<m.cfg.Levels - 1
}

// key tells states apart that somebody who is asked about them may tell apart.
func (m *model) key(env int, p *position) uint64 {
	h := uint64(p.t)<<8 + uint64(m.seats[env][0]) + 1
	if !m.alike {
		for place, seat := range m.seats[env] {
			h = (h ^ uint64(seat)<<8 ^ uint64(uint8(p.last[place]))) * 0x9e3779b97f4a7c15
			h ^= h >> 29
		}
	}
	return h | 1
}

// Expand plays steps.
func (m *model) Expand(leaves []search.Leaf, others, envs []int32, _ []rng.Rand) {
	n := m.cfg.Agents - 1
	for i := range leaves {
		l := &leaves[i]
		p := &m.slots[l.To]
		*p = m.slots[l.From]
		m.joint[0] = l.Action
		copy(m.joint[1:], others[i*n:(i+1)*n])
		l.Reward = m.step(p)
		if l.Over = m.over(p); !l.Over {
			l.Legal, l.Key = m.mask(p), m.key(int(envs[l.Tree]), p)
		}
	}
}

// step plays the joint action and returns place 0's reward.
func (m *model) step(p *position) float32 {
	p.t++
	lowest := m.joint[0]
	for place, e := range m.joint[:m.cfg.Agents] {
		lowest, p.last[place] = min(lowest, e), int8(e)
	}
	return float32(lowest) - float32(m.cfg.Cost)*float32(m.joint[0])
}

// Legal returns a place's mask.
func (m *model) Legal(_ int, slot int32, _ int) uint32 { return m.mask(&m.slots[slot]) }

// Observe writes what a place sees: its mask, the time, and what everybody did last, itself first.
func (m *model) Observe(dst []float32, env int, slot int32, place int) {
	clear(dst)
	p, seats := &m.slots[slot], m.seats[env]
	for k := range m.cfg.Levels {
		if !m.over(p) {
			dst[k] = 1
		}
	}
	dst[m.obs.TimeAt()] = float32(p.t) / float32(m.cfg.Rounds)
	for other, seat := range seats {
		if e := p.last[other]; e >= 0 {
			at := (int(seat) - int(seats[place]) + len(seats)) % len(seats)
			dst[m.obs.LastAt()+at*m.cfg.Levels+int(e)] = 1
		}
	}
}

// act is what a bot does.
func (m *model) act(bot int32, r *rng.Rand) int32 {
	if bot == anyEffort {
		return int32(r.IntN(m.cfg.Levels))
	}
	return bot
}

// Draw draws what everyone's bot does.
func (m *model) Draw(dst []int32, qs []search.Query, goals, _ []int32, rs []rng.Rand) {
	n := m.cfg.Agents - 1
	for i := range qs {
		q := &qs[i]
		for j := range n {
			if dst[i*n+j] = game.NoAction; !m.over(&m.slots[q.Slot]) {
				dst[i*n+j] = m.act(m.models[goals[int(q.Tree)*n+j]], &rs[q.Tree])
			}
		}
	}
}

// Scripts returns how many there are.
func (m *model) Scripts() int { return len(m.scripts) }

// Rollout plays on to the end.
func (m *model) Rollout(ro *truth.Roll, from *truth.Stream) float32 {
	p, depth := m.slots[ro.Slot], ro.Depth
	sum, weight := float32(0), float32(1)
	for !m.over(&p) {
		m.joint[0] = m.act(m.scripts[ro.Script], &from.Rand)
		draw := &from.Rand
		if ro.Seed != 0 {
			m.r, draw = search.Common(ro.Seed, depth), &m.r
			depth++
		}
		for j, bot := range ro.Others {
			m.joint[j+1] = m.act(m.models[bot], draw)
		}
		sum += weight * m.step(&p)
		weight *= ro.Discount
	}
	return sum
}
