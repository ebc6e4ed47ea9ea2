package coin

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/script"
)

// Speak returns the co-player that a text describes.
func (g *Game) Speak(text string) (game.Policy, error) { return g.Language().Parse(text) }

// Language returns the words in which co-players of this game are described. Others were kind
// if they took no coin but their own; an episode went well for who took more than that cost it.
func (g *Game) Language() *script.Language {
	return script.Board(&script.Language{
		Game: g.spec.Name, Seats: g.c.Agents, Actions: g.actions, Taking: grid.Stay + 1,
		Things: []string{"coin", "own", "theirs"}, Bots: g.Bots(), Pair: [2]string{"own", "any"},
		Assess: func(t *script.Tally, _ game.State, s game.Seat) script.Outcome {
			own, most, robbed, o := float64(t.Done[s][GoalOwn]+t.Done[s][GoalOther]), -1, 0, script.Outcome{}
			for i, d := range t.Done[:g.c.Agents] {
				if game.Seat(i) != s {
					robbed += int(d[GoalOther])
				}
				if n := int(d[GoalOwn] + d[GoalOther]); n > most {
					most, o.Best = n, 0
					if d[GoalOther] > 0 {
						o.Best = 1
					}
				}
			}
			o.Kind = robbed == 0
			o.Good = own*g.c.Pays > float64(robbed)*g.c.Harm/float64(g.c.Agents-1)
			return o
		},
	})
}

// Spots writes where such coins are, as many as there is room for.
func (st *State) Spots(thing int, s game.Seat, dst []int16) (n int) {
	for c, owner := range st.lies {
		if mine := owner == int8(s); owner >= 0 && n < len(dst) && (thing == 0 || mine == (thing == 1)) {
			dst[n] = int16(c)
			n++
		}
	}
	return n
}

// Steps returns how many moves one cell is from another.
func (st *State) Steps(from, to int16) int16 { return st.board.Manhattan(from, to) }

// Next returns where an action leads.
func (st *State) Next(cell int16, action int) int16 { return st.board.After(cell, action) }

// Extent returns the rows and columns.
func (st *State) Extent() (rows, columns int) { return st.g.c.Size, st.g.c.Size }

// Approach marks the moves to a coin; there, what takes it.
func (st *State) Approach(_ int, s game.Seat, spot int16, mask *game.Mask) bool {
	here := st.Pos[s]
	if here != spot || st.g.actions > Take {
		st.near(here, spot, mask)
	}
	return here == spot
}

var _ script.Field = (*State)(nil)
