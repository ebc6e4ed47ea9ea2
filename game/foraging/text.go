package foraging

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/game/grid"
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
	b = grid.AppendEnd(fmt.Appendf(b, "t=%d", st.T), st.Done)
	b = grid.AppendRows(b, st.g.c.Size, st.g.c.Size, st.Pos, grid.Spaced(1), func(b []byte, c int16) []byte {
		if f := slices.Index(st.food[:], c); f >= 0 && st.left>>f&1 != 0 {
			b = append(b, 'a'+byte(f))
		}
		return b
	})
	b = append(grid.AppendNumbers(b, "levels", st.level), "food"...)
	for f, level := range st.foodLevel {
		if level > 0 {
			b = fmt.Appendf(b, " %c=%d", 'a'+f, level)
			if st.left>>f&1 == 0 {
				b = append(b, '-')
			}
		}
	}
	b = append(st.AppendLast(append(b, '\n')), "took"...)
	for _, f := range st.took {
		if f < 0 {
			b = append(b, " -"...)
			continue
		}
		b = append(b, ' ', 'a'+byte(f))
	}
	return append(b, '\n'), nil
}

// UnmarshalText sets the state from what AppendText wrote; "last" and "took" may
// be left out. The game must have the text's size and number of agents.
func (st *State) UnmarshalText(text []byte) error { return grid.Reading("foraging", st.read(text)) }

func (st *State) read(text []byte) error {
	c := &st.g.c
	t, err := grid.ReadText(text, c.Size, c.Size, c.Agents, c.Horizon, nil, grid.Lines(c.View, "levels", "food", "last", "took"))
	if err != nil {
		return err
	}
	p := parser{g: st.g, play: st.g.newPlay()}
	t.Players(&p.Players)
	for f := range p.food {
		p.food[f] = grid.None
	}
	for at, thing := range t.Things {
		cell := t.Cells[at]
		f := int(cell[0]) - 'a'
		switch {
		case thing == "" && len(grid.SeatsOn(nil, t.Pos, int16(at))) < 2:
		case len(cell) == 1 && f >= 0 && f < c.Food && p.food[f] == grid.None:
			p.food[f] = int16(at)
			p.left |= 1 << f
		default:
			return fmt.Errorf("a cell %q, want . or a seat or one of %d items, each once", cell, c.Food)
		}
	}
	if err := errors.Join(t.AllHere(), p.levels(t.Lines["food"]), p.taken(t.Lines["took"]), t.Last(&p.Players, actions),
		t.Numbers("levels", c.MaxLevel, false, func(s, v int) { p.level[s] = int16(v) })); err != nil {
		return err
	}
	if s := slices.Index(p.level, 0); s >= 0 {
		return fmt.Errorf("seat %d has no level", s)
	}
	if err := p.apart(); err != nil {
		return err
	}
	p.Done = p.left == 0 || int(p.T) >= c.Horizon
	if t.Over && !p.Done {
		return fmt.Errorf("over at t=%d with food left", p.T)
	}
	st.follow(&p.play)
	st.food = p.food
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

// levels reads the levels of the food.
func (p *parser) levels(words []string) error {
	for _, w := range words {
		num, gone := strings.CutSuffix(w, "-")
		item, num, _ := strings.Cut(num, "=")
		level, err := strconv.Atoi(num)
		f := -1
		if len(item) == 1 {
			f = int(item[0]) - 'a'
		}
		if f < 0 || f >= p.g.c.Food || err != nil || level < 1 || level > p.g.topFood || gone != (p.food[f] == grid.None) {
			return fmt.Errorf("%q, want a=2 for an item on the board, a=2- for one taken, levels 1 to %d", w, p.g.topFood)
		}
		p.total += int32(level) - int32(p.foodLevel[f])
		p.foodLevel[f] = int8(level)
	}
	return nil
}

// taken reads which item each seat took in the last step.
func (p *parser) taken(words []string) error {
	if len(words) != 0 && len(words) != p.g.c.Agents {
		return fmt.Errorf("%d items after took, want one for each of %d agents", len(words), p.g.c.Agents)
	}
	for s, w := range words {
		if w == "-" {
			continue
		}
		f := int(w[0]) - 'a'
		if len(w) != 1 || f < 0 || f >= p.g.c.Food {
			return fmt.Errorf("%q of seat %d after took, want - or one of %d items from a", w, s, p.g.c.Food)
		}
		p.took[s] = int16(f)
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
