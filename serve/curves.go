package serve

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/serve/curve"
	"github.com/hop-marl/hop/serve/runs"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
)

// Bounds of a view.
const (
	maxRuns    = 60
	maxMetrics = 12
	maxLines   = 300
	maxPoints  = 4000
)

// curvesQuery is a view of curves, as the address says it.
type curvesQuery struct {
	runs    []string
	metrics []string
	by      string  // mean, seed, agent or all
	agent   int     // -2: all
	weight  float64 // of the smoothing; 0: none
	span    curve.Range
	points  int
	logX    bool
	logY    bool
}

// everyone is the agent of a query that asks for all.
const everyone = -2

func parseCurves(v url.Values) (q curvesQuery, err error) {
	q = curvesQuery{runs: v["run"], metrics: v["m"], by: cmp.Or(v.Get("by"), "mean"), agent: everyone, span: curve.All, points: 800}
	q.logX, q.logY = v.Get("logx") == "1", v.Get("logy") == "1"
	bad := func(format string, args ...any) (curvesQuery, error) {
		return q, refuse(http.StatusBadRequest, format, args...)
	}
	if len(q.runs) > maxRuns || len(q.metrics) > maxMetrics {
		return bad("at most %d runs and %d metrics are shown at once", maxRuns, maxMetrics)
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
		if q.weight, err = strconv.ParseFloat(w, 64); err != nil || !(q.weight >= 0 && q.weight < 1) {
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

	index *curve.Index
	about specFacts
	group int // number of the chosen training
}

// curves is the answer to a query.
type curves struct {
	Runs   []*curveRun `json:"runs"`
	Panels []panel     `json:"panels"`
	Warm   int64       `json:"warm"`   // the longest warm-up; 0: none
	Moving bool        `json:"moving"` // a run is being written, or is not all read yet
	Weight float64     `json:"weight"`
	By     string      `json:"by"`
	Notes  []string    `json:"notes"`
}

// specFacts is what curves need of a spec.
type specFacts struct {
	warm int // windows
	who  []string
	refs []plot.Ref
	runs bool // a training of it runs programs that it names
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
	}
	s.cache.Put(key, f, 1024)
	return f
}

// chosen finds the runs of a query and brings their indexes up to date.
func (s *Server) chosen(names []string, most time.Duration) ([]*curveRun, error) {
	look := s.shelf.Now()
	until := time.Now().Add(most)
	var out []*curveRun
	for g, name := range names {
		seeds, dirs, err := s.shelf.Seeds(name)
		if err != nil {
			return nil, named(err)
		}
		_, title, _ := strings.Cut(name, ":")
		for i, seed := range seeds {
			r := &curveRun{Run: seed, Title: title, State: runs.Waiting, group: g}
			r.Seed, _ = runlog.SeedOf(dirs[i])
			if known, ok := look.Seed(seed); ok {
				r.Seed, r.State, r.Why, r.Silent, r.Sealed, r.Loose = known.Seed, known.State, known.Why, known.Silent, known.Sealed, known.Loose
			}
			out = append(out, r)
			if r.State == runs.Damaged {
				continue
			}
			r.index = s.indexes.Of(dirs[i])
			state, err := r.index.Extend(max(5*time.Millisecond, time.Until(until)))
			s.indexes.Keep(r.index)
			r.Read, r.Rows, r.Last, r.Gen = state.Read, state.Rows, state.Last, state.Gen
			if err != nil {
				r.Why = strings.TrimPrefix(err.Error(), "curve: ")
				r.index = nil
				continue
			}
			if r.about = s.facts(dirs[i]); r.about.runs {
				if err := s.allowed(dirs[i]); err != nil {
					r.Runs = err.Error()
				}
			}
			r.Warm = r.index.Window(r.about.warm)
		}
	}
	return out, nil
}

// lines gathers what a query asks for.
func (s *Server) lines(q curvesQuery, lang string) (*curves, error) {
	found, err := s.chosen(q.runs, 400*time.Millisecond)
	if err != nil {
		return nil, err
	}
	c := &curves{Runs: found, Panels: []panel{}, Weight: q.weight, By: q.by, Notes: []string{}}
	for _, r := range found {
		c.Warm = max(c.Warm, r.Warm)
		c.Moving = c.Moving || r.State == runs.Running || r.index != nil && r.Read < 1
	}
	total := 0
	for _, m := range q.metrics {
		p := panel{Metric: m, Lines: []curveLine{}, Refs: []plot.Ref{}}
		for g := range q.runs {
			list, err := s.linesOf(q, m, g, found, lang)
			if err != nil {
				return nil, err
			}
			if total += len(list); total > maxLines {
				return nil, refuse(http.StatusBadRequest, "that would be more than %d lines; choose fewer runs or metrics, or show means", maxLines)
			}
			p.Lines = append(p.Lines, list...)
		}
		if m == "return/mean" || m == "return" {
			p.Refs = append(p.Refs, s.refs(found, lang)...)
		}
		c.Panels = append(c.Panels, p)
	}
	return c, nil
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
			l, err := r.index.Read(curve.Key{Name: "return/mean", Agent: -1}, curve.Range{From: 0, To: r.Warm}, maxPoints, 0)
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

// linesOf makes the lines of one metric of one chosen training.
func (s *Server) linesOf(q curvesQuery, metric string, group int, runs []*curveRun, lang string) ([]curveLine, error) {
	type part struct {
		run    *curveRun
		number int // of the seed in its training
		agent  int
	}
	var parts []part
	number := 0
	for _, r := range runs {
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
		l := curveLine{Run: first.run.Run, Agent: -1, Label: first.run.Title, Colour: group}
		alone := len(q.runs) == 1
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
			l.Line, err = first.run.index.Read(curve.Key{Name: metric, Agent: first.agent}, q.span, q.points, q.weight)
		} else {
			var avg []curve.Part
			for _, p := range list {
				avg = append(avg, curve.Part{Index: p.run.index, Key: curve.Key{Name: metric, Agent: p.agent}, Run: p.number})
			}
			l.Line, err = curve.Average(avg, q.span, q.points/2, q.weight)
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
	Metrics []curve.Name `json:"metrics"`
	Agents  int          `json:"agents"`
}

func (s *Server) namesOf(runs []*curveRun) names {
	n := names{Metrics: []curve.Name{}}
	at := map[string]int{}
	for _, r := range runs {
		if r.index == nil {
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
	runs, err := s.chosen(q.runs, 400*time.Millisecond)
	if err != nil {
		return nil, err
	}
	return s.namesOf(runs), nil
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
	runs, err := s.chosen(q.runs, 200*time.Millisecond)
	if err != nil {
		return nil, err
	}
	if d.Names = s.namesOf(runs); len(q.metrics) == 0 && len(d.Names.Metrics) > 0 {
		q.metrics = []string{d.Names.Metrics[0].Name}
	}
	d.curves, err = s.lines(q, v.Lang)
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
		Rows   int    `json:"rows"`
		Last   int64  `json:"last"`
		Gens   int64  `json:"gens"`
		States string `json:"states"`
		Read   bool   `json:"read"`
	}
	var was grown
	for first := true; ; first = false {
		runs, err := s.chosen(q.runs, 200*time.Millisecond)
		if err != nil {
			return err
		}
		now := grown{Read: true}
		for _, r := range runs {
			now.Rows, now.Last, now.Gens = now.Rows+r.Rows, max(now.Last, r.Last), now.Gens+r.Gen
			now.States += fmt.Sprint(r.State, r.Silent, r.Sealed, r.Why, " ")
			now.Read = now.Read && (r.index == nil || r.Read == 1)
		}
		if first || now != was {
			if err := st.send("grown", now); err != nil {
				return err
			}
			was = now
		}
		wait := tick
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
