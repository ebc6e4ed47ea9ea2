// Package tag is predator and prey on a grid, a zero-sum game: predators chase,
// prey flees, and a prey that is caught pays 1, which the predators share.
//
// Roles are dealt to the seats at random at the start of each episode and can be
// seen by all, so the seats are interchangeable. All move at once, at the same
// speed, and share cells freely. A prey is caught if after the moves a predator
// is on its cell, or if the two have swapped cells, which would be to run through
// each other. It then appears elsewhere, and the chase goes on to the horizon.
// Several predators on one prey are one catch. Nobody leaves.
//
// Step draws random numbers only to place a caught prey.
package tag

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/rng"
)

// State is one episode.
type State struct {
	g *Game
	play

	board grid.Ground

	// What bots look up: dist[s] has the moves to the cell from[s], [seats][cells].
	dist [][]int16
	from []int16

	before []int16 // [seats] scratch: where they stood
	hit    []bool  // [seats] scratch: who is caught
}

// play is the part of a state that changes from step to step, or belongs to seats.
type play struct {
	grid.Players
	role   []int16 // [seats] 1: prey
	caught []int16 // [seats] how often prey was caught in this episode, or a predator caught prey
}

// newPlay returns a play in which nobody is anywhere.
func (g *Game) newPlay() play {
	p := play{Players: grid.NewPlayers(g.seats, g.c.View, 2)}
	p.role, p.caught = p.Row(0), p.Row(1)
	return p
}

// prey reports whether a seat is prey.
func (p *play) prey(s int) bool { return p.role[s] != 0 }

var (
	_ grid.State = (*State)(nil)
)

// Reset draws blocks, deals the roles, and puts predators on any free cell and
// prey away from them.
func (st *State) Reset(r *rng.Rand) {
	c := &st.g.c
	st.board.Draw(c.Blocks, 1, r)
	st.forget()
	st.Clear()
	// Each seat is prey with the share of prey among those still to be dealt.
	prey := c.Prey
	for s := range st.g.seats {
		if r.IntN(st.g.seats-s) < prey {
			st.role[s] = 1
			prey--
			continue
		}
		st.Pos[s] = st.board.FreeCell(r)
	}
	for s := range st.g.seats {
		if st.prey(s) {
			st.Pos[s] = st.hide(r)
		}
	}
}

// hide draws a free cell at least Start moves from every predator, or as far as
// there is one.
func (st *State) hide(r *rng.Rand) int16 {
	gap := st.board.Scratch // moves to the nearest predator
	farthest := int16(0)
	for c := range gap {
		gap[c] = -1
		if !st.board.Blocked[c] {
			gap[c] = st.nearest(int16(c), false)
			farthest = max(farthest, gap[c])
		}
	}
	enough, n := min(farthest, int16(st.g.c.Start)), 0
	for _, d := range gap {
		if d >= enough {
			n++
		}
	}
	for c, i := int16(0), r.IntN(n); ; c++ {
		if gap[c] >= enough {
			if i == 0 {
				return c
			}
			i--
		}
	}
}

// Legal writes the seat's mask: open moves and stay.
func (st *State) Legal(s game.Seat, dst []bool) {
	dst = dst[:actions]
	if st.Done {
		clear(dst)
		return
	}
	st.board.LegalMoves(st.Pos[s], dst)
}

// Step plays one move: time, then all moves at once, then catches.
func (st *State) Step(acts []int32, rewards []float32, r *rng.Rand) {
	n := st.g.seats
	game.Ready(st.Done, n, acts, rewards)
	for s, a := range acts {
		if !st.board.Open(st.Pos[s], a) {
			panic("tag: illegal action")
		}
		rewards[s] = 0
	}
	st.Look(st.g.c.View, st.g.c.Size)
	st.T++
	copy(st.before, st.Pos)
	st.board.Walk(st.Pos, st.Last, acts)
	catches := float32(0)
	for s := range n {
		if st.hit[s] = st.prey(s) && st.catch(s); st.hit[s] {
			catches++
		}
	}
	if catches > 0 {
		for s := range n {
			switch {
			case !st.prey(s):
				rewards[s] = catches * st.g.share
			case st.hit[s]:
				rewards[s] = -st.g.fine
				st.Pos[s] = st.hide(r)
			}
		}
	}
	st.Done = int(st.T) >= st.g.c.Horizon
}

// catch reports whether predators are on the prey's cell or have swapped with it, and counts that.
func (st *State) catch(prey int) (caught bool) {
	at, was := st.Pos[prey], st.before[prey]
	for s := range st.g.seats {
		if !st.prey(s) && (st.Pos[s] == at || st.Pos[s] == was && st.before[s] == at) {
			caught = true
			st.caught[s]++
		}
	}
	if caught {
		st.caught[prey]++
	}
	return caught
}

// Observe writes what is in the seat's view, the rest as 0.
func (st *State) Observe(s game.Seat, dst []float32) {
	st.ObserveWhole(s, dst)
	st.Hide(&st.g.spec.Obs, dst, s, st.g.c.View)
}

// ObserveWhole writes the planes (agents ego-first, blocks, prey), the roles
// ego-first (1 is prey), the mask, the time and the last joint action.
func (st *State) ObserveWhole(s game.Seat, dst []float32) {
	l := &st.g.spec.Obs
	clear(dst)
	n, planes := st.g.seats, st.g.seats+2
	roles := dst[l.FeaturesAt():]
	i := int(s)
	for k := range n {
		at := int(st.Pos[i]) * planes
		dst[at+k] = 1
		if st.prey(i) {
			dst[at+n+1] = 1
			roles[k] = 1
		}
		if i++; i == n {
			i = 0
		}
	}
	for _, b := range st.board.Blocks {
		dst[int(b)*planes+n] = 1
	}
	var legal [actions]bool
	st.Legal(s, legal[:])
	l.Tail(dst, s, legal[:], int(st.T), st.g.c.Horizon, st.Last)
}

// CopyFrom makes the state equal to src. Within an episode it copies only what
// steps change.
func (st *State) CopyFrom(src game.State) {
	o := src.(*State)
	st.Players.Follow(&o.Players)
	if st.board.Follow(&o.board) {
		st.forget()
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
	if st.board.Blocked[c] {
		things = append(things, "block")
	}
	prey := false
	for s, p := range st.Pos {
		if p == c {
			seats = append(seats, game.Seat(s))
			prey = prey || st.prey(s)
		}
	}
	if prey {
		things = append(things, "prey")
	}
	return seats, things
}
