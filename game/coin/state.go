// Package coin is the Coin Game of LOLA (Foerster et al., 2018): each agent has
// a colour, and one coin of one colour lies on a small board. Who takes it is
// paid 1, whatever its colour; if another than its owner takes it, the owner
// loses 2. Taking every coin pays each agent and ruins all.
//
// Nobody leaves; an episode is as long as its horizon, which is a rule unless it
// is hidden. Agents start on any cells and share cells freely. Several may take a
// coin in one step: each is paid, and the owner loses once if anyone else was among
// them. A new coin of a uniformly drawn owner appears on a uniformly drawn cell
// without agents, once Pause steps were played without a coin. No outcome depends
// on seat numbers.
//
// With other parameters it is coins of Melting Pot (Agapiou et al., 2022): coins grow
// on every free cell, agents stand in each other's way, boards are drawn, and chance
// ends an episode.
//
// A state is one value and shares nothing but the game's constant boards.
package coin

import (
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/rng"
)

// State is one episode.
type State struct {
	g *Game
	play
	lies  []int8 // [cells] the owner of the coin there, or -1
	order []int  // [seats] scratch: who moves first
}

// play is all that changes.
type play struct {
	grid.Players
	board   *grid.Board // one of the game's
	wait    int32       // steps to play before the next coin, 0 if one is there or coins grow
	stopped bool        // the episode is over by chance
	took    []int16     // [seats] the goal reached in the last step, or game.NoGoal
	robbed  []int16     // [seats] 1 once a coin of its own was taken by another, else 0
}

// newPlay returns a play in which nothing has happened.
func (g *Game) newPlay() play {
	p := play{Players: grid.NewPlayers(g.c.Agents, g.c.View, 2), board: g.boards[0]}
	p.took, p.robbed = p.Row(0), p.Row(1)
	return p
}

// follow makes the play equal to src.
func (p *play) follow(src *play) {
	p.Players.Follow(&src.Players)
	p.board, p.wait, p.stopped = src.board, src.wait, src.stopped
}

var (
	_ grid.State   = (*State)(nil)
	_ game.Goaler  = (*State)(nil)
	_ game.Limited = (*State)(nil)
)

// Reset puts each agent on any cell, of its own where they are solid, and a coin on a cell without
// agents; where coins grow there is none yet.
func (st *State) Reset(r *rng.Rand) {
	st.Clear()
	st.board, st.wait, st.stopped = st.g.boards[0], 0, false
	if n := len(st.g.boards); n > 1 {
		st.board = st.g.boards[r.IntN(n)]
	}
	for i := range st.lies {
		st.lies[i] = -1
	}
	for s := range st.g.c.Agents {
		st.took[s] = game.NoGoal
		for st.Pos[s] == grid.None {
			if c := st.open(r); !st.g.c.Solid || !st.stands(c) {
				st.Pos[s] = c
			}
		}
	}
	if st.g.c.Grow == 0 {
		st.drop(r)
	}
}

// open draws a cell that is no wall.
func (st *State) open(r *rng.Rand) int16 {
	for {
		if c := int16(r.IntN(st.board.Cells())); !st.board.Blocked[c] {
			return c
		}
	}
}

// stands reports whether anybody is on a cell.
func (st *State) stands(c int16) bool { return slices.Contains(st.Pos, c) }

// drop puts a new coin on the board.
func (st *State) drop(r *rng.Rand) {
	owner := int8(r.IntN(st.g.c.Agents))
	st.wait = 0
	for {
		if c := st.open(r); !st.stands(c) {
			st.lies[c] = owner
			return
		}
	}
}

// grow lets coins grow where there is none and nobody stands.
func (st *State) grow(r *rng.Rand) {
	for c := range st.lies {
		if st.lies[c] < 0 && !st.board.Blocked[c] && r.Float64() < st.g.c.Grow && !st.stands(int16(c)) {
			st.lies[c] = int8(r.IntN(st.g.c.Agents))
		}
	}
}

// Reached returns whose coin the seat took in the last step, as a goal.
func (st *State) Reached(s game.Seat) int { return int(st.took[s]) }

// Cut reports whether the episode ended at a horizon that nobody sees.
func (st *State) Cut() bool { return st.g.c.Hidden && st.Done && !st.stopped }

// Legal writes the seat's mask: open moves, stay, and take on the coin's cell.
func (st *State) Legal(s game.Seat, dst []bool) {
	dst = dst[:st.g.actions]
	if st.Done {
		clear(dst)
		return
	}
	c := st.Pos[s]
	st.board.LegalMoves(c, dst)
	if len(dst) > Take {
		dst[Take] = st.lies[c] >= 0
	}
}

func (st *State) legal(s int, a int32) bool {
	switch {
	case a <= grid.Stay:
		return st.board.Open(st.Pos[s], a)
	case a == Take:
		return st.g.actions > Take && st.lies[st.Pos[s]] >= 0
	}
	return false
}

// Step plays one move: time, then all moves, at once or where they are solid one after the other,
// then coins are taken, then new ones may appear.
func (st *State) Step(acts []int32, rewards []float32, r *rng.Rand) {
	game.Ready(st.Done, st.g.c.Agents, acts, rewards)
	for s, a := range acts {
		rewards[s] = 0
		if !st.legal(s, a) {
			panic("coin: illegal action")
		}
	}
	st.Look(st.g.c.View, st.g.c.Size)
	st.T++
	if st.g.c.Solid {
		st.push(acts, r)
	} else {
		st.board.Walk(st.Pos, st.Last, acts)
	}
	taken := st.take(acts, rewards)
	switch {
	case st.g.c.Grow > 0:
		st.grow(r)
	case taken && st.g.c.Pause > 0:
		st.wait = int32(st.g.c.Pause)
	case taken || st.wait == 1:
		st.drop(r)
	case st.wait > 1:
		st.wait--
	}
	last := int(st.T) >= st.g.c.Horizon
	st.stopped = !last && st.g.c.Stop > 0 && int(st.T) >= st.g.c.Least && st.T%interval == 0 && r.Float64() < st.g.c.Stop
	st.Done = st.stopped || last
}

// push lets one after the other move, in a drawn order, to where nobody stands.
func (st *State) push(acts []int32, r *rng.Rand) {
	r.Perm(st.order)
	for _, s := range st.order {
		a := acts[s]
		if st.Last[s] = int8(a); a >= grid.Stay {
			continue
		}
		if to := st.board.Next[st.Pos[s]][a]; !st.stands(to) {
			st.Pos[s] = to
		}
	}
}

// take pays for coins, takes them off the board and reports whether anyone took one.
func (st *State) take(acts []int32, rewards []float32) (taken bool) {
	for s, a := range acts {
		st.took[s] = game.NoGoal
		owner := st.lies[st.Pos[s]]
		if owner < 0 || a != Take && st.g.actions > Take {
			continue
		}
		taken = true
		rewards[s] += float32(st.g.c.Pays)
		if s == int(owner) {
			st.took[s] = GoalOwn
			continue
		}
		harmed := false // by somebody on the same cell
		for o := range s {
			harmed = harmed || st.took[o] == GoalOther && st.Pos[o] == st.Pos[s]
		}
		if st.took[s] = GoalOther; !harmed {
			rewards[owner] -= float32(st.g.c.Harm)
			st.robbed[owner] = 1
		}
	}
	for s, goal := range st.took {
		if goal != game.NoGoal {
			st.lies[st.Pos[s]] = -1
		}
	}
	return taken
}

// Observe writes what is in the seat's view, the rest as 0.
func (st *State) Observe(s game.Seat, dst []float32) {
	st.ObserveWhole(s, dst)
	st.Hide(&st.g.spec.Obs, dst, s, st.g.c.View)
}

// ObserveWhole writes the planes (agents, then their coins, both ego-first, then walls where boards are
// drawn), the mask, the time and the last joint action.
func (st *State) ObserveWhole(s game.Seat, dst []float32) {
	clear(dst)
	n, planes := st.g.c.Agents, len(st.g.spec.Obs.Planes)
	st.Show(dst, s, &st.g.spec.Obs)
	for c, owner := range st.lies {
		if owner < 0 {
			continue
		}
		plane := n + int(owner) - int(s)
		if plane < n {
			plane += n
		}
		dst[c*planes+plane] = 1
	}
	for _, c := range st.board.Blocks {
		dst[int(c)*planes+2*n] = 1
	}
	var legal [maxActions]bool
	st.Legal(s, legal[:])
	st.g.spec.Obs.Tail(dst, s, legal[:st.g.actions], int(st.T), st.g.c.Horizon, st.Last)
}

// CopyFrom makes the state equal to src.
func (st *State) CopyFrom(src game.State) {
	o := src.(*State)
	st.follow(&o.play)
	copy(st.lies, o.lies)
}

// Permute makes the state equal to src with seat s, and its colour, moved to perm[s].
func (st *State) Permute(src game.State, perm []game.Seat) {
	o := src.(*State)
	st.follow(&o.play)
	for c, owner := range o.lies {
		if st.lies[c] = owner; owner >= 0 {
			st.lies[c] = int8(perm[owner])
		}
	}
	st.Relabel(&o.Players, perm)
}

// Cell says what stands on a cell, for pictures. A coin's number is its owner's,
// which is the plane that seat 0 sees it in.
func (st *State) Cell(y, x int, seats []game.Seat, things []string) ([]game.Seat, []string) {
	c := int16(y*st.g.c.Size + x)
	seats = grid.SeatsOn(seats, st.Pos, c)
	if st.board.Blocked[c] {
		things = append(things, "block")
	} else if owner := st.lies[c]; owner >= 0 {
		things = append(things, st.g.spec.Obs.Planes[st.g.c.Agents+int(owner)])
	}
	return seats, things
}
