package tag

import (
	"errors"
	"fmt"
	"strconv"

	"hop/game"
	"hop/game/grid"
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
//
// Digits are seats, # a block. "prey" lists the seats that are prey, "last" the
// last actions.
func (st *State) AppendText(b []byte) ([]byte, error) {
	n, size := st.g.seats, st.g.c.Size
	b = grid.AppendEnd(fmt.Appendf(b, "t=%d", st.t), st.over)
	var seats []game.Seat
	for y := range size {
		for x := range size {
			cell := ""
			seats, _ = st.Cell(y, x, seats[:0], nil)
			for _, s := range seats {
				cell += strconv.Itoa(int(s))
			}
			switch {
			case st.board.Blocked[y*size+x]:
				cell = "#"
			case cell == "":
				cell = "."
			}
			if x > 0 {
				b = append(b, ' ')
			}
			b = fmt.Appendf(b, "%3s", cell)
		}
		b = append(b, '\n')
	}
	b = append(b, "prey"...)
	for s := range n {
		if st.prey[s] {
			b = fmt.Appendf(b, " %d", s)
		}
	}
	return grid.AppendNumbers(append(b, '\n'), "last", st.last[:n]), nil
}

// UnmarshalText sets the state from what AppendText wrote; "last" may be left
// out. The game must have the text's size and numbers of predators and prey.
func (st *State) UnmarshalText(text []byte) error {
	if err := st.read(text); err != nil {
		return fmt.Errorf("tag: reading a position: %w", err)
	}
	return nil
}

func (st *State) read(text []byte) error {
	c, n := &st.g.c, st.g.seats
	t, err := grid.ReadText(text, c.Size, n, c.Horizon, nil, []string{"prey", "last"})
	if err != nil {
		return err
	}
	fresh := play{t: t.T, over: t.Over}
	for s := range MaxSeats {
		fresh.pos[s], fresh.last[s] = grid.None, -1
	}
	copy(fresh.pos[:], t.Pos)
	for at, thing := range t.Things {
		if thing != "" && t.Cells[at] != "#" {
			return fmt.Errorf("a cell %q, want seats, # or . alone", t.Cells[at])
		}
	}
	for _, w := range t.Lines["prey"] {
		s, err := strconv.Atoi(w)
		if err != nil || s < 0 || s >= n || fresh.prey[s] {
			return fmt.Errorf("%q after prey, want seats below %d, once each", w, n)
		}
		fresh.prey[s] = true
	}
	if prey := len(t.Lines["prey"]); prey != c.Prey {
		return fmt.Errorf("%d prey, want %d", prey, c.Prey)
	}
	if err := errors.Join(t.AllHere(), t.Last(fresh.last[:n], actions), t.EndsAt(int(t.T) == c.Horizon)); err != nil {
		return err
	}
	st.play = fresh
	t.Blocks(st.board.Blocked)
	st.board.Link()
	st.forget()
	st.id = 0 // no other state is known to share this board
	return nil
}
