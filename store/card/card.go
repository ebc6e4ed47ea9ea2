// Package card writes report cards: what a learnt model is worth, at a glance.
//
// A card holds numbers, each beside what costs nothing to reach (baselines) and
// what cannot be passed (its limit), figures, and checks. A check asks one
// question, answers good, weak or broken, and says why and what to do. Where a
// number lies between its references is a check that the card makes itself. The
// verdict is the worst check, in a sentence; a short training is called short.
//
// A card knows nothing of the model it scores: any package that trains one
// fills a card. The same card gives the same bytes. Write puts it into a folder
// as JSON, Markdown, an HTML page and PNGs.
package card

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
)

// Ref is a number to compare with.
type Ref struct {
	Name  string
	Value float64
	Loose bool // of a limit: it may be passed, being an observer to compare with or an estimate from below
}

// Number is a measured value between its references.
type Number struct {
	Name      string
	Value     float64
	SE        float64 // its standard error; 0: that of a share of N rows
	N         int     // how many rows are behind it; 0: not a count of rows
	Unit      string  // empty for shares and plain numbers
	Lower     bool    // smaller is better
	Baselines []Ref   // reached without learning
	Limit     *Ref    // the best that can be known, nil if there is none
	Fix       string  // what to do if it is weak
	Good      float64 // how much of what can be learnt, from the best baseline to the limit, a good one has; 0: 0.8
}

// Finding says where a number lies. One that is no better than what needs no
// learning, that has less than Good of what can be learnt, or that is better than
// possible by more than three standard errors, is weak. Rows of one episode are
// not independent, hence three. NotAsked: it is
// not between two references and has not reached the one it has.
func (n Number) Finding() check.Finding {
	f := check.Finding{Check: n.Name, Status: check.NotAsked, Rows: n.N, Next: n.Fix}
	weak := func(format string, a ...any) {
		f.Status, f.Says = check.Suspect, n.Shown()+" "+fmt.Sprintf(format, a...)
	}
	if math.IsNaN(n.Value) {
		return f
	}
	base, limit := n.baseline(), n.Limit
	if limit != nil && math.IsNaN(limit.Value) {
		limit = nil
	}
	slack := 3*n.chance() + 1e-9
	reached := limit != nil && n.gain(limit.Value) >= -slack
	if limit != nil && (base != nil || reached && !limit.Loose) {
		f.Status = check.Pass
	}
	if base != nil && !reached {
		switch gain := n.gain(base.Value); {
		case gain <= 0:
			weak("is no better than %s, which needs no learning", base.Shown())
		case limit != nil && gain < cmp.Or(n.Good, 0.8)*(gain-n.gain(limit.Value)):
			weak("is %.0f %% of the way from %s, which needs no learning, to %s", 100*gain/(gain-n.gain(limit.Value)), base.Shown(), limit.Shown())
		}
	}
	if limit != nil && !limit.Loose && n.gain(limit.Value) > slack {
		weak("is better than %s, which is all that is possible: rows that are scored were learnt from, or the limit is wrong", limit.Shown())
	}
	return f
}

func (n Number) sign() float64 {
	if n.Lower {
		return -1
	}
	return 1
}

// gain returns by how much the value is better than another.
func (n Number) gain(than float64) float64 { return (n.Value - than) * n.sign() }

// chance returns the standard error.
func (n Number) chance() float64 {
	if n.SE == 0 && n.N > 0 && n.Unit == "" && n.Value >= 0 && n.Value <= 1 {
		return math.Sqrt(n.Value * (1 - n.Value) / float64(n.N))
	}
	return n.SE
}

// baseline returns the best one, nil if there is none.
func (n Number) baseline() *Ref {
	var best *Ref
	for i, r := range n.Baselines {
		if !math.IsNaN(r.Value) && (best == nil || (r.Value-best.Value)*n.sign() > 0) {
			best = &n.Baselines[i]
		}
	}
	return best
}

// Card scores one model. Its zero value is an empty card.
type Card struct {
	Title   string
	About   string // a sentence on what was scored
	Short   string // why the training was too short to judge the model by; empty: it was not
	Numbers []Number
	Checks  []check.Finding
	Figures []*plot.Figure
	Notes   []string // shown below the figures
}

// Add appends a number.
func (c *Card) Add(n Number) { c.Numbers = append(c.Numbers, n) }

// Check appends a check with the status that good and tolerable give: good if
// the first holds, weak if only the second does, else broken. fix is kept only
// where something is to be fixed.
func (c *Card) Check(name string, good, tolerable bool, why, fix string) {
	s := check.Fault
	switch {
	case good:
		s = check.Pass
	case tolerable:
		s = check.Suspect
	}
	c.Answer(check.Finding{Check: name, Status: s, Says: why, Next: fix})
}

// Ask is Check of a question that several cards ask.
func (c *Card) Ask(q check.Question, good, tolerable bool, why string) {
	c.Check(q.Name, good, tolerable, why, q.Fix)
}

// Answer appends a check.
func (c *Card) Answer(f check.Finding) {
	if f.Status < check.Suspect {
		f.Next = ""
	}
	c.Checks = append(c.Checks, f)
}

// Findings returns the checks, and the numbers that are weak where they lie.
func (c *Card) Findings() []check.Finding {
	out := slices.Clone(c.Checks)
	for _, n := range c.Numbers {
		if f := n.Finding(); f.Status > check.Pass {
			out = append(out, f)
		}
	}
	return out
}

// Find returns the finding of that name, nil if there is none.
func (c *Card) Find(name string) *check.Finding {
	list := c.Findings()
	if i := slices.IndexFunc(list, func(f check.Finding) bool { return f.Check == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// Status returns that of the worst finding, Pass without checks. A model whose
// training was short is not called good.
func (c *Card) Status() check.Status {
	s := check.Pass
	if c.Short != "" {
		s = check.Suspect
	}
	if list := c.Findings(); check.Worst(list) >= 0 {
		s = max(s, list[check.Worst(list)].Status)
	}
	return s
}

// Verdict says in a sentence what the model is worth, and which finding says so.
func (c *Card) Verdict() string {
	if c.Short != "" {
		return "short: " + c.Short + "; so far " + c.verdict()
	}
	return c.verdict()
}

func (c *Card) verdict() string {
	list := c.Findings()
	i, asked, more := check.Worst(list), 0, -1
	for _, f := range list {
		if f.Status >= check.Pass {
			asked++
		}
		if f.Status > check.Pass {
			more++
		}
	}
	switch {
	case asked == 0:
		return "not scored: the card has no checks"
	case i < 0:
		return fmt.Sprintf("good: all %d checks pass", asked)
	}
	w := list[i]
	s := fmt.Sprintf("%s: %s: %s", w.Status.Grade(), w.Check, w.Says)
	if w.Next != "" {
		s += "; " + w.Next
	}
	if more > 0 {
		s += fmt.Sprintf(" (and %d more)", more)
	}
	return s
}

// MarshalJSON writes the name and the value.
func (r Ref) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name  string       `json:"name"`
		Value stats.Number `json:"value"`
		Loose bool         `json:"loose,omitempty"`
	}{r.Name, stats.Number(r.Value), r.Loose})
}

// MarshalJSON writes the number with its references.
func (n Number) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name      string       `json:"name"`
		Value     stats.Number `json:"value"`
		Status    string       `json:"status,omitempty"`
		N         int          `json:"n,omitempty"`
		Unit      string       `json:"unit,omitempty"`
		Lower     bool         `json:"lower_is_better,omitempty"`
		Baselines []Ref        `json:"baselines,omitempty"`
		Limit     *Ref         `json:"limit,omitempty"`
	}{n.Name, stats.Number(n.Value), n.Grade(), n.N, n.Unit, n.Lower, n.Baselines, n.Limit})
}

// MarshalJSON writes the card without the figures' pixels.
func (c *Card) MarshalJSON() ([]byte, error) {
	type fig struct {
		File    string `json:"file"`
		Title   string `json:"title"`
		Caption string `json:"caption,omitempty"`
	}
	type checkJSON struct {
		Name   string `json:"name"`
		Status string `json:"status"`
		Why    string `json:"why"`
		Fix    string `json:"fix,omitempty"`
	}
	var figs []fig
	var checks []checkJSON
	for _, f := range c.Findings() {
		checks = append(checks, checkJSON{f.Check, f.Status.Grade(), f.Says, f.Next})
	}
	for _, f := range c.Figures {
		figs = append(figs, fig{f.Name + ".png", f.Title, f.Caption})
	}
	return json.Marshal(struct {
		Title   string      `json:"title"`
		About   string      `json:"lead,omitempty"`
		Status  string      `json:"status"`
		Verdict string      `json:"verdict"`
		Short   string      `json:"short,omitempty"`
		Numbers []Number    `json:"numbers"`
		Checks  []checkJSON `json:"checks"`
		Figures []fig       `json:"figures,omitempty"`
		Notes   []string    `json:"notes,omitempty"`
	}{c.Title, c.About, c.Status().Grade(), c.Verdict(), c.Short, c.Numbers, checks, figs, c.Notes})
}

// show writes a number as people read it.
func show(v float64, unit string) string {
	var s string
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case v == math.Trunc(v) && a < 1e7:
		s = fmt.Sprintf("%.0f", v)
	case a >= 1000:
		s = fmt.Sprintf("%.0f", v)
	case a >= 10:
		s = fmt.Sprintf("%.2f", v)
	case a < 0.001 && a > 0:
		s = fmt.Sprintf("%.2e", v)
	default:
		s = fmt.Sprintf("%.4f", v)
	}
	return strings.TrimSpace(s + " " + unit)
}

//go:embed card.html
var pageText string

//go:embed card.md
var markdownText string

func (c *Card) document() *plot.Document {
	return &plot.Document{Name: "card", HTML: pageText, Text: markdownText, Data: c, Figures: c.Figures}
}

// Write puts the card into a folder, which it makes: card.json, card.md,
// card.html and one PNG per figure.
func (c *Card) Write(dir string) error {
	d := c.document()
	d.JSON = c
	return d.Write(dir)
}

// Markdown returns the card as text; figures are linked by file name.
func (c *Card) Markdown() string {
	b, err := c.document().Markdown()
	if err != nil {
		panic("card: the template does not fit its data")
	}
	return string(b)
}

// Shown writes the value.
func (n Number) Shown() string { return show(n.Value, n.Unit) }

// Beside writes what is reached without learning.
func (n Number) Beside() string {
	var list []string
	for _, r := range n.Baselines {
		list = append(list, r.Shown())
	}
	return strings.Join(list, ", ")
}

// Grade writes where the value lies, "" if there is nothing to compare it with.
func (n Number) Grade() string {
	if s := n.Finding().Status; s != check.NotAsked {
		return s.Grade()
	}
	return ""
}

// Shown writes the name and the value.
func (r Ref) Shown() string { return r.Name + " " + show(r.Value, "") }

// Loose reports whether a limit of the card may be passed.
func (c *Card) Loose() bool {
	return slices.ContainsFunc(c.Numbers, func(n Number) bool { return n.Limit != nil && n.Limit.Loose })
}

// Label returns the number's name with the direction that is better.
func (n Number) Label() string {
	if n.Lower {
		return n.Name + " ↓"
	}
	return n.Name
}
