package coin

import (
	"encoding"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hop/game"
	"hop/game/grid"
)

var _ encoding.TextUnmarshaler = (*State)(nil)

// AppendText writes the whole state, for playthroughs and failures:
//
//	t=3 wait=0
//	   .    .    0
//	   b    .    .
//	   .    .    1
//	last 5 3
//	took 0=own
//
// Digits are seats; a is seat 0's coin, b seat 1's, and so on. wait counts the
// steps to play before the next coin. Actions are numbers, - before the first.
func (st *State) AppendText(b []byte) ([]byte, error) {
	n, size := st.g.c.Agents, st.g.c.Size
	b = fmt.Appendf(b, "t=%d wait=%d", st.t, st.wait)
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
		case c == st.coin:
			b = append(b, byte('a'+st.owner))
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
	b = append(b, "\ntook"...)
	for s, goal := range st.took[:n] {
		if goal != game.NoGoal {
			b = fmt.Appendf(b, " %d=%s", s, st.g.spec.Goals[goal])
		}
	}
	return append(b, '\n'), nil
}

// UnmarshalText sets the state from what AppendText wrote; "last" and "took" may
// be left out. The text must have the game's size and agents.
func (st *State) UnmarshalText(text []byte) error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("coin: reading a position: "+format, a...)
	}
	c := &st.g.c
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), "\r", "")), "\n")
	if len(lines) < c.Size+1 {
		return bad("%d lines, want a line of time and %d of board", len(lines), c.Size)
	}
	fresh := play{coin: grid.None}
	head, over := strings.CutSuffix(strings.TrimSpace(lines[0]), " over")
	words := strings.Fields(head)
	if len(words) != 2 {
		return bad("the first line is %q, want t=3 wait=0", head)
	}
	t, err := strconv.Atoi(strings.TrimPrefix(words[0], "t="))
	if err != nil || t < 0 || t > c.Horizon || over != (t == c.Horizon) {
		return bad("%q in the first line, want t= and a number up to %d, over only there", lines[0], c.Horizon)
	}
	wait, err := strconv.Atoi(strings.TrimPrefix(words[1], "wait="))
	if err != nil || wait < 0 || wait > c.Pause {
		return bad("%q in the first line, want wait= and a number up to %d", words[1], c.Pause)
	}
	fresh.t, fresh.wait, fresh.over = int32(t), int32(wait), over
	seen := make([]bool, c.Agents)
	for y := range c.Size {
		cells := strings.Fields(lines[1+y])
		if len(cells) != c.Size {
			return bad("row %d has %d cells, want %d", y, len(cells), c.Size)
		}
		for x, cell := range cells {
			at := int16(y*c.Size + x)
			for _, ch := range cell {
				switch {
				case ch >= '0' && int(ch-'0') < c.Agents && !seen[ch-'0']:
					fresh.pos[ch-'0'], seen[ch-'0'] = at, true
				case ch >= 'a' && int(ch-'a') < c.Agents && fresh.coin == grid.None:
					fresh.coin, fresh.owner = at, int8(ch-'a')
				case ch != '.' || cell != ".":
					return bad("row %d has %q, want seats below %d once each, one coin or .", y, cell, c.Agents)
				}
			}
		}
	}
	if (fresh.coin == grid.None) != (wait > 0) {
		return bad("wait=%d, which wants a coin on the board if it is 0 and none otherwise", wait)
	}
	for s := range c.Agents {
		fresh.last[s], fresh.took[s] = -1, game.NoGoal
		if !seen[s] {
			return bad("seat %d is not on the board", s)
		}
		if c.Take == "walk" && fresh.pos[s] == fresh.coin {
			return bad("seat %d stands on a coin that it would have taken", s)
		}
	}
	for _, line := range lines[1+c.Size:] {
		words := strings.Fields(line)
		switch {
		case len(words) == c.Agents+1 && words[0] == "last":
			for s, w := range words[1:] {
				if w == "-" {
					continue
				}
				a, err := strconv.Atoi(w)
				if err != nil || a < 0 || a >= st.g.actions {
					return bad("last action %q of seat %d, want a number below %d or -", w, s, st.g.actions)
				}
				fresh.last[s] = int8(a)
			}
		case len(words) > 0 && words[0] == "took":
			for _, w := range words[1:] {
				seat, name, _ := strings.Cut(w, "=")
				s, err := strconv.Atoi(seat)
				goal := slices.Index(st.g.spec.Goals, name)
				if err != nil || s < 0 || s >= c.Agents || goal < 0 {
					return bad("%q, want 0=own or 0=other", w)
				}
				fresh.took[s] = int8(goal)
			}
		default:
			return bad("a line %q, want last and %d actions, or took", line, c.Agents)
		}
	}
	st.play = fresh
	return nil
}
