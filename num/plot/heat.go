package plot

import (
	"fmt"
	"html/template"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Heat is a table whose cells are coloured by their value.
type Heat struct {
	Title  string
	Corner string // what stands above the names of the rows
	Rows   []string
	Cols   []string
	Cells  [][]Cell // [row][column]
	Low    float64  // the values of the two ends of the scale
	High   float64
}

// Cell is one value of a Heat.
type Cell struct {
	Value float64 // NaN: nothing to show
	Text  string  // what stands in the cell
	Sub   string  // below it, small
	Hint  string  // what is said when one points at it
	Best  bool    // framed
	Bad   bool    // red: a value that should not be there
	Short bool    // framed in red: too small
}

// Scale sets the ends from the cells of all tables, so that equal colours mean
// equal values.
func Scale(list ...*Heat) {
	var all []float64
	for _, h := range list {
		for _, row := range h.Cells {
			for _, c := range row {
				all = append(all, c.Value)
			}
		}
	}
	lo, hi := Span(all)
	for _, h := range list {
		h.Low, h.High = lo, hi
	}
}

// HeatOf returns the figure of values[rows][cols], coloured from 0 to the largest.
func HeatOf(name, title, caption, corner string, rows, cols []string, values []float64) *Figure {
	if len(values) != len(rows)*len(cols) || len(values) == 0 {
		panic("page: a heat map needs one value per row and column")
	}
	h := &Heat{Title: title, Corner: corner, Rows: rows, Cols: cols, High: 1}
	if _, top := Span(values); top > 0 {
		h.High = top
	}
	for i := range rows {
		var row []Cell
		for _, v := range values[i*len(cols) : (i+1)*len(cols)] {
			c := Cell{Value: v, Text: strings.TrimPrefix(fmt.Sprintf("%.2f", v), "0")}
			if v == math.Trunc(v) {
				c.Text = fmt.Sprintf("%.0f", v)
			}
			row = append(row, c)
		}
		h.Cells = append(h.Cells, row)
	}
	return &Figure{Name: name, Title: title, Caption: caption, Panels: []Panel{h.Panel()}}
}

// share returns how far up the scale a value lies, 0 to 1.
func (h *Heat) share(v float64) float64 {
	if math.IsNaN(v) || h.High <= h.Low {
		return 0
	}
	return min(1, max(0, (v-h.Low)/(h.High-h.Low)))
}

// Style returns a cell's colours for the page. They are mixed from the style
// sheet's, so the same table is light or dark.
func (h *Heat) Style(c Cell) template.CSS {
	if math.IsNaN(c.Value) {
		return "color:var(--faint)"
	}
	x := h.share(c.Value)
	text, hue := "--ink", "--a0"
	if x > 0.7 {
		text = "--card"
	}
	if c.Bad {
		hue = "--bad"
	}
	return template.CSS(fmt.Sprintf("background:color-mix(in oklab, var(%s) %.0f%%, var(--card));color:var(%s)", hue, 6+94*x, text))
}

// The sizes of a drawn table.
const (
	cellH     = vg.Length(34)
	cellW     = vg.Length(74)
	heatLeast = vg.Length(300) // room for a title
)

// Panel draws the table.
func (h *Heat) Panel() Panel {
	name := Letters(10, Ink, -1, -0.4)
	left, wide := max(30, name.Width(h.Corner)+12), cellW
	for _, r := range h.Rows {
		left = max(left, name.Width(r)+12)
	}
	for _, c := range h.Cols {
		wide = max(wide, name.Width(c)+10)
	}
	return Panel{
		Title: h.Title, Table: h,
		W: max(left+wide*vg.Length(len(h.Cols)), heatLeast), H: cellH * vg.Length(len(h.Rows)+1),
		Paint: func(c draw.Canvas) { h.paint(c, left, wide) },
	}
}

func (h *Heat) paint(c draw.Canvas, left, wide vg.Length) {
	write := func(size vg.Length, col color.Color, align float64, x, y vg.Length, s string) {
		c.FillText(Letters(size, col, align, -0.4), vg.Point{X: x, Y: y}, s)
	}
	write(10, Faint, -1, c.Min.X+left-8, c.Max.Y-cellH/2, h.Corner)
	for k, name := range h.Cols {
		write(10, Ink, -0.5, c.Min.X+left+wide*(vg.Length(k)+0.5), c.Max.Y-cellH/2, name)
	}
	for i, name := range h.Rows {
		top := c.Max.Y - cellH*vg.Length(i+1)
		write(10, Ink, -1, c.Min.X+left-8, top-cellH/2, name)
		for k, cell := range h.Cells[i] {
			x, mid := c.Min.X+left+wide*vg.Length(k), top-cellH/2
			ink, hue := Faint, agents[0]
			if cell.Bad {
				hue = bad
			}
			if !math.IsNaN(cell.Value) {
				share := h.share(cell.Value)
				ink = Ink
				if share > 0.7 {
					ink = white
				}
				c.FillPolygon(mix(hue, 0.06+0.94*share), Box(x+1, top-cellH+1, x+wide-1, top-1))
			}
			if cell.Best || cell.Short {
				pen := draw.LineStyle{Color: Ink, Width: 1.4}
				if cell.Short {
					pen.Color = bad
				}
				frame := Box(x+2, top-cellH+2, x+wide-2, top-2)
				c.StrokeLines(pen, append(frame, frame[0]))
			}
			if cell.Sub != "" {
				write(8, ink, -0.5, x+wide/2, mid-8, cell.Sub)
				mid += 6
			}
			write(10, ink, -0.5, x+wide/2, mid, cell.Text)
		}
	}
}

// mix returns a colour so much of the way from white.
func mix(c color.NRGBA, share float64) color.NRGBA {
	part := func(x uint8) uint8 { return uint8(255 + share*(float64(x)-255) + 0.5) }
	return color.NRGBA{part(c.R), part(c.G), part(c.B), 255}
}
