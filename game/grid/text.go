package grid

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Text is a position that was read from text, as games on a board write it: a
// line with the time, the rows of the board, and lines that start with a name.
// Cells are separated by spaces; in a cell seats come first, as digits, or where there are more
// than ten as numbers with commas between them.
//
//	t=3 first=0 over
//	  .   h   0   .
//	  .  13S  .   .
//	last 5 - 3 4
type Text struct {
	T      int32
	Over   bool
	Head   map[string]int32    // the other numbers of the first line
	Pos    []int16             // [seats] cell, or None
	Cells  []string            // [H*W] what stands in each cell
	Things []string            // [H*W] the same without seats; "" for "."
	Lines  map[string][]string // the words after each name
}

// ReadText reads a position on a board of so many rows and columns. keys are the numbers that the
// first line may have beside the time, lines the names of lines that may follow.
func ReadText(text []byte, height, width, seats, horizon int, keys, lines []string) (*Text, error) {
	rows := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), "\r", "")), "\n")
	if len(rows) < height+1 {
		return nil, fmt.Errorf("%d lines, want a line of time and %d of board", len(rows), height)
	}
	t := &Text{Head: map[string]int32{}, Pos: slices.Repeat([]int16{None}, seats), Lines: map[string][]string{}}
	if err := t.head(rows[0], horizon, keys); err != nil {
		return nil, err
	}
	for y, row := range rows[1 : height+1] {
		if err := t.row(y, width, strings.Fields(row)); err != nil {
			return nil, err
		}
	}
	for _, row := range rows[height+1:] {
		words := strings.Fields(row)
		if len(words) == 0 {
			continue
		}
		if _, twice := t.Lines[words[0]]; twice || !slices.Contains(lines, words[0]) {
			return nil, fmt.Errorf("a line %q, want %s, once each", row, strings.Join(lines, ", "))
		}
		t.Lines[words[0]] = words[1:]
	}
	return t, nil
}

func (t *Text) head(line string, horizon int, keys []string) error {
	line, t.Over = strings.CutSuffix(strings.TrimSpace(line), " over")
	timed := false
	for _, w := range strings.Fields(line) {
		key, num, _ := strings.Cut(w, "=")
		v, err := strconv.ParseInt(num, 10, 32)
		switch _, twice := t.Head[key]; {
		case err == nil && key == "t" && !timed && v >= 0 && int(v) <= horizon:
			t.T, timed = int32(v), true
		case err == nil && slices.Contains(keys, key) && !twice && v >= 0:
			t.Head[key] = int32(v)
		default:
			return fmt.Errorf("%q in the first line, want t up to the horizon, %d, and numbers %v", w, horizon, keys)
		}
	}
	if !timed {
		return fmt.Errorf("no time t in the first line, %q", line)
	}
	return nil
}

func (t *Text) row(y, width int, cells []string) error {
	if len(cells) != width {
		return fmt.Errorf("row %d has %d cells, want %d", y, len(cells), width)
	}
	for _, cell := range cells {
		rest := strings.TrimLeft(cell, "0123456789,")
		for _, word := range seatWords(cell[:len(cell)-len(rest)], len(t.Pos)) {
			s, err := strconv.Atoi(word)
			if err != nil || s >= len(t.Pos) || t.Pos[s] != None {
				return fmt.Errorf("row %d has %q, want seats below %d once each", y, cell, len(t.Pos))
			}
			t.Pos[s] = int16(len(t.Cells))
		}
		if cell == "." {
			rest = ""
		}
		t.Cells, t.Things = append(t.Cells, cell), append(t.Things, rest)
	}
	return nil
}

// seatWords cuts what a cell says of its seats into their numbers.
func seatWords(text string, seats int) []string {
	switch {
	case text == "":
		return nil
	case seats > digits:
		return strings.Split(text, ",")
	}
	return strings.Split(text, "")
}

// digits is how many seats have a digit of their own.
const digits = 10

// Reading says of an error, if any, that a game was reading a position.
func Reading(game string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: reading a position: %w", game, err)
	}
	return nil
}

// Players sets the players to the seats of the text; Last has their last actions.
func (t *Text) Players(p *Players) {
	p.T, p.Done = t.T, t.Over
	copy(p.Pos, t.Pos)
}

// AllHere returns an error unless all seats are on the board.
func (t *Text) AllHere() error {
	if s := slices.Index(t.Pos, None); s >= 0 {
		return fmt.Errorf("seat %d is not on the board", s)
	}
	return nil
}

// EndsAt returns an error unless the episode is over exactly if the rules say so.
func (t *Text) EndsAt(over bool) error {
	if t.Over != over {
		return fmt.Errorf("over is %v, but by the rules it is %v", t.Over, over)
	}
	return nil
}

// Numbers hands out the numbers of a line, one for each seat, from 0 to limit, or
// - for -1 if dash. Without the line it does nothing.
func (t *Text) Numbers(name string, limit int, dash bool, set func(s, v int)) error {
	words, ok := t.Lines[name]
	if ok && len(words) != len(t.Pos) {
		return fmt.Errorf("%d numbers after %q, want %d numbers", len(words), name, len(t.Pos))
	}
	for s, w := range words {
		v, err := strconv.Atoi(w)
		if dash && w == "-" {
			v, err = -1, nil
		} else if v < 0 || v > limit {
			err = strconv.ErrRange
		}
		if err != nil {
			return fmt.Errorf("%q of seat %d after %q, want 0 to %d", w, s, name, limit)
		}
		set(s, v)
	}
	return nil
}

// Last reads the last actions, -1 where there are none, and who saw whom act.
func (t *Text) Last(p *Players, actions int) error {
	return errors.Join(t.Numbers("last", actions-1, true, func(s, v int) { p.Last[s] = int8(v) }), t.saw(p))
}

// saw reads who saw whom act, a set of bits for each seat.
func (t *Text) saw(p *Players) error {
	words, ok := t.Lines["saw"]
	if ok && len(words) != len(p.Saw) {
		return fmt.Errorf("%d numbers after \"saw\", want %d numbers", len(words), len(p.Saw))
	}
	for s, w := range words {
		set, err := strconv.ParseUint(w, 10, 64)
		if err != nil || bits.Len64(set) > len(words) {
			return fmt.Errorf("%q of seat %d after \"saw\", want a set of %d seats", w, s, len(words))
		}
		p.Saw[s] = set
	}
	return nil
}

// Lines returns the names of lines that the text of a game with this view may have.
func Lines(view int, names ...string) []string {
	if view > 0 {
		names = append(names, "saw")
	}
	return names
}

// AppendLast writes the last actions and, where not all is in view, who saw whom
// act: for each seat the sum of 1 for seat 0, 2 for seat 1, 4 for seat 2 and so on.
func (p *Players) AppendLast(b []byte) []byte {
	b = AppendNumbers(b, "last", p.Last)
	if p.Saw == nil {
		return b
	}
	b = append(b, "saw"...)
	for _, set := range p.Saw {
		b = strconv.AppendUint(append(b, ' '), set, 10)
	}
	return append(b, '\n')
}

// AppendEnd ends the first line, with "over" if the episode is.
func AppendEnd(b []byte, over bool) []byte {
	if over {
		b = append(b, " over"...)
	}
	return append(b, '\n')
}

// AppendRows writes a board: in each cell the seats on it, then what thing
// appends, or "." if that is nothing.
func AppendRows(b []byte, height, width int, pos []int16, put Put, thing func(b []byte, c int16) []byte) []byte {
	var cell []byte
	for c := range int16(height * width) {
		cell = cell[:0]
		for s, p := range pos {
			if p != c {
				continue
			}
			if len(pos) > digits && len(cell) > 0 {
				cell = append(cell, ',')
			}
			cell = strconv.AppendInt(cell, int64(s), 10)
		}
		if cell = thing(cell, c); len(cell) == 0 {
			cell = append(cell, '.')
		}
		x := int(c) % width
		if b = put(b, x, cell); x == width-1 {
			b = append(b, '\n')
		}
	}
	return b
}

// Put writes a cell of a row, given its column.
type Put func(b []byte, x int, cell []byte) []byte

// Wide writes a cell to the right of five columns, the first a space.
func Wide(b []byte, _ int, cell []byte) []byte { return fmt.Appendf(b, " %4s", cell) }

// Spaced writes cells with a space between them, each to the right of a width.
func Spaced(width int) Put {
	return func(b []byte, x int, cell []byte) []byte {
		if x > 0 {
			b = append(b, ' ')
		}
		return fmt.Appendf(b, "%*s", width, cell)
	}
}

// AppendNumbers writes a line of a name and numbers, - for those below 0.
func AppendNumbers[T int8 | int16](b []byte, name string, xs []T) []byte {
	b = append(b, name...)
	for _, x := range xs {
		if x < 0 {
			b = append(b, " -"...)
			continue
		}
		b = strconv.AppendInt(append(b, ' '), int64(x), 10)
	}
	return append(b, '\n')
}
