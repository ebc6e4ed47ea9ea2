package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/bench"
	"github.com/hop-marl/hop/lab/scale"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn/nnbench"
	"github.com/hop-marl/hop/num/plot"
)

type benchCmd struct {
	Env   benchEnvCmd   `cmd:"" help:"Games: agent-steps a second, masks and observations written."`
	NN    benchNNCmd    `cmd:"" name:"nn" help:"Networks: forward and training steps, share of the core's peak."`
	Plan  benchPlanCmd  `cmd:"" help:"Search: simulations a second, with and without networks."`
	Train benchTrainCmd `cmd:"" help:"Training: agent-steps a second, by phase."`
	Scale benchScaleCmd `cmd:"" help:"Cores: how much faster more of them are, and whether numbers stay the same."`
}

type benchEnvCmd struct {
	Game string        `help:"Which game; empty: stag hunt in several sizes and each other game at its defaults."`
	CPU  int           `name:"cpu" help:"Cores to run on at once; rates are per second of one core." default:"1"`
	Time time.Duration `help:"Processor time to measure each row for." default:"1s"`
	JSON bool          `help:"Print one JSON object."`
}

func (c benchEnvCmd) Run(a *app) error {
	rows, err := bench.Env(a.ctx, a.reg, c.Game, c.CPU, c.Time)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return usage("there is no game %q; see hop list games", c.Game)
	}
	if c.JSON {
		return a.emit(map[string]any{"cpu": c.CPU, "rows": rows})
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "game\tboard\tagents\tagent-steps/s per core\tns each\tobservation\tallocations\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%dx%d\t%d\t%s\t%.0f\t%d B\t%.2f\t\n", r.Game, r.Size, r.Size, r.Agents, plot.Short(r.Rate), r.NS, r.Bytes, r.Allocs)
	}
	return w.Flush()
}

type benchNNCmd struct {
	Compare string        `help:"@bench_nn_compare" type:"path" placeholder:"DIR"`
	Net     []string      `help:"Which nets; default all." placeholder:"NET"`
	Round   time.Duration `help:"Length of a round; the fastest of several counts." default:"20ms"`
	CPU     int           `name:"cpu" help:"Must be 1: kernels run on one core." default:"1"`
	JSON    bool          `help:"Print one JSON object."`
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
	if c.JSON {
		return a.emit(res)
	}
	fmt.Fprintf(a.out, "kernels %s, measured peak %.0f GFLOP/s on one core\n\n", res.Kernels, res.Peak)
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "net\top\tbatch\tus\tGFLOP/s\tof peak\t")
	for _, r := range res.Rows {
		fmt.Fprintf(w, "%s\t%s\t%d\t%.1f\t%.1f\t%.0f %%\t\n", r.Net, r.Op, r.Batch, r.US, r.GFLOPS, 100*r.Share)
	}
	return w.Flush()
}

type benchPlanCmd struct {
	CPU    int           `name:"cpu" help:"Cores that share a decision; rates are per second of one core, and of all." default:"1"`
	Envs   int           `help:"Decisions at once; 0: 1, with networks up to 32." default:"0"`
	Time   time.Duration `help:"Processor time to measure each row for." default:"300ms"`
	Size   []int         `help:"Board sizes." default:"4,6,8,16"`
	Agents []int         `help:"Numbers of agents." default:"2,4,8"`
	Sims   []int         `help:"Simulations a decision, all trees together." default:"10,100,600,1000,10000"`
	Leaf   []string      `help:"@bench_plan_leaf" default:"zero,scripts,nets"`
	Loop   bool          `help:"@bench_plan_loop"`
	Grid   bool          `help:"Print Markdown tables, a leaf each: boards and agents down, simulations across, million simulations a second."`
	JSON   bool          `help:"Print one JSON object."`
}

func (c benchPlanCmd) Run(a *app) error {
	if c.CPU < 1 || c.Envs < 0 {
		return usage("--cpu %d --envs %d: want at least one core, and 0 decisions or more", c.CPU, c.Envs)
	}
	if c.Loop {
		return c.loop(a)
	}
	var rows []bench.PlanRow
	for _, leaf := range c.Leaf {
		for _, size := range c.Size {
			for _, agents := range c.Agents {
				for _, sims := range c.Sims {
					what := bench.PlanConfig{Leaf: leaf, Size: size, Agents: agents, Sims: sims, Envs: c.Envs, CPU: c.CPU}
					b, err := bench.NewPlan(a.reg, what)
					if err != nil {
						return usageError{err}
					}
					rows = append(rows, b.Measure(c.Time))
					b.Close()
					if err := a.ctx.Err(); err != nil {
						return err
					}
				}
			}
		}
	}
	if c.JSON {
		return a.emit(map[string]any{"rows": rows})
	}
	if c.Grid {
		c.grid(a, rows)
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "leaf\tboard\tagents\tsims\tsims/s per core\tsims/s\tms a decision\tleaves a sim\tallocations\t")
	fmt.Fprintln(w, "select\tothers\tsteps\tleaves\tbackup\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%dx%d\t%d\t%d\t%s\t%s\t%.3f\t%.2f\t%.2f\t", r.Leaf, r.Size, r.Size, r.Agents, r.Sims, plot.Short(r.Rate),
			plot.Short(r.Wall), r.MS, r.Leaves, r.Allocs)
		for _, share := range []float64{r.Phases.Select, r.Phases.Others, r.Phases.Dynamics, r.Phases.Leaf, r.Phases.Backup} {
			fmt.Fprintf(w, "%.0f %%\t", 100*share)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// grid prints the rows, which lie in the order of Leaf, Size, Agents and Sims.
func (c benchPlanCmd) grid(a *app, rows []bench.PlanRow) {
	for _, leaf := range c.Leaf {
		fmt.Fprintf(a.out, "| %s, agents |", leaf)
		for _, sims := range c.Sims {
			fmt.Fprintf(a.out, " %d |", sims)
		}
		fmt.Fprintf(a.out, "\n|%s\n", strings.Repeat("---|", len(c.Sims)+1))
		for _, size := range c.Size {
			for _, agents := range c.Agents {
				fmt.Fprintf(a.out, "| %dx%d, %d |", size, size, agents)
				for range c.Sims {
					fmt.Fprintf(a.out, " %.3g |", rows[0].Rate/1e6)
					rows = rows[1:]
				}
				fmt.Fprintln(a.out)
			}
		}
		fmt.Fprintln(a.out)
	}
}

// loop measures one iteration of training.
func (c benchPlanCmd) loop(a *app) error {
	worst, err := bench.Loop(a.ctx, a.reg)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.emit(map[string]any{"loop": worst})
	}
	fmt.Fprintf(a.out, "%d env steps with %d decisions of %d simulations, and learning: %.2f s of processor time\n", worst.Steps,
		worst.Decisions, worst.Sims, worst.CPU)
	for _, name := range slices.Sorted(maps.Keys(worst.Phases)) {
		fmt.Fprintf(a.out, "  %-24s %6.2f s by the clock\n", name, worst.Phases[name])
	}
	return nil
}

type benchTrainCmd struct {
	What  string   `arg:"" optional:"" help:"A preset or a spec file." default:"ppo-4x4" placeholder:"PRESET|SPEC"`
	Set   []string `help:"Set a field, such as actor.hidden=[128,128]; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	CPU   int      `name:"cpu" help:"Cores to use." default:"1"`
	Steps int      `help:"Env steps to measure over, after as many to warm up." default:"100000"`
	JSON  bool     `help:"Print one JSON object."`
}

func (c benchTrainCmd) Run(a *app) error {
	if c.Steps < 1 {
		return usage("--steps %d, want at least 1", c.Steps)
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
	out, err := bench.Train(a.ctx, spec, c.CPU, c.Steps)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.emit(out)
	}
	fmt.Fprintf(a.out, "%s on %s: %s agent-steps for each second of processor time, %s for each second of the clock\n",
		out.Preset, plot.Count(out.CPU, "core"), plot.Short(out.Rate), plot.Short(out.WallRate))
	total := 0.
	for name, s := range out.Phases {
		if !strings.Contains(name, "/") {
			total += s
		}
	}
	for _, name := range slices.Sorted(maps.Keys(out.Phases)) {
		fmt.Fprintf(a.out, "  %-24s %6.2f s  %4.0f %%", name, out.Phases[name], 100*out.Phases[name]/total)
		if used, ok := out.Used[name]; ok && out.CPU > 1 {
			fmt.Fprintf(a.out, "  %4.1f cores used", used)
		}
		fmt.Fprintln(a.out)
	}
	fmt.Fprintf(a.out, "  memory %.0f MiB\n", out.MemoryMiB)
	return nil
}

type benchScaleCmd struct {
	Job  []string `help:"Jobs: ppo, main, hop+, adapt; none: all." enum:"ppo,main,hop+,adapt" placeholder:"JOB"`
	CPU  []int    `name:"cpu" help:"Numbers of cores, the first of them 1; none: 1, 2, 4 and so on, and all there are." placeholder:"N"`
	JSON bool     `help:"Print one JSON object."`
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
	quiet := *a
	quiet.err = io.Discard // what trainings say
	bar := a.progress("jobs")
	defer bar.End()
	l := quiet.lab()
	said := l.Watch
	l.Watch = func(n lab.News) {
		if n.Kind == lab.Counted && n.Text == "jobs" && n.Of > 0 {
			bar.Update(n.At, n.Of)
			return
		}
		said(n)
	}
	rows, err := scale.Run(a.ctx, l, c.Job, c.CPU)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.emit(map[string]any{"rows": rows})
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "job\tcores\ts of the clock\ts of processor time\tspeed-up\tefficiency\tnumbers\t")
	for _, r := range rows {
		same := "the same"
		if !r.Same {
			same = "DIFFER"
		}
		fmt.Fprintf(w, "%s\t%d\t%.2f\t%.2f\t%.2f\t%.0f %%\t%s\t\n", r.Job, r.Cores, r.Wall, r.CPU, r.Speedup, 100*r.Efficiency, same)
	}
	return w.Flush()
}
