// Package cleanup is a small Cleanup, the public-good game of Hughes et al.
// (2018): apples grow in an orchard on the right of the board, the faster the
// less waste lies in the river on the left. Harvesting pays 1; cleaning pays
// nothing, and its fruit is everyone's. Harvesters alone starve.
//
// In a step, all moves happen at once; then each cleaner empties every river
// cell within Reach moves; then apples are harvested, an apple being split among
// those who harvest it at once; then with probability Pollution one clean river
// cell, uniformly drawn, fills with waste; then each bare orchard cell grows an
// apple with probability Growth * clamp((Depletion-w)/(Depletion-Restoration)),
// w being the share of river cells with waste. There are no apples at the start,
// and each agent starts on any cell. Agents share cells, walk in the river, and
// never leave; no outcome depends on seat numbers. The beams and views of the
// original are left out.
package cleanup

import (
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/rng"
)

// State is one episode.
type State struct {
	g *Game
	play
	full []bool // [cells] waste in the river, an apple in the orchard
}

// play is the part of a state that a plain copy moves.
type play struct {
	grid.Players
	waste     int32   // river cells filled with waste
	cleaned   []int16 // [seats] steps in which the seat cleaned
	harvested []int16 // [seats] steps in which the seat harvested
}

// newPlay returns a play in which nothing has happened.
func (g *Game) newPlay() play {
	p := play{Players: grid.NewPlayers(g.c.Agents, g.c.View, 2)}
	p.cleaned, p.harvested = p.Row(0), p.Row(1)
	return p
}

var (
	_ grid.State  = (*State)(nil)
	_ game.Goaler = (*State)(nil)
)

// Reset fills river cells with waste and puts each agent on any cell.
func (st *State) Reset(r *rng.Rand) {
	g := st.g
	st.Clear()
	st.waste = 0
	clear(st.full)
	for range int(math.Round(g.c.Start * float64(len(g.river)))) {
		st.pollute(r)
	}
	for s := range g.c.Agents {
		st.Pos[s] = int16(r.IntN(len(st.full)))
	}
}

// pollute fills one clean river cell, if there is one.
func (st *State) pollute(r *rng.Rand) {
	clean := len(st.g.river) - int(st.waste)
	if clean == 0 {
		return
	}
	k := r.IntN(clean)
	for _, c := range st.g.river {
		if st.full[c] {
			continue
		}
		if k == 0 {
			st.full[c] = true
			st.waste++
			return
		}
		k--
	}
}

// Reached returns what the seat did in the last step, as a goal: clean, harvest
// or NoGoal. Both always succeed where they are legal.
func (st *State) Reached(s game.Seat) int {
	switch st.Last[s] {
	case Clean:
		return GoalClean
	case Harvest:
		return GoalHarvest
	}
	return game.NoGoal
}

// Waste returns the share of river cells filled with waste.
func (st *State) Waste() float64 { return float64(st.waste) / float64(len(st.g.river)) }

// canClean and canHarvest report whether there is waste within reach of a cell,
// or an apple on it.
func (st *State) canClean(c int16) bool {
	for _, to := range st.g.near[c] {
		if st.full[to] {
			return true
		}
	}
	return false
}

func (st *State) canHarvest(c int16) bool { return st.full[c] && st.g.inOrchard(c) }

// Legal writes the seat's mask: open moves, stay, clean with waste in reach,
// harvest on an apple.
func (st *State) Legal(s game.Seat, dst []bool) {
	dst = dst[:actions]
	if st.Done {
		clear(dst)
		return
	}
	c := st.Pos[s]
	st.g.board.LegalMoves(c, dst)
	dst[Clean] = st.canClean(c)
	dst[Harvest] = st.canHarvest(c)
}

func (st *State) legal(s int, a int32) bool {
	c := st.Pos[s]
	switch {
	case a <= grid.Stay:
		return st.g.board.Open(c, a)
	case a == Clean:
		return st.canClean(c)
	case a == Harvest:
		return st.canHarvest(c)
	}
	return false
}

// Step plays one move: time, moves, cleaning, harvest, pollution, growth.
func (st *State) Step(acts []int32, rewards []float32, r *rng.Rand) {
	g := st.g
	game.Ready(st.Done, g.c.Agents, acts, rewards)
	for s, a := range acts {
		rewards[s] = 0
		if !st.legal(s, a) {
			panic("cleanup: illegal action")
		}
	}
	st.Look(st.g.c.View, st.g.c.Size)
	st.T++
	for s, a := range acts {
		st.Last[s] = int8(a)
		switch {
		case a < grid.Stay:
			st.Pos[s] = g.board.Next[st.Pos[s]][a]
		case a == Clean:
			st.clean(st.Pos[s])
			st.cleaned[s]++
		case a == Harvest:
			rewards[s] = float32(g.c.Pays / float64(st.Doing(acts, Harvest, st.Pos[s])))
			st.harvested[s]++
		}
	}
	for s, a := range acts {
		if a == Harvest {
			st.full[st.Pos[s]] = false
		}
	}
	if r.Float64() < g.c.Pollution {
		st.pollute(r)
	}
	st.grow(r)
	st.Done = int(st.T) >= g.c.Horizon
}

// clean empties the river within reach of a cell.
func (st *State) clean(c int16) {
	for _, to := range st.g.near[c] {
		if st.full[to] {
			st.full[to] = false
			st.waste--
		}
	}
}

// grow lets apples grow, at a rate that falls with the waste.
func (st *State) grow(r *rng.Rand) {
	c := &st.g.c
	rate := c.Growth * min((c.Depletion-st.Waste())/(c.Depletion-c.Restoration), 1)
	if rate <= 0 {
		return
	}
	for _, at := range st.g.orchard {
		if !st.full[at] && r.Float64() < rate {
			st.full[at] = true
		}
	}
}

// Observe writes what is in the seat's view, the rest as 0.
func (st *State) Observe(s game.Seat, dst []float32) {
	st.ObserveWhole(s, dst)
	st.Hide(&st.g.spec.Obs, dst, s, st.g.c.View)
}

// ObserveWhole writes the planes (agents ego-first, river, waste, orchard, apples),
// the mask, the time and the last joint action.
func (st *State) ObserveWhole(s game.Seat, dst []float32) {
	g := st.g
	copy(dst, g.planes)
	st.Show(dst, s, &g.spec.Obs)
	planes := len(g.spec.Obs.Planes)
	n := planes - things
	for _, c := range g.river {
		if st.full[c] {
			dst[int(c)*planes+n+1] = 1
		}
	}
	for _, c := range g.orchard {
		if st.full[c] {
			dst[int(c)*planes+n+3] = 1
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
	st.waste = o.waste
	copy(st.full, o.full)
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
	ground, on := "", ""
	switch {
	case st.g.inRiver(c):
		ground, on = "river", "waste"
	case st.g.inOrchard(c):
		ground, on = "orchard", "apple"
	default:
		return seats, things
	}
	things = append(things, ground)
	if st.full[c] {
		things = append(things, on)
	}
	return seats, things
}
