package cleanup

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/script"
)

// Speak returns the co-player that a text describes.
func (g *Game) Speak(text string) (game.Policy, error) { return g.Language().Parse(text) }

// Language returns the words in which co-players of this game are described. Others were kind
// if they cleaned, on average, at least as often as this one; an episode went well for who
// harvested at least as often as the others do on average.
func (g *Game) Language() *script.Language {
	return script.Board(&script.Language{
		Game: g.spec.Name, Seats: g.c.Agents, Actions: actions, Taking: Clean,
		Things: []string{"waste", "apple"}, Bots: g.Bots(), Pair: [2]string{"cleaner", "harvester"},
		Assess: func(t *script.Tally, _ game.State, s game.Seat) script.Outcome {
			cleaned, harvested, most, o := 0, 0, -1, script.Outcome{}
			for i, d := range t.Done[:g.c.Agents] {
				if game.Seat(i) != s {
					cleaned, harvested = cleaned+int(d[GoalClean]), harvested+int(d[GoalHarvest])
				}
				if n := int(d[GoalHarvest]); n > most {
					most, o.Best = n, 0
					if 4*int(d[GoalClean]) < n {
						o.Best = 1
					}
				}
			}
			others := g.c.Agents - 1
			o.Kind = cleaned > 0 && cleaned >= others*int(t.Done[s][GoalClean])
			o.Good = others*int(t.Done[s][GoalHarvest]) >= harvested && t.Done[s][GoalHarvest] > 0
			return o
		},
	})
}

// Spots writes where there is waste, or an apple.
func (st *State) Spots(thing int, _ game.Seat, dst []int16) int {
	cells, n := st.g.river, 0
	if thing == GoalHarvest {
		cells = st.g.orchard
	}
	for _, c := range cells {
		if st.full[c] && n < len(dst) {
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

// Approach marks the moves to a spot; in reach of waste, the cleaning, and on an apple, the
// harvest.
func (st *State) Approach(thing int, s game.Seat, spot int16, mask *game.Mask) bool {
	here := st.Pos[s]
	switch {
	case thing == GoalClean && st.canClean(here):
		mask[Clean] = true
		return true
	case thing == GoalHarvest && here == spot:
		mask[Harvest] = true
		return true
	}
	st.g.board.Steer(here, spot, mask)
	return false
}

var _ script.Field = (*State)(nil)
