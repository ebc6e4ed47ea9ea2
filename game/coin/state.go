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
// A state is one value and shares nothing but the game's constant board.
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
}

// play is all that changes.
type play struct {
	grid.Players
	wait  int32               // steps to play before the next coin, 0 if one is there
	owner int8                // the coin's seat
	coin  int16               // its cell, or grid.None
	took  [grid.MaxSeats]int8 // the goal reached in the last step, or game.NoGoal
}

var (
	_ grid.State   = (*State)(nil)
	_ game.Goaler  = (*State)(nil)
	_ game.Limited = (*State)(nil)
)

// Reset puts each agent on any cell and a coin on a cell without agents.
func (st *State) Reset(r *rng.Rand) {
	st.play = play{Players: grid.NewPlayers()}
	for s := range st.g.c.Agents {
		st.Pos[s], st.took[s] = int16(r.IntN(st.g.board.Cells())), game.NoGoal
	}
	st.drop(r)
}

// drop puts a new coin on the board.
func (st *State) drop(r *rng.Rand) {
	st.owner = int8(r.IntN(st.g.c.Agents))
	st.wait = 0
	for {
		st.coin = int16(r.IntN(st.g.board.Cells()))
		if !slices.Contains(st.Pos[:st.g.c.Agents], st.coin) {
			return
		}
	}
}

// Reached returns whose coin the seat took in the last step, as a goal.
func (st *State) Reached(s game.Seat) int { return int(st.took[s]) }

// Cut reports whether the episode ended at a horizon that nobody sees.
func (st *State) Cut() bool { return st.g.c.Hidden && st.Done }

// Legal writes the seat's mask: open moves, stay, and take on the coin's cell.
func (st *State) Legal(s game.Seat, dst []bool) {
	dst = dst[:st.g.actions]
	if st.Done {
		clear(dst)
		return
	}
	c := st.Pos[s]
	st.g.board.LegalMoves(c, dst)
	if len(dst) > Take {
		dst[Take] = c == st.coin
	}
}

func (st *State) legal(s int, a int32) bool {
	switch {
	case a <= grid.Stay:
		return st.g.board.Open(st.Pos[s], a)
	case a == Take:
		return st.g.actions > Take && st.Pos[s] == st.coin
	}
	return false
}

// Step plays one move: time, then all moves at once, then the coin is taken,
// then a new one may appear.
func (st *State) Step(acts []int32, rewards []float32, r *rng.Rand) {
	game.Ready(st.Done, st.g.c.Agents, acts, rewards)
	for s, a := range acts {
		rewards[s] = 0
		if !st.legal(s, a) {
			panic("coin: illegal action")
		}
	}
	st.Look(st.g.c.View, st.g.c.Size, st.g.c.Agents)
	st.T++
	st.g.board.Walk(st.Pos[:], st.Last[:], acts)
	taken := st.take(acts, rewards)
	switch {
	case taken && st.g.c.Pause > 0:
		st.coin, st.wait = grid.None, int32(st.g.c.Pause)
	case taken || st.wait == 1:
		st.drop(r)
	case st.wait > 1:
		st.wait--
	}
	st.Done = int(st.T) >= st.g.c.Horizon
}

// take pays for the coin and reports whether anyone took it.
func (st *State) take(acts []int32, rewards []float32) bool {
	taken, robbed := false, false
	for s, a := range acts {
		st.took[s] = game.NoGoal
		if st.Pos[s] != st.coin || a != Take && st.g.actions > Take {
			continue
		}
		taken = true
		rewards[s] = float32(st.g.c.Pays)
		st.took[s] = GoalOwn
		if s != int(st.owner) {
			st.took[s] = GoalOther
			robbed = true
		}
	}
	if robbed {
		rewards[st.owner] -= float32(st.g.c.Harm)
	}
	return taken
}

// Observe writes what is in the seat's view, the rest as 0.
func (st *State) Observe(s game.Seat, dst []float32) {
	st.ObserveWhole(s, dst)
	st.Hide(&st.g.spec.Obs, dst, s, st.g.c.View)
}

// ObserveWhole writes the planes (agents, then their coins, both ego-first), the
// mask, the time and the last joint action.
func (st *State) ObserveWhole(s game.Seat, dst []float32) {
	clear(dst)
	n := st.g.c.Agents
	st.Show(dst, s, n, 2*n)
	if st.coin != grid.None {
		plane := n + int(st.owner) - int(s)
		if plane < n {
			plane += n
		}
		dst[int(st.coin)*2*n+plane] = 1
	}
	var legal [maxActions]bool
	st.Legal(s, legal[:])
	st.g.spec.Obs.Tail(dst, s, legal[:st.g.actions], int(st.T), st.g.c.Horizon, st.Last[:n])
}

// CopyFrom makes the state equal to src.
func (st *State) CopyFrom(src game.State) { st.play = src.(*State).play }

// Permute makes the state equal to src with seat s, and its colour, moved to perm[s].
func (st *State) Permute(src game.State, perm []game.Seat) {
	o := src.(*State)
	st.play = o.play
	st.owner = int8(perm[o.owner])
	st.Relabel(&o.Players, perm)
	for s, to := range perm {
		st.took[to] = o.took[s]
	}
}

// Cell says what stands on a cell, for pictures. A coin's number is its owner's,
// which is the plane that seat 0 sees it in.
func (st *State) Cell(y, x int, seats []game.Seat, things []string) ([]game.Seat, []string) {
	c := int16(y*st.g.c.Size + x)
	seats = grid.SeatsOn(seats, st.Pos[:st.g.c.Agents], c)
	if c == st.coin {
		things = append(things, st.g.spec.Obs.Planes[st.g.c.Agents+int(st.owner)])
	}
	return seats, things
}
