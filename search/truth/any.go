package truth

import (
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
)

// anyGame is a Model of every game: slots hold game.States.
type anyGame struct {
	g       game.Game
	slots   []game.State
	play    game.State // for rollouts
	model   []game.Bot
	script  []game.Bot
	envs    []anyEnv
	joint   []int32 // by seat
	places  []int32 // the same, by place
	rewards []float32
	mask    []bool
	obs     []float32
	pooled  bool
	r       rng.Rand
}

type anyEnv struct {
	st    game.State
	seats []game.Seat
}

// Plain returns a game's own rules as a model.
func Plain(g game.Game, c For) (Model, error) {
	a, err := newAny(g, c.Models, c.Scripts, c.Envs)
	return Model{a, a, a}, err
}

func newAny(g game.Game, models, scripts []string, envs int) (*anyGame, error) {
	spec := g.Spec()
	a := &anyGame{
		g: g, play: g.New(), envs: make([]anyEnv, envs), joint: make([]int32, spec.Seats),
		places:  make([]int32, spec.Seats),
		rewards: make([]float32, spec.Seats), mask: make([]bool, len(spec.Actions)), obs: make([]float32, spec.Obs.Len()),
		pooled: spec.Obs.Pooled,
	}
	for e := range a.envs {
		a.envs[e].seats = make([]game.Seat, spec.Seats)
	}
	for i, names := range [2][]string{models, scripts} {
		for _, name := range names {
			if i == 1 {
				name = BotOf(g, name)
			}
			b, err := game.NewBot(g, name)
			if err != nil {
				return nil, err
			}
			if i == 0 {
				a.model = append(a.model, b)
			} else {
				a.script = append(a.script, b)
			}
		}
	}
	return a, nil
}

func (a *anyGame) Set(env int, st game.State, seats []game.Seat) {
	a.envs[env].st = st
	copy(a.envs[env].seats, seats)
}

func (a *anyGame) Size(slots int) {
	for len(a.slots) < slots {
		a.slots = append(a.slots, a.g.New())
	}
}

func (a *anyGame) Root(env int, slot int32) (uint32, uint64) {
	a.slots[slot].CopyFrom(a.envs[env].st)
	return a.Legal(env, slot, 0), a.key(env, slot)
}

func (a *anyGame) Legal(env int, slot int32, place int) uint32 {
	a.slots[slot].Legal(a.envs[env].seats[place], a.mask)
	set := uint32(0)
	for k, ok := range a.mask {
		if ok {
			set |= 1 << k
		}
	}
	return set
}

// past is a state in which bots look back further than agents see, such as grim.
type past interface {
	Times(s game.Seat, action int32) int // how often a seat has played an action
}

// placed is a state of a board.
type placed interface{ Place(s game.Seat) int16 }

// key is a hash of what the planning agent sees, and of what bots look back to: all of the
// state, in our games.
func (a *anyGame) key(env int, slot int32) uint64 {
	seat := a.envs[env].seats[0]
	a.slots[slot].Observe(seat, a.obs)
	h := uint64(seat) + 1
	if p, ok := a.slots[slot].(placed); ok && a.pooled { // who stands where is not seen
		for s := range a.joint {
			h = (h ^ uint64(p.Place(game.Seat(s)))) * 0x9e3779b97f4a7c15
			h ^= h >> 29
		}
	}
	for i, x := range a.obs {
		if x != 0 {
			h = (h ^ uint64(i)<<32 ^ uint64(math.Float32bits(x))) * 0x9e3779b97f4a7c15
			h ^= h >> 29
		}
	}
	if p, ok := a.slots[slot].(past); ok {
		for s := range a.joint {
			for k := range a.mask {
				h = (h ^ uint64(p.Times(game.Seat(s), int32(k)))) * 0x9e3779b97f4a7c15
				h ^= h >> 29
			}
		}
	}
	return h | 1
}

func (a *anyGame) Expand(leaves []search.Leaf, others, envs []int32, rs []rng.Rand) {
	n := len(a.joint) - 1
	for i := range leaves {
		l := &leaves[i]
		a.places[0] = l.Action
		copy(a.places[1:], others[i*n:(i+1)*n])
		l.Reward, l.Over, l.Legal, l.Key = a.step(int(envs[l.Tree]), l.From, l.To, a.places, &rs[l.Tree])
	}
}

// step plays a joint action by place from slot to slot.
func (a *anyGame) step(env int, from, to int32, actions []int32, r *rng.Rand) (float32, bool, uint32, uint64) {
	e := &a.envs[env]
	st := a.slots[to]
	st.CopyFrom(a.slots[from])
	for place, seat := range e.seats {
		a.joint[seat] = actions[place]
	}
	st.Step(a.joint, a.rewards, r)
	if !st.Alive(e.seats[0]) {
		return a.rewards[e.seats[0]], true, 0, 0
	}
	return a.rewards[e.seats[0]], false, a.Legal(env, to, 0), a.key(env, to)
}

func (a *anyGame) Observe(dst []float32, env int, slot int32, place int) {
	a.slots[slot].Observe(a.envs[env].seats[place], dst)
}

func (a *anyGame) Draw(dst []int32, qs []search.Query, goals, envs []int32, rs []rng.Rand) {
	n := len(a.joint) - 1
	for i := range qs {
		q := &qs[i]
		for j, seat := range a.envs[envs[q.Tree]].seats[1:] {
			dst[i*n+j] = a.choose(a.model[goals[int(q.Tree)*n+j]], a.slots[q.Slot], seat, &rs[q.Tree])
		}
	}
}

func (a *anyGame) choose(b game.Bot, st game.State, seat game.Seat, r *rng.Rand) int32 {
	if !st.Alive(seat) {
		return game.NoAction
	}
	return b.Act(st, seat, r)
}

func (a *anyGame) Scripts() int { return len(a.script) }

func (a *anyGame) Rollout(ro *Roll, from *Stream) float32 {
	r := &from.Rand
	seats := a.envs[ro.Env].seats
	st := a.play
	st.CopyFrom(a.slots[ro.Slot])
	depth := ro.Depth
	sum, weight := float32(0), float32(1)
	for st.Alive(seats[0]) {
		a.joint[seats[0]] = a.script[ro.Script].Act(st, seats[0], r)
		draw := r
		if ro.Seed != 0 {
			a.r, draw = search.Common(ro.Seed, depth), &a.r
			depth++
		}
		for j, bot := range ro.Others {
			a.joint[seats[j+1]] = a.choose(a.model[bot], st, seats[j+1], draw)
		}
		st.Step(a.joint, a.rewards, r)
		sum += weight * a.rewards[seats[0]]
		weight *= ro.Discount
	}
	return sum
}
