package snowdrift

import (
	"encoding"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var _ encoding.TextUnmarshaler = (*State)(nil)

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
	n, size := st.g.c.Agents, st.g.c.Size
	b = fmt.Appendf(b, "t=%d", st.t)
	if st.over {
		b = append(b, " over"...)
	}
	b = append(b, '\n')
	for c := range int16(size * size) {
		cell := len(b)
		b = append(b, "     "...)
		for s, p := range st.pos[:n] {
			if p == c {
				b = append(b, byte('0'+s))
			}
		}
		switch {
		case st.board.Blocked[c]:
			b = append(b, '#')
		case st.here(c):
			b = append(b, '*')
		case st.driftAt[c] >= 0:
			b = append(b, 'x')
		case len(b) == cell+5:
			b = append(b, '.')
		}
		b = slices.Delete(b, cell, cell+min(len(b)-cell-5, 4)) // right-align in 5 columns
		if int(c)%size == size-1 {
			b = append(b, '\n')
		}
	}
	b = append(b, "last"...)
	for _, a := range st.last[:n] {
		if a < 0 {
			b = append(b, " -"...)
			continue
		}
		b = append(b, ' ', byte('0'+a))
	}
	return append(b, '\n'), nil
}

// UnmarshalText sets the state from what AppendText wrote; "last" may be left
// out. The text must have the game's size, agents and drifts.
func (st *State) UnmarshalText(text []byte) error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("snowdrift: reading a position: "+format, a...)
	}
	c := &st.g.c
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), "\r", "")), "\n")
	if len(lines) != c.Size+1 && len(lines) != c.Size+2 {
		return bad("%d lines, want a line of time, %d of board and one of last actions", len(lines), c.Size)
	}
	head, over := strings.CutSuffix(strings.TrimSpace(lines[0]), " over")
	fresh := play{over: over}
	t, err := strconv.Atoi(strings.TrimPrefix(head, "t="))
	if err != nil || t < 0 || t > c.Horizon {
		return bad("%q in the first line, want t= and a number up to %d", head, c.Horizon)
	}
	fresh.t = int32(t)
	seen := make([]bool, c.Agents)
	blocked := make([]bool, c.Size*c.Size)
	driftAt := make([]int8, c.Size*c.Size)
	drifts := 0
	for at := range driftAt {
		y, x := at/c.Size, at%c.Size
		driftAt[at] = -1
		cells := strings.Fields(lines[1+y])
		if len(cells) != c.Size {
			return bad("row %d has %d cells, want %d", y, len(cells), c.Size)
		}
		for _, ch := range cells[x] {
			switch {
			case ch >= '0' && int(ch-'0') < c.Agents && !seen[ch-'0']:
				fresh.pos[ch-'0'], seen[ch-'0'] = int16(at), true
			case (ch == '*' || ch == 'x') && driftAt[at] < 0 && !blocked[at] && drifts < c.Drifts:
				driftAt[at] = int8(drifts)
				if ch == '*' {
					fresh.left |= 1 << drifts
				}
				drifts++
			case ch == '#' && cells[x] == "#":
				blocked[at] = true
			case ch != '.' || cells[x] != ".":
				return bad("row %d has %q, want seats below %d once each, %d drifts * or x, # or .", y, cells[x], c.Agents, c.Drifts)
			}
		}
	}
	if drifts != c.Drifts {
		return bad("%d drifts * and x, the game has %d", drifts, c.Drifts)
	}
	for s := range c.Agents {
		fresh.last[s] = -1
		if !seen[s] {
			return bad("seat %d is not on the board", s)
		}
	}
	if len(lines) == c.Size+2 {
		words := strings.Fields(lines[c.Size+1])
		if len(words) != c.Agents+1 || words[0] != "last" {
			return bad("%q, want last and %d actions", lines[c.Size+1], c.Agents)
		}
		for s, w := range words[1:] {
			if w == "-" {
				continue
			}
			a, err := strconv.Atoi(w)
			if err != nil || a < 0 || a >= actions {
				return bad("last action %q of seat %d, want a number below %d or -", w, s, actions)
			}
			if a == Remove && (driftAt[fresh.pos[s]] < 0 || fresh.left>>driftAt[fresh.pos[s]]&1 != 0) {
				return bad("seat %d removed a drift where none was removed", s)
			}
			fresh.last[s] = int8(a)
		}
	}
	if over != (fresh.left == 0 || t == c.Horizon) {
		return bad("over is %v, but %d of %d steps are played and drifts left is %v", over, t, c.Horizon, fresh.left != 0)
	}
	st.play = fresh
	copy(st.board.Blocked, blocked)
	st.board.Link()
	copy(st.driftAt, driftAt)
	st.number()
	st.id = 0 // no other state is known to share this board
	return nil
}
