package play

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// style is how a character looks; the zero style is the terminal's own.
type style struct {
	FG, BG color.RGBA // alpha 0: the terminal's own
	Bold   bool
}

// glyph is one column of a canvas: a character, or the right half of a wide one.
type glyph struct {
	text string // empty: the right half
	style
}

// canvas is a page of characters. Writing outside it is cut off.
type canvas struct {
	W, H int
	at   []glyph // [h][w]
}

// newCanvas returns an empty page.
func newCanvas(w, h int) *canvas {
	c := &canvas{W: w, H: h, at: make([]glyph, w*h)}
	for i := range c.at {
		c.at[i].text = " "
	}
	return c
}

// Put writes s from (x, y) to the right and returns the column after it. Wide
// characters take two columns, and marks join the character before them.
func (c *canvas) Put(x, y int, s string, st style) int {
	if y < 0 || y >= c.H {
		return x
	}
	for _, r := range s {
		n := lipgloss.Width(string(r))
		switch {
		case n == 0 && x > 0 && x <= c.W:
			c.at[y*c.W+x-1].text += string(r)
			continue
		case r < ' ' || n == 0:
			continue
		}
		if x >= 0 && x+n <= c.W {
			c.at[y*c.W+x] = glyph{string(r), st}
			for i := 1; i < n; i++ {
				c.at[y*c.W+x+i] = glyph{"", st}
			}
		}
		x += n
	}
	return x
}

// Fill paints a rectangle.
func (c *canvas) Fill(x, y, w, h int, st style) {
	for j := y; j < y+h; j++ {
		c.Put(x, j, strings.Repeat(" ", w), st)
	}
}

// String returns the page without escapes, and without blanks at line ends.
func (c *canvas) String() string { return c.render(false) }

// ANSI returns the page with colours.
func (c *canvas) ANSI() string { return c.render(true) }

func (c *canvas) render(colour bool) string {
	var b strings.Builder
	for y := range c.H {
		row := c.at[y*c.W : (y+1)*c.W]
		for len(row) > 0 && row[len(row)-1].text == " " && (!colour || row[len(row)-1].BG.A == 0) {
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
	l := lipgloss.NewStyle().Bold(s.Bold)
	if s.FG.A > 0 {
		l = l.Foreground(s.FG)
	}
	if s.BG.A > 0 {
		l = l.Background(s.BG)
	}
	return l
}

// fit cuts s to w columns, with ".." where something is missing, and pads it.
func fit(s string, w int) string {
	s = ansi.Truncate(s, w, strings.Repeat(".", min(2, max(w, 0))))
	return s + strings.Repeat(" ", max(w-lipgloss.Width(s), 0))
}

// Paste copies src onto c.
func (c *canvas) Paste(x, y int, src *canvas) {
	for j := range src.H {
		if y+j < 0 || y+j >= c.H {
			continue
		}
		for i := range src.W {
			if x+i >= 0 && x+i < c.W {
				c.at[(y+j)*c.W+x+i] = src.at[j*src.W+i]
			}
		}
	}
}

// Cut leaves the first h lines.
func (c *canvas) Cut(h int) {
	c.H = h
	c.at = c.at[:c.W*max(h, 0)]
}
