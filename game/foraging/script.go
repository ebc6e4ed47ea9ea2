package foraging

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/script"
)

// Speak returns the co-player that a text describes.
func (g *Game) Speak(text string) (game.Policy, error) { return g.Language().Parse(text) }

// Language returns the words in which co-players of this game are described. Light food is
// what a forager can lift alone, heavy food what it cannot. An episode went well for who lifted
// something; others were kind if one of them did.
func (g *Game) Language() *script.Language {
	return script.Board(&script.Language{
		Game: g.spec.Name, Seats: g.c.Agents, Actions: actions, Taking: Load,
		Things: []string{"food", "light", "heavy"}, Bots: g.Bots(), Pair: [2]string{"team", "solo"},
		Slot: func(int) int { return 0 },
		Assess: func(t *script.Tally, _ game.State, s game.Seat) script.Outcome {
			lifted, o := 0, script.Outcome{Good: t.Done[s][0] > 0}
			for i, d := range t.Done[:g.c.Agents] {
				if d[0] > 0 {
					lifted++
					o.Kind = o.Kind || game.Seat(i) != s
				}
			}
			if lifted < 2 {
				o.Best = 1
			}
			return o
		},
	})
}

// Spots writes where there is such food.
func (st *State) Spots(thing int, s game.Seat, dst []int16) int {
	n := 0
	for f := 0; f < st.g.c.Food && n < len(dst); f++ {
		light := int16(st.foodLevel[f]) <= st.level[s]
		if st.left>>f&1 == 0 || thing == 1 && !light || thing == 2 && light {
			continue
		}
		dst[n] = st.food[f]
		n++
	}
	return n
}

// Steps returns how many moves one cell is from another, whoever stands between.
func (st *State) Steps(from, to int16) int16 { return st.g.board.Manhattan(from, to) }

// Next returns where an action leads.
func (st *State) Next(cell int16, action int) int16 { return st.g.board.After(cell, action) }

// Extent returns the rows and columns.
func (st *State) Extent() (rows, columns int) { return st.g.c.Size, st.g.c.Size }

// Approach marks the moves to a cell beside the food, around food and agents; there, the load.
func (st *State) Approach(_ int, s game.Seat, spot int16, mask *game.Mask) bool {
	cell := st.Pos[s]
	for f := range st.g.c.Food {
		if st.food[f] != spot || st.left>>f&1 == 0 {
			continue
		}
		if st.beside(cell) == f {
			mask[Load] = true
			return true
		}
		st.flood(1<<f, s)
		for k, to := range st.g.board.Next[cell] {
			if to != grid.None && st.dist[to] >= 0 && st.dist[to] < st.dist[cell] {
				mask[k] = true
			}
		}
	}
	return false
}

var _ script.Field = (*State)(nil)

// Key writes the key: boards of up to 15 cells a side have one, for those who do not read what
// was done.
func (st *State) Key(dst *game.Key, reads game.Reads) bool {
	*dst = game.Key{Episode: st.id, Left: uint64(st.left), Clock: uint32(st.T)}
	for s := range st.g.c.Agents {
		dst.Seats[s] = game.SeatKey(st.Pos[s], 0, st.Last[s])
		dst.Distinct = dst.Distinct || st.level[s] != st.level[0]
	}
	return st.g.c.Size <= 15 && reads&game.ReadsDone == 0
}

var _ game.Keyed = (*State)(nil)
