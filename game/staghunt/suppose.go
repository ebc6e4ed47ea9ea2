package staghunt

import (
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
)

// Whole returns the same game with everything in view.
func (g *Game) Whole() game.Game {
	whole := *g
	whole.c.View, whole.spec.View = 0, 0
	return &whole
}

// Things says that a stag takes two, that a hare takes one, and that blocks are drawn in pieces.
func (g *Game) Things() []game.Thing {
	return []game.Thing{{}, {Count: g.c.Stags, Takes: 2}, {Count: g.c.Hares, Takes: 1}}
}

// Suppose makes the state one that the seat observes so, of a board of which everything is in
// view. Who is on no plane has left with a hare; when the first catch was is not observed, so
// that an episode that ends some steps after it is taken to go on to the horizon.
func (st *State) Suppose(s game.Seat, obs []float32) {
	c, l := &st.g.c, &st.g.spec.Obs
	n, planes := c.Agents, len(l.Planes)
	st.start()
	st.T = int32(math.Round(float64(obs[l.TimeAt()]) * float64(c.Horizon)))
	next := [2]int{0, c.Stags}
	for cell := range int16(c.Size * c.Size) {
		shows := obs[int(cell)*planes : (int(cell)+1)*planes]
		for k := range n {
			if shows[k] != 0 {
				st.Pos[(int(s)+k)%n] = cell
			}
		}
		st.board.Blocked[cell], st.preyAt[cell] = shows[n] != 0, -1
		for kind, x := range shows[n+1:] {
			if x != 0 {
				p := next[kind]
				st.prey[p], st.preyAt[cell] = cell, int8(p)
				st.left |= 1 << p
				next[kind]++
			}
		}
	}
	st.board.Redraw()
	for k := range n {
		seat := (int(s) + k) % n
		st.Last[seat] = int8(l.LastOf(obs, k, actions))
		if st.Pos[seat] == grid.None {
			st.caught[seat] = GoalHare
		}
	}
	st.Done = st.ends(c)
}

var (
	_ game.Hiding   = (*Game)(nil)
	_ game.Supposer = (*State)(nil)
)
