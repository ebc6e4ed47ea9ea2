package frame

import (
	"fmt"
	"slices"
)

// Meaning says what the numbers of an observation of a board game stand for, as far as
// models use it. The zero value says nothing.
type Meaning struct {
	Seats   int      // how many play; the first planes are theirs, own first
	Moves   [4]int32 // the actions up, down, left and right; all 0: actions have no direction
	Block   int      // plane of what cannot be entered; 0: none
	LegalAt int      // where the mask [Actions] lies; -1: nowhere
	LastAt  int      // where the last joint action [Seats][Actions] lies, one-hot, own first; -1: nowhere
	TimeAt  int      // where the share of the time that has gone by lies; -1: nowhere
	Horizon int      // steps of which that is a share
}

// Meaning says what the layout's numbers stand for in a game of so many seats and steps.
// Actions called up, down, left and right are moves; nobody enters what the plane block shows.
func (l Layout) Meaning(seats, horizon int, actions []string) Meaning {
	m := Meaning{Seats: seats, LegalAt: -1, LastAt: -1, TimeAt: -1, Horizon: horizon}
	if l.Time > 0 {
		m.TimeAt = l.Height*l.Width*len(l.Planes) + l.Features + l.Legal
	}
	if l.Legal > 0 {
		m.LegalAt = l.Height*l.Width*len(l.Planes) + l.Features
		if l.Last > 0 {
			m.LastAt = m.LegalAt + l.Legal + l.Time
		}
	}
	for d, name := range []string{"up", "down", "left", "right"} {
		if m.Moves[d] = int32(slices.Index(actions, name)); m.Moves[d] < 0 || l.Height == 0 {
			m.Moves = [4]int32{}
			break
		}
	}
	m.Block = max(0, slices.Index(l.Planes, "block"))
	return m
}

// Directed reports whether it is known which actions are moves.
func (m Meaning) Directed() bool { return m.Moves != [4]int32{} }

// Things returns which of so many planes are neither agents' nor blocks.
func (m Meaning) Things(planes int) []int {
	var out []int
	for p := m.Seats; p < planes; p++ {
		if p != m.Block {
			out = append(out, p)
		}
	}
	return out
}

// Validate returns what is wrong: a meaning that an input of so many actions cannot have. It
// keeps models from trusting what a file says about them.
func (m Meaning) Validate(in Input, actions int) error {
	ok := m.Seats >= 0 && m.Seats <= in.Planes && m.Block >= 0 && m.Block < max(1, in.Planes) &&
		m.LegalAt >= -1 && m.LegalAt+actions <= in.Len() && m.LastAt >= -1 && (m.LastAt < 0 || m.LastAt+m.Seats*actions == in.Len()) &&
		m.TimeAt >= -1 && m.TimeAt < in.Len() && m.Horizon >= 0 && m.Horizon <= 1<<20
	for _, a := range m.Moves {
		ok = ok && a >= 0 && int(a) < actions
	}
	if !ok {
		return fmt.Errorf("frame: a meaning of %+v for an input of %+v with %d actions", m, in, actions)
	}
	return nil
}
