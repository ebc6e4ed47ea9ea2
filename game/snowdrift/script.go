package snowdrift

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/script"
)

// Speak returns the co-player that a text describes.
func (g *Game) Speak(text string) (game.Policy, error) { return g.Language().Parse(text) }

// Language returns the words in which co-players of this game are described. An episode went
// well for who did no more than the others; they were kind if each did something on average.
func (g *Game) Language() *script.Language {
	return script.Board(&script.Language{
		Game: g.spec.Name, Seats: g.c.Agents, Actions: actions, Taking: Remove,
		Things: []string{"drift"}, Bots: g.Bots(), Pair: [2]string{"nd", "fix"},
		Slot: func(int) int { return 0 },
		Assess: func(t *script.Tally, _ game.State, s game.Seat) script.Outcome {
			own, all, least := int(t.Done[s][0]), 0, 1<<20
			for _, d := range t.Done[:g.c.Agents] {
				all += int(d[0])
				least = min(least, int(d[0]))
			}
			others, o := all-own, script.Outcome{Best: 0}
			o.Good = own*(g.c.Agents-1) <= others
			o.Kind = others >= g.c.Agents-1
			if least == 0 && all > 0 {
				o.Best = 1
			}
			return o
		},
	})
}

// Spots writes where drifts are left.
func (st *State) Spots(_ int, _ game.Seat, dst []int16) int {
	n := 0
	for d := 0; d < st.g.c.Drifts && n < len(dst); d++ {
		if st.left>>d&1 != 0 {
			dst[n] = st.drift[d]
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

// Approach marks the shortest moves to a drift; there, its removal.
func (st *State) Approach(_ int, s game.Seat, spot int16, mask *game.Mask) bool {
	cell := st.Pos[s]
	if cell != spot {
		st.board.Towards(cell, st.drift[:], 1<<st.driftAt[spot], mask)
		return false
	}
	mask[Remove] = true
	return true
}

var _ script.Field = (*State)(nil)

// Key writes the key: boards of up to 15 cells a side have one, for those who do not read what
// was done.
func (st *State) Key(dst *game.Key, reads game.Reads) bool {
	*dst = game.Key{Episode: st.board.ID(), Left: uint64(st.left), Clock: uint32(st.T)}
	for s := range st.g.c.Agents {
		dst.Seats[s] = game.SeatKey(st.Pos[s], 0, st.Last[s])
	}
	return st.g.c.Size <= 15 && reads&game.ReadsDone == 0
}

var _ game.Keyed = (*State)(nil)
