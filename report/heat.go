package report

import (
	"fmt"
	"html/template"
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// heat is a table whose cells are coloured by their value.
type heat struct {
	Title string
	Note  string
	Rows  []string
	Cols  []string
	Cells [][]warm // [row][column]
	Low   float64  // the values of the two ends of the scale
	High  float64
}

// warm is one cell.
type warm struct {
	Value float64 // NaN: nothing to show
	Text  string  // what stands in the cell
	Sub   string  // below it, small
	Hint  string  // what is said when one points at it
	Best  bool    // of its column
}

// scale sets the ends from the cells of all tables, so that equal colours mean
// equal values.
func scale(list ...*heat) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, h := range list {
		for _, row := range h.Cells {
			for _, c := range row {
				if !math.IsNaN(c.Value) {
					lo, hi = min(lo, c.Value), max(hi, c.Value)
				}
			}
		}
	}
	if lo > hi {
		lo, hi = 0, 1
	}
	for _, h := range list {
		h.Low, h.High = lo, hi
	}
}

// share returns how far up the scale a value lies, 0 to 1.
func (h *heat) share(v float64) float64 {
	if math.IsNaN(v) || h.High <= h.Low {
		return 0
	}
	return min(1, max(0, (v-h.Low)/(h.High-h.Low)))
}

// Style returns a cell's colours for the page. They are mixed from the style
// sheet's, so the same table is light or dark.
func (h *heat) Style(c warm) template.CSS {
	if math.IsNaN(c.Value) {
		return "color:var(--faint)"
	}
	x := h.share(c.Value)
	ink := "--ink"
	if x > 0.55 {
		ink = "--card"
	}
	return template.CSS(fmt.Sprintf("background:color-mix(in oklab, var(--a0) %.0f%%, var(--card));color:var(%s)", 6+94*x, ink))
}

// The sizes of a drawn table.
const (
	heatCellH = vg.Length(34)
	heatCellW = vg.Length(74)
	heatLeast = vg.Length(300) // room for a title
)

// panel draws the table.
func (h *heat) panel() panel {
	name := letters(10, inkColor, -1, -0.4)
	left, wide := vg.Length(30), heatCellW
	for _, r := range h.Rows {
		left = max(left, name.Width(r)+12)
	}
	for _, c := range h.Cols {
		wide = max(wide, name.Width(c)+10)
	}
	return panel{
		Title: h.Title, Note: h.Note,
		w: max(left+wide*vg.Length(len(h.Cols)), heatLeast), h: heatCellH * vg.Length(len(h.Rows)+1),
		paint: func(c draw.Canvas) { h.paint(c, left, wide) },
	}
}

func (h *heat) paint(c draw.Canvas, left, wide vg.Length) {
	for k, name := range h.Cols {
		c.FillText(letters(10, inkColor, -0.5, -0.4), vg.Point{X: c.Min.X + left + wide*(vg.Length(k)+0.5), Y: c.Max.Y - heatCellH/2}, name)
	}
	for i, name := range h.Rows {
		top := c.Max.Y - heatCellH*vg.Length(i+1)
		c.FillText(letters(10, inkColor, -1, -0.4), vg.Point{X: c.Min.X + left - 8, Y: top - heatCellH/2}, name)
		for k, cell := range h.Cells[i] {
			x := c.Min.X + left + wide*vg.Length(k)
			ink := faintColor
			if !math.IsNaN(cell.Value) {
				s := 0.06 + 0.94*h.share(cell.Value)
				ink = inkColor
				if h.share(cell.Value) > 0.55 {
					ink = rgb(0xffffff)
				}
				c.FillPolygon(mix(agentColors[0], s), box(x+1, top-heatCellH+1, x+wide-1, top-1))
			}
			if cell.Best {
				c.StrokeLines(draw.LineStyle{Color: inkColor, Width: 1.4}, append(box(x+2, top-heatCellH+2, x+wide-2, top-2), vg.Point{X: x + 2, Y: top - heatCellH + 2}))
			}
			mid := top - heatCellH/2
			if cell.Sub != "" {
				c.FillText(letters(8, ink, -0.5, -0.4), vg.Point{X: x + wide/2, Y: mid - 8}, cell.Sub)
				mid += 6
			}
			c.FillText(letters(10, ink, -0.5, -0.4), vg.Point{X: x + wide/2, Y: mid}, cell.Text)
		}
	}
}

func box(x0, y0, x1, y1 vg.Length) []vg.Point {
	return []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}}
}

// mix returns a colour so much of the way from white.
func mix(c color.NRGBA, share float64) color.NRGBA {
	part := func(x uint8) uint8 { return uint8(255 + share*(float64(x)-255) + 0.5) }
	return color.NRGBA{part(c.R), part(c.G), part(c.B), 255}
}
