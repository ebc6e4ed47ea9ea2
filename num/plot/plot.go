package plot

import (
	"html/template"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Axis is what an axis shows.
type Axis struct {
	Name     string
	Min, Max float64
	At       []float64            // its ticks
	Label    func(float64) string // of a tick; nil: the number
	Log      bool
	names    []string
}

// Ticks makes the axis a plot.Ticker. Numbers that would read the same get more digits.
func (a Axis) Ticks(lo, hi float64) []plot.Tick {
	var out []plot.Tick
	label := axisNumber
	if a.Label != nil {
		label = a.Label
	}
	for digits := 0; ; digits++ {
		out = out[:0]
		read := map[string]bool{}
		for _, v := range a.At {
			out = append(out, plot.Tick{Value: v, Label: label(v)})
			read[label(v)] = true
		}
		if len(read) == len(a.At) || a.names != nil || digits > 12 {
			return out
		}
		label = func(v float64) string { return strings.Replace(strconv.FormatFloat(v, 'f', digits, 64), "-", "−", 1) }
	}
}

// Round is an axis with about n round ticks. An axis without length gets some.
func Round(lo, hi float64, n int) Axis {
	if hi-lo <= 1e-9*max(math.Abs(lo), math.Abs(hi)) { // constant, but for rounding
		pad := 0.1 * math.Abs(hi)
		if pad == 0 {
			pad = 0.5
		}
		lo, hi = lo-pad, hi+pad
	}
	return Axis{Min: lo, Max: hi, At: ticks(lo, hi, n)}
}

// Steps is an axis of env steps.
func Steps(last float64) Axis {
	return Axis{Name: "env steps", Max: last, At: ticks(0, last, 5), Label: Short}
}

// LogSteps is an axis of env steps with ticks at 1, 2 and 5 times powers of ten.
func LogSteps(lo, hi float64) Axis {
	a := Axis{Name: "env steps", Min: lo, Max: hi, Label: Short, Log: true}
	for e := math.Pow(10, math.Floor(math.Log10(lo))); e <= hi; e *= 10 {
		for _, k := range []float64{1, 2, 5} {
			if v := k * e; v >= lo && v <= hi {
				a.At = append(a.At, v)
			}
		}
	}
	return a
}

// Shares is an axis from 0 to 100 %.
func Shares() Axis { return Axis{Max: 1, At: []float64{0, 0.25, 0.5, 0.75, 1}, Label: Percent} }

// Names is an axis of things, at 0, 1, 2, ...
func Names(names []string) Axis {
	a := Axis{Min: -0.6, Max: float64(len(names)) - 0.4, names: names}
	for i := range names {
		a.At = append(a.At, float64(i))
	}
	a.Label = func(v float64) string { return names[int(v)] }
	return a
}

// Span returns the smallest and largest finite values, 0 and 1 without any.
func Span(lists ...[]float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, v := range slices.Concat(lists...) {
		if finite(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if lo > hi {
		return 0, 1
	}
	return lo, hi
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

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

// Plot is two axes and what is drawn between them.
type Plot struct {
	p     *plot.Plot
	x, y  Axis
	right vg.Length // room for names
}

// margin is the room at the right for the names of references.
const margin = vg.Length(132)

// slimmer is the width below which references are named inside the plot.
const slimmer = vg.Length(400)

// New returns an empty plot.
func New(x, y Axis) *Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = x.Min, x.Max, y.Min, y.Max
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding = 0
		a.LineStyle = draw.LineStyle{Color: Faint, Width: 0.6}
		a.Tick.LineStyle = draw.LineStyle{Color: Faint, Width: 0.6}
		a.Tick.Length = 3
		a.Label.Padding = 2
	}
	p.Y.LineStyle.Width, p.Y.Tick.LineStyle.Width, p.Y.Tick.Length = 0, 0, 2
	p.Y.Tick.Label = Letters(9.5, Faint, -1, -0.55)
	p.X.Tick.Marker, p.Y.Tick.Marker = x, y
	if x.Log {
		p.X.Scale = plot.LogScale{}
	}
	if y.Log {
		p.Y.Scale = plot.LogScale{}
	}
	p.Add(rules(y.At))
	return &Plot{p: p, x: x, y: y, right: 8}
}

// Add draws marks, the first at the bottom.
func (p *Plot) Add(marks ...plot.Plotter) *Plot {
	for _, m := range marks {
		if l, ok := m.(Levels); ok && len(l.Refs) > 0 && !l.Flags && !l.Silent {
			p.right = margin
		}
	}
	p.p.Add(marks...)
	return p
}

// Panel returns the plot as a panel.
func (p *Plot) Panel(title string, w, h vg.Length) Panel {
	return Panel{Title: title, W: w, H: h, Paint: p.paint}
}

func (p *Plot) paint(c draw.Canvas) {
	wide, right := c.Max.X-c.Min.X, p.right
	if wide < slimmer {
		right = 8
	}
	st := Letters(9.5, Faint, -0.5, -1)
	need := vg.Length(0)
	for _, name := range p.x.names {
		need = max(need, (st.Width(name)+4)*vg.Length(len(p.x.names)))
	}
	if need > wide-48 { // the names do not fit side by side
		st = Letters(9.5, Faint, -1, -1)
		st.Rotation = 0.7
	}
	p.p.X.Tick.Label = st
	top := vg.Length(4)
	if p.y.Name != "" {
		c.FillText(Letters(9.5, Faint, 0, -1), vg.Point{X: c.Min.X + 4, Y: c.Max.Y - 1}, p.y.Name)
		top = 17
	}
	bottom := vg.Length(0)
	if p.x.Name != "" {
		c.FillText(Letters(9.5, Faint, -1, 0), vg.Point{X: c.Max.X - right - 4, Y: c.Min.Y + 2}, p.x.Name)
		bottom = 13
	}
	p.p.Draw(draw.Crop(c, 4, -right-4, bottom, -top))
}

// The colours of all figures. In a page each is a variable of the style sheet,
// so that the same figure is light or dark.
var (
	Ink   = rgb(0x1f2328)
	Faint = rgb(0x66707b)
	hair  = rgb(0xdde1e6)
	ref   = rgb(0x8a6d3b)
	bad   = rgb(0xa3231c)
	none  = rgb(0xc3c8ce)
	white = rgb(0xffffff)
)

// agents are the colours of package play's seats (Okabe and Ito, darkened), which
// colour-blind people can tell apart.
var agents = []color.NRGBA{
	rgb(0x0067a5), rgb(0xd55e00), rgb(0x00845f), rgb(0xb5548b), rgb(0xe8b000), rgb(0x56b4e9), rgb(0x6f5a9e), rgb(0x555a60),
}

// goals differ from the agents' colours, and in lightness from each other.
var goals = []color.NRGBA{
	rgb(0x8c510a), rgb(0x7fc8bd), rgb(0x4a5fa5), rgb(0xe7a0c4), rgb(0x3f7d20), rgb(0xf2d16b), rgb(0x9a4d9e), rgb(0x8fb8de),
}

func rgb(v uint32) color.NRGBA { return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255} }

// Fade returns a colour that lets so much of it through.
func Fade(c color.NRGBA, alpha float64) color.NRGBA {
	c.A = uint8(255*alpha + 0.5)
	return c
}

// Agent returns an agent's colour, that of text for nobody in particular (-1).
func Agent(a int) color.NRGBA {
	if a < 0 {
		return Ink
	}
	return agents[a%len(agents)]
}

// Goal returns the key of a goal. The goal "none" means that nothing was reached.
func Goal(i int, name string) Key {
	if name == "none" {
		return Key{Name: "nothing", Color: none, Area: true}
	}
	return Key{Name: name, Color: goals[i%len(goals)], Area: true}
}

var hex = regexp.MustCompile(`#[0-9A-F]{6}`)

// variables replaces colours by the variables of the style sheet. Faded colours
// come out of the drawing a little off, so the nearest is taken.
func variables(s string) string {
	return hex.ReplaceAllStringFunc(s, func(h string) string {
		v, err := strconv.ParseUint(h[1:], 16, 32)
		if err != nil {
			return h
		}
		return variable(rgb(uint32(v)))
	})
}

func variable(c color.NRGBA) (name string) {
	least := math.MaxInt
	try := func(prefix string, list ...color.NRGBA) {
		for i, n := range list {
			r, g, b := int(c.R)-int(n.R), int(c.G)-int(n.G), int(c.B)-int(n.B)
			if far := r*r + g*g + b*b; far < least {
				least, name = far, "var(--"+prefix+strconv.Itoa(i)+")"
			}
		}
	}
	try("c", Ink, Faint, hair, ref, none, white)
	try("a", agents...)
	try("g", goals...)
	return name
}

func swatch(k Key) template.CSS {
	c := variable(k.Color)
	if k.Dash {
		const line = ";width:1.35em;height:.2em;border-radius:0;vertical-align:.25em"
		return template.CSS("background:repeating-linear-gradient(90deg," + c + " 0 .35em,transparent .35em .5em)" + line)
	}
	return template.CSS("background:" + c)
}
