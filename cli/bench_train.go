package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"hop/exp"
	"hop/runlog"
	"hop/train"
)

type benchTrainCmd struct {
	What  string   `arg:"" optional:"" help:"A preset or a spec file." default:"ppo-4x4"`
	Set   []string `help:"Set a field, such as actor.hidden=[128,128]; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	CPU   int      `name:"cpu" help:"Cores to use." default:"1"`
	Steps int      `help:"Env steps to measure over, after as many to warm up." default:"100000"`
	JSON  bool     `help:"Print one JSON object."`
}

func (benchTrainCmd) Help() string {
	return `Examples:

  hop bench train
  hop bench train ppo-4x4 --set actor.hidden=[128,128] --cpu 2

An agent-step is one row of one agent that was alive: played once and learnt from ppo.epochs times. Phases are in seconds of processor time with --cpu 1, else of the clock.`
}

type benchTrainJSON struct {
	Preset    string             `json:"preset"`
	CPU       int                `json:"cpu"`
	Rate      float64            `json:"agent_steps_per_s"`      // per second of processor time
	WallRate  float64            `json:"agent_steps_per_wall_s"` // per second of the clock, all cores
	EnvRate   float64            `json:"env_steps_per_s"`
	Collect   float64            `json:"collect_agent_steps_per_s"`
	Learn     float64            `json:"learn_agent_steps_per_s"`
	Phases    map[string]float64 `json:"phases"`
	MemoryMiB float64            `json:"memory_mib"`
}

func (c benchTrainCmd) Run(a *app) error {
	spec, err := a.reg.Load(c.What, append([]string{fmt.Sprintf("train.steps=%d", 2*c.Steps), fmt.Sprintf("train.save=%d", 4*c.Steps)}, c.Set...))
	if err != nil {
		return usageError{err}
	}
	dir, err := os.MkdirTemp("", "hop-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	run, err := runlog.Create(filepath.Join(dir, "run"), nil, runlog.Info{})
	if err != nil {
		return err
	}
	defer run.Close()
	clock := cpuTime
	if c.CPU > 1 {
		start := time.Now()
		clock = func() time.Duration { return time.Since(start) }
	}
	loop, err := spec.Build(1, exp.Machine{Workers: max(1, c.CPU), Clock: clock})
	if err != nil {
		return err
	}
	type mark struct {
		rows, step int
		cpu        time.Duration
		wall       time.Time
		phases     map[string]float64
	}
	var from, to mark
	err = loop.Run(a.ctx, run, func(p *train.Progress) {
		rows := 0
		for _, list := range p.Stats {
			if len(list) > 0 {
				rows += list[0].N
			}
		}
		to.rows += rows
		to.step, to.cpu, to.wall, to.phases = p.Step, cpuTime(), time.Now(), maps.Clone(p.Phases)
		if from.wall.IsZero() && p.Step >= c.Steps {
			from = to
		}
	})
	if err != nil {
		return err
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	rows := float64(to.rows - from.rows)
	out := benchTrainJSON{
		Preset: spec.Name, CPU: max(1, c.CPU), Phases: map[string]float64{}, MemoryMiB: float64(mem.Sys) / (1 << 20),
		Rate: rows / (to.cpu - from.cpu).Seconds(), WallRate: rows / to.wall.Sub(from.wall).Seconds(),
		EnvRate: float64(to.step-from.step) / (to.cpu - from.cpu).Seconds(),
	}
	for name, s := range to.phases {
		out.Phases[name] = s - from.phases[name]
	}
	out.Collect, out.Learn = rows/out.Phases["collect"], rows/out.Phases["learn"]
	if c.JSON {
		return a.emit(out)
	}
	fmt.Fprintf(a.out, "%s on %d core%s: %s agent-steps for each second of processor time, %s for each second of the clock\n", out.Preset, out.CPU, plural(out.CPU), short(out.Rate), short(out.WallRate))
	total := 0.
	for name, s := range out.Phases {
		if !strings.Contains(name, "/") {
			total += s
		}
	}
	for _, name := range slices.Sorted(maps.Keys(out.Phases)) {
		fmt.Fprintf(a.out, "  %-24s %6.2f s  %4.0f %%\n", name, out.Phases[name], 100*out.Phases[name]/total)
	}
	fmt.Fprintf(a.out, "  memory %.0f MiB\n", out.MemoryMiB)
	return nil
}
