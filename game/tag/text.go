package tag

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/hop-marl/hop/game/grid"
)

// AppendText writes the whole state, for playthroughs and failures:
//
//	t=3
//	  .   .   .   0
//	  #   .  12   .
//	  #   .   .   .
//	  #   .   .   3
//	prey 3
//	last 4 0 2 -
//	caught 0 1 1 2
//
// Digits are seats, # a block. "prey" lists the seats that are prey, "last" the
// last actions. "caught", once prey was, is how often each prey was and each predator did.
func (st *State) AppendText(b []byte) ([]byte, error) {
	n := st.g.seats
	b = grid.AppendEnd(fmt.Appendf(b, "t=%d", st.T), st.Done)
	b = grid.AppendRows(b, st.g.c.Size, st.g.c.Size, st.Pos, grid.Spaced(3), func(b []byte, c int16) []byte {
		if st.board.Blocked[c] {
			b = append(b, '#')
		}
		return b
	})
	b = append(b, "prey"...)
	for s := range n {
		if st.prey(s) {
			b = fmt.Appendf(b, " %d", s)
		}
	}
	b = st.AppendLast(append(b, '\n'))
	if slices.Max(st.caught) > 0 {
		b = grid.AppendNumbers(b, "caught", st.caught)
	}
	return b, nil
}

// UnmarshalText sets the state from what AppendText wrote; "last" and
// "caught" may be left out. The game must have the text's size and numbers of predators and prey.
func (st *State) UnmarshalText(text []byte) error { return grid.Reading("tag", st.read(text)) }

func (st *State) read(text []byte) error {
	c, n := &st.g.c, st.g.seats
	t, err := grid.ReadText(text, c.Size, c.Size, n, c.Horizon, nil, grid.Lines(c.View, "prey", "last", "caught"))
	if err != nil {
		return err
	}
	fresh := st.g.newPlay()
	t.Players(&fresh.Players)
	for at, thing := range t.Things {
		if thing != "" && t.Cells[at] != "#" {
			return fmt.Errorf("a cell %q, want seats, # or . alone", t.Cells[at])
		}
	}
	for _, w := range t.Lines["prey"] {
		s, err := strconv.Atoi(w)
		if err != nil || s < 0 || s >= n || fresh.prey(s) {
			return fmt.Errorf("%q after prey, want seats below %d, once each", w, n)
		}
		fresh.role[s] = 1
	}
	if prey := len(t.Lines["prey"]); prey != c.Prey {
		return fmt.Errorf("%d prey, want %d", prey, c.Prey)
	}
	if err := errors.Join(t.AllHere(), t.Last(&fresh.Players, actions), t.EndsAt(int(t.T) == c.Horizon),
		t.Numbers("caught", math.MaxInt16, false, func(s, v int) { fresh.caught[s] = int16(v) })); err != nil {
		return err
	}
	st.Players.Follow(&fresh.Players)
	st.board.Read(t)
	st.forget()
	return nil
}
