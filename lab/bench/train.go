package bench

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/spec"
)

// TrainRow is a training's speed.
type TrainRow struct {
	Preset    string             `json:"preset"`
	CPU       int                `json:"cpu"`
	Seeds     int                `json:"seeds"`
	Rate      float64            `json:"agent_steps_per_s"`      // per second of processor time
	WallRate  float64            `json:"agent_steps_per_wall_s"` // per second of the clock, all cores
	EnvRate   float64            `json:"env_steps_per_s"`
	Collect   float64            `json:"collect_agent_steps_per_s"`
	Learn     float64            `json:"learn_agent_steps_per_s"`
	Phases    map[string]float64 `json:"phases"`
	Used      map[string]float64 `json:"cores_used"` // by phase: how many cores did not wait, in the mean
	MemoryMiB float64            `json:"memory_mib"`
}

// mark is how far a training is, and what it has cost.
type mark struct {
	rows, step int // rows of agents that were alive
	cpu        time.Duration
	wall       time.Time
	phases     map[string]float64
	used       map[string]float64
}

// since returns the seconds of every phase since an earlier mark.
func (m mark) since(from mark) map[string]float64 {
	out := map[string]float64{}
	for name, s := range m.phases {
		out[name] = s - from.phases[name]
	}
	return out
}

// usedSince returns how many cores did not wait in each phase since an earlier mark.
func (m mark) usedSince(from mark) map[string]float64 {
	out := map[string]float64{}
	for name, s := range m.used {
		if took := m.phases[name] - from.phases[name]; took > 0 {
			out[name] = (s - from.used[name]) / took
		}
	}
	return out
}

// watch trains in a folder that is thrown away, and marks every window.
func watch(ctx context.Context, sp spec.Spec, seed uint64, workers int, clock func() time.Duration, each func(mark)) error {
	loop, err := sp.Build(seed, spec.Machine{Workers: workers, Clock: clock})
	if err != nil {
		return err
	}
	return follow(ctx, loop, each)
}

// follow runs a training that has been built.
func follow(ctx context.Context, loop *train.SelfPlay, each func(mark)) error {
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
	rows := 0
	return loop.Run(ctx, run, func(p *train.Progress) {
		for _, list := range p.Stats {
			if len(list) > 0 {
				rows += list[0].N
			}
		}
		each(mark{rows, p.Step, cpu.Time(), time.Now(), maps.Clone(p.Phases), maps.Clone(p.Used)})
	})
}

func clock() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// half is the second half of a seed's training.
type half struct {
	from, to mark
	err      error
}

// Train measures a training of twice as many env steps as given, over the second half; of several
// seeds side by side over the cores, their rates together.
func Train(ctx context.Context, sp spec.Spec, cores, steps, seeds int) (*TrainRow, error) {
	cores, seeds = max(1, cores), max(1, seeds)
	timer := cpu.Time
	if cores > 1 || seeds > 1 {
		timer = clock()
	}
	halves := make([]half, seeds)
	var all sync.WaitGroup
	for i := range halves {
		all.Go(func() {
			h := &halves[i]
			h.err = watch(ctx, sp, uint64(i+1), max(1, cores/seeds), timer, func(m mark) {
				if h.to = m; h.from.wall.IsZero() && m.step >= steps {
					h.from = m
				}
			})
		})
	}
	all.Wait()
	out := &TrainRow{Preset: sp.Name, CPU: cores, Seeds: seeds, Phases: map[string]float64{}, Used: map[string]float64{}}
	from, to, rows, envSteps := halves[0].from.cpu, halves[0].to.cpu, 0, 0
	for _, h := range halves {
		if h.err != nil {
			return nil, h.err
		}
		from, to = min(from, h.from.cpu), max(to, h.to.cpu)
		rows, envSteps = rows+h.to.rows-h.from.rows, envSteps+h.to.step-h.from.step
		out.WallRate += float64(h.to.rows-h.from.rows) / h.to.wall.Sub(h.from.wall).Seconds()
		for name, s := range h.to.since(h.from) {
			out.Phases[name] += s / float64(seeds)
		}
		for name, n := range h.to.usedSince(h.from) {
			out.Used[name] += n
		}
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	out.MemoryMiB = float64(mem.Sys) / (1 << 20)
	out.Rate, out.EnvRate = float64(rows)/(to-from).Seconds(), float64(envSteps)/(to-from).Seconds()
	each := float64(rows) / float64(seeds)
	out.Collect, out.Learn = each/out.Phases["collect"], each/out.Phases["learn"]
	return out, nil
}

// loopEnvs times loopWindow are the 1,554 env steps of an iteration.
const loopEnvs, loopWindow = 37, 42

// LoopRow is the cost of one iteration of training.
type LoopRow struct {
	Steps     int                `json:"env_steps"`
	Decisions int                `json:"decisions"`
	Sims      int                `json:"sims"` // a decision
	CPU       float64            `json:"cpu_s"`
	Phases    map[string]float64 `json:"phases"` // seconds
}

// loopSpec is HOP on 6x6 with trees of 200 simulations, of any depth, whose leaves a
// network evaluates.
func loopSpec(reg *spec.Registry) (spec.Spec, error) {
	return reg.Load("hop-4x4", []string{
		"game.size=6", "game.blocks=3", "search.trees=3", "search.sims=200", "search.depth=0", "leaf.kind=net",
		"train.warm.windows=0", "train.standins.share=0", "train.save=1000000",
		fmt.Sprintf("train.envs=%d", loopEnvs), fmt.Sprintf("train.window=%d", loopWindow),
		fmt.Sprintf("train.steps=%d", 2*loopEnvs*loopWindow),
	})
}

// Loop measures the slower of two iterations of training.
func Loop(ctx context.Context, reg *spec.Registry) (*LoopRow, error) {
	sp, err := loopSpec(reg)
	if err != nil {
		return nil, err
	}
	worst, last := &LoopRow{}, mark{cpu: cpu.Time()}
	err = watch(ctx, sp, 1, 1, clock(), func(m mark) {
		out := &LoopRow{Steps: loopEnvs * loopWindow, Decisions: m.rows - last.rows, Sims: 600, Phases: m.since(last)}
		if out.CPU = (m.cpu - last.cpu).Seconds(); out.CPU > worst.CPU {
			worst = out
		}
		last = m
	})
	return worst, err
}

// EnvText is a table for a terminal.
func EnvText(rows []EnvRow) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "game\tboard\tagents\tagent-steps/s per core\tns each\tobservation\tallocations\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%dx%d\t%d\t%s\t%.0f\t%d B\t%.2f\t\n", r.Game, r.Size, r.Size, r.Agents, plot.Short(r.Rate), r.NS, r.Bytes, r.Allocs)
	}
	w.Flush()
	return b.String()
}

// PlanText is a table for a terminal.
func PlanText(rows []PlanRow) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
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
	w.Flush()
	return b.String()
}

// PlanGrid is Markdown tables, a leaf each: boards and agents down, simulations across.
func PlanGrid(rows []PlanRow) string {
	var b strings.Builder
	for i, r := range rows {
		if i == 0 || r.Leaf != rows[i-1].Leaf {
			var sims []string
			for _, s := range rows[i:] {
				if s.Leaf == r.Leaf && s.Size == r.Size && s.Agents == r.Agents {
					sims = append(sims, fmt.Sprintf(" %d |", s.Sims))
				}
			}
			fmt.Fprintf(&b, "| %s, agents |%s\n|%s", r.Leaf, strings.Join(sims, ""), strings.Repeat("---|", len(sims)+1))
		}
		if i == 0 || r.Leaf != rows[i-1].Leaf || r.Size != rows[i-1].Size || r.Agents != rows[i-1].Agents {
			fmt.Fprintf(&b, "\n| %dx%d, %d |", r.Size, r.Size, r.Agents)
		}
		fmt.Fprintf(&b, " %.3g |", r.Rate/1e6)
		if i+1 == len(rows) || rows[i+1].Leaf != r.Leaf {
			b.WriteString("\n\n")
		}
	}
	return b.String()
}

// Text says how long an iteration took.
func (r *LoopRow) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d env steps with %d decisions of %d simulations, and learning: %.2f s of processor time\n", r.Steps,
		r.Decisions, r.Sims, r.CPU)
	for _, name := range slices.Sorted(maps.Keys(r.Phases)) {
		fmt.Fprintf(&b, "  %-24s %6.2f s by the clock\n", name, r.Phases[name])
	}
	return b.String()
}

// Text says how fast a training was, by phase.
func (r *TrainRow) Text() string {
	var b strings.Builder
	seeds := ""
	if r.Seeds > 1 {
		seeds = plot.Count(r.Seeds, "seed") + " of "
	}
	fmt.Fprintf(&b, "%s%s on %s: %s agent-steps for each second of processor time, %s for each second of the clock\n",
		seeds, r.Preset, plot.Count(r.CPU, "core"), plot.Short(r.Rate), plot.Short(r.WallRate))
	total := 0.
	for name, s := range r.Phases {
		if !strings.Contains(name, "/") {
			total += s
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Phases)) {
		fmt.Fprintf(&b, "  %-24s %6.2f s  %4.0f %%", name, r.Phases[name], 100*r.Phases[name]/total)
		if used, ok := r.Used[name]; ok && r.CPU > 1 {
			fmt.Fprintf(&b, "  %4.1f cores used", used)
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprintf(&b, "  memory %.0f MiB\n", r.MemoryMiB)
	return b.String()
}
