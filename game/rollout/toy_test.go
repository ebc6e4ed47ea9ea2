package rollout_test

import (
	"fmt"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// toy is a small game with everything that can go wrong in a rollout: seats
// that leave at different times, rules that draw, goals, a horizon that is a
// rule, and, if limit is set, a limit from outside. Every observation is unique.
type toy struct {
	seats, horizon int
	limit          bool // the horizon is an outside limit: Cut
	hares          int  // a parameter that the spec does not show
}

const (
	toyStay = iota
	toyLeave
	toyWait // legal at even times only
	toyActions
)

func (g toy) Spec() game.Spec {
	return game.Spec{
		Name: "toy", Seats: g.seats, Horizon: g.horizon,
		Actions: []string{"stay", "leave", "wait"}, Goals: []string{"low", "high"},
		Obs: game.Layout{Features: 4},
	}
}

func (g toy) New() game.State {
	st := &toyState{g: g, gone: make([]bool, g.seats), goal: make([]int, g.seats)}
	if g.limit {
		return &limitedToy{st}
	}
	return st
}

func (g toy) Bots() []game.BotInfo {
	return []game.BotInfo{
		game.RandomBot(toyActions),
		{Name: "counter", Doc: "leaves in the step that its number of finished episodes says", New: func() game.Bot { return &counter{} }},
	}
}

type toyState struct {
	g     toy
	nonce uint64
	t     int
	gone  []bool
	goal  []int
}

func (st *toyState) Reset(r *rng.Rand) {
	st.nonce, st.t = r.Uint64(), 0
	for s := range st.gone {
		st.gone[s], st.goal[s] = false, game.NoGoal
	}
}

func (st *toyState) Step(actions []int32, rewards []float32, r *rng.Rand) {
	if st.Over() {
		panic("toy: over")
	}
	var legal [toyActions]bool
	for s, a := range actions {
		st.Legal(game.Seat(s), legal[:])
		if st.gone[s] && a != game.NoAction || !st.gone[s] && (a < 0 || a >= toyActions || !legal[a]) {
			panic("toy: illegal")
		}
	}
	luck := float32(r.IntN(4))
	st.t++
	for s, a := range actions {
		rewards[s], st.goal[s] = 0, game.NoGoal
		if a == toyLeave {
			st.gone[s], st.goal[s] = true, int(luck)&1
			rewards[s] = 1 + luck
		} else if a != game.NoAction {
			rewards[s] = luck / 8
		}
	}
}

func (st *toyState) Alive(s game.Seat) bool { return !st.gone[s] && !st.Over() }

func (st *toyState) left() bool {
	for _, gone := range st.gone {
		if !gone {
			return false
		}
	}
	return true
}

func (st *toyState) Over() bool { return st.t >= st.g.horizon || st.left() }

func (st *toyState) Legal(s game.Seat, dst []bool) {
	alive := st.Alive(s)
	dst[toyStay], dst[toyLeave], dst[toyWait] = alive, alive, alive && st.t%2 == 0
}

func (st *toyState) Observe(s game.Seat, dst []float32) {
	dst[0], dst[1], dst[2] = float32(st.nonce>>40), float32(st.t), float32(s)
	dst[3] = 0
	for o, gone := range st.gone {
		if gone {
			dst[3] += float32(int(1) << o)
		}
	}
}

func (st *toyState) CopyFrom(game.State) { panic("toy: not needed here") }

func (st *toyState) AppendText(b []byte) ([]byte, error) {
	return fmt.Appendf(b, "%x %d %v %v hares %d", st.nonce, st.t, st.gone, st.goal, st.g.hares), nil
}

func (st *toyState) Reached(s game.Seat) int { return st.goal[s] }

// limitedToy is a toy whose horizon comes from outside.
type limitedToy struct{ *toyState }

func (st *limitedToy) Cut() bool { return st.t >= st.g.horizon && !st.left() }

// counter is a bot with memory.
type counter struct{ episodes int }

func (*counter) Name() string { return "counter" }

func (c *counter) Act(st game.State, _ game.Seat, _ *rng.Rand) int32 {
	t := st.(*toyState).t
	if t >= c.episodes%3 {
		return toyLeave
	}
	return toyStay
}

func (c *counter) Watch(st game.State, _ game.Seat) {
	if !st.Over() {
		panic("counter: shown an episode that is not over")
	}
	c.episodes++
}
