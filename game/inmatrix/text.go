package inmatrix

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/hop-marl/hop/game/grid"
)

// field is a line of a text with a number for each seat.
type field struct {
	name  string
	limit func(c *Config) int
	of    func(p *play, s int) int
	set   func(p *play, s, v int)
}

// fields are the lines of seats.
var fields = []field{
	{"face", most(3), func(p *play, s int) int { return int(p.face[s]) }, func(p *play, s, v int) { p.face[s] = int8(v) }},
	{"stags", most(many), func(p *play, s int) int { return int(p.have[s][0]) }, func(p *play, s, v int) { p.have[s][0] = int16(v) }},
	{"hares", most(many), func(p *play, s int) int { return int(p.have[s][1]) }, func(p *play, s, v int) { p.have[s][1] = int16(v) }},
	{"metstags", most(many), func(p *play, s int) int { return int(p.met[s][0]) }, func(p *play, s, v int) { p.met[s][0] = int16(v) }},
	{"methares", most(many), func(p *play, s int) int { return int(p.met[s][1]) }, func(p *play, s, v int) { p.met[s][1] = int16(v) }},
	{"frozen", func(c *Config) int { return c.Freeze }, func(p *play, s int) int { return int(p.frozen[s]) },
		func(p *play, s, v int) { p.frozen[s] = int8(v) }},
	{"away", func(c *Config) int { return c.Away }, func(p *play, s int) int { return int(p.away[s]) },
		func(p *play, s, v int) { p.away[s] = int8(v) }},
	{"cool", most(cooling), func(p *play, s int) int { return int(p.cool[s]) }, func(p *play, s, v int) { p.cool[s] = int8(v) }},
	{"reached", most(1), func(p *play, s int) int { return int(p.reached[s]) }, func(p *play, s, v int) { p.reached[s] = int8(v) }},
}

// many is more than anybody gathers in an episode.
const many = 10_000

func most(n int) func(*Config) int { return func(*Config) int { return n } }

// AppendText writes the whole state, for playthroughs and failures:
//
//	t=3 stopped=0
//	 #  #  #  #
//	 #  0  s  #
//	 #  y  1  #
//	 #  #  #  #
//	last 5 3
//	face 0 3
//	...
//
// Digits are seats, # a wall, s and h resources, x and y where one was taken. Then come lines with
// a number for each seat (where it looks, what it has gathered, what the last one had whom it met,
// steps until it is paid, until it is back and until its next beam, the goal it has just reached) and
// two with one for each spot, in row-major order (steps since it was taken, beams that have hit it).
func (st *State) AppendText(b []byte) ([]byte, error) {
	n := st.g.c.Agents
	b = grid.AppendEnd(fmt.Appendf(b, "t=%d stopped=%d", st.T, digit(st.stopped)), st.Done)
	b = grid.AppendRows(b, st.g.H, st.g.W, st.Pos, grid.Spaced(2), func(b []byte, c int16) []byte {
		if st.g.Blocked[c] {
			return append(b, '#')
		}
		if i := st.g.spotAt[c]; i >= 0 {
			return append(b, "shxy"[int(st.spot[i].kind)+2*digit(st.spot[i].taken > 0)])
		}
		return b
	})
	b = st.AppendLast(b)
	for _, f := range fields {
		var of [maxSeats]int16
		for s := range n {
			of[s] = int16(f.of(&st.play, s))
		}
		b = grid.AppendNumbers(b, f.name, of[:n])
	}
	var taken, hurt [maxSpots]int8
	spots := len(st.g.spots)
	for i, sp := range st.spot[:spots] {
		taken[i], hurt[i] = sp.taken, sp.hurt
	}
	return grid.AppendNumbers(grid.AppendNumbers(b, "taken", taken[:spots]), "hurt", hurt[:spots]), nil
}

func digit(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// UnmarshalText sets the state from what AppendText wrote; every line after the board may be left out,
// but for taken where something was.
func (st *State) UnmarshalText(text []byte) error { return grid.Reading("inmatrix", st.read(text)) }

func (st *State) read(text []byte) error {
	c := &st.g.c
	names := []string{"last", "taken", "hurt"}
	for _, f := range fields {
		names = append(names, f.name)
	}
	t, err := grid.ReadText(text, st.g.H, st.g.W, c.Agents, c.Horizon, []string{"stopped"}, grid.Lines(c.View, names...))
	if err != nil {
		return err
	}
	fresh := play{Players: grid.NewPlayers(c.Agents, c.View, 0), stopped: t.Head["stopped"] == 1}
	t.Players(&fresh.Players)
	over := fresh.stopped || int(t.T) == c.Horizon
	if err := errors.Join(st.ground(t, &fresh), t.Last(&fresh.Players, actions), t.EndsAt(over)); err != nil {
		return err
	}
	for s := range c.Agents {
		fresh.reached[s] = -1
	}
	for _, f := range fields {
		if err := t.Numbers(f.name, f.limit(c), f.name == "reached", func(s, v int) { f.set(&fresh, s, v) }); err != nil {
			return err
		}
	}
	if err := fresh.sound(c.Agents); err != nil {
		return err
	}
	st.follow(&fresh)
	return nil
}

// ground reads the spots, and holds the board against the map.
func (st *State) ground(t *grid.Text, fresh *play) error {
	taken, err := spotNumbers(t, "taken", len(st.g.spots), delay+1)
	hurt, also := spotNumbers(t, "hurt", len(st.g.spots), health-1)
	if err = errors.Join(err, also); err != nil {
		return err
	}
	standing := map[int16]bool{}
	for s, p := range t.Pos {
		if p != grid.None && (standing[p] || st.g.Blocked[p]) {
			return fmt.Errorf("seat %d stands where another or a wall is", s)
		}
		standing[p] = true
	}
	for at, thing := range t.Things {
		cell := int16(at)
		i := st.g.spotAt[cell]
		switch kind := spotKind(thing); {
		case st.g.Blocked[cell] != (thing == "#"), i < 0 && kind >= 0, i >= 0 && kind < 0, i < 0 && thing != "" && thing != "#":
			return fmt.Errorf("a cell %q, which the map %s does not have there", t.Cells[at], st.g.c.Map)
		case i < 0:
		case st.g.kind[i] != either && st.g.kind[i] != kind%2, kind >= 2 != (taken[i] > 0), kind < 2 && standing[cell], kind >= 2 && hurt[i] > 0:
			return fmt.Errorf("a resource %q that cannot be so", t.Cells[at])
		default:
			fresh.spot[i] = spot{kind % 2, taken[i], hurt[i]}
		}
	}
	return nil
}

// spotKind returns the place of what a cell shows in "shxy", or -1.
func spotKind(thing string) int8 {
	for k, ch := range "shxy" {
		if thing == string(ch) {
			return int8(k)
		}
	}
	return -1
}

// spotNumbers reads a line with a number for each spot; zeros without it.
func spotNumbers(t *grid.Text, name string, spots, limit int) (out [maxSpots]int8, err error) {
	words, ok := t.Lines[name]
	if ok && len(words) != spots {
		return out, fmt.Errorf("%d numbers after %q, want %d", len(words), name, spots)
	}
	for i, w := range words {
		v, err := strconv.Atoi(w)
		if err != nil || v < 0 || v > limit {
			return out, fmt.Errorf("%q after %q, want 0 to %d", w, name, limit)
		}
		out[i] = int8(v)
	}
	return out, nil
}

// sound says what cannot be of the seats together.
func (p *play) sound(n int) error {
	for s := range n {
		gone, none := p.Pos[s] == grid.None, [2]int16{}
		switch {
		case gone != (p.away[s] > 0):
			return fmt.Errorf("seat %d is away for %d steps and on the board: %v", s, p.away[s], !gone)
		case gone && (p.frozen[s] > 0 || p.cool[s] > 0 || p.have[s] != none):
			return fmt.Errorf("seat %d is away and has something", s)
		case p.frozen[s] > 0 && (p.have[s] == none || p.met[s] == none):
			return fmt.Errorf("seat %d stands still and has met nobody", s)
		}
	}
	return nil
}
