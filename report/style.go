package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The colours of all figures. In the page each is a variable of the style sheet,
// so that the same figure is light or dark.
var (
	inkColor   = rgb(0x1f2328)
	faintColor = rgb(0x66707b)
	hairColor  = rgb(0xdde1e6)
	refColor   = rgb(0x8a6d3b)
)

// agentColors are those of package play's seats (Okabe and Ito, darkened), which
// colour-blind people can tell apart.
var agentColors = []color.NRGBA{
	rgb(0x0067a5), rgb(0xd55e00), rgb(0x00845f), rgb(0xb5548b), rgb(0xe8b000), rgb(0x56b4e9), rgb(0x6f5a9e), rgb(0x555a60),
}

// goalColors differ from the agents', and in lightness from each other.
var goalColors = []color.NRGBA{
	rgb(0x8c510a), rgb(0x7fc8bd), rgb(0x4a5fa5), rgb(0xe7a0c4), rgb(0x3f7d20), rgb(0xf2d16b), rgb(0x9a4d9e), rgb(0x8fb8de),
}

var noneColor = rgb(0xc3c8ce)

func rgb(v uint32) color.NRGBA { return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255} }

func fade(c color.NRGBA, alpha float64) color.NRGBA {
	c.A = uint8(255*alpha + 0.5)
	return c
}

func agentColor(a int) color.NRGBA {
	if a < 0 {
		return inkColor
	}
	return agentColors[a%len(agentColors)]
}

// named is a colour of the style sheet.
type named struct {
	color.NRGBA
	name string
}

// sheet lists the colours that the style sheet names.
func sheet() []named {
	out := []named{{inkColor, "ink"}, {faintColor, "faint"}, {hairColor, "hair"}, {refColor, "ref"}, {noneColor, "none"}}
	for i, c := range agentColors {
		out = append(out, named{c, fmt.Sprintf("a%d", i)})
	}
	for i, c := range goalColors {
		out = append(out, named{c, fmt.Sprintf("g%d", i)})
	}
	return out
}

var hex = regexp.MustCompile(`#[0-9A-F]{6}`)

// css replaces colours by the variables of the style sheet. Faded colours come
// out of the drawing a little off, so the nearest is taken.
func css(s string) string {
	list := sheet()
	return hex.ReplaceAllStringFunc(s, func(h string) string {
		v, err := strconv.ParseUint(h[1:], 16, 32)
		if err != nil {
			return h
		}
		c := rgb(uint32(v))
		far := func(n named) int {
			d := func(a, b uint8) int { return (int(a) - int(b)) * (int(a) - int(b)) }
			return d(c.R, n.R) + d(c.G, n.G) + d(c.B, n.B)
		}
		best := slices.MinFunc(list, func(a, b named) int { return far(a) - far(b) })
		return "var(--" + best.name + ")"
	})
}

func cssColor(c color.NRGBA) string { return css(fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B)) }

func letters(size vg.Length, c color.Color, x, y float64) text.Style {
	return text.Style{
		Color: c, Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
		XAlign: text.XAlignment(x), YAlign: text.YAlignment(y), Handler: plot.DefaultTextHandler,
	}
}

// legendKey explains a colour.
type legendKey struct {
	Name  string
	Color color.NRGBA
	Area  bool
}

// panel is one plot. Wide ones take a row of their own.
type panel struct {
	Title string
	Note  string
	w, h  vg.Length
	paint func(draw.Canvas)
}

// figure is panels that belong together.
type figure struct {
	Name    string // of its file
	Title   string
	Caption string
	Legend  []legendKey
	Panels  []panel
	cols    int
}

// Small says that its panels fit three to a row.
func (f *figure) Small() bool { return f.cols == 3 }

// Wide says that the figure is one large panel.
func (f *figure) Wide() bool { return len(f.Panels) == 1 }

var (
	svgHead = regexp.MustCompile(`(?s)^.*?<svg [^>]*>`)
	svgFont = regexp.MustCompile(`font-family:[^;"]*;font-variant:[^;"]*;font-weight:[^;"]*;font-style:[^;"]*;?`)
)

// svg draws the panel for the page, so wide: colours are the style sheet's
// variables.
func (p *panel) svg(class string, w vg.Length) (string, error) {
	c := vgsvg.NewWith(vgsvg.UseWH(w, p.h))
	p.paint(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", err
	}
	s := svgHead.ReplaceAllLiteralString(b.String(), fmt.Sprintf(`<svg class="%s" viewBox="0 0 %g %g" role="img" aria-label="%s">`, class, w.Points(), p.h.Points(), escape(p.Title)))
	s = svgFont.ReplaceAllLiteralString(s, "")
	return css(s), nil
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}

// The margins of a figure as a picture.
const (
	edge     = vg.Length(14)
	gap      = vg.Length(16)
	titleRow = vg.Length(16)
	headRow  = vg.Length(26)
	keyRow   = vg.Length(18)
)

// png draws the whole figure at twice the usual density, on white.
func (f *figure) png() ([]byte, error) {
	cols := min(max(f.cols, 1), len(f.Panels))
	rows := (len(f.Panels) + cols - 1) / cols
	w, h := f.Panels[0].w, f.Panels[0].h+titleRow
	width := 2*edge + vg.Length(cols)*(w+gap) - gap
	head := headRow
	if len(f.Legend) > 0 {
		head += keyRow
	}
	height := 2*edge + head + vg.Length(rows)*(h+gap) - gap
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(192), vgimg.UseBackgroundColor(color.White))
	all := draw.New(c)
	y := all.Max.Y - edge
	all.FillText(letters(13, inkColor, 0, -1), vg.Point{X: edge, Y: y}, f.Title)
	f.drawLegend(all, edge, y-26, width-edge)
	for i := range f.Panels {
		x := edge + vg.Length(i%cols)*(w+gap)
		top := all.Max.Y - edge - head - vg.Length(i/cols)*(h+gap)
		if len(f.Panels) > 1 {
			all.FillText(letters(10.5, inkColor, 0, -1), vg.Point{X: x, Y: top}, f.Panels[i].Title)
		}
		f.Panels[i].paint(draw.Canvas{Canvas: c, Rectangle: vg.Rectangle{Min: vg.Point{X: x, Y: top - h}, Max: vg.Point{X: x + w, Y: top - titleRow}}})
	}
	var b bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(&b)
	return b.Bytes(), err
}

func (f *figure) drawLegend(c draw.Canvas, x, y, right vg.Length) {
	for _, k := range f.Legend {
		st := letters(9.5, faintColor, 0, -0.5)
		need := 22 + st.Width(k.Name) + 14
		if x+need > right {
			return
		}
		half := vg.Length(1)
		if k.Area {
			half = 4
		}
		c.FillPolygon(k.Color, []vg.Point{{X: x, Y: y - half}, {X: x + 16, Y: y - half}, {X: x + 16, Y: y + half}, {X: x, Y: y + half}})
		c.FillText(st, vg.Point{X: x + 22, Y: y}, k.Name)
		x += need
	}
}

// ticks returns round numbers between lo and hi, about n of them.
func ticks(lo, hi float64, n int) []float64 {
	if !(hi > lo) {
		return []float64{lo}
	}
	raw := (hi - lo) / float64(n)
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * unit
	for _, m := range []float64{1, 2, 2.5, 5} {
		if raw <= m*unit*1.0001 {
			step = m * unit
			break
		}
	}
	first := math.Ceil(lo/step - 1e-9)
	var out []float64
	for i := range n + 2 {
		v := (first + float64(i)) * step
		if v > hi+1e-9*step {
			break
		}
		out = append(out, v)
	}
	return out
}

// marks is a plot.Ticker that knows its marks.
type marks struct {
	at    []float64
	label func(float64) string
}

func (m marks) Ticks(lo, hi float64) []plot.Tick {
	var out []plot.Tick
	for _, v := range m.at {
		out = append(out, plot.Tick{Value: v, Label: m.label(v)})
	}
	return out
}

// axisNumber writes a tick without needless zeros.
func axisNumber(v float64) string {
	a := math.Abs(v)
	switch {
	case a >= 1e4:
		return short(v)
	case a != 0 && a < 1e-4:
		return fmt.Sprintf("%.2g", v)
	}
	return strings.Replace(fmt.Sprintf("%.4g", v), "-", "−", 1)
}

// frame returns an empty plot in the shared style.
func frame(x0, x1, y0, y1 float64, xt, yt marks) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = x0, x1, y0, y1
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding = 0
		a.LineStyle = draw.LineStyle{Color: faintColor, Width: 0.6}
		a.Tick.LineStyle = draw.LineStyle{Color: faintColor, Width: 0.6}
		a.Tick.Length = 3
		a.Label.Padding = 2
	}
	p.Y.LineStyle.Width, p.Y.Tick.LineStyle.Width, p.Y.Tick.Length = 0, 0, 2
	p.X.Tick.Label, p.Y.Tick.Label = letters(9.5, faintColor, -0.5, -1), letters(9.5, faintColor, -1, -0.55)
	p.X.Label.TextStyle = letters(9.5, faintColor, -1, 0)
	p.X.Label.Position = draw.PosRight
	p.X.Tick.Marker, p.Y.Tick.Marker = xt, yt
	p.Add(rules(yt.at))
	return p
}
