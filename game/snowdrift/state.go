// Package snowdrift is Markov Snowdrift: snowdrifts lie on a board, and when one
// is removed every agent gains 6, but who removes it pays a cost of 4, shared
// with those who remove it in the same step. Everyone wants the drifts gone and
// would rather that somebody else did it.
//
// Nobody leaves. An episode ends when no drift is left, or at the horizon. The
// rules are deterministic; only the start is drawn: drifts on distinct free
// cells, each agent on any free cell, a drift's too. Agents share cells freely.
// Drifts are numbered in row-major order of their cells, and the numbers stay
// when drifts go. No outcome depends on seat numbers.
//
// A state owns its board. CopyFrom copies the board only when the episode
// differs.
package snowdrift

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/rng"
)

// State is one episode.
type State struct {
	g *Game
	play

	// The episode's fixed part.
	board   grid.Ground
	driftAt []int8           // [cells] the drift that started there, or -1
	drift   [maxDrifts]int16 // its cell
}

// play is the part of a state that changes from step to step.
type play struct {
	grid.Players
	left uint32 // bit d: drift d still lies there
}

var (
	_ grid.State  = (*State)(nil)
	_ game.Goaler = (*State)(nil)
)

// Reset draws blocks, drifts on distinct free cells, and each agent on any free cell.
func (st *State) Reset(r *rng.Rand) {
	c := &st.g.c
	st.board.Draw(c.Blocks, c.Drifts, r)
	for i := range st.driftAt {
		st.driftAt[i] = -1
	}
	for range c.Drifts {
		cell := st.board.FreeCell(r)
		for st.driftAt[cell] >= 0 {
			cell = st.board.FreeCell(r)
		}
		st.driftAt[cell] = 0
	}
	st.number()
	st.Clear()
	st.left = uint32(1<<c.Drifts - 1)
	for s := range c.Agents {
		st.Pos[s] = st.board.FreeCell(r)
	}
}

// number counts the drifts in row-major order, from marks in driftAt.
func (st *State) number() {
	n := 0
	for cell, d := range st.driftAt {
		if d >= 0 {
			st.drift[n], st.driftAt[cell] = int16(cell), int8(n)
			n++
		}
	}
}

// Reached returns the drift that the seat removed in the last step, or NoGoal.
func (st *State) Reached(s game.Seat) int {
	if st.Last[s] != Remove {
		return game.NoGoal
	}
	return int(st.driftAt[st.Pos[s]])
}

// here reports whether a drift lies on a cell.
func (st *State) here(c int16) bool {
	d := st.driftAt[c]
	return d >= 0 && st.left>>d&1 != 0
}

// Legal writes the seat's mask: open moves, stay, remove on a drift's cell.
func (st *State) Legal(s game.Seat, dst []bool) {
	dst = dst[:actions]
	if st.Done {
		clear(dst)
		return
	}
	c := st.Pos[s]
	st.board.LegalMoves(c, dst)
	dst[Remove] = st.here(c)
}

func (st *State) legal(s int, a int32) bool {
	c := st.Pos[s]
	switch {
	case a <= grid.Stay:
		return st.board.Open(c, a)
	case a == Remove:
		return st.here(c)
	}
	return false
}

// Step plays one move: time, then all moves at once, then removals cell by cell.
func (st *State) Step(acts []int32, rewards []float32, _ *rng.Rand) {
	game.Ready(st.Done, st.g.c.Agents, acts, rewards)
	removes := false
	for s, a := range acts {
		rewards[s] = 0
		if !st.legal(s, a) {
			panic("snowdrift: illegal action")
		}
		removes = removes || a == Remove
	}
	st.Look(st.g.c.View, st.g.c.Size)
	st.T++
	st.board.Walk(st.Pos, st.Last, acts)
	if removes {
		st.remove(acts, rewards)
	}
	st.Done = st.left == 0 || int(st.T) >= st.g.c.Horizon
}

// remove takes the drifts away and pays everyone: Pays for each drift, less the
// own share of the cost.
func (st *State) remove(acts []int32, rewards []float32) {
	drifts := 0
	for s, a := range acts {
		if a != Remove {
			continue
		}
		if d := st.driftAt[st.Pos[s]]; st.left>>d&1 != 0 {
			st.left &^= 1 << d
			drifts++
		}
	}
	gain := float64(drifts) * st.g.c.Pays
	for s, a := range acts {
		own := gain
		if a == Remove {
			removers := 0
			for o, b := range acts {
				if b == Remove && st.Pos[o] == st.Pos[s] {
					removers++
				}
			}
			own -= st.g.c.Cost / float64(removers)
		}
		rewards[s] = float32(own)
	}
}

// Observe writes what is in the seat's view, the rest as 0.
func (st *State) Observe(s game.Seat, dst []float32) {
	st.ObserveWhole(s, dst)
	st.Hide(&st.g.spec.Obs, dst, s, st.g.c.View)
}

// ObserveWhole writes the planes (agents ego-first, blocks, drifts), the mask, the
// time and the last joint action.
func (st *State) ObserveWhole(s game.Seat, dst []float32) {
	c := &st.g.c
	clear(dst)
	n, planes := c.Agents, c.Agents+2
	st.Show(dst, s, &st.g.spec.Obs)
	for _, b := range st.board.Blocks {
		dst[int(b)*planes+n] = 1
	}
	for d, cell := range st.drift[:c.Drifts] {
		if st.left>>d&1 != 0 {
			dst[int(cell)*planes+n+1] = 1
		}
	}
	var legal [actions]bool
	st.Legal(s, legal[:])
	st.g.spec.Obs.Tail(dst, s, legal[:], int(st.T), c.Horizon, st.Last)
}

// CopyFrom makes the state equal to src. Within an episode it copies only what
// steps change.
func (st *State) CopyFrom(src game.State) {
	o := src.(*State)
	st.Players.Follow(&o.Players)
	st.left = o.left
	if st.board.Follow(&o.board) {
		st.drift = o.drift
		copy(st.driftAt, o.driftAt)
	}
}

// Permute makes the state equal to src with seat s moved to perm[s].
func (st *State) Permute(src game.State, perm []game.Seat) {
	o := src.(*State)
	st.CopyFrom(o)
	st.Relabel(&o.Players, perm)
}

// Cell says what stands on a cell, for pictures.
func (st *State) Cell(y, x int, seats []game.Seat, things []string) ([]game.Seat, []string) {
	c := int16(y*st.g.c.Size + x)
	seats = grid.SeatsOn(seats, st.Pos, c)
	switch {
	case st.board.Blocked[c]:
		things = append(things, "block")
	case st.here(c):
		things = append(things, "drift")
	}
	return seats, things
}
