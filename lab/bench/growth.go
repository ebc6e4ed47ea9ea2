package bench

import (
	"cmp"
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

	least float64 // seconds that are measured of each training, at least
}

// DefaultGrowth returns everything, twice.
func DefaultGrowth() Growth {
	g := Growth{Turns: 2, least: 0.3}
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
	Vary   []string      `json:"vary,omitempty"` // and what is varied; nothing: the number of workers
	Time   Slope         `json:"time"`
	Memory Slope         `json:"memory"`
	Start  Slope         `json:"start"`
	Points []GrowthPoint `json:"points"`
}

// GrowthPoint is a training measured at one size: medians of turns.
type GrowthPoint struct {
	At       float64 `json:"at"`
	Value    int     `json:"value"`    // of what is varied
	Time     float64 `json:"time_s"`   // of an agent-step: processor time, of cores the clock
	Low      float64 `json:"low_s"`    // of turns
	High     float64 `json:"high_s"`   // of turns
	Bytes    float64 `json:"bytes"`    // live after what was measured
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
			"agents share a network, a step is to cost the same. HOP predicts each co-player: a step at most as the agents, both on the " +
			"stag hunt, where leaves are played to their end by scripts and there are as many hares as hunters, and among many on the " +
			"cleanup, where trees predict the nearest three."},
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
	planning := []string{"train.envs=8", "train.window=16", "train.warm.windows=0", "train.standins.share=0", "train.strangers.every=0"}
	hop := func(more ...string) []string {
		return append(more, append(planning, fmt.Sprintf("search.trees=%d", trees))...)
	}
	of := map[string]string{"HOP": "hop-4x4", "HOP among many": "hop-cleanup-64"} // others are PPO
	line := func(axis, x, name, vary string, points []GrowthPoint, sets []string, time, memory, start float64) *GrowthLine {
		l := &GrowthLine{Axis: axis, X: x, Name: name, Preset: cmp.Or(of[name], "ppo-cleanup"), Vary: strings.Fields(vary), Sets: sets}
		l.Points = slices.Clone(points)
		l.Time.Most, l.Memory.Most, l.Start.Most = time, memory, start
		return l
	}
	const small = "game.size=8"
	return []*GrowthLine{
		line("board", "cells", "PPO", "game.size=%d", board, ppo(), 1, 1, 1),
		line("board", "cells", "HOP", "game.size=%d", board, hop(), 1, 1, 1),
		line("agents", "agents", "PPO", "game.agents=%d", doubled(2, 64), ppo(small), 1, 2, 2),
		line("agents", "agents", "PPO, one for all", "game.agents=%d", doubled(2, 64),
			ppo(small, "game.pooled=true", "train.brains=[0]"), 0, 1, 1),
		line("agents", "agents", "HOP", "game.agents=%d game.hares=%[1]d", doubled(2, 8), hop(small), 1, 2, 2),
		line("agents", "agents", "HOP among many", "game.agents=%d", doubled(2, 64),
			append(planning, "train.envs=2", small, "game.river=2", "game.orchard=2"), 1, 2, 2),
		line("width", "units", "PPO", "actor.hidden=[%d,%[1]d]", doubled(32, 1024), ppo(small), 2, 2, 2),
		line("sims", "simulations", "HOP", "search.sims=%d", sims, hop(small), 1, 1, 1),
		line("cores", "cores", "PPO", "", cores, ppo(small), 0, 1, 1),
		line("cores", "cores", "HOP", "", cores, hop(small), 0, 1, 1),
	}
}

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
				if err := l.measure(ctx, reg, &l.Points[i], g.least); err != nil {
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

// measure trains for a window, and measures those that follow it, until they have taken long enough. A size that the spec
// or the machine refuses is noted.
func (l *GrowthLine) measure(ctx context.Context, reg *spec.Registry, p *GrowthPoint, least float64) error {
	if p.Refused != "" {
		return nil
	}
	sets := append(slices.Clone(l.Sets), "train.steps=1000000", "train.save=1000000", "eval.episodes=1") // more than is measured
	for _, vary := range l.Vary {
		sets = append(sets, fmt.Sprintf(vary, p.Value))
	}
	workers := 1
	if len(l.Vary) == 0 {
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
	enough, stop := context.WithCancel(ctx)
	defer stop()
	var from, to mark
	spent := func() float64 {
		if len(l.Vary) == 0 {
			return to.wall.Sub(from.wall).Seconds()
		}
		return (to.cpu - from.cpu).Seconds()
	}
	err = follow(enough, loop, func(m mark) {
		if to = m; from.wall.IsZero() {
			from = m
		} else if spent() >= least && enough.Err() == nil {
			p.times = append(p.times, spent()/float64(to.rows-from.rows))
			p.held = append(p.held, held()-before)
			stop()
		}
	})
	if errors.Is(err, context.Canceled) {
		err = ctx.Err()
	}
	return err
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
