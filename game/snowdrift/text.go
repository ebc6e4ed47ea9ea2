package snowdrift

import (
	"errors"
	"fmt"

	"github.com/hop-marl/hop/game/grid"
)

// AppendText writes the whole state, for playthroughs and failures:
//
//	t=3
//	   .    *    0    .
//	   .  13*    .    .
//	   #    .    x    *
//	   .    .    .   2x
//	last 5 2 5 5
//
// Digits are seats, * a drift, x where a drift was removed, # a block. Actions
// are numbers, - before the first.
func (st *State) AppendText(b []byte) ([]byte, error) {
	b = grid.AppendEnd(fmt.Appendf(b, "t=%d", st.T), st.Done)
	b = grid.AppendRows(b, st.g.c.Size, st.g.c.Size, st.Pos, grid.Wide, func(b []byte, c int16) []byte {
		switch {
		case st.board.Blocked[c]:
			return append(b, '#')
		case st.here(c):
			return append(b, '*')
		case st.driftAt[c] >= 0:
			return append(b, 'x')
		}
		return b
	})
	return st.AppendLast(b), nil
}

// UnmarshalText sets the state from what AppendText wrote; "last" may be left
// out. The text must have the game's size, agents and drifts.
func (st *State) UnmarshalText(text []byte) error { return grid.Reading("snowdrift", st.read(text)) }

func (st *State) read(text []byte) error {
	c := &st.g.c
	t, err := grid.ReadText(text, c.Size, c.Size, c.Agents, c.Horizon, nil, grid.Lines(c.View, "last"))
	if err != nil {
		return err
	}
	fresh := st.g.newPlay()
	t.Players(&fresh.Players)
	driftAt, drifts := make([]int8, len(t.Cells)), 0
	for at, thing := range t.Things {
		driftAt[at] = -1
		switch {
		case thing == "" || t.Cells[at] == "#":
		case (thing == "*" || thing == "x") && drifts < c.Drifts:
			driftAt[at] = int8(drifts)
			if thing == "*" {
				fresh.left |= 1 << drifts
			}
			drifts++
		default:
			return fmt.Errorf("a cell %q, want seats, %d drifts * or x, # or . alone", t.Cells[at], c.Drifts)
		}
	}
	if drifts != c.Drifts {
		return fmt.Errorf("%d drifts * and x, the game has %d", drifts, c.Drifts)
	}
	over := fresh.left == 0 || int(t.T) == c.Horizon
	if err := errors.Join(t.AllHere(), t.Last(&fresh.Players, actions), t.EndsAt(over)); err != nil {
		return err
	}
	for s, a := range fresh.Last {
		if d := driftAt[fresh.Pos[s]]; a == Remove && (d < 0 || fresh.left>>d&1 != 0) {
			return fmt.Errorf("seat %d removed a drift where none was removed", s)
		}
	}
	st.play = fresh
	st.board.Read(t)
	copy(st.driftAt, driftAt)
	st.number()
	return nil
}
