package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/hop-marl/hop/num/stats"
)

// rules are hairlines across the plot at some heights.
type rules []float64

func (r rules) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	for _, v := range r {
		if v >= p.Y.Min && v <= p.Y.Max {
			c.StrokeLine2(draw.LineStyle{Color: hair, Width: 0.6}, c.Min.X, y(v), c.Max.X, y(v))
		}
	}
}

var dashes = []vg.Length{4, 3}

// Line is a named curve. It breaks where a value is not finite.
type Line struct {
	Name  string
	X, Y  []float64 // X nil: 0, 1, 2, ...
	Dash  bool      // a reference rather than a measurement
	Color color.NRGBA
	Width vg.Length
}

func (l Line) x(i int) float64 {
	if l.X == nil {
		return float64(i)
	}
	return l.X[i]
}

// Plot draws the curve.
func (l Line) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	st := draw.LineStyle{Color: l.Color, Width: l.Width}
	if l.Dash {
		st.Dashes = dashes
	}
	var points []vg.Point
	flush := func() {
		if len(points) == 1 {
			dot(c, l.Color, max(l.Width, 1.2), points[0])
		} else if len(points) > 1 {
			c.StrokeLines(st, c.ClipLinesXY(points)...)
		}
		points = nil
	}
	for i, v := range l.Y {
		if !finite(v) || !finite(l.x(i)) {
			flush()
			continue
		}
		points = append(points, vg.Point{X: x(l.x(i)), Y: y(v)})
	}
	flush()
}

func dot(c draw.Canvas, col color.Color, radius vg.Length, at vg.Point) {
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: col, Radius: radius, Shape: draw.CircleGlyph{}}, at)
}

// Band fills between two curves.
type Band struct {
	X, Low, High []float64
	Color        color.NRGBA
}

// Plot draws the band.
func (b Band) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var up, down []vg.Point
	flush := func() {
		if len(up) > 1 {
			slices.Reverse(down)
			c.FillPolygon(b.Color, c.ClipPolygonXY(append(up, down...)))
		}
		up, down = nil, nil
	}
	for i, at := range b.X {
		if math.IsNaN(b.Low[i]) || math.IsNaN(b.High[i]) {
			flush()
			continue
		}
		up = append(up, vg.Point{X: x(at), Y: y(b.High[i])})
		down = append(down, vg.Point{X: x(at), Y: y(b.Low[i])})
	}
	flush()
}

// Stretch shades a part of the axis, with its name in the middle where it fits.
type Stretch struct {
	From, To float64
	Name     string
}

// Shade is the key of stretches.
func Shade(name string) Key { return Key{Name: name, Color: hair, Area: true} }

// Plot draws the stretch.
func (s Stretch) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	from, to := max(x(s.From), c.Min.X), min(x(s.To), c.Max.X)
	c.FillPolygon(Fade(hair, 0.55), Box(from, c.Min.Y, to, c.Max.Y))
	if st := Letters(9.5, Faint, -0.5, -0.4); s.Name != "" && st.Width(s.Name)+8 < to-from {
		c.FillText(st, vg.Point{X: (from + to) / 2, Y: c.Center().Y}, s.Name)
	}
}

// Ref is a number to compare with.
type Ref struct {
	Name  string
	Value float64
}

// Levels are reference lines, each with its name: at the right, inside the plot
// where that is slim, or as flags if they stand upright.
type Levels struct {
	Refs   []Ref
	Flags  bool
	Silent bool // without names
}

// Plot draws the lines.
func (l Levels) Plot(c draw.Canvas, p *plot.Plot) {
	refs := slices.SortedFunc(slices.Values(l.Refs), func(a, b Ref) int { return cmp.Compare(b.Value, a.Value) })
	refs = slices.DeleteFunc(refs, func(r Ref) bool { return !l.Flags && (r.Value > p.Y.Max || r.Value < p.Y.Min) })
	pen := draw.LineStyle{Color: ref, Width: 0.9, Dashes: dashes}
	if l.Flags {
		flags(c, p, pen, refs)
		return
	}
	_, y := p.Transforms(&c)
	st, slim := Letters(9.5, ref, 0, 0), c.Max.X-c.Min.X < slimmer
	above := vg.Length(math.Inf(1)) // where the name above begins
	if slim {
		above = c.Max.Y + 2
	}
	for _, r := range refs {
		c.StrokeLine2(pen, c.Min.X, y(r.Value), c.Max.X, y(r.Value))
	}
	for _, r := range refs {
		at := vg.Point{X: c.Max.X + 6, Y: min(y(r.Value)-4, above-11)}
		if slim { // where a curve that rises is not
			at = vg.Point{X: c.Min.X + 3, Y: min(y(r.Value)+2, above-11)}
			if at.Y < c.Center().Y {
				at.X = c.Max.X - st.Width(label(r)) - 2
			}
		}
		if !l.Silent {
			c.FillPolygon(white, Box(at.X-2, at.Y-1, at.X+st.Width(label(r))+2, at.Y+9))
			c.FillText(st, at, label(r))
		}
		above = at.Y
	}
}

func label(r Ref) string { return r.Name + " " + Trim(r.Value) }

// flags draws poles with names, which point to the middle, the outermost on top:
// so no name crosses a pole.
func flags(c draw.Canvas, p *plot.Plot, pen draw.LineStyle, refs []Ref) {
	x, _ := p.Transforms(&c)
	out := func(r Ref) float64 { return math.Abs(float64(x(r.Value) - c.Center().X)) }
	slices.SortFunc(refs, func(a, b Ref) int { return cmp.Compare(out(b), out(a)) })
	for i, r := range refs {
		at, top, st := x(r.Value), c.Max.Y-13*vg.Length(i), Letters(9.5, ref, 0, 0)
		c.StrokeLine2(pen, at, c.Min.Y, at, top)
		name := vg.Point{X: at + 4, Y: top - 10}
		if at > c.Center().X {
			name.X = at - 4 - st.Width(label(r))
		}
		name.X = max(c.Min.X, min(name.X, c.Max.X-st.Width(label(r)))) // inside, on a phone too
		c.FillText(st, name, label(r))
	}
}

// boxes are one box a column, with a dot a value.
type boxes [][]float64

func (b boxes) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, values := range b {
		col, at := Agent(i), x(float64(i))
		half := min(vg.Length(26), (x(1)-x(0))*0.28)
		box := stats.BoxOf(values)
		pen := draw.LineStyle{Color: col, Width: 1.2}
		if box.N > 2 {
			corners := Box(at-half, y(box.Q1), at+half, y(box.Q3))
			c.FillPolygon(Fade(col, 0.18), corners)
			c.StrokeLines(pen, append(corners, corners[0]))
			c.StrokeLine2(pen, at, y(box.Q3), at, y(box.Max))
			c.StrokeLine2(pen, at, y(box.Min), at, y(box.Q1))
			c.StrokeLine2(draw.LineStyle{Color: col, Width: 2.4}, at-half, y(box.Median), at+half, y(box.Median))
		}
		for s, v := range values {
			shift := vg.Length(0)
			if n := len(values); n > 1 {
				shift = half * 1.1 * vg.Length(float64(s)/float64(n-1)-0.5)
			}
			dot(c, col, 3, vg.Point{X: at + shift, Y: y(v)})
		}
	}
}

// Boxes draws a box for each agent, with a dot for each of its values [seed][agent],
// over an axis that says what they are.
func Boxes(title, axis string, rows [][]float64, w, h vg.Length) Panel {
	names, values := make([]string, len(rows[0])), make([][]float64, len(rows[0]))
	for a := range names {
		names[a] = fmt.Sprintf("agent %d", a)
		for _, row := range rows {
			values[a] = append(values[a], row[a])
		}
	}
	lo, hi := Span(values...)
	pad := max(0.12*(hi-lo), 0.01)
	y := Round(lo-pad, hi+pad, 5)
	y.Name = axis
	return New(Names(names), y).Add(boxes(values)).Panel(title, w, h)
}

// Spread is a row of values with their mean and its interval, which is drawn if it
// is one.
type Spread struct {
	Name   string
	Color  color.NRGBA
	Values []float64
	Mean   float64
	CI     stats.Interval
}

type spreads []Spread

func (s spreads) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, row := range s {
		mid := y(float64(len(s) - 1 - i))
		if row.CI[0] < row.CI[1] && finite(row.CI[0]) && finite(row.CI[1]) {
			c.FillPolygon(Fade(row.Color, 0.22), Box(x(max(row.CI[0], p.X.Min)), mid-8, x(min(row.CI[1], p.X.Max)), mid+8))
			c.StrokeLine2(draw.LineStyle{Color: row.Color, Width: 2}, x(row.Mean), mid-10, x(row.Mean), mid+10)
		}
		at := make([]vg.Length, len(row.Values))
		for k, v := range row.Values {
			at[k] = x(v)
		}
		for k, up := range apart(at) {
			dot(c, Fade(row.Color, 0.75), radius, vg.Point{X: at[k], Y: mid + up})
		}
	}
}

// radius is a dot's.
const radius = 3.4

// apart returns how far dots of one row are moved up or down so that none hides another, as far as
// the row has room: three seeds are three dots.
func apart(at []vg.Length) []vg.Length {
	up := make([]vg.Length, len(at))
	for i, x := range at {
		for _, y := range []vg.Length{0, 2 * radius, -2 * radius, radius, -radius, 3 * radius, -3 * radius} {
			hidden := false
			for k := range i {
				hidden = hidden || math.Hypot(float64(at[k]-x), float64(up[k]-y)) < 1.4*radius
			}
			if up[i] = y; !hidden {
				break
			}
			up[i] = 0
		}
	}
	return up
}

// Spreads draws rows between lo and hi of the axis: every value, the mean and its
// interval.
func Spreads(title, axis string, lo, hi float64, refs []Ref, rows ...Spread) Panel {
	n := len(rows)
	names := Axis{Min: -0.7, Max: float64(n) + 0.4, Label: func(v float64) string { return rows[n-1-int(v)].Name }}
	for i := range rows {
		if rows[i].Name != "" {
			names.At = append(names.At, float64(i))
		}
	}
	x := Round(lo, hi, 6)
	x.Name = axis
	p := New(x, names).Add(Levels{Refs: refs, Flags: true}, spreads(rows))
	return p.Panel(title, WideW, vg.Length(72+32*n+13*len(refs)))
}

// columns are groups of bars side by side over names.
type columns struct {
	groups []Group
	n      int
}

func (b columns) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	wide := min(40, 0.8*(x(1)-x(0))/vg.Length(len(b.groups)))
	for i, g := range b.groups {
		for k, v := range g.Values[:min(b.n, len(g.Values))] {
			if finite(v) {
				left := x(float64(k)) + wide*(vg.Length(i)-vg.Length(len(b.groups))/2)
				c.FillPolygon(Agent(i), c.ClipPolygonY(Box(left, y(0), left+wide*0.94, y(v))))
			}
		}
	}
}

// cloud is small squares of one colour, drawn as one path.
type cloud struct {
	xs, ys []float64
	color  color.NRGBA
}

func (d cloud) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	const half = 1.6
	var path vg.Path
	for i := range d.xs {
		if finite(d.xs[i]) && finite(d.ys[i]) {
			for k, at := range Box(x(d.xs[i])-half, y(d.ys[i])-half, x(d.xs[i])+half, y(d.ys[i])+half) {
				if k == 0 {
					path.Move(at)
				} else {
					path.Line(at)
				}
			}
			path.Close()
		}
	}
	c.SetColor(d.color)
	c.Fill(path)
}
