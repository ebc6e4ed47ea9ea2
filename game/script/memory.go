package script

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
)

// slots is how many kinds of goals are told apart.
const slots = 4

// Tally counts which goals the seats reached in an episode.
type Tally struct {
	Done [grid.MaxSeats][slots]uint16
	time int
}

// see counts what was reached in the last step, once.
func (t *Tally) see(l *Language, st game.State) {
	g, ok := st.(game.Goaler)
	now := st.(State).Time()
	if !ok || now == t.time {
		return
	}
	t.time = now
	for s := range l.Seats {
		if goal := g.Reached(game.Seat(s)); goal >= 0 {
			if l.Slot != nil {
				goal = l.Slot(goal)
			}
			if goal < slots {
				t.Done[s][goal]++
			}
		}
	}
}

// Outcome is how an episode went for a seat.
type Outcome struct {
	Good bool // for itself
	Kind bool // the others were
	Best int  // whose mode did best: 0 the first of the language's pair, 1 the second
}

// memory is a word that does one or the other by what it remembers: mode is 0 or 1, and count
// whatever the word counts.
type memory struct {
	at    int // its place among the numbers that the player keeps
	modes [2]policy
	next  func(mode, count uint16, o *Outcome) (uint16, uint16)
}

func (m *memory) add(n *now, w float32, dst *dist) { m.modes[n.p.mem[m.at]&1].add(n, w, dst) }

// note takes in how an episode went.
func (m *memory) note(mem []uint16, o *Outcome) {
	mode, count := m.next(mem[m.at]&1, mem[m.at]>>1, o)
	mem[m.at] = mode | min(count, 1<<14)<<1
}

func remembering(at int, a, b policy, next func(mode, count uint16, o *Outcome) (uint16, uint16)) *memory {
	return &memory{at, [2]policy{a, b}, next}
}

func winStay(at int, a, b policy, _ uint16) *memory {
	return remembering(at, a, b, func(mode, _ uint16, o *Outcome) (uint16, uint16) {
		if !o.Good {
			mode = 1 - mode
		}
		return mode, 0
	})
}

func grim(at int, a, b policy, n uint16) *memory {
	return remembering(at, a, b, func(mode, count uint16, o *Outcome) (uint16, uint16) {
		if !o.Kind && mode == 0 {
			count++
		}
		if count >= n {
			mode = 1
		}
		return mode, min(count, n)
	})
}

func titForTat(at int, a, b policy, _ uint16) *memory {
	return remembering(at, a, b, func(_, _ uint16, o *Outcome) (uint16, uint16) {
		if o.Kind {
			return 0, 0
		}
		return 1, 0
	})
}

func copies(at int, a, b policy, _ uint16) *memory {
	return remembering(at, a, b, func(_, _ uint16, o *Outcome) (uint16, uint16) { return uint16(o.Best), 0 })
}

func quits(at int, a, b policy, n uint16) *memory {
	return remembering(at, a, b, func(mode, count uint16, o *Outcome) (uint16, uint16) {
		switch {
		case mode == 1:
			return 1, 0
		case o.Good:
			return 0, 0
		case count+1 >= n:
			return 1, 0
		}
		return 0, count + 1
	})
}

func forgives(at int, a, b policy, n uint16) *memory {
	return remembering(at, a, b, func(mode, count uint16, o *Outcome) (uint16, uint16) {
		switch {
		case mode == 1 && count+1 < n:
			return 1, count + 1
		case mode == 1:
			return 0, 0
		case !o.Kind:
			return 1, 0
		}
		return 0, 0
	})
}

func tests(at int, a, b policy, n uint16) *memory {
	return remembering(at, a, b, func(mode, count uint16, o *Outcome) (uint16, uint16) {
		switch {
		case mode == 0 && o.Good:
			return 0, 0
		case count+1 >= n:
			return 0, 0
		}
		return 1, count + 1
	})
}

func rounds(at int, a, b policy, n uint16) *memory {
	return remembering(at, a, b, func(mode, count uint16, _ *Outcome) (uint16, uint16) {
		if count+1 >= n {
			return 1 - mode, 0
		}
		return mode, count + 1
	})
}
