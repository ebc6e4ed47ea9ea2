package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/bench"
	"github.com/hop-marl/hop/lab/scale"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn/nnbench"
)

type benchCmd struct {
	Env    benchEnvCmd    `cmd:"" help:"Games: agent-steps a second, masks and observations written."`
	NN     benchNNCmd     `cmd:"" name:"nn" help:"Networks: forward and training steps, share of the core's peak."`
	Plan   benchPlanCmd   `cmd:"" help:"Search: simulations a second, with and without networks."`
	Train  benchTrainCmd  `cmd:"" help:"Training: agent-steps a second, by phase."`
	Scale  benchScaleCmd  `cmd:"" help:"Cores: how much faster more of them are, and whether numbers stay the same."`
	Growth benchGrowthCmd `cmd:"" help:"Growth: time, memory and start by board, agents, network, simulations and cores."`
}

type benchEnvCmd struct {
	Game string        `help:"Which game; empty: stag hunt in several sizes and each other game at its defaults."`
	CPU  int           `name:"cpu" help:"Cores to run on at once; rates are per second of one core." default:"1"`
	Time time.Duration `help:"Processor time to measure each row for." default:"1s"`
	jsonFlag
}

func (c benchEnvCmd) Run(a *app) error {
	rows, err := bench.Env(a.ctx, a.reg, c.Game, c.CPU, c.Time)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return usage("there is no game %q; see hop list games", c.Game)
	}
	return c.answer(a, map[string]any{"cpu": c.CPU, "rows": rows}, bench.EnvText(rows))
}

type benchNNCmd struct {
	Compare string        `help:"@bench_nn_compare" type:"path" placeholder:"DIR"`
	Net     []string      `help:"Which nets; default all." placeholder:"NET"`
	Round   time.Duration `help:"Length of a round; the fastest of several counts." default:"20ms"`
	CPU     int           `name:"cpu" help:"Must be 1: kernels run on one core." default:"1"`
	jsonFlag
}

func (c benchNNCmd) Run(a *app) error {
	if err := f32.KernelsErr(); err != nil {
		return err
	}
	if c.CPU != 1 {
		return usage("--cpu %d: kernels run on one core; start several for more", c.CPU)
	}
	for _, net := range c.Net {
		if !slices.Contains(nnbench.Nets(), net) {
			return usage("--net %s: there is no such net, there are %s", net, strings.Join(nnbench.Nets(), ", "))
		}
	}
	start := time.Now()
	cfg := nnbench.Config{Clock: func() time.Duration { return time.Since(start) }, Round: c.Round, Nets: c.Net}
	if c.Compare != "" {
		return nnbench.Compare(c.Compare, cfg)
	}
	res, err := nnbench.Run(cfg)
	if err != nil {
		return err
	}
	return c.answer(a, res, res.Text())
}

type benchPlanCmd struct {
	flags[bench.Plans]
	Loop bool `help:"@bench_plan_loop"`
	Grid bool `help:"Print Markdown tables, a leaf each: boards and agents down, simulations across, million simulations a second."`
	jsonFlag
}

func (c benchPlanCmd) Run(a *app, all bench.Plans) error {
	if c.Loop {
		worst, err := bench.Loop(a.ctx, a.reg)
		if err != nil {
			return err
		}
		return c.answer(a, map[string]any{"loop": worst}, worst.Text())
	}
	rows, err := all.Measure(a.ctx, a.reg)
	if err != nil {
		return usageError{err}
	}
	text := bench.PlanText
	if c.Grid {
		text = bench.PlanGrid
	}
	return c.answer(a, map[string]any{"rows": rows}, text(rows))
}

type benchGrowthCmd struct {
	flags[bench.Growth]
	Out string `help:"Folder to write into; default: a new one, runs/growth-001." type:"path" placeholder:"DIR"`
	jsonFlag
}

func (c benchGrowthCmd) Run(a *app, ask bench.Growth) error {
	bar := a.progress("trainings")
	lines, err := ask.Measure(a.ctx, a.reg, bar.Update)
	bar.End()
	if err != nil {
		return err
	}
	if c.Out == "" {
		if c.Out, err = lab.NewFolder("runs", "growth"); err != nil {
			return err
		}
	}
	if err := bench.WriteGrowth(c.Out, commandLine(), ask.Turns, lines); err != nil {
		return err
	}
	page := filepath.Join(c.Out, "growth.html")
	return c.answer(a, map[string]any{"rows": lines, "worst": bench.Steepest(lines), "page": page},
		fmt.Sprintf("%s\nOpen the page: %s\n", bench.GrowthText(lines), page))
}

type benchTrainCmd struct {
	What  string   `arg:"" optional:"" help:"A preset or a spec file." default:"ppo-4x4" placeholder:"PRESET|SPEC"`
	Set   []string `help:"Set a field, such as actor.hidden=[128,128]; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	CPU   int      `name:"cpu" help:"Cores to use." default:"1"`
	Steps int      `help:"Env steps to measure over, after as many to warm up." default:"100000"`
	Seeds int      `help:"Seeds to train side by side over the cores; rates are of all together." default:"1"`
	deviceFlag
	jsonFlag
}

func (c benchTrainCmd) Run(a *app) error {
	if c.Steps < 1 {
		return usage("--steps %d, want at least 1", c.Steps)
	}
	if err := c.open(a); err != nil {
		return err
	}
	steps := []string{fmt.Sprintf("train.steps=%d", 2*c.Steps), fmt.Sprintf("train.save=%d", 4*c.Steps)}
	spec, err := a.reg.Load(c.What, append(steps, c.Set...))
	if err != nil {
		return usageError{err}
	}
	if one := spec.Train.Envs * spec.Train.Window; c.Steps < one {
		return usage("--steps %d, want at least %d: a window of %s has so many, %d envs (train.envs) of %d steps (train.window)",
			c.Steps, one, spec.Name, spec.Train.Envs, spec.Train.Window)
	}
	out, err := bench.Train(a.ctx, spec, c.CPU, c.Steps, c.Seeds)
	if err != nil {
		return err
	}
	return c.answer(a, out, out.Text())
}

type benchScaleCmd struct {
	Job   []string `help:"Jobs: ppo, main, hop+, adapt; none: all." enum:"ppo,main,hop+,adapt" placeholder:"JOB"`
	CPU   []int    `name:"cpu" help:"Numbers of cores, the first of them 1; none: 1, 2, 4 and so on, and all there are." placeholder:"N"`
	Steps int      `help:"Environment steps that ppo trains for." default:"300000"`
	jsonFlag
}

func (c benchScaleCmd) Run(a *app) error {
	if len(c.Job) == 0 {
		c.Job = scale.Jobs()
	}
	if len(c.CPU) == 0 {
		c.CPU = scale.Counts()
	}
	if c.CPU[0] != 1 || slices.Min(c.CPU) < 1 {
		return usage("--cpu %v: want numbers of cores, the first of them 1, which the others are compared with", c.CPU)
	}
	bar := a.progress("jobs")
	defer bar.End()
	l := a.lab()
	l.Watch = func(n lab.News) { // and nothing of what trainings say
		if n.Kind == lab.Counted && n.Text == "jobs" && n.Of > 0 {
			bar.Update(n.At, n.Of)
		}
	}
	rows, err := scale.Run(a.ctx, l, c.Job, c.CPU, c.Steps)
	if err != nil {
		return err
	}
	return c.answer(a, map[string]any{"rows": rows}, scale.Text(rows))
}
