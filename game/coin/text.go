package coin

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
)

// AppendText writes the whole state, for playthroughs and failures:
//
//	t=3 wait=0
//	   .    .    0
//	   b    .    .
//	   .    .    1
//	last 5 3
//	took 0=own
//	robbed 1
//
// Digits are seats; a is seat 0's coin, b seat 1's, and so on; after z come $26, $27 and so on. wait counts the
// steps to play before the next coin. Actions are numbers, - before the first. Walls are #. An
// episode that is over before its horizon was ended by chance.
func (st *State) AppendText(b []byte) ([]byte, error) {
	b = grid.AppendEnd(fmt.Appendf(b, "t=%d wait=%d", st.T, st.wait), st.Done)
	b = grid.AppendRows(b, st.g.c.Size, st.g.c.Size, st.Pos, grid.Wide, func(b []byte, c int16) []byte {
		switch owner := st.lies[c]; {
		case st.board.Blocked[c]:
			return append(b, '#')
		case owner >= 0:
			return appendOwner(b, int(owner))
		}
		return b
	})
	b = append(st.AppendLast(b), "took"...)
	for s, goal := range st.took {
		if goal != game.NoGoal {
			b = fmt.Appendf(b, " %d=%s", s, st.g.spec.Goals[goal])
		}
	}
	b = append(b, '\n')
	if slices.Contains(st.robbed, 1) {
		b = append(b, "robbed"...)
		for s, robbed := range st.robbed {
			if robbed > 0 {
				b = fmt.Appendf(b, " %d", s)
			}
		}
		b = append(b, '\n')
	}
	return b, nil
}

// appendOwner writes a coin, ownerOf reads it: -1 if it is none.
func appendOwner(b []byte, owner int) []byte {
	if owner < letters {
		return append(b, byte('a'+owner))
	}
	return fmt.Appendf(b, "$%d", owner)
}

func ownerOf(thing string) int {
	if num, ok := strings.CutPrefix(thing, "$"); ok {
		if owner, err := strconv.Atoi(num); err == nil && owner >= letters {
			return owner
		}
		return -1
	}
	if owner := int(thing[0]) - 'a'; len(thing) == 1 && owner < letters {
		return owner
	}
	return -1
}

const letters = 26

// UnmarshalText sets the state from what AppendText wrote; "last", "took" and
// "robbed" may be left out. The text must have the game's size and agents.
func (st *State) UnmarshalText(text []byte) error { return grid.Reading("coin", st.read(text)) }

func (st *State) read(text []byte) error {
	c := &st.g.c
	t, err := grid.ReadText(text, c.Size, c.Size, c.Agents, c.Horizon, []string{"wait"}, grid.Lines(c.View, "last", "took", "robbed"))
	if err != nil {
		return err
	}
	wait, ok := t.Head["wait"]
	if !ok || int(wait) > c.Pause {
		return fmt.Errorf("wait=%d in the first line, want wait= and a number up to %d", wait, c.Pause)
	}
	fresh := st.g.newPlay()
	t.Players(&fresh.Players)
	fresh.wait = wait
	lies, coins := slices.Repeat([]int8{-1}, len(st.lies)), 0
	for at, thing := range t.Things {
		if thing == "" || thing == "#" {
			continue
		}
		if owner := ownerOf(thing); owner >= 0 && owner < c.Agents && (coins == 0 || c.Grow > 0) {
			lies[at], coins = int8(owner), coins+1
			continue
		}
		return fmt.Errorf("a cell %q, want seats, one coin of a seat below %d, or . alone", t.Cells[at], c.Agents)
	}
	board := slices.IndexFunc(st.g.boards, func(b *grid.Board) bool {
		for at, cell := range t.Cells {
			if b.Blocked[at] != (cell == "#") {
				return false
			}
		}
		return true
	})
	switch {
	case board < 0:
		return fmt.Errorf("walls that are not those of a board of %d to %d rows and columns", c.least(), c.Size)
	case c.Grow == 0 && (coins == 0) != (wait > 0):
		return fmt.Errorf("wait=%d, which asks for a coin on the board if it is 0 and none otherwise", wait)
	}
	fresh.board = st.g.boards[board]
	over := int(t.T) == c.Horizon
	if chance := c.Stop > 0 && t.T > 0 && int(t.T) >= c.Least && t.T%interval == 0; t.Over && !over && chance {
		over, fresh.stopped = true, true
	}
	if err := errors.Join(t.AllHere(), t.Last(&fresh.Players, st.g.actions), t.EndsAt(over)); err != nil {
		return err
	}
	for s := range c.Agents {
		fresh.took[s] = game.NoGoal
		switch here := fresh.Pos[s]; {
		case c.Take == "walk" && lies[here] >= 0:
			return fmt.Errorf("seat %d stands on a coin that it would have taken", s)
		case c.Solid && slices.Contains(fresh.Pos[:s], here):
			return fmt.Errorf("seat %d stands where another does", s)
		}
	}
	for _, w := range t.Lines["took"] {
		seat, name, _ := strings.Cut(w, "=")
		s, err := strconv.Atoi(seat)
		goal := slices.Index(st.g.spec.Goals, name)
		if err != nil || s < 0 || s >= c.Agents || goal < 0 {
			return fmt.Errorf("%q, want 0=own or 0=other", w)
		}
		fresh.took[s] = int16(goal)
	}
	for _, w := range t.Lines["robbed"] {
		s, err := strconv.Atoi(w)
		if err != nil || s < 0 || s >= c.Agents {
			return fmt.Errorf("%q after robbed, want seats below %d", w, c.Agents)
		}
		fresh.robbed[s] = 1
	}
	st.follow(&fresh)
	copy(st.lies, lies)
	return nil
}
