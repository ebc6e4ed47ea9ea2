package design

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

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
