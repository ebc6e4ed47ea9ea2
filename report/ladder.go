package report

import (
	_ "embed"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"hop/page"
	"hop/stats"
)

// Ladder is what each module of an agent is worth, rung by rung, lowest first.
type Ladder struct {
	Subject  string
	Game     string
	Says     string
	Vs       []string // the co-players of each setting
	Seeds    int
	Episodes int
	Rungs    []LadderRung
	Singles  []LadderSingle
	Best     string // the single replacement that helps most, "" if none
	Command  string
}

// LadderRung is a way to play and what it got.
type LadderRung struct {
	Name, Module string
	Oracle       bool // it has a part that is the truth
	Total        bool // a way to play that exists: drawn from the axis
	Mean         float64
	CI           stats.Interval
	Delta        float64        // over the rung below; 0 for the lowest
	DeltaCI      stats.Interval //
	Vs           []float64      // by setting
}

// LadderSingle is one oracle put in alone.
type LadderSingle struct {
	Name, Module string
	Mean, Delta  float64
	CI           stats.Interval // of Delta
	Share        float64        // of what is missing to the best response
}

// DeltaText writes the difference to the rung below with its interval.
func (r LadderRung) DeltaText() string {
	return signed(r.Delta) + " (" + signed(r.DeltaCI[0]) + " to " + signed(r.DeltaCI[1]) + ")"
}

func signed(x float64) string {
	if x < 0 {
		return "−" + page.Number(-x)
	}
	return "+" + page.Number(x)
}

// The sizes of a waterfall.
const (
	fallRow   = vg.Length(41)
	fallAxis  = vg.Length(26)
	fallRight = vg.Length(92)
)

// waterfall draws the rungs from top to bottom, each from where the one before
// ended, with its name above it.
type waterfall struct {
	rungs []LadderRung
	axis  page.Axis
}

func (f waterfall) paint(c draw.Canvas) {
	x0, x1 := c.Min.X+8, c.Max.X-fallRight
	at := func(v float64) vg.Length { return x0 + (x1-x0)*vg.Length((v-f.axis.Min)/(f.axis.Max-f.axis.Min)) }
	bottom := c.Min.Y + fallAxis
	for _, v := range f.axis.At {
		c.StrokeLine2(draw.LineStyle{Color: page.Faint, Width: 0.2}, at(v), bottom, at(v), c.Max.Y)
		c.FillText(page.Letters(9.5, page.Faint, -0.5, -1), vg.Point{X: at(v), Y: bottom - 5}, page.Trim(v))
	}
	for i, r := range f.rungs {
		mid := c.Max.Y - fallRow*(vg.Length(i)+0.5) - 8
		c.FillText(page.Letters(10.5, page.Ink, 0, -0.4), vg.Point{X: x0, Y: mid + 16}, r.Name)
		from := r.Mean - r.Delta
		if i == 0 {
			from = 0
		} else {
			c.StrokeLine2(draw.LineStyle{Color: page.Faint, Width: 0.6}, at(from), mid+fallRow, at(from), mid)
			c.FillText(page.Letters(10, page.Faint, 0, -0.4), vg.Point{X: x1 + 52, Y: mid}, signed(r.Delta))
		}
		c.FillText(page.Letters(10, page.Ink, 0, -0.4), vg.Point{X: x1 + 12, Y: mid}, page.Number(r.Mean))
		c.FillPolygon(page.Fade(r.color(i), 0.75), page.Box(min(at(from), at(r.Mean)-0.8), mid-8, max(at(from), at(r.Mean)+0.8), mid+8))
		if i > 0 && !math.IsNaN(r.DeltaCI[0]) {
			pen := draw.LineStyle{Color: page.Ink, Width: 1}
			a, b := at(from+r.DeltaCI[0]), at(from+r.DeltaCI[1])
			c.StrokeLine2(pen, a, mid, b, mid)
			c.StrokeLine2(pen, a, mid-3, a, mid+3)
			c.StrokeLine2(pen, b, mid-3, b, mid+3)
		}
	}
}

// color says whether a module is the agent's own or an oracle, and whether it
// takes away.
func (r LadderRung) color(i int) color.NRGBA {
	switch {
	case i > 0 && r.Delta < 0:
		return page.Agent(1)
	case r.Oracle:
		return page.Agent(2)
	}
	return page.Agent(0)
}

// figure is the waterfall with what its colours mean.
func (l *Ladder) figure() *page.Figure {
	ends := []float64{0}
	for i, r := range l.Rungs {
		ends = append(ends, r.Mean)
		if i > 0 {
			ends = append(ends, r.Mean-r.Delta+r.DeltaCI[0], r.Mean-r.Delta+r.DeltaCI[1])
		}
	}
	lo, hi := page.Span(ends)
	n := vg.Length(len(l.Rungs))
	return &page.Figure{
		Name: "ladder", Title: "The ladder: " + l.Subject,
		Caption: "Each bar starts where the one above it ended. Whiskers: 95 % interval of the difference, measured start by start. " +
			"At the right the mean return and the difference.",
		Legend: []page.Key{
			{Name: "a module of the agent's own", Color: page.Agent(0), Area: true},
			{Name: "replaced by the truth, or searched more", Color: page.Agent(2), Area: true},
			{Name: "takes away", Color: page.Agent(1), Area: true},
		},
		Panels: []page.Panel{{
			Title: "What each module adds, and what each oracle would", W: page.WideW, H: fallRow*n + fallAxis,
			Paint: waterfall{l.Rungs, page.Round(lo, hi, 6)}.paint,
		}},
	}
}

// Bars draws the same for a terminal, width characters of bar.
func (l *Ladder) Bars(width int) string {
	f := l.Rungs
	lo, hi, name := 0., 0., 0
	for _, r := range f {
		lo, hi, name = min(lo, r.Mean), max(hi, r.Mean), max(name, len(r.Name))
	}
	if hi <= lo {
		hi = lo + 1
	}
	at := func(v float64) int { return int(float64(width)*(v-lo)/(hi-lo) + 0.5) }
	var b strings.Builder
	for i, r := range f {
		from := r.Mean - r.Delta
		if i == 0 {
			from = 0
		}
		a, z := min(at(from), at(r.Mean)), max(at(from), at(r.Mean))
		mark := "█"
		switch {
		case i > 0 && r.Delta < 0:
			mark = "░"
		case r.Oracle:
			mark = "▒"
		}
		if a == z {
			mark, z = "│", z+1
		}
		b.WriteString("  " + r.Name + strings.Repeat(" ", name-len(r.Name)+2))
		b.WriteString(strings.Repeat(" ", a) + strings.Repeat(mark, z-a) + strings.Repeat(" ", max(width+1-z, 0)))
		b.WriteString("  " + page.Number(r.Mean))
		if i > 0 {
			b.WriteString("  " + r.DeltaText())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

//go:embed ladder.html
var ladderPage string

//go:embed ladder.md
var ladderText string

// WriteLadder writes ladder.html, one file that opens offline, ladder.md and
// ladder.png into a folder.
func WriteLadder(dir string, l *Ladder) error {
	data := struct {
		*Ladder
		Fig *page.Figure
	}{l, l.figure()}
	doc := page.Document{Name: "ladder", HTML: ladderPage, Text: ladderText, Data: data, Figures: []*page.Figure{data.Fig}}
	return doc.Write(dir)
}
