// Package design says which settings a sweep tries: every combination of lists, draws
// from ranges, and which of them go on when the others are stopped early.
//
// It knows neither specs nor machines. The same design gives the same variants in the same
// order, and which variants go on follows from their scores alone, not from who was ready first.
package design

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/num/rng"
)

// Field is a field of a spec and what it is to be.
type Field struct {
	Path   string   `json:"path"`
	Values []string `json:"values,omitempty"` // one of these, or
	Range  *Range   `json:"range,omitempty"`  // drawn from here
}

// Range is what a number is drawn from.
type Range struct {
	From  float64 `yaml:"from" json:"from"`
	To    float64 `yaml:"to" json:"to"`
	Log   bool    `yaml:"log" json:"log,omitempty"`     // uniform in its logarithm
	Whole bool    `yaml:"whole" json:"whole,omitempty"` // a whole number
}

// Setting is a field and its value in one variant.
type Setting struct {
	Path  string `json:"path"`
	Value string `json:"value"`
}

// Variant is one combination.
type Variant struct {
	Name     string    `json:"name"` // what its folder is called
	Settings []Setting `json:"settings"`
}

// Grid returns every combination of the fields' values, the last field fastest.
func Grid(fields []Field) ([]Variant, error) {
	list := []Variant{{}}
	for _, f := range fields {
		if f.Range != nil || len(f.Values) == 0 {
			return nil, fmt.Errorf("sweep: %s has no list of values; ranges are for draws (draws: N)", f.Path)
		}
		var next []Variant
		for _, v := range list {
			for _, value := range f.Values {
				next = append(next, Variant{Settings: append(slices.Clone(v.Settings), Setting{f.Path, value})})
			}
		}
		if list = next; len(list) > 1_000_000 {
			return nil, fmt.Errorf("sweep: more than a million combinations")
		}
	}
	return named(list, fields), nil
}

// Draw returns n draws of the fields. The draws of a smaller n are the first of a larger.
func Draw(fields []Field, n int, seed uint64) ([]Variant, error) {
	var errs []error
	for _, f := range fields {
		if r := f.Range; r != nil {
			switch {
			case !(r.From < r.To) || math.IsInf(r.To-r.From, 0):
				errs = append(errs, fmt.Errorf("sweep: %s is drawn from %v to %v, want from below to", f.Path, r.From, r.To))
			case r.Log && r.From <= 0:
				errs = append(errs, fmt.Errorf("sweep: %s is drawn in logarithms from %v, want more than 0", f.Path, r.From))
			}
		} else if len(f.Values) == 0 {
			errs = append(errs, fmt.Errorf("sweep: %s has neither values nor a range", f.Path))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	list := make([]Variant, n)
	for i := range list {
		for _, f := range fields {
			r := rng.New(seed).Child("sweep", i).Child(f.Path, 0).Rand()
			list[i].Settings = append(list[i].Settings, Setting{f.Path, f.draw(&r)})
		}
	}
	return named(list, fields), nil
}

func (f Field) draw(r *rng.Rand) string {
	g := f.Range
	if g == nil {
		return f.Values[r.IntN(len(f.Values))]
	}
	u := r.Float64()
	x := g.From + u*(g.To-g.From)
	if g.Log {
		x = math.Exp(math.Log(g.From) + u*(math.Log(g.To)-math.Log(g.From)))
	}
	if g.Whole {
		return strconv.FormatFloat(math.Round(x), 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// named gives variants the names of their folders: what differs between them, shortly, or
// a number where that would be too long.
func named(list []Variant, fields []Field) []Variant {
	differ := map[string]bool{}
	for _, f := range fields {
		differ[f.Path] = f.Range != nil || len(f.Values) > 1
	}
	short := shortest(slices.Sorted(maps.Keys(differ)))
	seen := map[string]int{}
	for i := range list {
		var words []string
		for _, s := range list[i].Settings {
			if differ[s.Path] {
				words = append(words, short[s.Path]+"="+clean(s.Value))
			}
		}
		name := strings.Join(words, ",")
		if name == "" {
			name = "all"
		}
		if len(name) > 100 {
			name = fmt.Sprintf("%s~%04d", strings.TrimRight(name[:90], ",="), i)
		}
		if seen[name]++; seen[name] > 1 { // drawn twice
			name = fmt.Sprintf("%s~%04d", name, i)
		}
		list[i].Name = name
	}
	return list
}

// shortest returns the last words of paths, as many as tell them apart.
func shortest(paths []string) map[string]string {
	out := map[string]string{}
	for _, p := range paths {
		words := strings.Split(p, ".")
		for n := 1; n <= len(words); n++ {
			end := strings.Join(words[len(words)-n:], ".")
			same := 0
			for _, q := range paths {
				if q == end || strings.HasSuffix(q, "."+end) {
					same++
				}
			}
			if out[p] = end; same == 1 {
				break
			}
		}
	}
	return out
}

// clean makes a value a part of a folder's name on every system.
func clean(v string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("+-._", r):
			return r
		}
		return '_'
	}, v)
}

// Split reads the values of a field as they stand on a command line: parts between commas,
// but for those within brackets.
func Split(text string) (list []string) {
	depth, from := 0, 0
	for i, r := range text {
		switch r {
		case '[', '{', '(':
			depth++
		case ']', '}', ')':
			depth--
		case ',':
			if depth == 0 {
				list, from = append(list, text[from:i]), i+1
			}
		}
	}
	return append(list, text[from:])
}

// Halving stops variants early: all are trained to the first rung, the best of them to the
// next, and so on (successive halving; Li et al. 2020 call it ASHA if nobody waits for the
// slowest).
//
// Here the best are chosen among the variants in their order, as soon as the next few are there:
// of the first n variants at a rung, the best n/Keep go on. Whoever is late holds up those
// behind it and nobody else, and what goes on does not depend on who was ready first.
type Halving struct {
	Metric string `yaml:"metric" json:"metric"`         // by which they are compared, such as return/mean
	Least  bool   `yaml:"least" json:"least,omitempty"` // the smallest is best
	Rungs  []int  `yaml:"rungs" json:"rungs"`           // env steps, growing; the last is all of a training
	Keep   int    `yaml:"keep" json:"keep"`             // one of so many goes on
}

// Validate returns what is wrong with it.
func (h *Halving) Validate() error {
	var errs []error
	if h.Metric == "" {
		errs = append(errs, errors.New("sweep: halving.metric is empty; name a column of metrics.csv, such as return/mean"))
	}
	if h.Keep < 2 {
		errs = append(errs, fmt.Errorf("sweep: halving.keep is %d, want at least 2: one of so many goes on", h.Keep))
	}
	if len(h.Rungs) < 2 || h.Rungs[0] < 1 || !slices.IsSorted(h.Rungs) || len(slices.Compact(slices.Clone(h.Rungs))) != len(h.Rungs) {
		errs = append(errs, fmt.Errorf("sweep: halving.rungs are %v, want two or more growing numbers of env steps", h.Rungs))
	}
	return errors.Join(errs...)
}

// Ladder is how far every variant has come.
type Ladder struct {
	h     *Halving
	rungs []rung
}

// rung is the variants that were let onto a rung, in the order in which they were.
type rung struct {
	order  []int
	score  map[int]float64 // NaN: it failed
	on     map[int]bool    // went on to the next rung
	looked int             // how many of the order have been looked at
}

// NewLadder lets n variants onto the first rung.
func NewLadder(h *Halving, n int) *Ladder {
	l := &Ladder{h: h, rungs: make([]rung, len(h.Rungs))}
	for i := range l.rungs {
		l.rungs[i] = rung{score: map[int]float64{}, on: map[int]bool{}}
	}
	for v := range n {
		l.rungs[0].order = append(l.rungs[0].order, v)
	}
	return l
}

// Score notes what a variant came to on a rung, NaN if it failed, and returns
// who goes on to the next, in order. A score that is known already changes nothing.
func (l *Ladder) Score(at, variant int, score float64) (on []int) {
	r := &l.rungs[at]
	if _, known := r.score[variant]; known || at == len(l.rungs)-1 {
		r.score[variant] = score
		return nil
	}
	r.score[variant] = score
	for r.looked < len(r.order) {
		if _, known := r.score[r.order[r.looked]]; !known {
			break
		}
		r.looked++
		on = append(on, l.best(at)...)
	}
	return on
}

// best lets those onto the next rung that are among the best of those that were looked at.
func (l *Ladder) best(at int) (on []int) {
	r := &l.rungs[at]
	list := slices.Clone(r.order[:r.looked])
	slices.SortStableFunc(list, func(a, b int) int { return l.better(r.score[a], r.score[b]) })
	for _, v := range list[:r.looked/l.h.Keep] {
		if !r.on[v] && !math.IsNaN(r.score[v]) {
			r.on[v] = true
			on = append(on, v)
			l.rungs[at+1].order = append(l.rungs[at+1].order, v)
		}
	}
	return on
}

// better orders scores, the best first, those that failed last.
func (l *Ladder) better(a, b float64) int {
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		return cmp.Compare(btoi(math.IsNaN(a)), btoi(math.IsNaN(b)))
	case l.h.Least:
		return cmp.Compare(a, b)
	}
	return cmp.Compare(b, a)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Stopped returns the variants that stay on a rung below the last, with the rung, once no
// score is missing.
func (l *Ladder) Stopped() map[int]int {
	out := map[int]int{}
	for at := range l.rungs[:len(l.rungs)-1] {
		for _, v := range l.rungs[at].order {
			if _, known := l.rungs[at].score[v]; known && !l.rungs[at].on[v] {
				out[v] = at
			}
		}
	}
	return out
}
