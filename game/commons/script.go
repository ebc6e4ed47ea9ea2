package commons

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/script"
)

// Speak returns the co-player that a text describes.
func (g *Game) Speak(text string) (game.Policy, error) { return g.Language().Parse(text) }

// Language returns the words in which co-players of this game are described. Others were kind if
// at most a quarter of what they harvested was stripped; an episode went well for who harvested
// at least as often as the others do on average.
func (g *Game) Language() *script.Language {
	return script.Board(&script.Language{
		Game: g.spec.Name, Seats: g.c.Agents, Actions: actions, Taking: Harvest,
		Things: []string{"spare", "strip"}, Bots: g.Bots(), Pair: [2]string{"sparing", "greedy"},
		Assess: func(t *script.Tally, _ game.State, s game.Seat) script.Outcome {
			spared, stripped, most, o := 0, 0, -1, script.Outcome{}
			for i, d := range t.Done[:g.c.Agents] {
				if game.Seat(i) != s {
					spared, stripped = spared+int(d[GoalSpare]), stripped+int(d[GoalStrip])
				}
				if n := int(d[GoalSpare] + d[GoalStrip]); n > most {
					most, o.Best = n, 0
					if 4*int(d[GoalStrip]) > n {
						o.Best = 1
					}
				}
			}
			others, mine := g.c.Agents-1, int(t.Done[s][GoalSpare]+t.Done[s][GoalStrip])
			o.Kind = 4*stripped <= spared+stripped
			o.Good = others*mine >= spared+stripped && mine > 0
			return o
		},
	})
}

// Spots writes where there is an apple that has enough others within reach, or one that has not.
func (st *State) Spots(thing int, _ game.Seat, dst []int16) int {
	n := 0
	for _, c := range st.g.orchard {
		if there := st.apple[c] && (thing == GoalSpare) == st.spares(c); there && n < len(dst) {
			dst[n] = c
			n++
		}
	}
	return n
}

// Steps returns how many moves one cell is from another.
func (st *State) Steps(from, to int16) int16 { return st.g.board.Manhattan(from, to) }

// Next returns where an action leads.
func (st *State) Next(cell int16, action int) int16 { return st.g.board.After(cell, action) }

// Extent returns the rows and columns.
func (st *State) Extent() (rows, columns int) { return st.g.c.Size, st.g.c.Size }

// Approach marks the moves to a spot, and on it the harvest.
func (st *State) Approach(_ int, s game.Seat, spot int16, mask *game.Mask) bool {
	here := st.Pos[s]
	if here == spot {
		mask[Harvest] = true
		return true
	}
	st.g.board.Steer(here, spot, mask)
	return false
}

var _ script.Field = (*State)(nil)
