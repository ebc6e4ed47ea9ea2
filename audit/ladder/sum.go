package ladder

import (
	"fmt"
	"strings"

	"github.com/hop-marl/hop/num/stats"
)

// Mean is a mean with its 95 % interval.
type Mean struct {
	Mean float64        `json:"mean"`
	CI   stats.Interval `json:"ci"`
}

// Step is a rung as it was measured.
type Step struct {
	Name   string `json:"name"`
	Module string `json:"module"`
	Oracle bool   `json:"oracle"`
	Mean
	Vs   []Mean    `json:"vs"`   // by setting
	Runs []float64 `json:"runs"` // by run, mean over settings
}

// Delta is the difference between two rungs, measured in pairs.
type Delta struct {
	From   string         `json:"from"`
	To     string         `json:"to"`
	Module string         `json:"module"`
	Oracle bool           `json:"oracle"`
	Delta  float64        `json:"delta"`
	CI     stats.Interval `json:"ci"`
}

// Single is one oracle put in alone.
type Single struct {
	Name   string `json:"name"`
	Module string `json:"module"`
	Mean
	Delta   float64        `json:"delta"` // over the agent as trained
	DeltaCI stats.Interval `json:"delta_ci"`
	Share   float64        `json:"share"` // of the gap to the best response; 0 if none is shown
}

// Result is the whole ladder.
type Result struct {
	Rungs   []Step   `json:"rungs"`
	Deltas  []Delta  `json:"deltas"` // between neighbours; they add up to Gap
	Gap     Delta    `json:"gap"`    // from the lowest rung to the highest
	Short   Delta    `json:"short"`  // from the agent as trained to the best response
	Singles []Single `json:"singles"`
	Best    string   `json:"best"` // the single replacement that closes most of Short; "" if none helps
	Says    string   `json:"says"`
	Seeds   int      `json:"seeds"`
}

// sum turns returns, [rung][run][setting][episode], into means and differences.
func sum(c Config, rungs []Rung, x [][][][]float64, alone []Rung, y [][][][]float64, trained int) *Result {
	res := &Result{Seeds: len(c.Runs)}
	for i, r := range rungs {
		st := Step{Name: r.Name, Module: r.Module, Oracle: r.Oracle, Mean: meanOf(flat(x[i]))}
		for v := range c.Vs {
			st.Vs = append(st.Vs, meanOf(pick(x[i], v)))
		}
		for _, run := range flat(x[i]) {
			m, _ := stats.MeanCI(run, 0.95)
			st.Runs = append(st.Runs, m)
		}
		res.Rungs = append(res.Rungs, st)
		if i > 0 {
			res.Deltas = append(res.Deltas, between(rungs[i-1], r, x[i-1], x[i]))
		}
	}
	top := len(rungs) - 1
	res.Gap = between(rungs[0], rungs[top], x[0], x[top])
	res.Short = between(rungs[trained], rungs[top], x[trained], x[top])
	for i, r := range alone {
		d := between(rungs[trained], r, x[trained], y[i])
		s := Single{Name: r.Name, Module: r.Module, Mean: meanOf(flat(y[i])), Delta: d.Delta, DeltaCI: d.CI}
		if res.Short.CI[0] > 0 { // else the gap may be none
			s.Share = d.Delta / res.Short.Delta
		}
		res.Singles = append(res.Singles, s)
	}
	res.conclude(c, func(i, k int) Delta { return between(alone[k], alone[i], y[k], y[i]) })
	return res
}

// conclude says which module to work on first, if that can be told. ahead returns
// how much more replacement i brings than k.
func (r *Result) conclude(c Config, ahead func(i, k int) Delta) {
	var teams []string
	for _, vs := range c.Vs {
		teams = append(teams, strings.Join(vs, ","))
	}
	full := r.Rungs[0]
	for _, s := range r.Rungs {
		if s.Name == asTrained {
			full = s
		}
	}
	r.Says = fmt.Sprintf("Against %s the agent gets %.3f as trained, %.3f less than the best response (95 %% %.3f to %.3f).",
		strings.Join(teams, " | "), full.Mean.Mean, r.Short.Delta, r.Short.CI[0], r.Short.CI[1])
	best := -1
	for i, s := range r.Singles {
		if s.DeltaCI[0] > 0 && (best < 0 || s.Delta > r.Singles[best].Delta) {
			best = i
		}
	}
	switch {
	case !(r.Short.CI[0] > 0):
		r.Says += " That is within what chance allows: no module costs anything that this many episodes would show."
	case best < 0:
		r.Says += " No single replacement closes a part of that beyond chance."
	default:
		s := r.Singles[best]
		r.Best = s.Name
		r.Says += fmt.Sprintf(" Of the single replacements that are shown to help, %s brings most: %.3f (95 %% %.3f to %.3f).",
			s.Name, s.Delta, s.DeltaCI[0], s.DeltaCI[1])
		var alike []string
		for k, o := range r.Singles {
			if k != best && !(ahead(best, k).CI[0] > 0) {
				alike = append(alike, fmt.Sprintf("%s (%.3f)", o.Name, o.Delta))
			}
		}
		if len(alike) > 0 {
			r.Says += fmt.Sprintf(" It cannot be told apart from %s: play more episodes before choosing.", strings.Join(alike, " and "))
		} else {
			r.Says += fmt.Sprintf(" Work on the %s first.", s.Module)
		}
	}
}

// flat averages over settings: [run][episode]. Each setting counts alike.
func flat(x [][][]float64) [][]float64 {
	out := make([][]float64, len(x))
	for i, run := range x {
		out[i] = make([]float64, len(run[0]))
		for _, vs := range run {
			for e, v := range vs {
				out[i][e] += v / float64(len(run))
			}
		}
	}
	return out
}

// pick returns one setting: [run][episode].
func pick(x [][][]float64, v int) [][]float64 {
	out := make([][]float64, len(x))
	for i := range x {
		out[i] = x[i][v]
	}
	return out
}

// meanOf returns the mean over runs and episodes. From three runs on the
// interval is over runs; with fewer it is over episodes, and says nothing about
// how other seeds would have ended.
func meanOf(x [][]float64) Mean {
	var all, runs stats.Acc
	for _, run := range x {
		var one stats.Acc
		for _, v := range run {
			one.Add(v)
		}
		all.Merge(one)
		runs.Add(one.Mean())
	}
	if len(x) >= 3 {
		return Mean{runs.Mean(), runs.CI(0.95)}
	}
	return Mean{all.Mean(), all.CI(0.95)}
}

// between subtracts two rungs start by start.
func between(a, b Rung, x, y [][][]float64) Delta {
	p, q := flat(x), flat(y)
	for i := range p {
		for e := range p[i] {
			q[i][e] -= p[i][e]
		}
	}
	m := meanOf(q)
	return Delta{From: a.Name, To: b.Name, Module: b.Module, Oracle: b.Oracle, Delta: m.Mean, CI: m.CI}
}
