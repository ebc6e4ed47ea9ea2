package commons

import (
	"errors"
	"fmt"

	"github.com/hop-marl/hop/game/grid"
)

// ground returns the letter of what a cell holds: a an apple, _ bare orchard, . neither.
func (st *State) ground(c int16) byte {
	switch {
	case st.apple[c]:
		return 'a'
	case st.g.planted[c]:
		return '_'
	}
	return '.'
}

// AppendText writes the whole state, for playthroughs and failures:
//
//	t=3
//	   .    _    .    .
//	  0a    a    _    .
//	   .    a   1.    .
//	   .    .    .   2.
//	last 1 5 4
//	beside 0 3 0
//
// Digits are seats; the letter after them is the ground, as of ground. beside counts the apples
// that were within reach of the one that a seat harvested in the last step.
func (st *State) AppendText(b []byte) ([]byte, error) {
	b = grid.AppendEnd(fmt.Appendf(b, "t=%d", st.T), st.Done)
	b = grid.AppendRows(b, st.g.c.Size, st.g.c.Size, st.Pos, grid.Wide, func(b []byte, c int16) []byte { return append(b, st.ground(c)) })
	b = st.AppendLast(b)
	return grid.AppendNumbers(b, "beside", st.beside), nil
}

// UnmarshalText sets the state from what AppendText wrote; the lines after the board may be left
// out. The text must have the game's ground and agents.
func (st *State) UnmarshalText(text []byte) error { return grid.Reading("commons", st.read(text)) }

func (st *State) read(text []byte) error {
	c := &st.g.c
	t, err := grid.ReadText(text, c.Size, c.Size, c.Agents, c.Horizon, nil, grid.Lines(c.View, "last", "beside"))
	if err != nil {
		return err
	}
	fresh := st.g.New().(*State)
	t.Players(&fresh.Players)
	for at, cell := range t.Cells {
		ground := cell[len(cell)-1]
		fresh.apple[at] = ground == 'a' && st.g.planted[at]
		if len(t.Things[at]) > 1 || fresh.ground(int16(at)) != ground {
			return fmt.Errorf("a cell %q, want seats, then _ or a in the orchard, . elsewhere", cell)
		}
	}
	if err := errors.Join(t.AllHere(), t.EndsAt(int(t.T) == c.Horizon), t.Last(&fresh.Players, actions),
		t.Numbers("beside", len(st.g.orchard), false, func(s, v int) { fresh.beside[s] = int16(v) })); err != nil {
		return err
	}
	st.CopyFrom(fresh)
	return nil
}
