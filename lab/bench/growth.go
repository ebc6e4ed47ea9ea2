package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/spec"
)

// Growth is a measurement of how time and memory grow, one thing varied at a time.
type Growth struct {
	Axis   []string `yaml:"axis" doc:"what to vary: board, agents, width, sims or cores"`
	Turns  int      `yaml:"turns" doc:"times that every point is measured, in turns; the median counts" range:"1..100"`
	Points int      `yaml:"points" doc:"points of each line, from the smallest on; 0: all" range:"0.."`
}

// DefaultGrowth returns everything, twice.
func DefaultGrowth() Growth {
	g := Growth{Turns: 2}
	for _, a := range GrowthAxes() {
		g.Axis = append(g.Axis, a.Name)
	}
	return g
}

// Validate returns everything that is wrong, joined.
func (g Growth) Validate() error {
	errs := []error{config.Check(g)}
	for _, name := range g.Axis {
		if known := DefaultGrowth().Axis; !slices.Contains(known, name) {
			errs = append(errs, config.Bad("axis", name, "one of "+strings.Join(known, ", ")))
		}
	}
	return errors.Join(errs...)
}

// GrowthLine is one thing varied in one training, and what came of it.
type GrowthLine struct {
	Axis   string        `json:"axis"`
	X      string        `json:"x"` // what At counts
	Name   string        `json:"name"`
	Preset string        `json:"preset"`
	Sets   []string      `json:"sets"`           // what is set at every point
	Vary   string        `json:"vary,omitempty"` // and what is varied; "": the number of workers
	Time   Slope         `json:"time"`
	Memory Slope         `json:"memory"`
	Start  Slope         `json:"start"`
	Points []GrowthPoint `json:"points"`

	steps int // env steps of a window
}

// GrowthPoint is a training measured at one size: medians of turns.
type GrowthPoint struct {
	At       float64 `json:"at"`
	Value    int     `json:"value"`    // of what is varied
	Time     float64 `json:"time_s"`   // of an agent-step: processor time, of cores the clock
	Low      float64 `json:"low_s"`    // of turns
	High     float64 `json:"high_s"`   // of turns
	Bytes    float64 `json:"bytes"`    // live after a window
	Estimate float64 `json:"estimate"` // of hop, before it begins, of the whole process
	Start    float64 `json:"start_s"`  // processor time until the first window can be played
	Refused  string  `json:"refused,omitempty"`

	times, held, starts []float64
}

// Slope is by which power something grows, and by which it is to at most.
type Slope struct {
	Slope stats.Number `json:"slope"`
	Most  float64      `json:"most"`
}

// Over is by how much it grows faster than it is to; of no slope it is not a number.
func (s Slope) Over() float64 { return float64(s.Slope) - s.Most }

// upper is where the upper half of n points begins: of seven the last four, and never fewer than two.
func upper(n int) int { return max(0, min(n/2, n-2)) }

// slope is the power by which y grows with x: the least-squares line through the logarithms of the upper half of the
// points, which are sorted. Of fewer than two points there is none.
func slope(x, y []float64) stats.Number {
	from := upper(len(x))
	x, y = x[from:], y[from:]
	if len(x) < 2 {
		return stats.Number(math.NaN())
	}
	n, sx, sy, sxx, sxy := float64(len(x)), 0., 0., 0., 0.
	for i := range x {
		lx, ly := math.Log(x[i]), math.Log(y[i])
		sx, sy, sxx, sxy = sx+lx, sy+ly, sxx+lx*lx, sxy+lx*ly
	}
	return stats.Number((n*sxy - sx*sy) / (n*sxx - sx*sx))
}

// GrowthAxis is something that is varied.
type GrowthAxis struct{ Name, Says string }

// GrowthAxes are what is varied, with how fast lines are to grow at most.
func GrowthAxes() []GrowthAxis {
	return []GrowthAxis{
		{"board", "Cells, from 4x4 to 64x64. Everything at most as the cells: an observation has a number for each, on each plane."},
		{"agents", "Agents, 2 to 64. A step is that of one agent. PPO sees each co-player on a plane of its own and has a network for each " +
			"agent: a step at most as the agents, memory and start at most as their square. Where it sees a count of the others and all " +
			"agents share a network, a step is to cost the same. HOP predicts each co-player: a step at most as the agents."},
		{"width", "Units in each of two hidden layers: everything at most as the weights between them, the square."},
		{"sims", "Simulations of a decision, all trees together: at most as many."},
		{"cores", "Cores. The time is of the clock, and more cores are to be no slower."},
	}
}

// trees are those of a decision.
const trees = 4

// growthLines are what is measured: PPO on a game that nobody leaves early, and HOP.
func growthLines() []*GrowthLine {
	doubled := func(from, to int) (list []GrowthPoint) {
		for n := from; n <= to; n *= 2 {
			list = append(list, GrowthPoint{At: float64(n), Value: n})
		}
		return list
	}
	board, sims, cores := doubled(4, 64), doubled(8, 512), doubled(1, runtime.NumCPU())
	for i := range board {
		board[i].At *= board[i].At
	}
	for i := range sims {
		sims[i].At *= trees
	}
	ppo := func(more ...string) []string {
		return append([]string{"game.river=2", "game.orchard=2", "train.envs=8", "train.window=32"}, more...)
	}
	hop := func(more ...string) []string {
		return append([]string{"train.envs=8", "train.window=16", "train.warm.windows=0", "train.standins.share=0",
			fmt.Sprintf("search.trees=%d", trees)}, more...)
	}
	line := func(axis, x, name, vary string, points []GrowthPoint, sets []string, time, memory, start float64) *GrowthLine {
		l := &GrowthLine{Axis: axis, X: x, Name: name, Preset: "ppo-cleanup", Vary: vary, Sets: sets, steps: 8 * 32}
		l.Points = slices.Clone(points)
		if name == planner {
			l.Preset, l.steps = "hop-4x4", 8*16
		}
		l.Time.Most, l.Memory.Most, l.Start.Most = time, memory, start
		return l
	}
	const small = "game.size=8"
	return []*GrowthLine{
		line("board", "cells", "PPO", "game.size=%d", board, ppo(), 1, 1, 1),
		line("board", "cells", planner, "game.size=%d", board, hop(), 1, 1, 1),
		line("agents", "agents", "PPO", "game.agents=%d", doubled(2, 64), ppo(small), 1, 2, 2),
		line("agents", "agents", "PPO, one for all", "game.agents=%d", doubled(2, 64),
			ppo(small, "game.pooled=true", "train.brains=[0]"), 0, 1, 1),
		line("agents", "agents", planner, "game.agents=%d", doubled(2, 64), hop(small), 1, 2, 2),
		line("width", "units", "PPO", "actor.hidden=[%d,%[1]d]", doubled(32, 1024), ppo(small), 2, 2, 2),
		line("sims", "simulations", planner, "search.sims=%d", sims, hop(small), 1, 1, 1),
		line("cores", "cores", "PPO", "", cores, ppo(small), 0, 1, 1),
		line("cores", "cores", planner, "", cores, hop(small), 0, 1, 1),
	}
}

// planner is the name of lines whose agents plan.
const planner = "HOP"

// Measure measures in turns, so that what disturbs the machine for a while disturbs all lines. count
// is told how many trainings are done, of how many.
func (g Growth) Measure(ctx context.Context, reg *spec.Registry, count func(done, of int)) ([]*GrowthLine, error) {
	lines := slices.DeleteFunc(growthLines(), func(l *GrowthLine) bool { return !slices.Contains(g.Axis, l.Axis) })
	done, of := 0, 0
	for _, l := range lines {
		if g.Points > 0 {
			l.Points = l.Points[:min(g.Points, len(l.Points))]
		}
		of += g.Turns * len(l.Points)
	}
	for range g.Turns {
		for _, l := range lines {
			for i := range l.Points {
				if err := l.measure(ctx, reg, &l.Points[i]); err != nil {
					return nil, err
				}
				done++
				count(done, of)
			}
		}
	}
	for _, l := range lines {
		l.conclude()
	}
	return lines, nil
}

// measure trains for two windows, and measures the second. A size that the spec or the machine refuses is noted.
func (l *GrowthLine) measure(ctx context.Context, reg *spec.Registry, p *GrowthPoint) error {
	if p.Refused != "" {
		return nil
	}
	steps := l.steps + 1 // so that there are two windows
	sets := append(slices.Clone(l.Sets), fmt.Sprintf("train.steps=%d", steps), fmt.Sprintf("train.save=%d", 4*steps), "eval.episodes=1")
	workers := 1
	if l.Vary != "" {
		sets = append(sets, fmt.Sprintf(l.Vary, p.Value))
	} else {
		workers = p.Value
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
	before := held()
	begin := cpu.Time()
	sp, err := reg.Load(l.Preset, sets)
	var loop *train.SelfPlay
	if err == nil {
		loop, err = sp.Build(1, spec.Machine{Workers: workers})
	}
	if err != nil {
		p.Refused = err.Error()
		return nil
	}
	p.starts = append(p.starts, (cpu.Time() - begin).Seconds())
	parts, err := sp.Memory(1, workers)
	if err != nil {
		return err
	}
	p.Estimate = 0
	for _, part := range parts {
		p.Estimate += part.Bytes
	}
	var from, to mark
	err = follow(ctx, loop, func(m mark) {
		if to = m; from.wall.IsZero() {
			from = m
		} else if m.step >= steps {
			p.held = append(p.held, held()-before)
		}
	})
	if err != nil {
		return err
	}
	spent := (to.cpu - from.cpu).Seconds()
	if l.Vary == "" {
		spent = to.wall.Sub(from.wall).Seconds()
	}
	p.times = append(p.times, spent/float64(to.rows-from.rows))
	return nil
}

// held returns the bytes that are alive.
func held() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what pools let go
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// conclude takes the medians of turns, and the slopes over points that were not refused.
func (l *GrowthLine) conclude() {
	var x, times, bytes, starts []float64
	for i := range l.Points {
		p := &l.Points[i]
		if p.Refused != "" {
			continue
		}
		p.Time, p.Low, p.High = stats.Quantile(p.times, 0.5), slices.Min(p.times), slices.Max(p.times)
		p.Bytes, p.Start = stats.Quantile(p.held, 0.5), stats.Quantile(p.starts, 0.5)
		x, times, bytes, starts = append(x, p.At), append(times, p.Time), append(bytes, p.Bytes), append(starts, p.Start)
	}
	l.Time.Slope, l.Memory.Slope, l.Start.Slope = slope(x, times), slope(x, bytes), slope(x, starts)
}
