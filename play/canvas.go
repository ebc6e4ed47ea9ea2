package play

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// style is how a character looks; the zero style is the terminal's own.
type style struct {
	fg, bg color.RGBA // alpha 0: the terminal's own
	bold   bool
}

// glyph is one column of a canvas: a character, or the right half of a wide one.
type glyph struct {
	text string // empty: the right half
	style
}

// canvas is a page of characters. Writing outside it is cut off.
type canvas struct {
	w, h int
	at   []glyph // [h][w]
}

func newCanvas(w, h int) *canvas {
	c := &canvas{w: w, h: h, at: make([]glyph, w*h)}
	for i := range c.at {
		c.at[i].text = " "
	}
	return c
}

// put writes s from (x, y) to the right and returns the column after it. Wide
// characters take two columns, and marks join the character before them.
func (c *canvas) put(x, y int, s string, st style) int {
	if y < 0 || y >= c.h {
		return x
	}
	for _, r := range s {
		n := lipgloss.Width(string(r))
		switch {
		case n == 0 && x > 0 && x <= c.w:
			c.at[y*c.w+x-1].text += string(r)
			continue
		case r < ' ' || n == 0:
			continue
		}
		if x >= 0 && x+n <= c.w {
			c.at[y*c.w+x] = glyph{string(r), st}
			for i := 1; i < n; i++ {
				c.at[y*c.w+x+i] = glyph{"", st}
			}
		}
		x += n
	}
	return x
}

// fill paints a rectangle.
func (c *canvas) fill(x, y, w, h int, st style) {
	for j := y; j < y+h; j++ {
		c.put(x, j, strings.Repeat(" ", w), st)
	}
}

// String returns the page without escapes, and without blanks at line ends.
func (c *canvas) String() string { return c.render(false) }

// ANSI returns the page with colours.
func (c *canvas) ANSI() string { return c.render(true) }

func (c *canvas) render(colour bool) string {
	var b strings.Builder
	for y := range c.h {
		row := c.at[y*c.w : (y+1)*c.w]
		for len(row) > 0 && row[len(row)-1].text == " " && (!colour || row[len(row)-1].bg.A == 0) {
			row = row[:len(row)-1]
		}
		for len(row) > 0 {
			n := 1
			for n < len(row) && (row[n].style == row[0].style || row[n].text == "") {
				n++
			}
			text := ""
			for _, g := range row[:n] {
				text += g.text
			}
			if colour && row[0].style != (style{}) {
				text = row[0].lipgloss().Render(text)
			}
			b.WriteString(text)
			row = row[n:]
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// lipgloss returns the style in the terminal's words.
func (s style) lipgloss() lipgloss.Style {
	l := lipgloss.NewStyle().Bold(s.bold)
	if s.fg.A > 0 {
		l = l.Foreground(s.fg)
	}
	if s.bg.A > 0 {
		l = l.Background(s.bg)
	}
	return l
}

// fit cuts s to w columns, with ".." where something is missing, and pads it.
func fit(s string, w int) string {
	s = ansi.Truncate(s, w, strings.Repeat(".", min(2, max(w, 0))))
	return s + strings.Repeat(" ", max(w-lipgloss.Width(s), 0))
}
