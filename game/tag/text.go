package tag

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

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
	b = fmt.Appendf(b, "t=%d", st.t)
	if st.over {
		b = append(b, " over"...)
	}
	b = append(b, '\n')
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
	b = append(b, "\nlast"...)
	for _, a := range st.last[:n] {
		if a < 0 {
			b = append(b, " -"...)
			continue
		}
		b = fmt.Appendf(b, " %d", a)
	}
	return append(b, '\n'), nil
}

// UnmarshalText sets the state from what AppendText wrote; "last" may be left
// out. The game must have the text's size and numbers of predators and prey.
func (st *State) UnmarshalText(text []byte) error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("tag: reading a position: "+format, a...)
	}
	c := &st.g.c
	lines := strings.Split(strings.TrimSpace(string(bytes.ReplaceAll(text, []byte("\r"), nil))), "\n")
	if len(lines) < c.Size+2 {
		return bad("%d lines, want the time, %d of board, and prey", len(lines), c.Size)
	}
	fresh := play{}
	for s := range MaxSeats {
		fresh.pos[s], fresh.last[s] = grid.None, -1
	}
	head, over := strings.CutSuffix(strings.TrimSpace(lines[0]), " over")
	num, ok := strings.CutPrefix(head, "t=")
	t, err := strconv.ParseInt(num, 10, 32)
	if !ok || err != nil || t < 0 || int(t) > c.Horizon || over != (int(t) == c.Horizon) {
		return bad("%q in the first line, want t from 0 to %d, over at the end", lines[0], c.Horizon)
	}
	fresh.t, fresh.over = int32(t), over
	blocked := make([]bool, c.Size*c.Size)
	for y := range c.Size {
		cells := strings.Fields(lines[1+y])
		if len(cells) != c.Size {
			return bad("row %d has %d cells, want %d", y, len(cells), c.Size)
		}
		for x, cell := range cells {
			at := y*c.Size + x
			if blocked[at] = cell == "#"; blocked[at] || cell == "." {
				continue
			}
			for _, ch := range cell {
				s := int(ch) - '0'
				if s < 0 || s >= st.g.seats || fresh.pos[s] != grid.None {
					return bad("row %d has %q, want seats below %d, each once, # or .", y, cell, st.g.seats)
				}
				fresh.pos[s] = int16(at)
			}
		}
	}
	prey := 0
	for _, line := range lines[1+c.Size:] {
		words := strings.Fields(line)
		for i, w := range words {
			k, err := strconv.ParseUint(w, 10, 8)
			switch {
			case i == 0 && w != "prey" && w != "last":
				return bad("a line that starts with %q", w)
			case i == 0 || words[0] == "last" && i <= st.g.seats && w == "-":
			case words[0] == "prey" && err == nil && int(k) < st.g.seats && !fresh.prey[k]:
				fresh.prey[k] = true
				prey++
			case words[0] == "last" && err == nil && k < actions && i <= st.g.seats:
				fresh.last[i-1] = int8(k)
			default:
				return bad("%q in %q", w, line)
			}
		}
	}
	if prey != c.Prey {
		return bad("%d prey, want %d", prey, c.Prey)
	}
	for s := range st.g.seats {
		if fresh.pos[s] == grid.None {
			return bad("seat %d is not on the board", s)
		}
	}
	st.play = fresh
	copy(st.board.Blocked, blocked)
	st.board.Link()
	st.forget()
	st.id = 0 // no other state is known to share this board
	return nil
}
