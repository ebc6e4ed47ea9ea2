package staghunt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
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
	b = grid.AppendEnd(fmt.Appendf(b, "t=%d first=%d", st.T, st.first), st.Done)
	b = grid.AppendRows(b, size, size, st.Pos, func(b []byte, x int, cell []byte) []byte {
		pad := max(4-len(cell), 1) // most of it on the left, none after the last
		b = append(append(b, "    "[:max(pad-pad/2, 1)]...), cell...)
		if x < size-1 {
			b = append(b, "    "[:pad/2]...)
		}
		return b
	}, func(b []byte, c int16) []byte {
		switch {
		case st.board.Blocked[c]:
			return append(b, '#')
		case st.hereStag(c):
			return append(b, 'S')
		case st.hereHare(c):
			return append(b, 'h')
		}
		return b
	})
	b = append(st.AppendLast(b), "gone"...)
	for s := range n {
		if st.Pos[s] == grid.None {
			b = fmt.Appendf(b, " %d=%s", s, st.g.spec.Goals[st.caught[s]])
			if st.just[s] != 0 {
				b = append(b, '*')
			}
		}
	}
	return append(b, '\n'), nil
}

// UnmarshalText sets the state from what AppendText wrote; "last" and "gone" may
// be left out. Prey that was caught earlier is not in the text and stays off the
// map. The state's board must have the text's size. A text that no episode could
// have written is refused and leaves the state as it was.
func (st *State) UnmarshalText(text []byte) error { return grid.Reading("staghunt", st.read(text)) }

func (st *State) read(text []byte) error {
	c := &st.g.c
	t, err := grid.ReadText(text, c.Size, c.Size, c.Agents, c.Horizon, []string{"first"}, grid.Lines(c.View, "last", "gone"))
	if err != nil {
		return err
	}
	fresh := st.g.newPlay()
	t.Players(&fresh.Players)
	fresh.first = t.Head["first"]
	var stags, hares []int16
	for at, thing := range t.Things {
		switch {
		case thing == "" || t.Cells[at] == "#":
		case thing == "S":
			stags = append(stags, int16(at))
		case thing == "h":
			hares = append(hares, int16(at))
		default:
			return fmt.Errorf("a cell %q, want seats, at most one prey, S or h, and nothing on a block, #", t.Cells[at])
		}
	}
	if len(stags) > c.Stags || len(hares) > c.Hares {
		return fmt.Errorf("%d stags and %d hares, the game has %d and %d", len(stags), len(hares), c.Stags, c.Hares)
	}
	if err := t.Last(&fresh.Players, actions); err != nil {
		return err
	}
	for _, w := range t.Lines["gone"] {
		seat, goal, _ := strings.Cut(w, "=")
		s, err := strconv.Atoi(seat)
		if err != nil || s < 0 || s >= c.Agents || fresh.Pos[s] != grid.None {
			return fmt.Errorf("%q is no seat that has left", w)
		}
		goal, just := strings.CutSuffix(goal, "*")
		if just {
			fresh.just[s] = 1
		}
		caught := slices.Index(st.g.spec.Goals, goal)
		if caught < 0 {
			return fmt.Errorf("%q, want 2=stag or 2=hare", w)
		}
		fresh.caught[s] = int16(caught)
	}
	for s := range c.Agents {
		if fresh.Pos[s] == grid.None && fresh.caught[s] == game.NoGoal {
			return fmt.Errorf("seat %d is neither on the board nor gone", s)
		}
	}
	if fresh.first > fresh.T {
		return fmt.Errorf("t=%d first=%d, want first at most t", fresh.T, fresh.first)
	}
	if err := t.EndsAt(fresh.ends(c)); err != nil {
		return err
	}
	st.follow(&fresh)
	st.board.Read(t)
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
	return nil
}
