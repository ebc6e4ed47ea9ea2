package pyenv

import (
	"errors"
	"fmt"
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// state is one copy of the environment, as Python left it.
type state struct {
	g      *Game
	at     place
	number int // which env of a rollout it is, for messages
	seed   int64
	t      int
	sum    uint64 // of everything that was played and seen in this episode
	over   bool
	cut    bool // and all who left last were stopped by a limit from outside

	alive, lost []bool // [seats]
	last        []int8 // [seats] the last joint action

	// For steps of this state alone.
	self    [1]game.State
	acts    [1][]int32
	rewards [1][]float32
	rules   [1]*rng.Rand
}

// row is a state's part of the memory that it shares with its worker.
type row struct {
	obs, reward      []float32
	mask, alive, cut []uint8
	action           []int32
}

func (st *state) row() row {
	b, i, seats := st.at.b, st.at.i, st.g.spec.Seats
	k, d := seats*len(st.g.spec.Actions), seats*st.g.width
	return row{
		obs: b.obs[i*d : (i+1)*d], reward: b.reward[i*seats : (i+1)*seats], mask: b.mask[i*k : (i+1)*k],
		alive: b.alive[i*seats : (i+1)*seats], cut: b.cut[i*seats : (i+1)*seats], action: b.action[i*seats : (i+1)*seats],
	}
}

// ask marks the state to be stepped or, without actions, to be reset.
func (st *state) ask(actions []int32, rules *rng.Rand) {
	b, i := st.at.b, st.at.i
	if actions == nil {
		st.seed = int64(rules.Uint64() >> 33) // 31 bits: every library takes them for a seed
		b.seed[i], b.op[i] = st.seed, opReset
		return
	}
	copy(st.row().action, actions)
	b.op[i] = opStep
}

// check panics unless the actions may be played.
func (st *state) check(actions []int32) {
	mask, k := st.row().mask, len(st.g.spec.Actions)
	if st.over {
		panic("pyenv: Step after the episode is over")
	}
	for s, a := range actions {
		if ok := st.alive[s]; !ok && a != game.NoAction || ok && (a < 0 || int(a) >= k || mask[s*k+int(a)] == 0) {
			panic("pyenv: a seat plays what it may not")
		}
	}
}

// take reads what came of a step or, without actions, of a reset.
func (st *state) take(actions []int32) error {
	r, k := st.row(), len(st.g.spec.Actions)
	if actions == nil {
		st.t, st.sum = 0, mix(0, uint64(st.seed))
		for s := range st.last {
			st.last[s] = int8(game.NoAction)
		}
	} else {
		st.t++
		for s, a := range actions {
			st.last[s], st.sum = int8(a), mix(st.sum, uint64(a))
		}
		for _, x := range st.Vectors() {
			st.sum = mix(st.sum, uint64(math.Float32bits(x)))
		}
	}
	limit := st.t >= st.g.spec.Horizon
	st.over, st.cut = true, true
	for s := range st.alive {
		was := st.alive[s] || actions == nil
		st.alive[s], st.lost[s] = r.alive[s] != 0, r.cut[s] != 0
		if st.alive[s] && limit {
			st.alive[s], st.lost[s] = false, true
		}
		st.over = st.over && !st.alive[s]
		if !was {
			continue
		}
		st.cut = st.cut && (st.alive[s] || st.g.Lost(st, game.Seat(s)))
		if err := st.look(s, r); err != nil {
			return err
		}
		legal := false
		for _, ok := range r.mask[s*k : (s+1)*k] {
			legal = legal || ok != 0
			st.sum = mix(st.sum, uint64(ok))
		}
		if st.alive[s] && !legal {
			return st.fault(s, "may do nothing: its action_mask is all 0")
		}
	}
	return nil
}

// look adds what a seat sees and gets to the sum, and refuses numbers that are none.
func (st *state) look(s int, r row) error {
	d := st.g.width
	for i, x := range r.obs[s*d : (s+1)*d] {
		bits := math.Float32bits(x)
		if bits&0x7f800000 == 0x7f800000 {
			return st.fault(s, fmt.Sprintf("sees %v, the number %d of its observation", x, i))
		}
		st.sum = mix(st.sum, uint64(bits))
	}
	bits := math.Float32bits(r.reward[s])
	if bits&0x7f800000 == 0x7f800000 {
		return st.fault(s, fmt.Sprintf("gets a reward of %v", r.reward[s]))
	}
	st.sum = mix(st.sum, uint64(bits))
	return nil
}

// fault is an error that names who and when.
func (st *state) fault(s int, what string) error {
	return fmt.Errorf("%s, step %d of the episode with seed %d: agent %s %s", st.g.cfg.Env, st.t, st.seed, st.g.names[s], what)
}

// mix adds a word to a sum that depends on the order (FNV-1a by words).
func mix(sum, x uint64) uint64 { return (sum ^ x ^ sum>>29) * 0x100000001b3 }

// Reset starts an episode.
func (st *state) Reset(r *rng.Rand) { st.alone(nil, nil, r) }

// Step plays one joint action.
func (st *state) Step(actions []int32, rewards []float32, _ *rng.Rand) {
	st.alone(actions, rewards, nil)
}

// alone is StepAll of this state.
func (st *state) alone(actions []int32, rewards []float32, r *rng.Rand) {
	if h := st.g.host; h != nil {
		h.played(st, actions, rewards)
		return
	}
	st.acts[0], st.rewards[0], st.rules[0] = actions, rewards, r
	st.g.StepAll(st.self[:], st.acts[:], st.rewards[:], st.rules[:])
	st.acts[0], st.rewards[0], st.rules[0] = nil, nil, nil
}

// Vectors returns the memory of the copy in which the next step's vectors stand, if actions are such.
func (st *state) Vectors() []float32 {
	if !st.g.spec.Continuous {
		return nil
	}
	n := len(st.alive) * len(st.g.spec.Actions)
	return st.at.b.vector[st.at.i*n : (st.at.i+1)*n]
}

// Alive reports whether the seat may act.
func (st *state) Alive(s game.Seat) bool { return st.alive[s] }

// Over reports whether nobody may act any more.
func (st *state) Over() bool { return st.over }

// Cut reports whether the episode is over by a limit from outside alone.
func (st *state) Cut() bool { return st.over && st.cut }

// Legal writes which actions the seat may play.
func (st *state) Legal(s game.Seat, dst []bool) {
	if !st.alive[s] {
		clear(dst)
		return
	}
	k := len(dst)
	for a, ok := range st.row().mask[int(s)*k : (int(s)+1)*k] {
		dst[a] = ok != 0
	}
}

// Observe writes what the seat sees, or saw last.
func (st *state) Observe(s game.Seat, dst []float32) {
	d := st.g.width
	copy(dst, st.row().obs[int(s)*d:(int(s)+1)*d])
	if !st.g.tail {
		return
	}
	clear(dst[d:])
	var legal [game.MaxActions]bool
	st.Legal(s, legal[:len(st.g.spec.Actions)])
	st.g.spec.Obs.Tail(dst, s, legal[:len(st.g.spec.Actions)], st.t, st.g.spec.Horizon, st.last)
}

// CopyFrom fails: nobody can copy what another program plays.
func (st *state) CopyFrom(game.State) {
	panic(&game.Failure{Err: errors.New("pyenv: a Python environment cannot be copied, and something here needs copies of the game's states")})
}

// AppendText writes how the state was come to: its seed, and a sum of everything that
// was played and seen since.
func (st *state) AppendText(b []byte) ([]byte, error) {
	return fmt.Appendf(b, "seed %d, step %d, over %v, sum %016x\n", st.seed, st.t, st.over, st.sum), nil
}

var (
	_ game.Vectored = (*state)(nil)
	_ game.Limited  = (*state)(nil)
)
