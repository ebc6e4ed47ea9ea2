// Package plot draws figures, tables and pages: one kit for everything that hop
// shows in a browser.
//
// A Figure is panels with a legend and a caption. In a page its panels are SVG in
// the colours of the style sheet, so that they are light or dark as the reader's
// screen is, and every panel that is too wide for a phone is drawn a second time,
// slim. For texts and talks the same figure is a PNG. Lines, Bars and Scatter make
// whole figures; New makes a plot to add marks to; Heat is a table of colours.
//
// A Document is a page and the same as text, made from two templates. A page is
// one file that opens offline. Its templates may use "top", "end", "figure" and
// "heat", which this package defines. The same data give the same bytes: no clock,
// no fonts or scripts from elsewhere.
package plot

import (
	"bytes"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"math"
	"regexp"
	"slices"
	"sync"

	"git.sr.ht/~sbinet/gg"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The sizes of panels: a row of their own, two or three to a row, and on a phone.
const (
	WideW, WideH   = vg.Length(760), vg.Length(260)
	HalfW, HalfH   = vg.Length(370), vg.Length(190)
	ThirdW, ThirdH = vg.Length(250), vg.Length(150)
	slimW          = vg.Length(280)
)

// Key explains a colour.
type Key struct {
	Name  string
	Color color.NRGBA
	Area  bool
	Dash  bool
}

// Panel is one plot, or one table of colours.
type Panel struct {
	Title string
	Note  string
	W, H  vg.Length
	Paint func(draw.Canvas)
	Table *Heat // shown in the page instead of the drawing
}

// Figure is panels that belong together, or a ready picture.
type Figure struct {
	Name    string // of its file, without .png
	Title   string
	Caption string
	Legend  []Key
	Panels  []Panel
	Cols    int    // panels to a row
	Image   []byte // a PNG instead of panels
}

// Wide says that the figure is one panel that takes a row of its own.
func (f *Figure) Wide() bool { return len(f.Panels) == 1 && f.Cols < 2 }

// Letters returns a style of text; x and y align it: 0 starts at the point, -0.5
// is centred, -1 ends there.
func Letters(size vg.Length, c color.Color, x, y float64) text.Style {
	return text.Style{
		Color: c, Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
		XAlign: text.XAlignment(x), YAlign: text.YAlignment(y), Handler: plot.DefaultTextHandler,
	}
}

// Box returns the corners of a rectangle.
func Box(x0, y0, x1, y1 vg.Length) []vg.Point {
	return []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}}
}

var (
	svgHead = regexp.MustCompile(`(?s)^.*?<svg [^>]*>`)
	svgFont = regexp.MustCompile(`font-family:[^;"]*;font-variant:[^;"]*;font-weight:[^;"]*;font-style:[^;"]*;?`)
)

// svg draws the panel for a page, twice if a phone needs it slim; the style sheet
// shows one.
func (p Panel) svg() (template.HTML, error) {
	if p.W <= slimW {
		s, err := p.drawing("small", p.W)
		return template.HTML(s), err
	}
	big, err := p.drawing("big", p.W)
	if err != nil {
		return "", err
	}
	slim, err := p.drawing("slim", slimW)
	return template.HTML(big + slim), err
}

func (p Panel) drawing(class string, w vg.Length) (string, error) {
	c := vgsvg.NewWith(vgsvg.UseWH(w, p.H))
	p.Paint(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", fmt.Errorf("page: drawing %s: %w", p.Title, err)
	}
	head := fmt.Sprintf(`<svg class="%s" viewBox="0 0 %g %g" role="img" aria-label="%s">`, class, w, p.H, template.HTMLEscapeString(p.Title))
	return variables(svgFont.ReplaceAllLiteralString(svgHead.ReplaceAllLiteralString(b.String(), head), "")), nil
}

// The margins of a figure as a picture.
const (
	edge     = vg.Length(14)
	gap      = vg.Length(16)
	titleRow = vg.Length(16)
	headRow  = vg.Length(26)
	keyRow   = vg.Length(18)
)

// PNG draws the whole figure at twice the usual density, on white.
func (f *Figure) PNG() ([]byte, error) {
	if f.Image != nil {
		return f.Image, nil
	}
	width, height := f.size()
	m := blank(width, height)
	defer sheets.Put(m)
	g := gg.NewContextForRGBA(m)
	g.SetLineCapButt()
	g.SetInterpolator(upright)
	g.InvertY()
	c := vgimg.NewWith(vgimg.UseImageWithContext(m, g), vgimg.UseDPI(density)) // which makes it white
	f.paint(draw.NewCanvas(c, width, height))
	b, err := encode(m)
	if err != nil {
		return nil, fmt.Errorf("page: drawing %s: %w", f.Name, err)
	}
	return b, nil
}

// grid returns how many panels are in a row, how many rows there are, and the height of one.
func (f *Figure) grid() (cols, rows int, h vg.Length) {
	cols = min(max(f.Cols, 1), len(f.Panels))
	rows = (len(f.Panels) + cols - 1) / cols
	if h = f.Panels[0].H; !f.Wide() {
		h += titleRow
	}
	return cols, rows, h
}

// size returns how large the whole figure is.
func (f *Figure) size() (width, height vg.Length) {
	cols, rows, h := f.grid()
	width = 2*edge + vg.Length(cols)*(f.Panels[0].W+gap) - gap
	return width, 2*edge + f.head(width) + vg.Length(rows)*(h+gap) - gap
}

// head returns how much the title and the legend take.
func (f *Figure) head(width vg.Length) vg.Length {
	return headRow + keyRow*vg.Length(f.legend(nil, edge, 0, width-edge))
}

// paint draws title, legend and panels.
func (f *Figure) paint(all draw.Canvas) {
	cols, _, h := f.grid()
	width, _ := f.size()
	w, head := f.Panels[0].W, f.head(width)
	y := all.Max.Y - edge
	all.FillText(Letters(13, Ink, 0, -1), vg.Point{X: edge, Y: y}, f.Title)
	f.legend(&all, edge, y-26, width-edge)
	for i, p := range f.Panels {
		x := edge + vg.Length(i%cols)*(w+gap)
		top := y - head - vg.Length(i/cols)*(h+gap)
		if !f.Wide() {
			all.FillText(Letters(10.5, Ink, 0, -1), vg.Point{X: x, Y: top}, p.Title)
		}
		place := vg.Rectangle{Min: vg.Point{X: x, Y: top - h}, Max: vg.Point{X: x + w, Y: top - h + p.H}}
		p.Paint(draw.Canvas{Canvas: all.Canvas, Rectangle: place})
	}
}

// density is how many dots a PNG has on an inch.
const density = 192

// sheets are pictures that were encoded and can be drawn on again: a report has dozens of
// them, of many megabytes each.
var sheets sync.Pool

// blank returns a picture of that size to draw on, which holds anything.
func blank(width, height vg.Length) *image.RGBA {
	dots := func(x vg.Length) int { return int(x/vg.Inch*density + 0.5) }
	r := image.Rect(0, 0, dots(width), dots(height))
	n := 4 * r.Dx() * r.Dy()
	if m, _ := sheets.Get().(*image.RGBA); m != nil && cap(m.Pix) >= n {
		m.Pix, m.Stride, m.Rect = m.Pix[:n], 4*r.Dx(), r
		return m
	}
	return image.NewRGBA(r)
}

// legend draws the keys from left to right and returns how many rows they take.
// Without a canvas it only counts.
func (f *Figure) legend(c *draw.Canvas, left, y, right vg.Length) (rows int) {
	x := right
	for _, k := range f.Legend {
		st := Letters(9.5, Faint, 0, -0.5)
		need := 24 + st.Width(k.Name) + 14
		if x+need > right {
			x, rows = left, rows+1
		}
		at := y - keyRow*vg.Length(rows-1)
		half := vg.Length(1)
		if k.Area {
			half = 4
		}
		long := vg.Length(6)
		if k.Dash {
			long = 4
		}
		for from := vg.Length(0); c != nil && from < 18; from += 6 {
			c.FillPolygon(k.Color, Box(x+from, at-half, x+from+long, at+half))
		}
		if c != nil {
			c.FillText(st, vg.Point{X: x + 24, Y: at}, k.Name)
		}
		x += need
	}
	return rows
}

// Axes names and bounds the axes of a figure.
type Axes struct {
	X, Y       string
	YMin, YMax float64 // both 0: as the data need
}

// y returns the axis between the bounds, or else the values.
func (ax Axes) y(lo, hi float64) Axis {
	if ax.YMin != 0 || ax.YMax != 0 {
		lo, hi = ax.YMin, ax.YMax
	}
	a := Round(lo, hi, 5)
	a.Name = ax.Y
	return a
}

func one(name, title, caption string, p Panel, legend []Key) *Figure {
	if len(legend) < 2 {
		legend = nil
	}
	return &Figure{Name: name, Title: title, Caption: caption, Legend: legend, Panels: []Panel{p}}
}

// padded widens what the values span a little.
func padded(values ...[]float64) (lo, hi float64) {
	lo, hi = Span(values...)
	return lo - 0.05*(hi-lo), hi + 0.05*(hi-lo)
}

// Lines draws curves, each under its own name. Those without a colour get one.
func Lines(name, title, caption string, ax Axes, lines ...Line) *Figure {
	var xs, ys [][]float64
	var legend []Key
	for i := range lines {
		l := &lines[i]
		if l.X == nil {
			for k := range l.Y {
				l.X = append(l.X, float64(k))
			}
		}
		if l.Color.A == 0 {
			l.Color = Agent(i)
		}
		l.Width = 1.6
		xs, ys = append(xs, l.X), append(ys, l.Y)
		if len(l.Y) > 0 {
			legend = append(legend, Key{Name: l.Name, Color: l.Color, Dash: l.Dash})
		}
	}
	lo, hi := padded(ys...)
	x := Round(0, 1, 5)
	if first, last := Span(xs...); last > first {
		x = Round(first, last, 5)
	}
	x.Name = ax.X
	broken := func(v float64) bool { return v != math.Trunc(v) }
	if !slices.ContainsFunc(slices.Concat(xs...), broken) {
		x.At = slices.DeleteFunc(x.At, broken)
	}
	p := New(x, ax.y(lo, hi))
	for _, l := range lines {
		p.Add(l)
	}
	return one(name, title, caption, p.Panel(title, HalfW, HalfH+20), legend)
}

// Group is a set of bars of one colour, one for each label.
type Group struct {
	Name   string
	Values []float64
}

// Bars draws groups of bars side by side over the labels.
func Bars(name, title, caption string, ax Axes, labels []string, groups ...Group) *Figure {
	var all [][]float64
	var legend []Key
	for i, g := range groups {
		all = append(all, g.Values)
		legend = append(legend, Key{Name: g.Name, Color: Agent(i), Area: true})
	}
	_, top := Span(all...)
	x := Names(labels)
	x.Name = ax.X
	p := New(x, ax.y(0, max(top*1.12, 1e-9))).Add(columns{groups, len(labels)})
	return one(name, title, caption, p.Panel(title, HalfW, HalfH+20), legend)
}

// Cloud is a named set of points of one colour, with an interval each if Low and High are given.
type Cloud struct {
	Name            string
	X, Y, Low, High []float64
}

// Scatter draws clouds of points.
func Scatter(name, title, caption string, ax Axes, clouds ...Cloud) *Figure {
	var xs, ys [][]float64
	for _, cl := range clouds {
		xs, ys = append(xs, cl.X), append(ys, cl.Y, cl.Low, cl.High)
	}
	x0, x1 := padded(xs...)
	y0, y1 := padded(ys...)
	x := Round(x0, x1, 5)
	x.Name = ax.X
	p := New(x, ax.y(y0, y1))
	var legend []Key
	for i, cl := range clouds {
		for k := range cl.Low {
			p.Add(Line{X: []float64{cl.X[k], cl.X[k]}, Y: []float64{cl.Low[k], cl.High[k]}, Color: Fade(Agent(i), 0.35), Width: 1})
		}
		p.Add(cloud{cl.X, cl.Y, Fade(Agent(i), 0.6)})
		legend = append(legend, Key{Name: cl.Name, Color: Agent(i), Area: true})
	}
	panel := p.Panel(title, slimW, 260)
	return one(name, title, caption, panel, legend)
}
