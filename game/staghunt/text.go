package staghunt

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
//	t=3 first=0
//	  .   h   0   .
//	  .  13S  .   .
//	  #   .   .   h
//	  .   .   .   .
//	last 5 - 3 4
//	gone 2=hare
//
// Digits are seats, S a stag, h a hare, # a block. "*" marks a seat that left in
// the last step.
func (st *State) AppendText(b []byte) ([]byte, error) {
	n, size := st.g.c.Agents, st.g.c.Size
	b = fmt.Appendf(b, "t=%d first=%d", st.t, st.first)
	if st.over {
		b = append(b, " over"...)
	}
	b = append(b, '\n')
	var seats []game.Seat
	var things []string
	for y := range size {
		for x := range size {
			seats, things = st.Cell(y, x, seats[:0], things[:0])
			cell := ""
			for _, s := range seats {
				cell += strconv.Itoa(int(s))
			}
			for _, th := range things {
				cell += glyph(th)
			}
			if cell == "" {
				cell = "."
			}
			pad := 4 - len(cell)
			b = append(b, strings.Repeat(" ", max(pad-pad/2, 1))...)
			b = append(b, cell...)
			if x < size-1 {
				b = append(b, strings.Repeat(" ", max(pad/2, 0))...)
			}
		}
		b = append(b, '\n')
	}
	b = append(b, "last"...)
	for _, a := range st.last[:n] {
		if a < 0 {
			b = append(b, " -"...)
			continue
		}
		b = fmt.Appendf(b, " %d", a)
	}
	b = append(b, "\ngone"...)
	for s := range n {
		if st.pos[s] == grid.None {
			b = fmt.Appendf(b, " %d=%s", s, st.g.spec.Goals[st.caught[s]])
			if st.just[s] {
				b = append(b, '*')
			}
		}
	}
	return append(b, '\n'), nil
}

func glyph(thing string) string {
	switch thing {
	case "block":
		return "#"
	case "stag":
		return "S"
	}
	return "h"
}

// UnmarshalText sets the state from what AppendText wrote; "last" and "gone" may
// be left out. Prey that was caught earlier is not in the text and stays off the
// map. The state's board must have the text's size. A text that no episode could
// have written is refused and leaves the state as it was.
func (st *State) UnmarshalText(text []byte) error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("staghunt: reading a position: "+format, a...)
	}
	c := &st.g.c
	lines := strings.Split(strings.TrimSpace(string(bytes.ReplaceAll(text, []byte("\r"), nil))), "\n")
	if len(lines) < c.Size+1 {
		return bad("%d lines, want a line of time and %d of board", len(lines), c.Size)
	}
	fresh := play{}
	for s := range MaxSeats {
		fresh.pos[s], fresh.last[s], fresh.caught[s] = grid.None, -1, game.NoGoal
	}
	for _, w := range strings.Fields(lines[0]) {
		key, val, _ := strings.Cut(w, "=")
		v, err := strconv.ParseInt(val, 10, 32)
		switch {
		case key == "over":
			fresh.over = true
		case err != nil || v < 0:
			return bad("%q in the first line, want t=3 first=0", w)
		case key == "t":
			fresh.t = int32(v)
		case key == "first":
			fresh.first = int32(v)
		default:
			return bad("%q in the first line, want t=3 first=0", w)
		}
	}
	blocked := make([]bool, c.Size*c.Size)
	var stags, hares []int16
	for y := range c.Size {
		cells := strings.Fields(lines[1+y])
		if len(cells) != c.Size {
			return bad("row %d has %d cells, want %d", y, len(cells), c.Size)
		}
		for x, cell := range cells {
			at := int16(y*c.Size + x)
			things := 0
			for _, ch := range cell {
				switch {
				case ch == '#':
					blocked[at] = true
				case ch == 'S':
					stags = append(stags, at)
				case ch == 'h':
					hares = append(hares, at)
				case ch >= '0' && int(ch-'0') < c.Agents && fresh.pos[ch-'0'] == grid.None:
					fresh.pos[ch-'0'] = at
					continue
				case ch != '.' || len(cell) > 1:
					return bad("row %d has %q, want each seat below %d once, S, h, # or .", y, cell, c.Agents)
				}
				things++
			}
			if things > 1 || blocked[at] && len(cell) > 1 {
				return bad("row %d has %q, want at most one prey in a cell, and nothing on a block", y, cell)
			}
		}
	}
	if len(stags) > c.Stags || len(hares) > c.Hares {
		return bad("%d stags and %d hares, the game has %d and %d", len(stags), len(hares), c.Stags, c.Hares)
	}
	for _, line := range lines[1+c.Size:] {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "last":
			for s, w := range words[1:] {
				if w == "-" {
					continue
				}
				a, err := strconv.ParseInt(w, 10, 8)
				if err != nil || a < 0 || a >= actions || s >= c.Agents {
					return bad("last action %q of seat %d", w, s)
				}
				fresh.last[s] = int8(a)
			}
		case "gone":
			for _, w := range words[1:] {
				seat, goal, _ := strings.Cut(w, "=")
				s, err := strconv.Atoi(seat)
				if err != nil || s < 0 || s >= c.Agents || fresh.pos[s] != grid.None {
					return bad("%q is no seat that has left", w)
				}
				goal, fresh.just[s] = strings.CutSuffix(goal, "*")
				switch goal {
				case "stag":
					fresh.caught[s] = GoalStag
				case "hare":
					fresh.caught[s] = GoalHare
				default:
					return bad("%q, want 2=stag or 2=hare", w)
				}
			}
		default:
			return bad("a line that starts with %q", words[0])
		}
	}
	for s := range c.Agents {
		if fresh.pos[s] == grid.None && fresh.caught[s] == game.NoGoal {
			return bad("seat %d is neither on the board nor gone", s)
		}
	}
	if fresh.first > fresh.t || int(fresh.t) > c.Horizon {
		return bad("t=%d first=%d, want first at most t and t at most the horizon, %d", fresh.t, fresh.first, c.Horizon)
	}
	if over := fresh.ends(c); over != fresh.over {
		return bad("over is %v, but by the rules it is %v", fresh.over, over)
	}
	st.play = fresh
	copy(st.board.Blocked, blocked)
	st.board.Link()
	for i := range st.preyAt {
		st.preyAt[i] = -1
	}
	st.prey = [maxPrey]int16{}
	place := func(p int, cells []int16) {
		for i, at := range cells {
			st.prey[p+i], st.preyAt[at] = at, int8(p+i)
			st.left |= 1 << (p + i)
		}
	}
	place(0, stags)
	place(c.Stags, hares)
	st.id, st.mapped = 0, false // no other state is known to share this board
	return nil
}
