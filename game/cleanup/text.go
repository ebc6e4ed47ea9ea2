package cleanup

import (
	"encoding"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var _ encoding.TextUnmarshaler = (*State)(nil)

// ground returns the letter of what a cell holds: ~ clean river, w waste, _ bare
// orchard, a an apple, . neither.
func (st *State) ground(c int16) byte {
	switch {
	case st.g.inRiver(c) && st.full[c]:
		return 'w'
	case st.g.inRiver(c):
		return '~'
	case st.g.inOrchard(c) && st.full[c]:
		return 'a'
	case st.g.inOrchard(c):
		return '_'
	}
	return '.'
}

// AppendText writes the whole state, for playthroughs and failures:
//
//	t=3
//	   ~    w    .    _
//	  0w    ~    .    a
//	   ~    ~   1.    _
//	   w    ~    .   2a
//	last 1 0 3
//	cleaned 1 2 0
//	harvested 0 0 4
//
// Digits are seats; the letter after them is the ground, as of ground. cleaned
// and harvested count steps.
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
		b = append(b, st.ground(c))
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
	b = append(b, "\ncleaned"...)
	for _, k := range st.cleaned[:n] {
		b = strconv.AppendInt(append(b, ' '), int64(k), 10)
	}
	b = append(b, "\nharvested"...)
	for _, k := range st.harvested[:n] {
		b = strconv.AppendInt(append(b, ' '), int64(k), 10)
	}
	return append(b, '\n'), nil
}

// UnmarshalText sets the state from what AppendText wrote; the lines after the
// board may be left out. The text must have the game's ground and agents.
func (st *State) UnmarshalText(text []byte) error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("cleanup: reading a position: "+format, a...)
	}
	c := &st.g.c
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), "\r", "")), "\n")
	if len(lines) < c.Size+1 {
		return bad("%d lines, want a line of time and %d of board", len(lines), c.Size)
	}
	fresh := State{g: st.g, full: make([]bool, len(st.full))}
	head, over := strings.CutSuffix(strings.TrimSpace(lines[0]), " over")
	t, err := strconv.Atoi(strings.TrimPrefix(head, "t="))
	if err != nil || t < 0 || t > c.Horizon || over != (t == c.Horizon) {
		return bad("%q in the first line, want t= and a number up to %d, over only there", lines[0], c.Horizon)
	}
	fresh.t, fresh.over = int32(t), over
	seen := make([]bool, c.Agents)
	for y := range c.Size {
		cells := strings.Fields(lines[1+y])
		if len(cells) != c.Size {
			return bad("row %d has %d cells, want %d", y, len(cells), c.Size)
		}
		for x, cell := range cells {
			at := int16(y*c.Size + x)
			last := len(cell) - 1
			fresh.full[at] = cell[last] == 'w' || cell[last] == 'a'
			if fresh.ground(at) != cell[last] {
				return bad("row %d has %q, want ~ or w in the river, _ or a in the orchard, . elsewhere", y, cell)
			}
			if cell[last] == 'w' {
				fresh.waste++
			}
			for _, ch := range cell[:last] {
				if ch < '0' || int(ch-'0') >= c.Agents || seen[ch-'0'] {
					return bad("row %d has %q, want seats below %d, once each", y, cell, c.Agents)
				}
				fresh.pos[ch-'0'], seen[ch-'0'] = at, true
			}
		}
	}
	for s := range c.Agents {
		fresh.last[s] = -1
		if !seen[s] {
			return bad("seat %d is not on the board", s)
		}
	}
	for _, line := range lines[1+c.Size:] {
		words := strings.Fields(line)
		if len(words) != c.Agents+1 {
			return bad("%q, want last, cleaned or harvested and %d numbers", line, c.Agents)
		}
		for s, w := range words[1:] {
			k, err := strconv.Atoi(w)
			switch {
			case words[0] == "last" && w == "-":
			case words[0] == "last" && err == nil && k >= 0 && k < actions:
				fresh.last[s] = int8(k)
			case words[0] == "cleaned" && err == nil && k >= 0 && k <= t:
				fresh.cleaned[s] = int16(k)
			case words[0] == "harvested" && err == nil && k >= 0 && k <= t:
				fresh.harvested[s] = int16(k)
			default:
				return bad("%q of seat %d in %q, want last with an action below %d or -, or cleaned or harvested with a number up to %d",
					w, s, line, actions, t)
			}
		}
	}
	st.CopyFrom(&fresh)
	return nil
}
