package matrix

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// maxActions bounds the actions of a stage game.
const maxActions = 3

// State is one episode.
type State struct {
	g      *Game
	t      int32
	last   [2]int8              // last action, -1 before the first round
	before [2]int8              // the action before the last, -1 before the second round
	played [2][maxActions]int32 // how often each seat has played each action
}

var (
	_ game.State    = (*State)(nil)
	_ game.Goaler   = (*State)(nil)
	_ game.Permuter = (*State)(nil)
	_ game.Limited  = (*State)(nil)
)

// Reset goes back to before the first round. It draws nothing.
func (st *State) Reset(*rng.Rand) {
	*st = State{g: st.g, last: [2]int8{-1, -1}, before: [2]int8{-1, -1}}
}

// Alive reports whether there are rounds left.
func (st *State) Alive(game.Seat) bool { return !st.Over() }

// Over reports whether all rounds are played.
func (st *State) Over() bool { return int(st.t) >= st.g.c.Rounds }

// Reached returns the action that the seat just played: in these games every
// round pursues something, and the action says what.
func (st *State) Reached(s game.Seat) int {
	if st.last[s] < 0 {
		return game.NoGoal
	}
	return int(st.last[s])
}

// Cut reports whether the last round was a limit that nobody sees.
func (st *State) Cut() bool { return st.g.c.Hidden && st.Over() }

// Legal allows every action while there are rounds left.
func (st *State) Legal(_ game.Seat, dst []bool) {
	going := !st.Over()
	for k := range st.g.stage.Actions {
		dst[k] = going
	}
}

// Step plays one round.
func (st *State) Step(acts []int32, rewards []float32, _ *rng.Rand) {
	game.Ready(st.Over(), 2, acts, rewards)
	pays := st.g.stage.Pays
	for _, a := range acts {
		if a < 0 || int(a) >= len(pays) {
			panic("matrix: illegal action")
		}
	}
	for s, a := range acts {
		st.before[s], st.last[s] = st.last[s], int8(a)
		st.played[s][a]++
		rewards[s] = float32(pays[a][acts[1-s]])
	}
	st.t++
}

// Observe writes the features and the time. The features are one-hot: the start,
// then the last joint action in the order of own action, then the other's: CC,
// CD, DC, DD. Without memory they are the one number 1.
func (st *State) Observe(s game.Seat, dst []float32) {
	l := &st.g.spec.Obs
	clear(dst)
	at := 0
	if st.g.c.Memory && st.last[s] >= 0 {
		at = 1 + int(st.last[s])*len(st.g.stage.Actions) + int(st.last[1-s])
	}
	dst[at] = 1
	l.Tail(dst, s, nil, int(st.t), st.g.c.Rounds, nil)
}

// CopyFrom makes the state equal to src.
func (st *State) CopyFrom(src game.State) { *st = *src.(*State) }

// Permute makes the state equal to src with seat s moved to perm[s].
func (st *State) Permute(src game.State, perm []game.Seat) {
	o := src.(*State)
	st.CopyFrom(o)
	for s, to := range perm {
		st.last[to], st.before[to], st.played[to] = o.last[s], o.before[s], o.played[s]
	}
}
