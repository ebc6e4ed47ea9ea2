package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/serve/curve"
	"github.com/hop-marl/hop/serve/runs"
	"github.com/hop-marl/hop/store/runlog"
)

// curveGroup is a chosen training, or all of those that have the same value of a field.
type curveGroup struct {
	Label string `json:"label"`
	Runs  int    `json:"runs"` // trainings
}

// chosenRuns are the runs of a query.
type chosenRuns struct {
	list   []*curveRun
	groups []curveGroup
	field  string // by which they are grouped; "": each training is a group
	many   bool
	rows   []runs.Row
}

// specFacts is what curves need of a spec.
type specFacts struct {
	warm   int // windows
	who    []string
	refs   []plot.Ref
	runs   bool            // a training of it runs programs that it names
	bounds *stats.Interval // of a mean return, by construction; nil: not known
}

// facts reads a run's spec. Of one that this version does not read there are none.
func (s *Server) facts(dir string) specFacts {
	text, err := runlog.ReadSpec(dir)
	if err != nil {
		return specFacts{}
	}
	key := fmt.Sprintf("spec %x", sha256.Sum256(text))
	if f, ok := s.cache.Get(key); ok {
		return f.(specFacts)
	}
	var f specFacts
	if spec, err := s.c.Lab.Reg.Parse(text, "spec.yaml", "", nil); err == nil {
		f = specFacts{warm: spec.Train.Warm.Windows, who: spec.Train.Warm.Who, refs: references(&spec), runs: len(spec.Executes()) > 0}
		if b, ok := spec.Game.Bounds(); ok {
			f.bounds = &b
		}
	}
	s.cache.Put(key, f, 1024)
	return f
}

// chosen finds the runs of a query and brings their indexes up to date, side by side.
func (s *Server) chosen(q curvesQuery, most time.Duration) (*chosenRuns, error) {
	look := s.shelf.Now()
	c := &chosenRuns{field: q.group}
	rows, names := []runs.Row{}, slices.Compact(slices.Sorted(slices.Values(q.runs)))
	if len(names) == len(q.runs) {
		names = q.runs // in the order of the address
	}
	if q.choice != nil {
		for _, r := range look.Choose(*q.choice) {
			names = append(names, r.Name)
		}
	}
	if c.many = len(names) > maxRuns; c.many {
		c.field = cmp.Or(c.field, "preset")
	}
	for _, name := range names {
		row, ok := look.Row(name)
		if !ok {
			_, title, _ := strings.Cut(name, ":")
			row = runs.Row{Training: &runs.Training{Name: name, Title: title}}
			above, _ := path.Split(name)
			if of, ok := look.Row(strings.TrimSuffix(above, "/")); ok { // a seed of a training
				row.Preset, row.Rules, row.Unit, row.Settings = of.Preset, of.Rules, of.Unit, of.Settings
			}
		}
		rows = append(rows, row)
	}
	c.rows = rows
	groups := c.sort(rows)
	for i, row := range rows {
		if err := s.add(c, look, row, groups[i]); err != nil {
			return nil, err
		}
	}
	s.extend(c.list, time.Now().Add(most), q.axis != curve.Steps || slices.Contains(q.metrics, runlog.RateMetric) || !c.many)
	described := map[string]bool{} // of many runs the specs of a few are read
	for _, r := range c.list {
		if key := fmt.Sprint(r.group, r.rules); r.index != nil && !(c.many && described[key]) {
			described[key] = true
			s.describe(r)
		}
	}
	return c, nil
}

// sort finds the groups of some trainings and returns each one's number.
func (c *chosenRuns) sort(rows []runs.Row) (number []int) {
	if c.field == "" {
		for i, r := range rows {
			c.groups = append(c.groups, curveGroup{r.Title, 1})
			number = append(number, i)
		}
		return number
	}
	count := map[string]int{}
	for _, r := range rows {
		count[r.Field(c.field)]++
	}
	at := map[string]int{}
	for i, value := range slices.SortedFunc(maps.Keys(count), naturally) {
		at[value] = i
		c.groups = append(c.groups, curveGroup{c.field + "=" + cmp.Or(value, "–"), count[value]})
	}
	for _, r := range rows {
		number = append(number, at[r.Field(c.field)])
	}
	return number
}

// differ returns the fields in which the chosen trainings differ.
func (c *chosenRuns) differ() []string {
	list := []string{}
	paths := map[string]bool{}
	for _, r := range c.rows {
		for path := range r.Settings {
			paths[path] = true
		}
	}
	for _, name := range append([]string{"preset", "game", "state", "tags", "folder", "host", "commit"}, slices.Sorted(maps.Keys(paths))...) {
		if slices.ContainsFunc(c.rows, func(r runs.Row) bool { return r.Field(name) != c.rows[0].Field(name) }) {
			list = append(list, name)
		}
	}
	return list
}

// naturally orders numbers by their size and texts as they are.
func naturally(a, b string) int {
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	if err == nil && err2 == nil {
		return cmp.Or(cmp.Compare(x, y), strings.Compare(a, b))
	}
	return strings.Compare(a, b)
}

// add adds the seeds of a training.
func (s *Server) add(c *chosenRuns, look *runs.Look, row runs.Row, group int) error {
	seeds, dirs, err := s.seeds(c, row)
	if err != nil {
		return named(err)
	}
	for i, seed := range seeds {
		r := &curveRun{Run: seed, Title: row.Title, State: runs.Waiting, Unit: row.Unit, group: group, rules: row.Rules, dir: dirs[i]}
		r.Seed, _ = runlog.SeedOf(dirs[i])
		if known, ok := look.Seed(seed); ok {
			r.Seed, r.State, r.Why, r.Silent, r.Sealed, r.Loose = known.Seed, known.State, known.Why, known.Silent, known.Sealed, known.Loose
		}
		if r.State != runs.Damaged {
			r.index = s.indexes.Of(dirs[i])
		}
		c.list = append(c.list, r)
	}
	return nil
}

// seeds returns the runs of a training. Of many it is taken from the list which there are.
func (s *Server) seeds(c *chosenRuns, row runs.Row) (names, dirs []string, err error) {
	if !c.many {
		return s.shelf.Seeds(row.Name)
	}
	for _, seed := range row.Seeds {
		if seed.State == runs.Waiting {
			continue
		}
		if dir, err := s.shelf.Dir(seed.Name); err == nil { // it may be gone since
			names, dirs = append(names, seed.Name), append(dirs, dir)
		}
	}
	return names, dirs, nil
}

// extend brings indexes up to date until it is too late for another part of one; timed: the
// clock too. What nothing was read of by then waits for the next time: a page shows what there
// is, says how much that is, and asks again.
func (s *Server) extend(list []*curveRun, until time.Time, timed bool) {
	_ = cores.Each(context.Background(), 0, len(list), func(_ context.Context, i int) error {
		r := list[i]
		if r.index == nil || time.Now().After(until) && !r.index.Begun() {
			return nil
		}
		state, err := r.index.Extend(max(5*time.Millisecond, time.Until(until)))
		if timed && err == nil {
			r.index.Clock()
		}
		s.indexes.Keep(r.index)
		r.Read, r.Rows, r.Last, r.Gen = state.Read, state.Rows, state.Last, state.Gen
		if err != nil {
			r.Why = strings.TrimPrefix(err.Error(), "curve: ")
			r.index = nil
		}
		return nil
	})
}

// describe adds to a run what its spec says.
func (s *Server) describe(r *curveRun) {
	if r.about = s.facts(r.dir); r.about.runs {
		if err := s.allowed(r.dir); err != nil {
			r.Runs = err.Error()
		}
	}
	r.Warm = r.index.Window(r.about.warm)
}

// readAhead reads what curves are drawn of before anybody asks, where there are more trainings than are lines of their
// own: the newest first, as long as half of what may be kept is free. It stops when ctx ends.
func (s *Server) readAhead(ctx context.Context) {
	read := map[string]bool{}
	for {
		look, more := s.shelf.Changed()
		if len(look.Rows) > maxRuns {
			for _, row := range look.Rows {
				for _, seed := range row.Seeds {
					if !read[seed.Name] && seed.State != runs.Waiting && seed.State != runs.Damaged {
						read[seed.Name] = true
						s.readOne(ctx, seed.Name)
					}
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-more:
		}
	}
}

// readOne reads a run's metrics, in parts between which pages get theirs.
func (s *Server) readOne(ctx context.Context, seed string) {
	dir, err := s.shelf.Dir(seed)
	if err != nil {
		return // it is gone
	}
	x := s.indexes.Of(dir)
	for ctx.Err() == nil && s.cache.Used() < s.keeps/2 {
		state, err := x.Extend(5 * time.Millisecond)
		s.indexes.Keep(x)
		if err != nil || state.Read == 1 {
			return
		}
	}
}
