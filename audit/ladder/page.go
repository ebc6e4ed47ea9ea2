package ladder

import (
	_ "embed"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/store/runlog"
)

// Report is a ladder with what was asked, as its page and --json show it.
type Report struct {
	Run      string   `json:"run"`
	PPO      string   `json:"ppo"`
	Game     string   `json:"game"`
	Teams    []string `json:"teams"` // the co-players of each setting
	Episodes int      `json:"episodes"`
	Seed     uint64   `json:"seed"`
	*Result
	Page    string `json:"page"` // the page's file
	Subject string `json:"-"`
	Command string `json:"-"`
	// Used are the checkpoints of the runs.
	Used []runlog.Used `json:"-"`
}

// Total says whether a rung stands for an agent that exists.
func (r *Report) Total(i int) bool {
	return i == 0 || r.Rungs[i].Name == asTrained || i == len(r.Rungs)-1
}

// Difference writes the difference to the rung below with its interval; "" for
// the lowest.
func (r *Report) Difference(i int) string {
	if i == 0 {
		return ""
	}
	d := r.Deltas[i-1]
	return signed(d.Delta) + " (" + signed(d.CI[0]) + " to " + signed(d.CI[1]) + ")"
}

// from is where the bar of a rung starts, and loss whether it takes away.
func (r *Result) from(i int) (from float64, loss bool) {
	if i == 0 {
		return 0, false
	}
	d := r.Deltas[i-1].Delta
	return r.Rungs[i].Mean.Mean - d, d < 0
}

func signed(x float64) string {
	if x < 0 {
		return "−" + plot.Number(-x)
	}
	return "+" + plot.Number(x)
}

// The sizes of a waterfall.
const (
	fallRow   = vg.Length(41)
	fallAxis  = vg.Length(38)
	fallRight = vg.Length(92)
)

// waterfall draws the rungs from top to bottom, each from where the one before
// ended, with its name above it.
type waterfall struct {
	*Result
	axis plot.Axis
}

func (f waterfall) paint(c draw.Canvas) {
	x0, x1 := c.Min.X+8, c.Max.X-fallRight
	at := func(v float64) vg.Length { return x0 + (x1-x0)*vg.Length((v-f.axis.Min)/(f.axis.Max-f.axis.Min)) }
	bottom := c.Min.Y + fallAxis
	c.FillText(plot.Letters(9.5, plot.Faint, -1, 0), vg.Point{X: x1, Y: c.Min.Y + 1}, "mean return of an episode")
	for _, v := range f.axis.At {
		c.StrokeLine2(draw.LineStyle{Color: plot.Faint, Width: 0.2}, at(v), bottom, at(v), c.Max.Y)
		c.FillText(plot.Letters(9.5, plot.Faint, -0.5, -1), vg.Point{X: at(v), Y: bottom - 5}, plot.Trim(v))
	}
	for i, r := range f.Rungs {
		mean := r.Mean.Mean
		mid := c.Max.Y - fallRow*(vg.Length(i)+0.5) - 8
		c.FillText(plot.Letters(10.5, plot.Ink, 0, -0.4), vg.Point{X: x0, Y: mid + 16}, r.Name)
		from, loss := f.from(i)
		if i > 0 {
			c.StrokeLine2(draw.LineStyle{Color: plot.Faint, Width: 0.6}, at(from), mid+fallRow, at(from), mid)
			c.FillText(plot.Letters(10, plot.Faint, 0, -0.4), vg.Point{X: x1 + 52, Y: mid}, signed(f.Deltas[i-1].Delta))
		}
		c.FillText(plot.Letters(10, plot.Ink, 0, -0.4), vg.Point{X: x1 + 12, Y: mid}, plot.Number(mean))
		c.FillPolygon(plot.Fade(r.color(loss), 0.75), plot.Box(min(at(from), at(mean)-0.8), mid-8, max(at(from), at(mean)+0.8), mid+8))
		if i > 0 && !math.IsNaN(f.Deltas[i-1].CI[0]) {
			pen := draw.LineStyle{Color: plot.Ink, Width: 1}
			a, b := at(from+f.Deltas[i-1].CI[0]), at(from+f.Deltas[i-1].CI[1])
			c.StrokeLine2(pen, a, mid, b, mid)
			c.StrokeLine2(pen, a, mid-3, a, mid+3)
			c.StrokeLine2(pen, b, mid-3, b, mid+3)
		}
	}
}

// color says whether a module is the agent's own or an oracle, and whether it
// takes away.
func (s Step) color(loss bool) color.NRGBA {
	switch {
	case loss:
		return plot.Agent(1)
	case s.Oracle:
		return plot.Agent(2)
	}
	return plot.Agent(0)
}

// figure is the waterfall with what its colours mean.
func (r *Report) figure() *plot.Figure {
	ends := []float64{0}
	for i, s := range r.Rungs {
		ends = append(ends, s.Mean.Mean)
		if from, _ := r.from(i); i > 0 {
			ends = append(ends, from+r.Deltas[i-1].CI[0], from+r.Deltas[i-1].CI[1])
		}
	}
	lo, hi := plot.Span(ends)
	n := vg.Length(len(r.Rungs))
	return &plot.Figure{
		Name: "ladder", Title: "The ladder: " + r.Subject,
		Caption: "Each bar starts where the one above it ended. Whiskers: 95 % interval of the difference, measured start by start. " +
			"At the right the mean return and the difference.",
		Legend: []plot.Key{
			{Name: "a module of the agent's own", Color: plot.Agent(0), Area: true},
			{Name: "replaced by the truth, or searched more", Color: plot.Agent(2), Area: true},
			{Name: "takes away", Color: plot.Agent(1), Area: true},
		},
		Panels: []plot.Panel{{
			Title: "What each module adds, and what each oracle would", W: plot.WideW, H: fallRow*n + fallAxis,
			Paint: waterfall{r.Result, plot.Round(lo, hi, 6)}.paint,
		}},
	}
}

// Bars draws the same for a terminal, width characters of bar.
func (r *Report) Bars(width int) string {
	lo, hi, name := 0., 0., 0
	for _, s := range r.Rungs {
		lo, hi, name = min(lo, s.Mean.Mean), max(hi, s.Mean.Mean), max(name, len(s.Name))
	}
	if hi <= lo {
		hi = lo + 1
	}
	at := func(v float64) int { return int(float64(width)*(v-lo)/(hi-lo) + 0.5) }
	var b strings.Builder
	for i, s := range r.Rungs {
		from, loss := r.from(i)
		a, z := min(at(from), at(s.Mean.Mean)), max(at(from), at(s.Mean.Mean))
		mark := "█"
		switch {
		case loss:
			mark = "░"
		case s.Oracle:
			mark = "▒"
		}
		if a == z {
			mark, z = "│", z+1
		}
		b.WriteString("  " + s.Name + strings.Repeat(" ", name-len(s.Name)+2))
		b.WriteString(strings.Repeat(" ", a) + strings.Repeat(mark, z-a) + strings.Repeat(" ", max(width+1-z, 0)))
		b.WriteString("  " + plot.Number(s.Mean.Mean))
		if i > 0 {
			b.WriteString("  " + r.Difference(i))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

//go:embed ladder.html
var ladderPage string

//go:embed ladder.md
var ladderText string

// Write writes ladder.html, one file that opens offline, ladder.md and ladder.png
// into a folder.
func (r *Report) Write(dir string) error {
	data := struct {
		*Report
		Fig *plot.Figure
	}{r, r.figure()}
	doc := plot.Document{Name: "ladder", HTML: ladderPage, Text: ladderText, Data: data, Figures: []*plot.Figure{data.Fig}}
	return doc.Write(dir)
}
