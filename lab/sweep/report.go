package sweep

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/report/sweeps"
	"github.com/hop-marl/hop/lab/sweep/queue"
	"github.com/hop-marl/hop/store/runlog"
)

// Report writes the page of a sweep as it stands: report.html, report.md and report.json in its folder.
func Report(dir string) error {
	s, err := Read(dir)
	if err != nil {
		return err
	}
	x, err := ReadIndex(dir)
	if err != nil {
		return err
	}
	return sweeps.Write(dir, s.table(dir, x))
}

// table is what a sweep has found so far. Variants are compared by what their final agents get; where some
// were stopped early, by the metric of the halving on the first rung, which all of them have.
func (s *Sweep) table(dir string, x *Index) *sweeps.Table {
	t := &sweeps.Table{
		Base: s.Base, Build: s.Build, Seeds: len(s.Seeds), Spent: x.Spent, Jobs: len(x.Jobs), CPU: x.CPU, Wall: x.Wall,
		Score: "mean return of the final agents", Drawn: s.Drawn, Loose: s.Loose() || x.Loose(),
	}
	if h := s.Halving; h != nil {
		t.Score, t.Least, t.Rungs = fmt.Sprintf("%s at env step %d", h.Metric, h.Rungs[0]), h.Least, h.Rungs
	}
	vary := s.vary()
	for _, path := range vary {
		t.Fields = append(t.Fields, sweeps.Field{Path: path})
	}
	at := map[string]int{}
	for i, v := range s.Variants {
		row := sweeps.Variant{Name: v.Name}
		for _, path := range vary {
			for _, set := range v.Settings {
				if set.Path == path {
					row.Values = append(row.Values, set.Value)
				}
			}
		}
		t.Variants, at[v.Name] = append(t.Variants, row), i
	}
	runs := make([]float64, len(s.Variants)) // by which the cost is divided
	rungs := make([]map[int][]float64, len(s.Variants))
	for _, e := range x.Jobs {
		if e.Phase == queue.Failed {
			t.Failed = append(t.Failed, sweeps.Failure{Job: e.Name, Why: e.Why, Tries: e.Attempt})
		}
		if e.Again != "" {
			t.Again = append(t.Again, sweeps.Failure{Job: e.Name, Why: e.Again, Tries: e.Attempt})
		}
		if e.Kind != Training || e.Phase != queue.Done {
			continue
		}
		i, known := at[e.Variant]
		if !known {
			continue
		}
		v := &t.Variants[i]
		v.CPU += e.Cost.CPU
		if e.Rung == 0 {
			runs[i]++
		}
		switch {
		case s.Halving == nil:
			if mean, ok := final(filepath.Join(dir, filepath.FromSlash(e.Place))); ok {
				v.Scores = append(v.Scores, mean)
			}
		case e.Score != nil:
			if rungs[i] == nil {
				rungs[i] = map[int][]float64{}
			}
			rungs[i][e.Rung] = append(rungs[i][e.Rung], *e.Score)
		}
	}
	for i := range t.Variants {
		v := &t.Variants[i]
		v.CPU /= max(runs[i], 1)
		if s.Halving == nil {
			continue
		}
		v.Scores = rungs[i][0]
		for r, step := range s.Halving.Rungs {
			if list := rungs[i][r]; len(list) > 0 {
				sum := 0.
				for _, x := range list {
					sum += x
				}
				v.At, v.Stopped = append(v.At, sum/float64(len(list))), step
			}
		}
		if v.Stopped == s.Halving.Rungs[len(s.Halving.Rungs)-1] {
			v.Stopped = 0 // it was trained to the end
		}
	}
	return t
}

// vary are the fields of which variants have different values, in order.
func (s *Sweep) vary() (list []string) {
	for _, set := range s.Variants[0].Settings {
		for _, v := range s.Variants {
			differs := false
			for _, other := range v.Settings {
				differs = differs || other.Path == set.Path && other.Value != set.Value
			}
			if differs {
				list = append(list, set.Path)
				break
			}
		}
	}
	return list
}

// final is what a run's final agents get; false if it is not scored.
func final(dir string) (float64, bool) {
	rec, err := runlog.Read(dir)
	if err != nil {
		return 0, false
	}
	b, err := rec.Result()
	var r lab.SeedResult
	if err != nil || b == nil || json.Unmarshal(b, &r) != nil {
		return 0, false
	}
	return r.Mean, true
}
