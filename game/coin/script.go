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

// Spots writes where the coin is, if it is one of those.
func (st *State) Spots(thing int, s game.Seat, dst []int16) int {
	if mine := st.owner == int8(s); st.coin == grid.None || thing == 1 && !mine || thing == 2 && mine {
		return 0
	}
	dst[0] = st.coin
	return 1
}

// Steps returns how many moves one cell is from another.
func (st *State) Steps(from, to int16) int16 { return st.g.board.Manhattan(from, to) }

// Next returns where an action leads.
func (st *State) Next(cell int16, action int) int16 { return st.g.board.After(cell, action) }

// Extent returns the rows and columns.
func (st *State) Extent() (rows, columns int) { return st.g.c.Size, st.g.c.Size }

// Approach marks the moves to the coin; there, what takes it.
func (st *State) Approach(_ int, s game.Seat, spot int16, mask *game.Mask) bool {
	if st.Pos[s] == spot {
		if st.g.actions > Take {
			mask[Take] = true
		}
		return true
	}
	toward := st.seek(s, true)
	for k, ok := range toward {
		mask[k] = mask[k] || ok
	}
	return false
}

var _ script.Field = (*State)(nil)
