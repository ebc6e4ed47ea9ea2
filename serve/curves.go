package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/serve/curve"
	"github.com/hop-marl/hop/serve/runs"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
)

// Bounds of a view.
const (
	maxRuns    = 60  // that are lines of their own; of more there is a line for each group
	maxNames   = 500 // in an address
	maxMetrics = 12
	maxLines   = 300
	maxPoints  = 4000
)

// curvesQuery is a view of curves, as the address says it.
type curvesQuery struct {
	runs    []string
	choice  *runs.Choice // in place of names: all of the list that are meant
	group   string       // field by which trainings become one line; "": each is one
	axis    string
	how     curve.How
	metrics []string
	by      string // mean, seed, agent or all
	agent   int    // -2: all
	span    curve.Range
	points  int
	logX    bool
	logY    bool
}

// everyone is the agent of a query that asks for all.
const everyone = -2

func parseCurves(v url.Values) (q curvesQuery, err error) {
	q = curvesQuery{runs: v["run"], metrics: v["m"], by: cmp.Or(v.Get("by"), "mean"), agent: everyone, span: curve.All, points: 800,
		group: v.Get("group"), axis: v.Get("x"), how: curve.How{Band: v.Get("band"), IQM: v.Get("centre") == "iqm"}}
	q.logX, q.logY = v.Get("logx") == "1", v.Get("logy") == "1"
	bad := func(format string, args ...any) (curvesQuery, error) {
		return q, refuse(http.StatusBadRequest, format, args...)
	}
	if v.Get("find") == "1" {
		choice := runs.ChoiceOf(v)
		q.choice, q.runs = &choice, nil
	}
	if len(q.runs) > maxNames || len(q.metrics) > maxMetrics {
		return bad("at most %d names of runs and %d metrics are shown at once; find=1 with q=... has all that a search finds",
			maxNames, maxMetrics)
	}
	if !slices.Contains([]string{"", curve.Student, curve.Error, curve.Spread, curve.Resampled, curve.NoBand}, q.how.Band) {
		return bad("band=%.40q: want student, se, minmax, boot or none", q.how.Band)
	}
	if !slices.Contains([]string{curve.Steps, curve.Wall, curve.Agents}, q.axis) {
		return bad("x=%.40q: want wall, agents, or nothing for env steps", q.axis)
	}
	if !slices.Contains([]string{"mean", "seed", "agent", "all"}, q.by) {
		return bad("by=%.40q: want mean, seed, agent or all", q.by)
	}
	number := func(name string, lo, hi, dst *int64) error {
		text := v.Get(name)
		if text == "" {
			return nil
		}
		x, err := strconv.ParseInt(text, 10, 64)
		if err != nil || lo != nil && x < *lo || hi != nil && x > *hi {
			return refuse(http.StatusBadRequest, "%s=%.40q: want a whole number", name, text)
		}
		*dst = x
		return nil
	}
	zero, agents, most, points, agent := int64(0), int64(1023), int64(maxPoints), int64(q.points), int64(everyone)
	err = errors.Join(number("agent", &zero, &agents, &agent), number("px", &zero, &most, &points),
		number("from", &zero, nil, &q.span.From), number("to", &zero, nil, &q.span.To))
	if err != nil {
		return q, refusal{http.StatusBadRequest, err}
	}
	q.agent, q.points = int(agent), max(int(points), 16)
	if v.Get("from") != "" && v.Get("to") == "" {
		q.span.To = math.MaxInt64
	}
	if w := v.Get("w"); w != "" {
		if q.how.Weight, err = strconv.ParseFloat(w, 64); err != nil || !(q.how.Weight >= 0 && q.how.Weight < 1) {
			return bad("w=%.40q: the weight of the smoothing is from 0 to below 1", w)
		}
	}
	return q, nil
}

// curveLine is a line and whose it is.
type curveLine struct {
	Label  string  `json:"label"`
	Run    string  `json:"run"`
	Seed   *uint64 `json:"seed,omitempty"`
	Agent  int     `json:"agent"` // -1: of nobody in particular, or of all
	Colour int     `json:"colour"`
	Dash   int     `json:"dash"`
	curve.Line
}

// panel is one metric.
type panel struct {
	Metric string      `json:"metric"`
	Unit   string      `json:"unit"` // of its steps; "": env steps
	Lines  []curveLine `json:"lines"`
	Refs   []plot.Ref  `json:"refs"`
}

// curveRun is what is said of a run beside its lines.
type curveRun struct {
	Run    string  `json:"run"`
	Title  string  `json:"title"`
	Seed   uint64  `json:"seed"`
	State  string  `json:"state"`
	Silent bool    `json:"silent"`
	Sealed bool    `json:"sealed"`
	Why    string  `json:"why,omitempty"`   // there are no lines of it
	Loose  string  `json:"loose,omitempty"` // nothing vouches for it
	Runs   string  `json:"runs,omitempty"`  // it would run a program, which is not allowed
	Read   float64 `json:"read"`            // share of its metrics that was read so far
	Rows   int     `json:"rows"`
	Last   int64   `json:"last"`
	Gen    int64   `json:"gen"`
	Warm   int64   `json:"warm"` // last step of its warm-up
	Unit   string  `json:"unit"`

	index *curve.Index
	dir   string
	rules string
	about specFacts
	group int // number of the chosen training, or group
}

// curves is the answer to a query.
type curves struct {
	Runs   []*curveRun  `json:"runs"` // of many those alone with which something is wrong
	All    int          `json:"all"`
	Read   float64      `json:"read"`  // share of all rows that was read
	Field  string       `json:"field"` // by which they are grouped
	Band   string       `json:"band"`  // that is drawn
	IQM    bool         `json:"iqm"`
	Groups []curveGroup `json:"groups"`
	Panels []panel      `json:"panels"`
	Warm   int64        `json:"warm"`   // the longest warm-up; 0: none
	Moving bool         `json:"moving"` // a run is being written, or is not all read yet
	Weight float64      `json:"weight"`
	By     string       `json:"by"`
	Notes  []string     `json:"notes"`
}

// lines gathers what a query asks for.
func (s *Server) lines(q curvesQuery, lang string) (*curves, error) {
	found, err := s.chosen(q, 400*time.Millisecond)
	if err != nil {
		return nil, err
	}
	return s.linesOfAll(q, found, lang)
}

func (s *Server) linesOfAll(q curvesQuery, found *chosenRuns, lang string) (*curves, error) {
	c := &curves{Runs: found.list, All: len(found.list), Read: 1, Field: found.field, Band: q.how.Kind(), IQM: q.how.IQM, Groups: found.groups,
		Panels: []panel{}, Weight: q.how.Weight, By: q.by, Notes: []string{}}
	if found.field != "" {
		q.by, c.By = "mean", "mean"
	}
	for _, r := range found.list {
		if q.axis == curve.Steps {
			c.Warm = max(c.Warm, r.Warm)
		}
		if r.index != nil {
			c.Read -= (1 - r.Read) / float64(len(found.list))
		}
		c.Moving = c.Moving || r.State == runs.Running || r.index != nil && r.Read < 1
	}
	if found.many {
		c.Runs = slices.DeleteFunc(slices.Clone(found.list), func(r *curveRun) bool { return r.Why == "" })
	}
	all, err := s.allLines(q, found, lang)
	if err != nil {
		return nil, err
	}
	total := 0
	for i, m := range q.metrics {
		p := panel{Metric: m, Lines: append([]curveLine{}, slices.Concat(all[i]...)...), Refs: []plot.Ref{}}
		if total += len(p.Lines); total > maxLines {
			return nil, refuse(http.StatusBadRequest, "that would be more than %d lines; choose fewer runs or metrics, or show means", maxLines)
		}
		for _, r := range found.list {
			if r.Unit != "" && r.index != nil && len(r.index.Agents(m)) > 0 {
				p.Unit = r.Unit
			}
		}
		if m == "return/mean" || m == "return" {
			p.Refs = append(p.Refs, s.refs(found.list, lang)...)
			if found.mixed(func(*curveRun) bool { return true }) {
				c.Notes = append(c.Notes, say(lang, "curves.games"))
			}
		}
		c.Panels = append(c.Panels, p)
	}
	return c, nil
}

// limits are what metrics cannot leave by what they are: shares, counts, lengths.
var limits = []struct {
	name  string // as path.Match reads it
	bound stats.Interval
}{
	{"goal/*", stats.Interval{0, 1}}, {"ppo/clipped", stats.Interval{0, 1}}, {"ppo/explained", stats.Interval{math.Inf(-1), 1}},
	{"ppo/entropy", stats.Interval{0, math.Inf(1)}}, {"ppo/value_loss", stats.Interval{0, math.Inf(1)}},
	{"ppo/grad_norm", stats.Interval{0, math.Inf(1)}}, {"episode/steps", stats.Interval{0, math.Inf(1)}},
	{"life", stats.Interval{0, math.Inf(1)}}, {"count/*", stats.Interval{0, math.Inf(1)}}, {"time/*", stats.Interval{0, math.Inf(1)}},
}

// bounds are what a metric of a group cannot leave; nil: nothing is known.
func (c *chosenRuns) bounds(metric string, group int) *stats.Interval {
	of := func(r *curveRun) bool { return r.group == group }
	if metric == "return" || strings.HasPrefix(metric, "return/") {
		i := slices.IndexFunc(c.list, func(r *curveRun) bool { return of(r) && r.about.bounds != nil })
		if i < 0 || c.mixed(of) {
			return nil
		}
		return c.list[i].about.bounds
	}
	for _, k := range limits {
		if ok, _ := path.Match(k.name, metric); ok {
			return &k.bound
		}
	}
	return nil
}

// allLines makes the lines of each metric and group, side by side.
func (s *Server) allLines(q curvesQuery, found *chosenRuns, lang string) (all [][][]curveLine, err error) {
	var total atomic.Int64 // lines that are too many are not all made
	for range q.metrics {
		all = append(all, make([][]curveLine, len(found.groups)))
	}
	groups := len(found.groups)
	return all, cores.Each(context.Background(), 0, len(q.metrics)*groups, func(_ context.Context, i int) (err error) {
		m, g := i/groups, i%groups
		if total.Load() <= maxLines {
			all[m][g], err = s.linesOf(q, q.metrics[m], g, found, lang)
			total.Add(int64(len(all[m][g])))
		}
		return err
	})
}

// mixed reports whether runs of some kind are of different games.
func (c *chosenRuns) mixed(of func(*curveRun) bool) bool {
	rules := ""
	for _, r := range c.list {
		if r.index == nil || r.rules == "" || !of(r) {
			continue
		}
		if rules != "" && rules != r.rules {
			return true
		}
		rules = r.rules
	}
	return false
}

// refs are what the returns of all chosen runs can be held against: what is known of their
// game, and what bots got in their warm-up.
func (s *Server) refs(runs []*curveRun, lang string) (list []plot.Ref) {
	for _, r := range runs {
		if r.index == nil {
			continue
		}
		for _, ref := range r.about.refs {
			if !slices.Contains(list, ref) {
				list = append(list, ref)
			}
		}
		if r.Warm > 0 && !slices.ContainsFunc(list, func(x plot.Ref) bool { return strings.HasPrefix(x.Name, say(lang, "curves.bots")) }) {
			l, err := r.index.Read(curve.Key{Name: "return/mean", Agent: -1}, curve.Steps, curve.Range{From: 0, To: r.Warm}, maxPoints, 0)
			sum, n := 0., 0.
			for i, v := range l.Value {
				if x := float64(v); !math.IsNaN(x) {
					sum, n = sum+x*float64(l.N[i]), n+float64(l.N[i])
				}
			}
			if err == nil && n > 0 {
				list = append(list, plot.Ref{Name: say(lang, "curves.bots") + " (" + strings.Join(r.about.who, ", ") + ")", Value: sum / n})
			}
		}
	}
	return list
}

// linesOf makes the lines of one metric of one chosen training, or group of them.
func (s *Server) linesOf(q curvesQuery, metric string, group int, found *chosenRuns, lang string) ([]curveLine, error) {
	type part struct {
		run    *curveRun
		number int // of the seed in its training
		agent  int
	}
	var parts []part
	number := 0
	for _, r := range found.list {
		if r.group != group {
			continue
		}
		if r.index != nil {
			for _, a := range r.index.Agents(metric) {
				if q.agent == everyone || a < 0 || a == q.agent {
					parts = append(parts, part{r, number, a})
				}
			}
		}
		number++
	}
	key := func(p part) string {
		switch q.by {
		case "seed":
			return p.run.Run
		case "agent":
			return fmt.Sprint(p.agent)
		case "all":
			return fmt.Sprint(p.run.Run, " ", p.agent)
		}
		return ""
	}
	var order []string
	groups := map[string][]part{}
	for _, p := range parts {
		if groups[key(p)] == nil {
			order = append(order, key(p))
		}
		groups[key(p)] = append(groups[key(p)], p)
	}
	var out []curveLine
	for _, k := range order {
		list := groups[k]
		first := list[0]
		l := curveLine{Run: first.run.Run, Agent: -1, Label: found.groups[group].Label, Colour: group}
		alone := len(found.groups) == 1
		if q.by == "seed" || q.by == "all" {
			seed := first.run.Seed
			l.Seed = &seed
			l.Label += ", " + say(lang, "runs.seed", seed)
			if l.Dash = first.number; alone {
				l.Colour, l.Dash = first.number, 0
			}
		}
		if same := !slices.ContainsFunc(list, func(p part) bool { return p.agent != first.agent }); same && first.agent >= 0 {
			l.Agent = first.agent
			l.Label += ", " + say(lang, "curves.agent", first.agent)
			if q.by == "agent" || q.by == "all" {
				l.Colour, l.Dash = first.agent, group
				if q.by == "all" {
					l.Dash = first.number
				}
			}
		}
		var err error
		if len(list) == 1 {
			l.Line, err = first.run.index.Read(curve.Key{Name: metric, Agent: first.agent}, q.axis, q.span, q.points, q.how.Weight)
		} else {
			var avg []curve.Part
			for _, p := range list {
				avg = append(avg, curve.Part{Index: p.run.index, Key: curve.Key{Name: metric, Agent: p.agent}, Run: p.number})
			}
			how := q.how
			how.Bounds = found.bounds(metric, group)
			l.Line, err = curve.Average(avg, q.axis, q.span, q.points/2, how)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

func (s *Server) curvesAPI(r *http.Request) (any, error) {
	q, err := parseCurves(r.URL.Query())
	if err != nil {
		return nil, err
	}
	return s.lines(q, language(nil, r))
}

// names is what can be shown of some runs.
type names struct {
	Fields  []string     `json:"fields"` // in which the runs differ, and by which they can be grouped
	Metrics []curve.Name `json:"metrics"`
	Agents  int          `json:"agents"`
}

func (s *Server) namesOf(runs []*curveRun) names {
	n := names{Metrics: []curve.Name{}}
	at := map[string]int{}
	every := max(1, len(runs)/maxRuns) // of thousands a few say what there is
	for k, r := range runs {
		if r.index == nil || k%every > 0 {
			continue
		}
		for _, m := range r.index.Names() {
			i, ok := at[m.Name]
			if !ok {
				i, at[m.Name] = len(n.Metrics), len(n.Metrics)
				n.Metrics = append(n.Metrics, curve.Name{Name: m.Name})
			}
			for _, a := range m.Agents {
				if !slices.Contains(n.Metrics[i].Agents, a) {
					n.Metrics[i].Agents = append(n.Metrics[i].Agents, a)
				}
				n.Agents = max(n.Agents, a+1)
			}
			n.Metrics[i].Rows += m.Rows
		}
	}
	return n
}

func (s *Server) namesAPI(r *http.Request) (any, error) {
	q, err := parseCurves(r.URL.Query())
	if err != nil {
		return nil, err
	}
	found, err := s.chosen(q, 400*time.Millisecond)
	if err != nil {
		return nil, err
	}
	n := s.namesOf(found.list)
	n.Fields = found.differ()
	return n, nil
}

// curvesView is what the page of curves is made from: its numbers before the script runs.
type curvesView struct {
	*curves
	Names  names
	Choice []runs.Row // runs that can be chosen
	WarmUp string
}

func (s *Server) curvesPage(r *http.Request, v *view) (any, error) {
	q, err := parseCurves(r.URL.Query())
	if err != nil {
		return nil, err
	}
	l := s.shelf.Now()
	d := curvesView{Choice: l.Rows[:min(len(l.Rows), 300)], WarmUp: train.WarmUp}
	found, err := s.chosen(q, 200*time.Millisecond)
	if err != nil {
		return nil, err
	}
	if d.Names = s.namesOf(found.list); len(q.metrics) == 0 && len(d.Names.Metrics) > 0 {
		q.metrics = []string{d.Names.Metrics[0].Name}
	}
	if found.many { // its script asks for them
		q.metrics = nil
	}
	d.curves, err = s.linesOfAll(q, found, v.Lang)
	return d, err
}

// Last returns the last value of a line, its lowest and its highest.
func (l curveLine) Last() (out [3]float64) {
	out = [3]float64{math.NaN(), math.Inf(1), math.Inf(-1)}
	for _, v := range l.Value {
		if x := float64(v); !math.IsNaN(x) && !math.IsInf(x, 0) {
			out[0], out[1], out[2] = x, min(out[1], x), max(out[2], x)
		}
	}
	return out
}

// curvesStream says when the metrics of some runs have grown, or their state has changed;
// the page then asks for its view anew.
func (s *Server) curvesStream(r *http.Request, st *stream) error {
	q, err := parseCurves(r.URL.Query())
	if err != nil {
		return err
	}
	type grown struct {
		Runs   int    `json:"runs"`
		Rows   int    `json:"rows"`
		Last   int64  `json:"last"`
		Gens   int64  `json:"gens"`
		States string `json:"states"`
		Read   bool   `json:"read"`
	}
	var was grown
	for first := true; ; first = false {
		began, states := time.Now(), sha256.New()
		found, err := s.chosen(q, 200*time.Millisecond)
		if err != nil {
			return err
		}
		now := grown{Read: true, Runs: len(found.list)}
		for _, r := range found.list {
			now.Rows, now.Last, now.Gens = now.Rows+r.Rows, max(now.Last, r.Last), now.Gens+r.Gen
			if fmt.Fprint(states, r.Run, r.State, r.Silent, r.Sealed, r.Why, " "); !found.many {
				now.States += fmt.Sprint(r.State, r.Silent, r.Sealed, r.Why, " ")
			}
			now.Read = now.Read && (r.index == nil || r.Read == 1)
		}
		if found.many {
			now.States = hex.EncodeToString(states.Sum(nil)[:8])
		}
		if first || now != was {
			if err := st.send("grown", now); err != nil {
				return err
			}
			was = now
		}
		wait := max(tick, 10*time.Since(began)) // at most a tenth of a core
		if !now.Read {
			wait = 50 * time.Millisecond
		}
		if !st.wait(wait, nil) {
			return nil
		}
	}
}

// rowsStream sends every row of a run's metrics.csv from an offset on (after=0: all), with
// the offset to go on from; m leaves only some metrics. Whoever is cut off and comes back
// with the last offset misses nothing.
func (s *Server) rowsStream(r *http.Request, st *stream) error {
	v := r.URL.Query()
	dir, err := s.shelf.Dir(v.Get("run"))
	if err != nil {
		return named(err)
	}
	if _, err := runlog.Seeds(dir); err != nil {
		return refuse(http.StatusNotFound, "%.200q holds no run", v.Get("run"))
	}
	after := int64(0)
	if text := v.Get("after"); text != "" {
		if after, err = strconv.ParseInt(text, 10, 64); err != nil || after < 0 {
			return refuse(http.StatusBadRequest, "after=%.40q: want an offset that this stream has sent", text)
		}
	}
	type event struct {
		Next int64       `json:"next"`
		Cut  bool        `json:"cut"` // the run goes on from a checkpoint: forget all rows, these are from the beginning
		Rows []curve.Row `json:"rows"`
	}
	for first := true; ; first = false {
		rows, next, cut, err := curve.Follow(dir, after)
		if err != nil {
			return refuse(http.StatusConflict, "%s", strings.TrimPrefix(err.Error(), "curve: "))
		}
		grown := next != after
		after = next
		if m := v["m"]; len(m) > 0 {
			rows = slices.DeleteFunc(rows, func(r curve.Row) bool { return !slices.Contains(m, r.Name) })
		}
		if first || cut || len(rows) > 0 {
			if err := st.send("rows", event{next, cut, append([]curve.Row{}, rows...)}); err != nil {
				return err
			}
		}
		wait := tick / 4
		if grown {
			wait = time.Millisecond
		}
		if !st.wait(wait, nil) {
			return nil
		}
	}
}
