package card

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Figure is a picture of a card. Lines, Bars, Heat and Scatter make one.
type Figure struct {
	Name    string // of its file, without .png
	Title   string
	Caption string
	PNG     []byte
}

func (f *Figure) dataURL() template.URL {
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(f.PNG))
}

var (
	ink   = rgb(0x1f2328)
	faint = rgb(0x66707b)
	hair  = rgb(0xdde1e6)
	// palette is that of package report (Okabe and Ito, darkened).
	palette = []color.NRGBA{
		rgb(0x0067a5), rgb(0xd55e00), rgb(0x00845f), rgb(0xb5548b), rgb(0xe8b000), rgb(0x56b4e9), rgb(0x6f5a9e), rgb(0x555a60),
	}
)

func rgb(v uint32) color.NRGBA { return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255} }

func letters(size vg.Length, c color.Color, x, y float64) text.Style {
	return text.Style{
		Color: c, Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
		XAlign: text.XAlignment(x), YAlign: text.YAlignment(y), Handler: plot.DefaultTextHandler,
	}
}

// Axes names and bounds the axes of a figure.
type Axes struct {
	X, Y       string
	YMin, YMax float64 // both 0: as the data need
}

// sheet returns an empty plot in the shared style.
func sheet(title string, ax Axes) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.Title.TextStyle, p.Title.Padding = title, letters(12, ink, -0.5, -1), 6
	p.X.Label.Text, p.Y.Label.Text = ax.X, ax.Y
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.LineStyle = draw.LineStyle{Color: faint, Width: 0.6}
		a.Tick.LineStyle = draw.LineStyle{Color: faint, Width: 0.6}
		a.Tick.Length = 3
		a.Padding = 0
	}
	p.X.Tick.Label, p.Y.Tick.Label = letters(9.5, faint, -0.5, -1), letters(9.5, faint, -1, -0.55)
	p.X.Label.TextStyle, p.Y.Label.TextStyle = letters(10, faint, -0.5, 0), letters(10, faint, -0.5, 0)
	p.X.Label.Padding, p.Y.Label.Padding = 3, 3
	p.Legend.TextStyle = letters(9.5, ink, 0, -0.3)
	p.Legend.Top, p.Legend.Padding, p.Legend.ThumbnailWidth = true, 4, 16
	return p
}

func render(name, title, caption string, p *plot.Plot, w, h vg.Length) (Figure, error) {
	c := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(144), vgimg.UseBackgroundColor(color.White))
	all := draw.Crop(draw.New(c), 6, -12, 6, -6)
	legend := p.Legend // beside the data, not over them
	p.Legend = plot.NewLegend()
	names := legend.Rectangle(all)
	if wide := names.Max.X - names.Min.X; wide > 0 {
		legend.Draw(draw.Crop(all, 0, 0, 0, -22))
		p.Draw(draw.Crop(all, 0, -wide-14, 0, 0))
	} else {
		p.Draw(all)
	}
	var b bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(&b); err != nil {
		return Figure{}, fmt.Errorf("card: drawing %s: %w", name, err)
	}
	return Figure{name, title, caption, b.Bytes()}, nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// bound sets the range of the y axis to what is asked, or to the data.
func bound(p *plot.Plot, ax Axes, lo, hi float64) {
	if ax.YMin != 0 || ax.YMax != 0 {
		lo, hi = ax.YMin, ax.YMax
	}
	if !(hi > lo) {
		lo, hi = lo-0.5, lo+0.5
	}
	p.Y.Min, p.Y.Max = lo, hi
}

// Line is a named curve. Values that are not finite leave gaps.
type Line struct {
	Name string
	X, Y []float64 // X nil: 0, 1, 2, ...
	Dash bool      // a reference rather than a measurement
}

// Lines draws curves, each under its own name.
func Lines(name, title, caption string, ax Axes, lines ...Line) (Figure, error) {
	p := sheet(title, ax)
	p.Add(&plotter.Grid{Horizontal: draw.LineStyle{Color: hair, Width: 0.5}})
	lo, hi := math.Inf(1), math.Inf(-1)
	for i, l := range lines {
		c := palette[i%len(palette)]
		st := draw.LineStyle{Color: c, Width: 1.4}
		if l.Dash {
			st.Dashes = []vg.Length{4, 3}
		}
		named := false
		var run plotter.XYs
		flush := func() error {
			if len(run) == 0 {
				return nil
			}
			ln, err := plotter.NewLine(run)
			if err != nil {
				return fmt.Errorf("card: drawing %s: %w", name, err)
			}
			ln.LineStyle = st
			p.Add(ln)
			if len(run) == 1 {
				dot, err := plotter.NewScatter(run)
				if err != nil {
					return fmt.Errorf("card: drawing %s: %w", name, err)
				}
				dot.GlyphStyle = draw.GlyphStyle{Color: c, Radius: 2, Shape: draw.CircleGlyph{}}
				p.Add(dot)
			}
			if !named {
				p.Legend.Add(l.Name, ln)
				named = true
			}
			run = nil
			return nil
		}
		for j, y := range l.Y {
			x := float64(j)
			if l.X != nil {
				x = l.X[j]
			}
			if !finite(y) || !finite(x) {
				if err := flush(); err != nil {
					return Figure{}, err
				}
				continue
			}
			lo, hi = min(lo, y), max(hi, y)
			run = append(run, plotter.XY{X: x, Y: y})
		}
		if err := flush(); err != nil {
			return Figure{}, err
		}
	}
	if !finite(lo) {
		lo, hi = 0, 1
	}
	pad := (hi - lo) * 0.05
	bound(p, ax, lo-pad, hi+pad)
	return render(name, title, caption, p, 620, 300)
}

// Group is a set of bars of one colour, one per label.
type Group struct {
	Name   string
	Values []float64
}

// Bars draws groups of bars side by side over the labels.
func Bars(name, title, caption string, ax Axes, labels []string, groups ...Group) (Figure, error) {
	p := sheet(title, ax)
	p.Add(&plotter.Grid{Horizontal: draw.LineStyle{Color: hair, Width: 0.5}})
	w := vg.Points(380 / float64(max(1, len(labels))) / float64(max(1, len(groups))))
	w = min(w, 40)
	top := 0.0
	for i, g := range groups {
		vs := make(plotter.Values, len(labels))
		for j := range vs {
			if j < len(g.Values) && finite(g.Values[j]) {
				vs[j] = g.Values[j]
			}
			top = max(top, vs[j])
		}
		b, err := plotter.NewBarChart(vs, w)
		if err != nil {
			return Figure{}, fmt.Errorf("card: drawing %s: %w", name, err)
		}
		b.Color, b.LineStyle.Width = palette[i%len(palette)], 0
		b.Offset = w * vg.Length(float64(i)-float64(len(groups)-1)/2)
		p.Add(b)
		if len(groups) > 1 {
			p.Legend.Add(g.Name, b)
		}
	}
	p.NominalX(labels...)
	bound(p, ax, 0, top*1.12)
	return render(name, title, caption, p, 620, 300)
}

// grid is a plotter.GridXYZ of values [rows][cols], the first row on top.
type grid struct {
	rows, cols int
	v          []float64
}

func (g grid) Dims() (c, r int)   { return g.cols, g.rows }
func (g grid) Z(c, r int) float64 { return g.v[(g.rows-1-r)*g.cols+c] }
func (g grid) X(c int) float64    { return float64(c) }
func (g grid) Y(r int) float64    { return float64(r) }

// shades runs from white to dark blue.
type shades struct{}

func (shades) Colors() []color.Color {
	out := make([]color.Color, 128)
	for i := range out {
		f := float64(i) / 127
		mix := func(a, b uint8) uint8 { return uint8(float64(a) + f*(float64(b)-float64(a)) + 0.5) }
		out[i] = color.NRGBA{mix(255, 8), mix(255, 48), mix(255, 107), 255}
	}
	return out
}

// Heat draws values[rows][cols] as a map from white (0) to dark (the largest),
// with each value written in its cell. rows and cols name them.
func Heat(name, title, caption string, ax Axes, rows, cols []string, values []float64) (Figure, error) {
	if len(values) != len(rows)*len(cols) || len(values) == 0 {
		panic("card: a heat map needs one value per row and column")
	}
	g := grid{len(rows), len(cols), make([]float64, len(values))}
	top := 0.0
	for i, v := range values {
		if finite(v) {
			g.v[i] = v
			top = max(top, v)
		}
	}
	if top == 0 {
		top = 1
	}
	p := sheet(title, ax)
	h := plotter.NewHeatMap(g, shades{})
	h.Min, h.Max = 0, top
	p.Add(h)
	p.Add(cellText{values, g, top})
	p.NominalX(cols...)
	up := make([]string, len(rows))
	for i, r := range rows {
		up[len(rows)-1-i] = r
	}
	p.NominalY(up...)
	side := vg.Length(min(52, 420/max(len(rows), len(cols)))) + 4
	return render(name, title, caption, p, vg.Length(len(cols))*side+120, vg.Length(len(rows))*side+90)
}

// cellText writes the values of a heat map.
type cellText struct {
	raw []float64
	g   grid
	top float64
}

func (t cellText) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	for i, v := range t.raw {
		if !finite(v) {
			continue
		}
		r, col := i/t.g.cols, i%t.g.cols
		k := ink
		if v > t.top/2 {
			k = rgb(0xffffff)
		}
		s := strings.TrimPrefix(fmt.Sprintf("%.2f", v), "0")
		if v == math.Trunc(v) {
			s = fmt.Sprintf("%.0f", v)
		}
		c.FillText(letters(9, k, -0.5, -0.4), vg.Point{X: tx(float64(col)), Y: ty(float64(t.g.rows - 1 - r))}, s)
	}
}

// Cloud is a named set of points of one colour.
type Cloud struct {
	Name string
	X, Y []float64
}

// Scatter draws clouds of points.
func Scatter(name, title, caption string, ax Axes, clouds ...Cloud) (Figure, error) {
	p := sheet(title, ax)
	lo, hi := math.Inf(1), math.Inf(-1)
	for i, cl := range clouds {
		var xy plotter.XYs
		for j := range cl.X {
			if finite(cl.X[j]) && finite(cl.Y[j]) {
				xy = append(xy, plotter.XY{X: cl.X[j], Y: cl.Y[j]})
				lo, hi = min(lo, cl.Y[j]), max(hi, cl.Y[j])
			}
		}
		if len(xy) == 0 {
			continue
		}
		s, err := plotter.NewScatter(xy)
		if err != nil {
			return Figure{}, fmt.Errorf("card: drawing %s: %w", name, err)
		}
		c := palette[i%len(palette)]
		c.A = 150
		s.GlyphStyle = draw.GlyphStyle{Color: c, Radius: 1.8, Shape: draw.CircleGlyph{}}
		p.Add(s)
		p.Legend.Add(cl.Name, s)
	}
	if !finite(lo) {
		lo, hi, p.X.Min, p.X.Max = 0, 1, 0, 1
	}
	pad := (hi - lo) * 0.05
	bound(p, ax, lo-pad, hi+pad)
	return render(name, title, caption, p, 460, 400)
}
