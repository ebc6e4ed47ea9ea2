package foraging

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hop/game"
	"hop/game/grid"
)

// AppendText writes the whole state, for playthroughs and failures:
//
//	t=3
//	. . . . .
//	. a . 0 .
//	. . . . .
//	. 1 . b .
//	. . . . .
//	levels 1 2
//	food a=3 b=1 c=2-
//	last 5 0
//	took - -
//
// Digits are seats and letters food items; "-" after an item's level says that
// it was taken. "last" has actions by number, "took" items.
func (st *State) AppendText(b []byte) ([]byte, error) {
	n, size := st.g.c.Agents, st.g.c.Size
	b = fmt.Appendf(b, "t=%d", st.t)
	if st.over {
		b = append(b, " over"...)
	}
	b = append(b, '\n')
	for y := range size {
		for x := range size {
			cell, ch := int16(y*size+x), byte('.')
			if s := st.seatOn(cell); s >= 0 {
				ch = '0' + byte(s)
			}
			for f, at := range st.food {
				if st.left>>f&1 != 0 && at == cell {
					ch = 'a' + byte(f)
				}
			}
			if x > 0 {
				b = append(b, ' ')
			}
			b = append(b, ch)
		}
		b = append(b, '\n')
	}
	b = append(b, "levels"...)
	for _, level := range st.level[:n] {
		b = fmt.Appendf(b, " %d", level)
	}
	b = append(b, "\nfood"...)
	for f, level := range st.foodLevel {
		if level > 0 {
			b = fmt.Appendf(b, " %c=%d", 'a'+f, level)
			if st.left>>f&1 == 0 {
				b = append(b, '-')
			}
		}
	}
	b = append(b, "\nlast"...)
	for _, a := range st.last[:n] {
		b = appendOr(b, int(a), '0')
	}
	b = append(b, "\ntook"...)
	for _, f := range st.took[:n] {
		b = appendOr(b, int(f), 'a')
	}
	return append(b, '\n'), nil
}

// appendOr appends a character counted from zero, or "-" if k is negative.
func appendOr(b []byte, k int, zero byte) []byte {
	if k < 0 {
		return append(b, " -"...)
	}
	return append(b, ' ', zero+byte(k))
}

// UnmarshalText sets the state from what AppendText wrote; "last" and "took" may
// be left out. The game must have the text's size and number of agents.
func (st *State) UnmarshalText(text []byte) error {
	p := parser{g: st.g}
	if err := p.parse(strings.TrimSpace(string(bytes.ReplaceAll(text, []byte("\r"), nil)))); err != nil {
		return fmt.Errorf("foraging: reading a position: %w", err)
	}
	st.play, st.food = p.play, p.food
	st.id = 0 // no other state is known to share this food
	st.settle()
	return nil
}

// parser holds what was read so far.
type parser struct {
	g *Game
	play
	food [maxFood]int16
}

func (p *parser) parse(text string) error {
	c := &p.g.c
	lines := strings.Split(text, "\n")
	if len(lines) < c.Size+3 {
		return fmt.Errorf("%d lines, want the time, %d of board, levels and food", len(lines), c.Size)
	}
	for i := range MaxSeats {
		p.pos[i], p.last[i], p.took[i] = grid.None, -1, game.NoGoal
		p.food[i] = grid.None
	}
	head, over := strings.CutSuffix(strings.TrimSpace(lines[0]), " over")
	num, ok := strings.CutPrefix(head, "t=")
	t, err := strconv.ParseInt(num, 10, 32)
	if !ok || err != nil || t < 0 || int(t) > c.Horizon {
		return fmt.Errorf("%q in the first line, want t from 0 to %d", lines[0], c.Horizon)
	}
	p.t = int32(t)
	for y := range c.Size {
		if err := p.row(y, strings.Fields(lines[1+y])); err != nil {
			return err
		}
	}
	for _, line := range lines[1+c.Size:] {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := p.line(words[0], words[1:]); err != nil {
			return err
		}
	}
	for s := range c.Agents {
		if p.pos[s] == grid.None || p.level[s] == 0 {
			return fmt.Errorf("seat %d has no cell or no level", s)
		}
	}
	if err := p.apart(); err != nil {
		return err
	}
	p.over = p.left == 0 || int(p.t) >= c.Horizon
	if over && !p.over {
		return fmt.Errorf("over at t=%d with food left", p.t)
	}
	return nil
}

// row reads a line of the board.
func (p *parser) row(y int, cells []string) error {
	if len(cells) != p.g.c.Size {
		return fmt.Errorf("row %d has %d cells, want %d", y, len(cells), p.g.c.Size)
	}
	for x, cell := range cells {
		at, ch := int16(y*p.g.c.Size+x), cell[0]
		switch s, f := int(ch)-'0', int(ch)-'a'; {
		case len(cell) == 1 && ch == '.':
		case len(cell) == 1 && s >= 0 && s < p.g.c.Agents && p.pos[s] == grid.None:
			p.pos[s] = at
		case len(cell) == 1 && f >= 0 && f < p.g.c.Food && p.food[f] == grid.None:
			p.food[f] = at
			p.left |= 1 << f
		default:
			return fmt.Errorf("row %d has %q, want . or a seat below %d or one of %d items, each once", y, cell, p.g.c.Agents, p.g.c.Food)
		}
	}
	return nil
}

// line reads a line after the board.
func (p *parser) line(name string, words []string) error {
	c := &p.g.c
	if name != "food" && len(words) != c.Agents {
		return fmt.Errorf("%q has %d entries, want one for each of %d agents", name, len(words), c.Agents)
	}
	switch name {
	case "levels":
		for s, w := range words {
			level, err := strconv.Atoi(w)
			if err != nil || level < 1 || level > c.MaxLevel {
				return fmt.Errorf("level %q of seat %d, want 1 to %d", w, s, c.MaxLevel)
			}
			p.level[s] = int8(level)
		}
	case "food":
		for _, w := range words {
			num, gone := strings.CutSuffix(w, "-")
			item, num, _ := strings.Cut(num, "=")
			level, err := strconv.Atoi(num)
			f := -1
			if len(item) == 1 {
				f = int(item[0]) - 'a'
			}
			if f < 0 || f >= c.Food || err != nil || level < 1 || level > p.g.topFood || gone != (p.food[f] == grid.None) {
				return fmt.Errorf("%q, want a=2 for an item on the board, a=2- for one taken, levels 1 to %d", w, p.g.topFood)
			}
			p.total += int32(level) - int32(p.foodLevel[f])
			p.foodLevel[f] = int8(level)
		}
	case "last":
		return readAll(p.last[:], words, '0', actions)
	case "took":
		return readAll(p.took[:], words, 'a', c.Food)
	default:
		return fmt.Errorf("a line that starts with %q", name)
	}
	return nil
}

// readAll reads what appendOr wrote, numbers below limit.
func readAll(dst []int8, words []string, zero byte, limit int) error {
	for s, w := range words {
		if w == "-" {
			dst[s] = -1
			continue
		}
		k := int(w[0]) - int(zero)
		if len(w) != 1 || k < 0 || k >= limit {
			return fmt.Errorf("%q of seat %d, want - or one of %d from %c", w, s, limit, zero)
		}
		dst[s] = int8(k)
	}
	return nil
}

// apart returns an error unless the food on the board has levels, is in order
// and leaves no cell beside two items.
func (p *parser) apart() error {
	st := State{g: p.g}
	var seen []int16
	for f := range p.g.c.Food {
		if p.food[f] == grid.None {
			continue
		}
		if p.foodLevel[f] == 0 {
			return fmt.Errorf("item %c has no level", 'a'+f)
		}
		if !st.apart(p.food[f], seen) {
			return fmt.Errorf("item %c is within two moves of another", 'a'+f)
		}
		seen = append(seen, p.food[f])
	}
	if !slices.IsSorted(seen) {
		return fmt.Errorf("the items are not in the order of their cells")
	}
	return nil
}
