package cleanup

import (
	"errors"
	"fmt"

	"github.com/hop-marl/hop/game/grid"
)

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
	b = grid.AppendEnd(fmt.Appendf(b, "t=%d", st.T), st.Done)
	b = grid.AppendRows(b, st.g.c.Size, st.g.c.Size, st.Pos, grid.Wide, func(b []byte, c int16) []byte { return append(b, st.ground(c)) })
	b = st.AppendLast(b)
	b = grid.AppendNumbers(b, "cleaned", st.cleaned)
	return grid.AppendNumbers(b, "harvested", st.harvested), nil
}

// UnmarshalText sets the state from what AppendText wrote; the lines after the
// board may be left out. The text must have the game's ground and agents.
func (st *State) UnmarshalText(text []byte) error { return grid.Reading("cleanup", st.read(text)) }

func (st *State) read(text []byte) error {
	c := &st.g.c
	t, err := grid.ReadText(text, c.Size, c.Size, c.Agents, c.Horizon, nil, grid.Lines(c.View, "last", "cleaned", "harvested"))
	if err != nil {
		return err
	}
	fresh := st.g.New().(*State)
	t.Players(&fresh.Players)
	for at, cell := range t.Cells {
		ground := cell[len(cell)-1]
		fresh.full[at] = ground == 'w' || ground == 'a'
		if len(t.Things[at]) > 1 || fresh.ground(int16(at)) != ground {
			return fmt.Errorf("a cell %q, want seats, then ~ or w in the river, _ or a in the orchard, . elsewhere", cell)
		}
		if ground == 'w' {
			fresh.waste++
		}
	}
	if err := errors.Join(t.AllHere(), t.EndsAt(int(t.T) == c.Horizon), t.Last(&fresh.Players, actions),
		t.Numbers("cleaned", int(t.T), false, func(s, v int) { fresh.cleaned[s] = int16(v) }),
		t.Numbers("harvested", int(t.T), false, func(s, v int) { fresh.harvested[s] = int16(v) })); err != nil {
		return err
	}
	st.CopyFrom(fresh)
	return nil
}
