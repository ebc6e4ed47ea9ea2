// Package commons is a small Commons Harvest, the common-pool-resource game of Perolat et al.
// (2017): apples grow in patches, the faster the more apples are left near by, so that a patch
// that is stripped bare stays bare. Each apple that one leaves is everybody's, and each that one
// takes is one's own.
//
// Patches lie on a lattice, Apart cells from centre to centre; a patch is the cells at most one
// move from its centre. All hold apples at the start, and each agent starts on any cell. In a
// step, all moves happen at once; then apples are harvested, an apple being split among those who
// harvest it at once; then each bare orchard cell grows an apple with probability
// min(1, Growth * n), n being the apples at most Reach moves away after the harvest, those that
// grow in the same step not among them. Agents share cells and never leave; no outcome depends on
// seat numbers. The beams and views of the original are left out.
package commons

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/rng"
)

// State is one episode.
type State struct {
	g *Game
	play
	apple []bool  // [cells]
	grown []int16 // for Step: the cells that grow an apple
}

// play is the part of a state that a plain copy moves.
type play struct {
	grid.Players
	beside []int16 // [seats] apples that were within reach of the one that the seat harvested in the last step
}

// newPlay returns a play in which nothing has happened.
func (g *Game) newPlay() play {
	p := play{Players: grid.NewPlayers(g.c.Agents, g.c.View, 1)}
	p.beside = p.Row(0)
	return p
}

var (
	_ grid.State  = (*State)(nil)
	_ game.Goaler = (*State)(nil)
)

// Reset fills the patches with apples and puts each agent on any cell.
func (st *State) Reset(r *rng.Rand) {
	st.Clear()
	copy(st.apple, st.g.planted)
	for s := range st.g.c.Agents {
		st.Pos[s] = int16(r.IntN(len(st.apple)))
	}
}

// Reached returns how the seat harvested in the last step, as a goal: it spared if enough other
// apples were within reach of its own when it took it, and stripped otherwise; NoGoal if it
// harvested nothing.
func (st *State) Reached(s game.Seat) int {
	switch {
	case st.Last[s] != Harvest:
		return game.NoGoal
	case int(st.beside[s]) >= st.g.c.Keep:
		return GoalSpare
	}
	return GoalStrip
}

// others returns how many other apples are within reach of an orchard cell.
func (st *State) others(c int16) int {
	n := 0
	for _, to := range st.g.near[c] {
		if st.apple[to] {
			n++
		}
	}
	return n
}

// Legal writes the seat's mask: open moves, stay, harvest on an apple.
func (st *State) Legal(s game.Seat, dst []bool) {
	dst = dst[:actions]
	if st.Done {
		clear(dst)
		return
	}
	c := st.Pos[s]
	st.g.board.LegalMoves(c, dst)
	dst[Harvest] = st.apple[c]
}

func (st *State) legal(s int, a int32) bool {
	c := st.Pos[s]
	return st.g.board.Open(c, a) || a == Harvest && st.apple[c]
}

// Step plays one move: time, moves, harvest, growth.
func (st *State) Step(acts []int32, rewards []float32, r *rng.Rand) {
	g := st.g
	game.Ready(st.Done, g.c.Agents, acts, rewards)
	for s, a := range acts {
		rewards[s] = 0
		if !st.legal(s, a) {
			panic("commons: illegal action")
		}
	}
	st.Look(g.c.View, g.c.Size)
	st.T++
	g.board.Walk(st.Pos, st.Last, acts)
	for s, a := range acts {
		st.beside[s] = 0
		if a == Harvest {
			rewards[s] = float32(g.c.Pays / float64(st.Doing(acts, Harvest, st.Pos[s])))
			st.beside[s] = int16(st.others(st.Pos[s]))
		}
	}
	for s, a := range acts {
		if a == Harvest {
			st.apple[st.Pos[s]] = false
		}
	}
	st.grow(r)
	st.Done = int(st.T) >= g.c.Horizon
}

// grow lets apples grow where some are near. What grows helps nothing to grow in the same step.
func (st *State) grow(r *rng.Rand) {
	st.grown = st.grown[:0]
	for _, c := range st.g.orchard {
		if st.apple[c] {
			continue
		}
		if n := st.others(c); n > 0 && r.Float64() < st.g.c.Growth*float64(n) {
			st.grown = append(st.grown, c)
		}
	}
	for _, c := range st.grown {
		st.apple[c] = true
	}
}

// Observe writes what is in the seat's view, the rest as 0.
func (st *State) Observe(s game.Seat, dst []float32) {
	st.ObserveWhole(s, dst)
	st.Hide(&st.g.spec.Obs, dst, s, st.g.c.View)
}

// ObserveWhole writes the planes (agents ego-first, orchard, apples), the mask, the time and the
// last joint action.
func (st *State) ObserveWhole(s game.Seat, dst []float32) {
	g := st.g
	copy(dst, g.planes)
	st.Show(dst, s, &g.spec.Obs)
	planes := len(g.spec.Obs.Planes)
	for _, c := range g.orchard {
		if st.apple[c] {
			dst[(int(c)+1)*planes-1] = 1
		}
	}
	var legal [actions]bool
	st.Legal(s, legal[:])
	g.spec.Obs.Tail(dst, s, legal[:], int(st.T), g.c.Horizon, st.Last)
}

// CopyFrom makes the state equal to src.
func (st *State) CopyFrom(src game.State) {
	o := src.(*State)
	st.Players.Follow(&o.Players)
	copy(st.apple, o.apple)
}

// Permute makes the state equal to src with seat s moved to perm[s].
func (st *State) Permute(src game.State, perm []game.Seat) {
	o := src.(*State)
	st.CopyFrom(o)
	st.Relabel(&o.Players, perm)
}

// Cell says what stands on a cell, for pictures: the ground, then what is on it.
func (st *State) Cell(y, x int, seats []game.Seat, things []string) ([]game.Seat, []string) {
	c := int16(y*st.g.c.Size + x)
	seats = grid.SeatsOn(seats, st.Pos, c)
	if st.g.planted[c] {
		things = append(things, "orchard")
	}
	if st.apple[c] {
		things = append(things, "apple")
	}
	return seats, things
}
