package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/spec"
)

// result is result.json: how the final agents were scored.
type result struct {
	Mean   float64   `json:"mean"`
	SE     *float64  `json:"se"` // nil: a single episode
	Greedy float64   `json:"greedy_mean"`
	Agents []float64 `json:"agents"`
	CPU    float64   `json:"cpu_s"`
}

// key names a series of numbers. Agent is -1 for numbers of nobody in particular.
type key struct {
	name  string
	agent int
}

// run is what one run's folder holds.
type run struct {
	Dir    string // the folder's name
	path   string // the folder
	Seed   uint64
	State  string // done, running, stopped or failed
	Step   int64  // how far the numbers reach
	Steps  int64  // how far they should; 0: unknown
	Result *result
	Env    runlog.Env
	series map[key][]runlog.Row
	points int       // rows of the longest of those that are not kept
	names  []string  // of series, in order of appearance
	warm   int64     // last env step of the warm-up; 0: none
	bots   stats.Acc // mean returns of its windows

	Unsealed string // what nothing vouches for
}

// group is all runs of one experiment.
type group struct {
	reg          *spec.Registry
	Dir          string // as the user named it
	Name         string
	Runs         []*run
	Notes        []string // what is missing or odd
	SpecText     string
	Spec         *spec.Spec // nil if it cannot be read
	Game         *game.Spec
	Label        string // the game and its setting
	Agents       int
	Goals        []string // and "none", for nothing
	goals        []string // of the game
	refs         []plot.Ref
	Stages       []stage            // around the training, in order
	Meetings     []*adapted.Row     // as hop adapt wrote them in a stage
	Life         int                // env steps of a meeting
	LifeEnd      int                // the last ones, which are scored
	MeetingsPage string             // link to the whole table
	Strangers    *adapted.Strangers // in place of them, where co-players were those of a split
	team         []string           // [A] who plays at the end: "learn", a bot, a frozen agent; nil: all learn
}

// read gathers a group. It fails if there is no run at all, or if one is not as it was
// written: what such a run would show is not what happened.
func read(reg *spec.Registry, dir string) (*group, error) {
	g := &group{reg: reg, Dir: filepath.ToSlash(dir)}
	dirs, err := runlog.Seeds(dir)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	for _, d := range dirs {
		r, err := g.readRun(d)
		if errors.Is(err, runlog.ErrDamaged) {
			return nil, fmt.Errorf("report: %w", err)
		}
		if err != nil {
			g.note("%s is left out: %v", filepath.Base(d), err)
			continue
		}
		g.Runs = append(g.Runs, r)
	}
	if len(g.Runs) == 0 {
		return nil, fmt.Errorf("report: no run in %s can be read: %s", dir, strings.Join(g.Notes, "; "))
	}
	slices.SortFunc(g.Runs, func(a, b *run) int { return cmp.Compare(a.Seed, b.Seed) })
	if err := g.readStages(dir); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	g.measure()
	return g, nil
}

func (g *group) note(format string, a ...any) { g.Notes = append(g.Notes, fmt.Sprintf(format, a...)) }

// readRun reads one folder; what is missing but not needed becomes a note.
func (g *group) readRun(dir string) (*run, error) {
	name := filepath.Base(dir)
	r := &run{Dir: name, path: dir, series: map[key][]runlog.Row{}}
	rec, err := runlog.Read(dir)
	if err == nil {
		err = rec.Faults()
	}
	if err != nil {
		return nil, err
	}
	rows, err := rec.Metrics()
	if err != nil {
		return nil, err
	}
	r.Env, r.Unsealed = rec.Env, rec.Unsealed()
	r.Seed, r.State = r.Env.Seed, r.Env.Status
	for _, row := range rows {
		k := key{row.Name, row.Agent}
		if !slices.Contains(r.names, row.Name) {
			r.names = append(r.names, row.Name)
		}
		r.series[k] = append(r.series[k], row)
		r.Step = max(r.Step, row.Step)
	}
	r.Result, err = readResult(rec)
	if err != nil {
		g.note("seed %d: result.json cannot be read (%v); its final agents are not in the mean", r.Seed, err)
	}
	s := g.readSpec(r, rec.Spec, filepath.Join(dir, "spec.yaml"))
	if g.goals == nil {
		g.goals = g.goalsOf(r.names)
	}
	if s != nil {
		r.keepOwn(g, s, rows)
	}
	return r, nil
}

func readResult(rec *runlog.Record) (*result, error) {
	b, err := rec.Result()
	if err != nil || b == nil {
		return nil, err
	}
	var res result
	if err := json.Unmarshal(b, &res); err != nil {
		return nil, err
	}
	return &res, nil
}

// readSpec takes the setting from the first run whose spec can be read. It returns
// this run's, nil if that cannot be read.
func (g *group) readSpec(r *run, text []byte, file string) *spec.Spec {
	shown := strings.TrimSpace(string(text))
	s, err := g.reg.Parse(text, file, r.Env.Preset, nil)
	if err != nil {
		if g.SpecText == "" {
			g.SpecText = shown
		}
		g.note("seed %d: spec.yaml is not one that this version reads, so no reference lines are shown", r.Seed)
		return nil
	}
	r.Steps = int64(s.Train.Steps)
	if g.Spec != nil {
		if g.SpecText != shown {
			g.note("seed %d was run with another spec than the first: do not average them", r.Seed)
		}
		return &s
	}
	g.Spec, g.SpecText, g.Name = &s, shown, s.Name
	g.Label = s.Game.Label()
	if built, err := s.Game.Peek(); err == nil && built != nil { // a page starts no program
		sp := built.Spec()
		g.Game = &sp
	}
	g.team = slices.Clone(s.Train.Team)
	for _, sw := range s.Train.Switch {
		if len(g.team) == 0 && g.Game != nil {
			g.team = slices.Repeat([]string{"learn"}, g.Game.Seats)
		}
		if sw.Agent < len(g.team) {
			g.team[sw.Agent] = sw.To
		}
	}
	if !g.mixed() { // references are means over a team that learns
		g.refs = references(s.Game)
	}
	return &s
}

// learns says whether the agent's final returns are those of a learner.
func (g *group) learns(a int) bool { return a >= len(g.team) || g.team[a] == "learn" }

// mixed says whether bots or frozen agents play too.
func (g *group) mixed() bool {
	return slices.ContainsFunc(g.team, func(who string) bool { return who != "learn" })
}

// Member names an agent, and who it is if it does not learn.
func (g *group) Member(a int) string {
	name := fmt.Sprintf("agent %d", a)
	if !g.learns(a) {
		name += ", " + path.Base(filepath.ToSlash(g.team[a]))
	} else if g.Spec != nil && len(g.Spec.Kinds) > 0 {
		name += ", " + g.Spec.KindNames(g.Agents)[a]
	}
	return name
}

// measure finds the agents and goals that the numbers speak of, and says which
// runs are not whole.
func (g *group) measure() {
	if g.Name == "" {
		g.Name = g.Runs[0].Env.Preset
	}
	for _, r := range g.Runs {
		for k := range r.series {
			g.Agents = max(g.Agents, k.agent+1)
		}
		for _, n := range r.names {
			if goal := strings.TrimPrefix(n, "goal/"); g.isGoal(n) && !slices.Contains(g.Goals, goal) {
				g.Goals = append(g.Goals, goal)
			}
		}
		if r.Result == nil {
			was := map[string]string{"running": "is still running, or was killed,", "stopped": "was stopped", "failed": "failed"}[r.State]
			if was == "" {
				was = fmt.Sprintf("ended as %q", r.State)
			}
			g.note("Seed %d %s at %s: its curves are shown as far as they go, its agents are not scored.", r.Seed, was, r.progress())
		}
		switch {
		case len(r.series) == 0:
			g.note("Seed %d has no numbers yet.", r.Seed)
		case r.warm == r.Step:
			g.note("Seed %d is still in its %s.", r.Seed, train.WarmUp)
		}
	}
}

func (r *run) progress() string {
	if r.Steps == 0 {
		return plot.Short(float64(r.Step)) + " env steps"
	}
	return plot.Short(float64(r.Step)) + " of " + plot.Short(float64(r.Steps)) + " env steps"
}

// Run is a run's folder and seed.
type Run struct {
	Dir  string
	Seed uint64
}

// Middle returns the run whose final agents are the middle ones of a folder's,
// or the first if none were scored: whom to show when only one can be shown.
func Middle(reg *spec.Registry, dir string) (Run, error) {
	g, err := read(reg, dir)
	if err != nil {
		return Run{}, err
	}
	runs := g.Scored()
	slices.SortStableFunc(runs, func(a, b *run) int { return cmp.Compare(a.Result.Mean, b.Result.Mean) })
	if len(runs) == 0 {
		runs = g.Runs[:1]
	}
	r := runs[(len(runs)-1)/2]
	return Run{r.path, r.Seed}, nil
}

// bins is how many points a curve has at most.
const bins = 80

// grid is the common ruler of all curves: equal stretches of env steps.
type grid struct {
	n    int
	last float64
}

func (g *group) grid() grid {
	last, points := 1., 1
	for _, r := range g.Runs {
		last, points = max(last, float64(r.Step)), max(points, r.points)
		for _, list := range r.series {
			points = max(points, len(list))
		}
	}
	return grid{min(bins, points), last}
}

// xs returns the middles of the stretches, in env steps.
func (d grid) xs() []float64 {
	out := make([]float64, d.n)
	for i := range out {
		out[i] = (float64(i) + 0.5) * d.last / float64(d.n)
	}
	return out
}

// few returns the count from which a row is shown. Of numbers about what was
// played, windows in which less than a fifth of the usual number of episodes ended
// are passed over: a run's first window holds only those that happened to be short.
func few(played bool, rows []runlog.Row) int {
	if !played {
		return 1
	}
	var ns []float64
	for _, r := range rows {
		ns = append(ns, float64(r.N))
	}
	return max(1, int(math.Ceil(stats.Quantile(ns, 0.5)/5)))
}

// curve averages rows over each stretch, weighted by the count behind them,
// of which there must be a few.
// Stretches between rows are bridged; before the first and after the last there
// is NaN.
func (d grid) curve(rows []runlog.Row, few int) []float64 {
	sum, weight := make([]float64, d.n), make([]float64, d.n)
	for _, r := range rows {
		if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) || r.N < few {
			continue
		}
		i := min(int(float64(r.Step)/d.last*float64(d.n)), d.n-1)
		sum[i] += r.Value * float64(r.N)
		weight[i] += float64(r.N)
	}
	known := -1
	for i := range sum {
		if weight[i] == 0 {
			sum[i] = math.NaN()
			continue
		}
		sum[i] /= weight[i]
		for j := known + 1; known >= 0 && j < i; j++ {
			t := float64(j-known) / float64(i-known)
			sum[j] = sum[known] + t*(sum[i]-sum[known])
		}
		known = i
	}
	return sum
}

// bundle is one number over several seeds.
type bundle struct {
	seeds         [][]float64 // [seed][bin]
	mean, lo, hi  []float64   // [bin] over the seeds that have the bin
	rows, updates int         // counts behind it, all seeds together
}

// bundle gathers a series from all runs.
func (g *group) bundle(d grid, k key) bundle {
	b := bundle{mean: make([]float64, d.n), lo: make([]float64, d.n), hi: make([]float64, d.n)}
	for _, r := range g.Runs {
		rows := r.series[k]
		if len(rows) == 0 {
			continue
		}
		b.seeds = append(b.seeds, d.curve(rows, few(g.played(k.name), rows)))
		b.updates += len(rows)
		for _, row := range rows {
			b.rows += row.N
		}
	}
	for i := range b.mean {
		var acc stats.Acc
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, s := range b.seeds {
			if v := s[i]; !math.IsNaN(v) {
				acc.Add(v)
				lo, hi = min(lo, v), max(hi, v)
			}
		}
		b.mean[i], b.lo[i], b.hi[i] = acc.Mean(), lo, hi
		if acc.N() == 0 {
			b.lo[i], b.hi[i] = math.NaN(), math.NaN()
		}
	}
	return b
}

// last returns the rows of the last 20 % of training. A run that has not come that
// far has none.
func (r *run) last(k key) []runlog.Row {
	end := cmp.Or(r.Steps, r.Step)
	return slices.DeleteFunc(slices.Clone(r.series[k]), func(row runlog.Row) bool { return float64(row.Step) <= 0.8*float64(end) })
}

// lastFifth returns the mean over the last 20 %, weighted by the counts behind the
// rows, or NaN.
func (r *run) lastFifth(k key) float64 {
	sum, weight := 0., 0.
	for _, row := range r.last(k) {
		sum += row.Value * float64(row.N)
		weight += float64(row.N)
	}
	return sum / weight
}

// lastFifth returns the mean over the seeds that have one, or NaN.
func (g *group) lastFifth(k key) float64 {
	sum, n := 0., 0.
	for _, r := range g.Runs {
		if x := r.lastFifth(k); !math.IsNaN(x) {
			sum, n = sum+x, n+1
		}
	}
	return sum / n
}

// lastRows counts the rows behind a number in the last fifth, over all seeds.
func (g *group) lastRows(k key) int {
	n := 0
	for _, r := range g.Runs {
		for _, row := range r.last(k) {
			n += row.N
		}
	}
	return n
}

// Last is the mean return, over agents, of the last 20 % of training.
func (r *run) Last() float64 { return r.lastFifth(meanReturn) }
