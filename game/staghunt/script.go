package staghunt

import (
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/script"
)

// Speak returns the co-player that a text describes.
func (g *Game) Speak(text string) (game.Policy, error) { return g.Language().Parse(text) }

// Language returns the words in which co-players of this game are described.
func (g *Game) Language() *script.Language {
	return script.Board(&script.Language{
		Game: g.spec.Name, Seats: g.c.Agents, Actions: actions, Taking: HuntStag,
		Things: []string{"stag", "hare"}, Bots: g.Bots(), Pair: [2]string{"ns", "nh"}, Shown: true,
		Assess: func(_ *script.Tally, st game.State, s game.Seat) script.Outcome {
			h := st.(*State)
			o := script.Outcome{Good: h.caught[s] == GoalStag, Best: 1}
			for i, caught := range h.caught[:g.c.Agents] {
				if caught == GoalStag {
					o.Best = 0
					o.Kind = o.Kind || game.Seat(i) != s
				}
			}
			return o
		},
	})
}

// Spots writes where such prey is left.
func (st *State) Spots(thing int, _ game.Seat, dst []int16) int {
	lo, hi := 0, st.g.c.Stags
	if thing == GoalHare {
		lo, hi = st.g.c.Stags, st.g.c.Stags+st.g.c.Hares
	}
	n := 0
	for p := lo; p < hi && n < len(dst); p++ {
		if st.left>>p&1 != 0 {
			dst[n] = st.prey[p]
			n++
		}
	}
	return n
}

// Steps returns how many moves one cell is from another.
func (st *State) Steps(from, to int16) int16 { return st.board.Steps(from, to) }

// Next returns where an action leads.
func (st *State) Next(cell int16, action int) int16 { return st.board.After(cell, action) }

// Extent returns the rows and columns.
func (st *State) Extent() (rows, columns int) { return st.g.c.Size, st.g.c.Size }

// Approach marks the shortest moves to a prey; there, the hunt, if it is legal.
func (st *State) Approach(thing int, s game.Seat, spot int16, mask *game.Mask) bool {
	cell := st.Pos[s]
	if cell != spot {
		st.board.Towards(cell, st.prey[:], 1<<st.preyAt[spot], mask)
		return false
	}
	mask[HuntStag] = mask[HuntStag] || thing == GoalStag && st.crowd(cell) >= 2
	mask[HuntHare] = mask[HuntHare] || thing == GoalHare
	return true
}

var _ script.Field = (*State)(nil)

// Key writes the key: boards of up to 15 cells a side have one.
func (st *State) Key(dst *game.Key, reads game.Reads) bool {
	*dst = game.Key{Episode: st.board.ID(), Left: st.left, Clock: uint32(st.T)}
	if st.g.c.EndAfter > 0 {
		dst.Clock |= uint32(st.first) << 16
	}
	for s := range st.g.c.Agents {
		dst.Seats[s] = game.SeatKey(st.Pos[s], int(st.caught[s])+1, st.Last[s])
	}
	return st.g.c.Size <= 15
}

var _ game.Keyed = (*State)(nil)

// Alone returns what the nearest hare pays, if there is time for it.
func (st *State) Alone(s game.Seat, discount float64) float64 {
	var toward game.Mask
	c := &st.g.c
	d := st.towards(st.Pos[s], c.Stags, c.Stags+c.Hares, &toward)
	end := c.Horizon
	if c.EndAfter > 0 && st.first > 0 {
		end = min(end, int(st.first)+c.EndAfter)
	}
	if d == grid.Far || int(st.T)+int(d)+1 > end {
		return 0
	}
	return float64(float32(c.HarePays)) * math.Pow(discount, float64(d))
}

var _ game.Solitary = (*State)(nil)
