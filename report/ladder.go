package report

import (
	_ "embed"
	"errors"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

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

// Range writes an interval.
func (s LadderSingle) Range() string { return number(s.CI[0]) + " to " + number(s.CI[1]) }

// Range writes the interval of the mean.
func (r LadderRung) Range() string { return number(r.CI[0]) + " to " + number(r.CI[1]) }

// DeltaText writes the difference to the rung below with its interval.
func (r LadderRung) DeltaText() string {
	return signed(r.Delta) + " (" + signed(r.DeltaCI[0]) + " to " + signed(r.DeltaCI[1]) + ")"
}

func signed(x float64) string {
	if x < 0 {
		return "−" + number(-x)
	}
	return "+" + number(x)
}

// The sizes of a waterfall.
const (
	fallRow   = vg.Length(27)
	fallAxis  = vg.Length(26)
	fallRight = vg.Length(128)
)

// waterfall draws the rungs from top to bottom, each from where the one before
// ended.
type waterfall struct {
	rungs  []LadderRung
	lo, hi float64
}

func (l *Ladder) waterfall() panel {
	f := waterfall{rungs: l.Rungs}
	for i, r := range l.Rungs {
		f.hi = max(f.hi, r.Mean)
		f.lo = min(f.lo, r.Mean)
		if i > 0 && !math.IsNaN(r.DeltaCI[1]) {
			f.hi, f.lo = max(f.hi, r.Mean-r.Delta+r.DeltaCI[1]), min(f.lo, r.Mean-r.Delta+r.DeltaCI[0])
		}
	}
	if f.hi <= f.lo {
		f.hi = f.lo + 1
	}
	return panel{
		Title: "What each module adds, and what each oracle would", w: wideW, h: fallRow*vg.Length(len(l.Rungs)) + fallAxis,
		paint: f.paint,
	}
}

func (f waterfall) paint(c draw.Canvas) {
	name := letters(10.5, inkColor, -1, -0.4)
	left := vg.Length(60)
	for _, r := range f.rungs {
		left = max(left, name.Width(r.Name)+14)
	}
	x0, x1 := c.Min.X+left, c.Max.X-fallRight
	at := func(v float64) vg.Length { return x0 + (x1-x0)*vg.Length((v-f.lo)/(f.hi-f.lo)) }
	bottom := c.Min.Y + fallAxis
	for _, v := range ticks(f.lo, f.hi, 6) {
		c.StrokeLine2(draw.LineStyle{Color: hairColor, Width: 0.6}, at(v), bottom, at(v), c.Max.Y)
		c.FillText(letters(9.5, faintColor, -0.5, -1), vg.Point{X: at(v), Y: bottom - 5}, axisNumber(v))
	}
	for i, r := range f.rungs {
		mid := c.Max.Y - fallRow*(vg.Length(i)+0.5)
		c.FillText(name, vg.Point{X: x0 - 10, Y: mid}, r.Name)
		from := r.Mean - r.Delta
		if i == 0 {
			from = 0
		}
		col := f.color(i)
		if i > 0 {
			c.StrokeLine2(draw.LineStyle{Color: faintColor, Width: 0.6}, at(from), mid+fallRow, at(from), mid)
		}
		c.FillPolygon(fade(col, 0.75), box(min(at(from), at(r.Mean)-0.8), mid-8, max(at(from), at(r.Mean)+0.8), mid+8))
		text := letters(10, inkColor, 0, -0.4)
		if i > 0 && !math.IsNaN(r.DeltaCI[0]) {
			pen := draw.LineStyle{Color: inkColor, Width: 1}
			a, b := at(from+r.DeltaCI[0]), at(from+r.DeltaCI[1])
			c.StrokeLine2(pen, a, mid, b, mid)
			c.StrokeLine2(pen, a, mid-3, a, mid+3)
			c.StrokeLine2(pen, b, mid-3, b, mid+3)
		}
		c.FillText(text, vg.Point{X: x1 + 14, Y: mid}, number(r.Mean))
		if i > 0 {
			c.FillText(letters(10, faintColor, 0, -0.4), vg.Point{X: x1 + 56, Y: mid}, signed(r.Delta))
		}
	}
}

// color says whether a module is the agent's own or an oracle, and whether it
// takes away.
func (f waterfall) color(i int) color.NRGBA {
	switch r := f.rungs[i]; {
	case i > 0 && r.Delta < 0:
		return agentColors[1]
	case r.Oracle:
		return agentColors[2]
	}
	return agentColors[0]
}

// Figure is the waterfall with what its colours mean.
func (l *Ladder) figure() *figure {
	return &figure{
		Name: "ladder", Title: "The ladder: " + l.Subject,
		Caption: "Each bar starts where the one above it ended. Whiskers: 95 % interval of the difference, measured start by start. At the right the mean return and the difference.",
		Legend:  []legendKey{{"a module of the agent's own", agentColors[0], true}, {"replaced by the truth, or searched more", agentColors[2], true}, {"takes away", agentColors[1], true}},
		Panels:  []panel{l.waterfall()}, cols: 1,
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
		b.WriteString("  " + number(r.Mean))
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
	f := l.figure()
	picture, err := f.png()
	if err != nil {
		return err
	}
	data := struct {
		*Ladder
		Fig *figure
	}{l, f}
	page, err := fillPage(ladderPage, data)
	if err != nil {
		return err
	}
	text, err := fillText(ladderText, data)
	if err != nil {
		return err
	}
	return errors.Join(
		os.MkdirAll(dir, 0o755), put(filepath.Join(dir, "ladder.png"), picture),
		put(filepath.Join(dir, "ladder.html"), page), put(filepath.Join(dir, "ladder.md"), text),
	)
}
