package bench

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/train/spec"
)

// GrowthConfig says what grows, in steps; what does not grow is Base's.
type GrowthConfig struct {
	Agents, Board, Hidden, Sims []int
	Windows                     int // measured, after one to warm up
}

// grows are what may grow, with its settings; the last number is what it is while something else grows.
var grows = []struct {
	by   string
	of   func(c *GrowthConfig) []int
	base int
	hop  bool // of the planner alone
	set  func(x int) []string
}{
	{"agents", func(c *GrowthConfig) []int { return c.Agents }, 8, false, func(x int) []string { return []string{fmt.Sprint("game.agents=", x)} }},
	{"board", func(c *GrowthConfig) []int { return c.Board }, 16, false, func(x int) []string { return []string{fmt.Sprint("game.size=", x)} }},
	{"hidden", func(c *GrowthConfig) []int { return c.Hidden }, 32, false, func(x int) []string { return []string{fmt.Sprintf("actor.hidden=[%d,%d]", x, x)} }},
	{"sims", func(c *GrowthConfig) []int { return c.Sims }, 7, true, func(x int) []string { return []string{fmt.Sprint("search.sims=", x)} }},
}

// GrowthRow is what one size costs.
type GrowthRow struct {
	Of     string  `json:"of"`              // ppo: all learn; hop: one HOP agent plays and learns among bots
	By     string  `json:"by"`              // what grows
	X      int     `json:"x"`               // to this
	MS     float64 `json:"ms_per_env_step"` // of processor time, all agents
	Memory float64 `json:"memory_mib"`      // in use at the end
}

// GrowthSlope is how something grows: by this power, with a 95 % interval over the sizes.
type GrowthSlope struct {
	Of    string         `json:"of"`
	By    string         `json:"by"`
	What  string         `json:"what"` // time or memory
	Slope float64        `json:"slope"`
	CI    stats.Interval `json:"ci"`
}

// Growth measures cleanup with pooled co-players and one network for all under PPO, and with one
// HOP agent among bots, while one thing grows at a time. done is told how far it is.
func Growth(ctx context.Context, reg *spec.Registry, c GrowthConfig, done func(at, of int)) ([]GrowthRow, []GrowthSlope, error) {
	var rows []GrowthRow
	for _, of := range []string{"ppo", "hop"} {
		for _, g := range grows {
			for _, x := range g.of(&c) {
				if !g.hop || of == "hop" {
					rows = append(rows, GrowthRow{Of: of, By: g.by, X: x})
				}
			}
		}
	}
	for i := range rows {
		done(i, len(rows))
		if err := c.measure(ctx, reg, &rows[i]); err != nil {
			return nil, nil, fmt.Errorf("bench: %s at %s %d: %w", rows[i].Of, rows[i].By, rows[i].X, err)
		}
	}
	return rows, slopes(rows), nil
}

// measure trains for some windows.
func (c *GrowthConfig) measure(ctx context.Context, reg *spec.Registry, row *GrowthRow) error {
	preset, window := "ppo-cleanup-64", 25
	sets := []string{"game.river=1", "game.orchard=1", "game.horizon=50", "train.envs=2"}
	if row.Of == "hop" {
		preset, window = "hop-cleanup-64", 10
		sets = append(sets, "train.envs=1", "train.warm.windows=0")
	}
	agents := 0
	for _, g := range grows {
		x := g.base
		if g.by == row.By {
			x = row.X
		}
		if g.by == "agents" {
			agents = x
		}
		if !g.hop || row.Of == "hop" {
			sets = append(sets, g.set(x)...)
		}
		if g.by == "hidden" && row.Of == "hop" {
			sets = append(sets, fmt.Sprintf("moa.hidden=[%d,%d]", x, x))
		}
	}
	if row.Of == "hop" {
		team := append([]string{"learn"}, strings.Split(strings.Repeat("fair ", agents-1), " ")...)
		sets = append(sets, "train.team=["+strings.Join(team[:agents], ",")+"]")
	}
	sets = append(sets, fmt.Sprint("train.window=", window), "train.save=1000000", "train.steps="+strconv.Itoa(2*window*(1+c.Windows)))
	sp, err := reg.Load(preset, sets)
	if err != nil {
		return err
	}
	runtime.GC()
	var before, mem runtime.MemStats
	runtime.ReadMemStats(&before)
	var from, to mark
	err = watch(ctx, sp, 1, func() time.Duration { return 0 }, func(m mark) {
		if to = m; from.wall.IsZero() {
			from = m
		}
		if m.step >= sp.Train.Steps {
			runtime.GC()
			runtime.ReadMemStats(&mem)
		}
	})
	if err != nil {
		return err
	}
	row.MS = 1e3 * (to.cpu - from.cpu).Seconds() / float64(to.step-from.step)
	row.Memory = (float64(mem.HeapAlloc) - float64(before.HeapAlloc)) / (1 << 20)
	return nil
}

// slopes fits a power to each growth.
func slopes(rows []GrowthRow) (list []GrowthSlope) {
	for _, l := range lines(rows) {
		for _, what := range []string{"time", "memory"} {
			var x, y []float64
			for _, r := range l {
				v := r.MS
				if what == "memory" {
					v = r.Memory
				}
				if v > 0 {
					x, y = append(x, math.Log(float64(r.X))), append(y, math.Log(v))
				}
			}
			if len(x) > 2 {
				slope, ci := stats.Slope(x, y, 0.95)
				list = append(list, GrowthSlope{l[0].Of, l[0].By, what, slope, ci})
			}
		}
	}
	return list
}

// lines cuts rows where something else grows.
func lines(rows []GrowthRow) (out [][]GrowthRow) {
	for i, r := range rows {
		if i == 0 || r.Of != rows[i-1].Of || r.By != rows[i-1].By {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], r)
	}
	return out
}

// GrowthText makes tables of rows and slopes.
func GrowthText(rows []GrowthRow, of []GrowthSlope) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "of\tgrows\tto\tms an env step\tMiB\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%d\t%.3g\t%.0f\t\n", r.Of, r.By, r.X, r.MS, r.Memory)
	}
	fmt.Fprintln(w, "\t\t\t\t\t\nof\tgrows\twhat\tpower\t95 %\t")
	for _, s := range of {
		fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%.2f to %.2f\t\n", s.Of, s.By, s.What, s.Slope, s.CI[0], s.CI[1])
	}
	w.Flush()
	return b.String()
}

// GrowthFigure draws time over what grows, both on logarithmic scales.
func GrowthFigure(rows []GrowthRow) *plot.Figure {
	f := &plot.Figure{Name: "growth", Title: "Milliseconds of processor time an env step, all agents", Cols: 2,
		Legend: []plot.Key{{Name: "ppo", Color: plot.Agent(0)}, {Name: "hop", Color: plot.Agent(1)}}}
	for _, g := range grows {
		lo, hi := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{}
		var drawn []plot.Line
		for _, l := range lines(rows) {
			if l[0].By != g.by {
				continue
			}
			line := plot.Line{Name: l[0].Of, Color: plot.Agent(0), Width: 1.6}
			if l[0].Of == "hop" {
				line.Color = plot.Agent(1)
			}
			for _, r := range l {
				v := [2]float64{float64(r.X), r.MS}
				line.X, line.Y = append(line.X, v[0]), append(line.Y, v[1])
				for k := range v {
					lo[k], hi[k] = min(lo[k], v[k]), max(hi[k], v[k])
				}
			}
			drawn = append(drawn, line)
		}
		if len(drawn) == 0 || hi[0] <= lo[0] {
			continue
		}
		x, y := plot.LogSteps(lo[0], hi[0]), plot.LogSteps(lo[1]/1.2, hi[1]*1.2)
		x.Name, y.Name = g.by, "ms"
		p := plot.New(x, y)
		for _, l := range drawn {
			p.Add(l)
		}
		f.Panels = append(f.Panels, p.Panel(g.by, plot.HalfW, plot.HalfH+20))
	}
	return f
}
