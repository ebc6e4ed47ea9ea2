package play

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/hop-marl/hop/game"
)

// minPanel is the least width of the panel beside the board.
const minPanel = 27

// cellSizes are the sizes in which a board's cells are drawn, largest first.
var cellSizes = [...]struct{ w, h int }{{9, 4}, {7, 3}, {5, 2}, {3, 1}, {2, 1}, {1, 1}}

// span is a piece of a line below the board.
type span struct {
	text string
	style
}

// Text returns the frame without escapes, in characters whose width is the same
// everywhere.
func (f *Frame) Text() string {
	cells, most := make([]string, len(f.Cells)), 3
	for i, c := range f.Cells {
		for _, s := range c.Seats {
			cells[i] += string(digit(s))
		}
		for _, name := range c.Things {
			cells[i] += string(thingOf(name).sign)
		}
		if cells[i] == "" {
			cells[i] = "."
		}
		most = max(most, len(cells[i]))
	}
	var lines []string
	for y := range f.Height {
		line := ""
		for _, c := range cells[y*f.Width : (y+1)*f.Width] {
			left := (most - len(c)) / 2
			line += strings.Repeat(" ", left+1) + c + strings.Repeat(" ", most-len(c)-left)
		}
		lines = append(lines, line)
	}
	if f.Words != "" {
		lines = strings.Split(f.Words, "\n")
	}
	board := 0
	for _, l := range lines {
		board = max(board, lipgloss.Width(l))
	}
	wide := 44
	if f.Mind != nil {
		wide = 60
	}
	panel, beside := f.panel(wide, math.MaxInt, 3), f.Words == "" && board <= 52
	if !beside {
		panel = f.panel(78, math.MaxInt, 1)
	}
	c := newCanvas(max(board+4+wide, 80), 3+len(lines)+panel.H)
	c.Put(0, 0, f.head(), style{})
	for y, l := range lines {
		c.Put(0, 2+y, l, style{})
	}
	x, y := board+3, 2
	if !beside {
		x, y = 1, 3+len(lines)
	}
	c.Paste(x, y, panel)
	return strings.TrimRight(c.String(), "\n") + "\n"
}

// head is the title and the time in one line.
func (f *Frame) head() string {
	s := f.Title
	if f.Episode != "" {
		s += ", " + f.Episode
	}
	s += fmt.Sprintf(", step %d of %d", f.Step, f.Horizon)
	if f.Over {
		s += ", over"
	}
	return s
}

// view draws the frame in colour for a terminal of w columns and h lines, with
// lines of spans at the bottom.
func (f *Frame) view(w, h int, bottom [][]span) *canvas {
	w, h = max(w, 1), max(h, 1)
	c := newCanvas(w, h)
	f.drawHead(c)
	rows := h - 2 - len(bottom)
	if len(bottom) > 0 {
		rows--
	}
	var x, y int
	if f.Words != "" {
		y = 2
		for _, line := range strings.Split(f.Words, "\n") {
			for _, l := range strings.Split(lipgloss.Wrap(line, max(w-2, 1), " "), "\n") {
				c.Put(1, y, l, style{})
				y++
			}
		}
		x, y = 1, y+1
	} else {
		cw, ch, below := f.fitBoard(w, rows)
		f.drawBoard(c, 1, 2, cw, ch)
		x, y = cw*f.Width+3, 2
		if below {
			x, y = 1, ch*f.Height+3
		}
	}
	most := 44
	if f.Mind != nil {
		most = 60
	}
	c.Paste(x, y, f.panel(min(w-x-1, most), rows+2-y, 3))
	c.Fill(0, h-len(bottom), w, len(bottom), style{})
	for i, line := range bottom {
		x := 1
		for _, s := range line {
			x = c.Put(x, h-len(bottom)+i, s.text, s.style)
		}
	}
	return c
}

// fitBoard chooses the largest cells for which board and panel fit into w columns
// and rows lines, and whether the panel goes below the board.
func (f *Frame) fitBoard(w, rows int) (cw, ch int, below bool) {
	for _, s := range cellSizes {
		switch {
		case s.h*f.Height <= rows && s.w*f.Width+3+minPanel <= w:
			return s.w, s.h, false
		case s.h*f.Height+1+len(f.Players) <= rows && s.w*f.Width+2 <= w:
			return s.w, s.h, true
		}
	}
	return 1, 1, f.Width+3+minPanel > w
}

// drawHead writes the first line; its ground is a bar that fills up with time.
func (f *Frame) drawHead(c *canvas) {
	right := fmt.Sprintf("step %d of %d ", f.Step, f.Horizon)
	if f.Over {
		right = "over at " + right
	}
	if f.Episode != "" {
		right = f.Episode + "   " + right
	}
	line := " " + fit(f.Title, max(c.W-1-len(right), 0)) + right
	done := c.W * f.Step / max(f.Horizon, 1)
	x := 0
	for _, r := range line {
		bg := mix(accent, ink, 0.55)
		if x < done {
			bg = accent
		}
		x = c.Put(x, 0, string(r), style{FG: white, BG: bg, Bold: true})
	}
}

// drawBoard draws the board with cells of w columns and h lines.
func (f *Frame) drawBoard(c *canvas, x0, y0, w, h int) {
	for i := range f.Cells {
		y, x := i/f.Width, i%f.Width
		f.drawCell(c, i, x0+x*w, y0+y*h, w, h)
	}
}

func (f *Frame) drawCell(c *canvas, i, x, y, w, h int) {
	cell := &f.Cells[i]
	bg := tileA
	if (i/f.Width+i%f.Width)%2 == 1 {
		bg = tileB
	}
	var top *thing
	for _, name := range cell.Things {
		t := thingOf(name)
		if t.ground.A != 0 {
			bg = t.ground
		}
		top = &t
	}
	c.Fill(x, y, w, h, style{BG: bg})
	seats, ghost := cell.Seats, false
	reward := 0.
	if len(seats) == 0 {
		for s, p := range f.Players {
			if p.Left > 0 && p.Left == f.Step && p.At == i {
				seats, ghost, reward = append(seats, game.Seat(s)), true, p.Reward
			}
		}
	}
	row := y + (h-1)/2
	if top != nil {
		st := style{FG: mix(top.fill, ink, 0.5), BG: bg, Bold: true}
		switch {
		case len(seats) == 0 || h >= 2:
			lines := top.lines(w, h, len(seats) > 0)
			from := y + (h-len(lines))/2
			if len(seats) > 0 {
				from = y + (h-len(lines)-1)/2
				row = from + len(lines)
			}
			for j, l := range lines {
				c.Put(x+(w-lipgloss.Width(l))/2, from+j, l, st)
			}
		case len(seats) < w:
			c.Put(x, row, string(top.sign), st)
			x, w = x+1, w-1
		}
	}
	if ghost && h >= 2 {
		s := signed(reward)
		c.Put(x+(w-len(s))/2, y+(h-2)/2, s, style{FG: tone(reward), BG: bg, Bold: true})
		row = y + (h-2)/2 + 1
	}
	drawSeats(c, seats, x, row, w, bg, ghost)
}

// lines returns what stands for the thing in a cell of w columns and h lines,
// one of which is left free if it is shared.
func (t *thing) lines(w, h int, shared bool) []string {
	if w < 5 || t.art[0] == "" {
		return []string{string(t.sign)}
	}
	first := t.art[0]
	if t.level != "" {
		first = fit(strings.TrimRight(first, " "), 4) + t.level
	}
	if shared {
		h--
	}
	if h < 2 || t.art[1] == "" {
		return []string{first}
	}
	return []string{first, t.art[1]}
}

// drawSeats writes the seats' signs into w columns, in brackets if they fit.
func drawSeats(c *canvas, seats []game.Seat, x, y, w int, bg color.RGBA, ghost bool) {
	n := len(seats)
	if n == 0 {
		return
	}
	more := n > w
	if more {
		seats = seats[:w-1]
	}
	chip := 1
	if 3*n <= w {
		chip = 3
	}
	x += max(w-chip*n, 0) / 2
	for _, s := range seats {
		k := lookOf(s)
		st := style{FG: k.ink, BG: k.fill, Bold: true}
		if ghost {
			st = style{FG: k.fill, BG: mix(bg, k.fill, 0.15), Bold: true}
		}
		text := string(digit(s))
		if chip == 3 {
			text = string(k.left) + text + string(k.right)
		}
		x = c.Put(x, y, text, st)
	}
	if more {
		c.Put(x, y, "+", style{FG: ink, BG: bg, Bold: true})
	}
}

// panel draws what is said about the seats, w columns wide and at most h lines,
// with as many lines for each seat as there is room for: 3, 2 or 1, but at most
// each.
func (f *Frame) panel(w, h, each int) *canvas {
	w = max(w, 8)
	mind := newCanvas(w, 0)
	if f.Mind != nil {
		mind = f.Mind.drawMind(w, len(f.Players)+1+f.Mind.drawMind(w, false).H > h)
	}
	for each > 1 && each*len(f.Players)+mind.H > h {
		each--
	}
	c := newCanvas(w, each*len(f.Players)+mind.H+len(f.legend())+4)
	y := 0
	wide := 4
	for _, p := range f.Players {
		wide = max(wide, lipgloss.Width(p.Name))
	}
	for s := range f.Players {
		p := &f.Players[s]
		k := lookOf(game.Seat(s))
		chip, name, quiet := style{FG: k.ink, BG: k.fill, Bold: true}, style{Bold: true}, style{FG: faint}
		if p.Left > 0 {
			chip, name = style{FG: mix(k.fill, white, 0.25)}, quiet // readable on dark and light
		}
		x := c.Put(0, y, string(k.left)+string(digit(game.Seat(s)))+string(k.right), chip) + 1
		ret := num(p.Return)
		earned := ""
		if p.Reward != 0 {
			earned = signed(p.Reward)
		}
		if each == 1 {
			room := max(w-x-8, 1)
			x = c.Put(x, y, fit(p.Name, min(wide, max(room/3, 4)))+" ", name)
			x = c.Put(x, y, fmt.Sprintf("%6s ", ret), style{Bold: true})
			c.Put(x, y, fit(p.status(w-x), max(w-x, 0)), quiet)
			y++
			continue
		}
		c.Put(x, y, fit(p.Name, max(w-x-14, 4)), name)
		c.Put(w-14, y, fmt.Sprintf("%6s", earned), style{FG: mix(tone(p.Reward), white, 0.25), Bold: true})
		c.Put(w-8, y, fmt.Sprintf("%7s", ret), style{Bold: true})
		c.Put(4, y+1, fit(p.status(w-4), w-4), quiet)
		y += each
	}
	if each < 3 && mind.H > 0 {
		y++
	}
	c.Paste(0, y, mind)
	y += mind.H
	if legend := f.legend(); len(legend) > 0 && y+len(legend) < h {
		if each < 3 || mind.H > 0 {
			y++
		}
		for _, t := range legend {
			st := style{FG: mix(t.fill, ink, 0.3), BG: t.ground, Bold: true}
			if t.fill == t.ground {
				st.FG = white
			}
			x := c.Put(0, y, " "+string(t.sign)+" ", st)
			c.Put(x+1, y, fit(t.word, w-4), style{FG: faint})
			y++
		}
	}
	c.Cut(min(y, h))
	return c
}

// legend lists the things on the board, once each whatever their numbers, in
// the order of the alphabet.
func (f *Frame) legend() []thing {
	var all []thing
	for _, c := range f.Cells {
		for _, name := range c.Things {
			t := thingOf(name)
			if t.level = ""; !slices.ContainsFunc(all, func(o thing) bool { return o.word == t.word }) {
				all = append(all, t)
			}
		}
	}
	slices.SortFunc(all, func(a, b thing) int { return strings.Compare(a.word, b.word) })
	return all
}

// num writes a return: at most two digits after the point.
func num(v float64) string {
	s := strconv.FormatFloat(v, 'f', 2, 64)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if s == "-0" || s == "" {
		return "0"
	}
	return s
}

// signed writes a reward with its sign.
func signed(v float64) string {
	if v > 0 {
		return "+" + num(v)
	}
	return num(v)
}

// tone is the colour of a reward.
func tone(v float64) color.RGBA {
	if v < 0 {
		return bad
	}
	return good
}
