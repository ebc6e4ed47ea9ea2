// Package card writes report cards: what a learnt model is worth, at a glance.
//
// A card holds numbers, each beside what costs nothing to reach (baselines) and
// what cannot be passed (its limit), figures, and checks. A check asks one
// question, answers good, weak or broken, and says why and what to do. The
// verdict is the worst check, in a sentence.
//
// A card knows nothing of the model it scores: any package that trains one
// fills a card. The same card gives the same bytes. Write puts it into a folder
// as JSON, Markdown, a piece of HTML for a larger page, and PNGs.
package card

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// Status is the answer of a check.
type Status string

// The answers, best first.
const (
	Good   Status = "good"
	Weak   Status = "weak"
	Broken Status = "broken"
)

func (s Status) rank() int {
	switch s {
	case Good:
		return 0
	case Weak:
		return 1
	}
	return 2
}

// Check is one question about a model.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Why    string `json:"why"`           // what was seen, with its numbers
	Fix    string `json:"fix,omitempty"` // what to do about it
}

// Ref is a number to compare with.
type Ref struct {
	Name  string
	Value float64
}

// Number is a measured value between its references.
type Number struct {
	Name      string
	Value     float64
	N         int    // how many rows are behind it; 0: not a count of rows
	Unit      string // empty for shares and plain numbers
	Lower     bool   // smaller is better
	Baselines []Ref  // reached without learning
	Limit     *Ref   // the best that can be known, nil if there is none
}

// Card scores one model. Its zero value is an empty card.
type Card struct {
	Title   string
	Lead    string // a sentence on what was scored
	Numbers []Number
	Checks  []Check
	Figures []Figure
	Notes   []string // shown below the figures
}

// Add appends a number.
func (c *Card) Add(n Number) { c.Numbers = append(c.Numbers, n) }

// Check appends a check with the status that good and tolerable give: good if
// the first holds, weak if only the second does, else broken. fix is kept only
// where something is to be fixed.
func (c *Card) Check(name string, good, tolerable bool, why, fix string) {
	s := Broken
	switch {
	case good:
		s, fix = Good, ""
	case tolerable:
		s = Weak
	}
	c.Checks = append(c.Checks, Check{name, s, why, fix})
}

// Find returns the check of that name, nil if there is none.
func (c *Card) Find(name string) *Check {
	for i := range c.Checks {
		if c.Checks[i].Name == name {
			return &c.Checks[i]
		}
	}
	return nil
}

// Worst returns the first of the worst checks, nil if there are none.
func (c *Card) Worst() *Check {
	var w *Check
	for i := range c.Checks {
		if w == nil || c.Checks[i].Status.rank() > w.Status.rank() {
			w = &c.Checks[i]
		}
	}
	return w
}

// Status returns that of the worst check, Good without checks.
func (c *Card) Status() Status {
	if w := c.Worst(); w != nil {
		return w.Status
	}
	return Good
}

// Verdict says in a sentence what the model is worth, and which check says so.
func (c *Card) Verdict() string {
	w := c.Worst()
	switch {
	case w == nil:
		return "not scored: the card has no checks"
	case w.Status == Good:
		return fmt.Sprintf("good: all %d checks pass", len(c.Checks))
	}
	s := fmt.Sprintf("%s: %s: %s", w.Status, w.Name, w.Why)
	if w.Fix != "" {
		s += "; " + w.Fix
	}
	if more := c.count(Weak) + c.count(Broken) - 1; more > 0 {
		s += fmt.Sprintf(" (and %d more)", more)
	}
	return s
}

func (c *Card) count(s Status) int {
	n := 0
	for _, k := range c.Checks {
		if k.Status == s {
			n++
		}
	}
	return n
}

// jsonFloat is null where a number is not finite.
type jsonFloat float64

// MarshalJSON writes the number, or null.
func (f jsonFloat) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// MarshalJSON writes the name and the value.
func (r Ref) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name  string    `json:"name"`
		Value jsonFloat `json:"value"`
	}{r.Name, jsonFloat(r.Value)})
}

// MarshalJSON writes the number with its references.
func (n Number) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name      string    `json:"name"`
		Value     jsonFloat `json:"value"`
		N         int       `json:"n,omitempty"`
		Unit      string    `json:"unit,omitempty"`
		Lower     bool      `json:"lower_is_better,omitempty"`
		Baselines []Ref     `json:"baselines,omitempty"`
		Limit     *Ref      `json:"limit,omitempty"`
	}{n.Name, jsonFloat(n.Value), n.N, n.Unit, n.Lower, n.Baselines, n.Limit})
}

// MarshalJSON writes the card without the figures' pixels.
func (c *Card) MarshalJSON() ([]byte, error) {
	type fig struct {
		File    string `json:"file"`
		Title   string `json:"title"`
		Caption string `json:"caption,omitempty"`
	}
	var figs []fig
	for _, f := range c.Figures {
		figs = append(figs, fig{f.Name + ".png", f.Title, f.Caption})
	}
	return json.Marshal(struct {
		Title   string   `json:"title"`
		Lead    string   `json:"lead,omitempty"`
		Status  Status   `json:"status"`
		Verdict string   `json:"verdict"`
		Numbers []Number `json:"numbers"`
		Checks  []Check  `json:"checks"`
		Figures []fig    `json:"figures,omitempty"`
		Notes   []string `json:"notes,omitempty"`
	}{c.Title, c.Lead, c.Status(), c.Verdict(), c.Numbers, c.Checks, figs, c.Notes})
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

// Spikes returns where a loss that had fallen returns at least half of the way
// to its start within one point, as it does when a model is saved but a fresh
// one goes on.
func Spikes(curve []float64) []int {
	var at []int
	if len(curve) == 0 {
		return at
	}
	start, low := curve[0], curve[0]
	for i := 1; i < len(curve); i++ {
		if fallen := start - low; fallen > 0.1*start && curve[i]-curve[i-1] > 0.5*fallen {
			at = append(at, i)
		}
		low = min(low, curve[i])
	}
	return at
}
