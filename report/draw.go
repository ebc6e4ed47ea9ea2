package report

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"hop/stats"
)

// rules are hairlines across the plot at some heights.
type rules []float64

func (r rules) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	for _, v := range r {
		if v >= p.Y.Min && v <= p.Y.Max {
			c.StrokeLine2(draw.LineStyle{Color: hairColor, Width: 0.6}, c.Min.X, y(v), c.Max.X, y(v))
		}
	}
}

// line is a curve; it breaks where a value is NaN.
type line struct {
	d      grid
	y      []float64
	color  color.Color
	width  vg.Length
	dashes []vg.Length
}

func (l line) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	st := draw.LineStyle{Color: l.color, Width: l.width, Dashes: l.dashes}
	var pts []vg.Point
	flush := func() {
		switch {
		case len(pts) == 1:
			c.DrawGlyph(draw.GlyphStyle{Color: l.color, Radius: max(l.width, 1.2), Shape: draw.CircleGlyph{}}, pts[0])
		case len(pts) > 1:
			c.StrokeLines(st, c.ClipLinesXY(pts)...)
		}
		pts = nil
	}
	for i, v := range l.y {
		if math.IsNaN(v) {
			flush()
			continue
		}
		pts = append(pts, vg.Point{X: x(l.d.x(i)), Y: y(v)})
	}
	flush()
}

// area fills between two curves.
type area struct {
	d      grid
	lo, hi []float64
	color  color.Color
}

func (a area) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var up, down []vg.Point
	flush := func() {
		if len(up) > 1 {
			slices.Reverse(down)
			c.FillPolygon(a.color, c.ClipPolygonXY(append(up, down...)))
		}
		up, down = nil, nil
	}
	for i := range a.lo {
		if math.IsNaN(a.lo[i]) || math.IsNaN(a.hi[i]) {
			flush()
			continue
		}
		up = append(up, vg.Point{X: x(a.d.x(i)), Y: y(a.hi[i])})
		down = append(down, vg.Point{X: x(a.d.x(i)), Y: y(a.lo[i])})
	}
	flush()
}

// levels are reference lines, each with its name in the margin at the right, or
// as a flag if they stand.
type levels struct {
	refs   []reference
	stand  bool
	silent bool // without names
}

func (l levels) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	refs := slices.Clone(l.refs)
	slices.SortFunc(refs, func(a, b reference) int {
		if a.Value < b.Value {
			return -1
		}
		return 1
	})
	st := draw.LineStyle{Color: refColor, Width: 0.9, Dashes: []vg.Length{4, 3}}
	last := vg.Length(math.Inf(-1))
	for _, r := range refs {
		name := r.Name + " " + trim(r.Value)
		if l.stand {
			style := letters(9.5, refColor, -1, 0) // a flag to the left of its pole
			at, wide := x(r.Value), style.Width(name)+4
			row := vg.Length(14)
			if at-wide < last+4 { // would touch the pole before: one row up
				row = 0
			}
			last = at
			c.StrokeLine2(st, at, c.Min.Y, at, c.Max.Y-row)
			if at-wide < c.Min.X {
				style.XAlign, wide = 0, -4
			}
			c.FillText(style, vg.Point{X: at - copysign(4, wide), Y: c.Max.Y - row - 10}, name)
			continue
		}
		if r.Value > p.Y.Max || r.Value < p.Y.Min {
			continue
		}
		c.StrokeLine2(st, c.Min.X, y(r.Value), c.Max.X, y(r.Value))
		if l.silent {
			continue
		}
		at := max(y(r.Value), last+11)
		c.FillText(letters(9.5, refColor, 0, -0.4), vg.Point{X: c.Max.X + 6, Y: at}, name)
		last = at
	}
}

// copysign returns x with the sign of y.
func copysign(x, y vg.Length) vg.Length { return vg.Length(math.Copysign(float64(x), float64(y))) }

// boxes are one box a column, with a dot a seed.
type boxes struct {
	values [][]float64 // [column][seed]
}

func (b boxes) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, values := range b.values {
		col := agentColor(i)
		at := x(float64(i))
		half := min(vg.Length(26), (x(1)-x(0))*0.28)
		box := stats.BoxOf(values)
		pen := draw.LineStyle{Color: col, Width: 1.2}
		if box.N > 2 {
			corners := []vg.Point{{X: at - half, Y: y(box.Q1)}, {X: at + half, Y: y(box.Q1)}, {X: at + half, Y: y(box.Q3)}, {X: at - half, Y: y(box.Q3)}}
			c.FillPolygon(fade(col, 0.18), corners)
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
			c.DrawGlyph(draw.GlyphStyle{Color: col, Radius: 3, Shape: draw.CircleGlyph{}}, vg.Point{X: at + shift, Y: y(v)})
		}
	}
}

// strip is the headline as a picture: every seed's mean, and the interval.
type strip struct {
	seeds []float64
	f     Interval
}

func (s strip) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	mid := c.Min.Y + (c.Max.Y-c.Min.Y)*0.42
	if s.f.N > 1 {
		lo, hi := x(max(s.f.CI[0], p.X.Min)), x(min(s.f.CI[1], p.X.Max))
		c.FillPolygon(fade(agentColors[0], 0.22), []vg.Point{{X: lo, Y: mid - 9}, {X: hi, Y: mid - 9}, {X: hi, Y: mid + 9}, {X: lo, Y: mid + 9}})
		c.StrokeLine2(draw.LineStyle{Color: agentColors[0], Width: 2}, x(s.f.Mean), mid-12, x(s.f.Mean), mid+12)
	}
	for _, v := range s.seeds {
		c.DrawGlyphNoClip(draw.GlyphStyle{Color: fade(agentColors[0], 0.75), Radius: 3.6, Shape: draw.CircleGlyph{}}, vg.Point{X: x(v), Y: mid})
	}
}
