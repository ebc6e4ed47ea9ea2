package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hop/exp"
	"hop/runlog"
	"hop/train"
)

// loopEnvs times loopWindow are the 1,554 env steps of an iteration.
const loopEnvs, loopWindow = 37, 42

type planLoop struct {
	Steps     int                `json:"env_steps"`
	Decisions int                `json:"decisions"`
	Sims      int                `json:"sims"` // a decision
	CPU       float64            `json:"cpu_s"`
	Phases    map[string]float64 `json:"phases"` // seconds
}

// loopSpec is HOP on 6x6 with trees of 200 simulations, of any depth, judged by a
// network.
func loopSpec(reg *exp.Registry) (exp.Spec, error) {
	return reg.Load("hop-4x4", []string{
		"game.size=6", "game.blocks=3", "search.trees=3", "search.sims=200", "search.depth=0", "plan.leaf=net", "train.warm.windows=0", "train.standins.share=0",
		fmt.Sprintf("train.envs=%d", loopEnvs), fmt.Sprintf("train.window=%d", loopWindow), fmt.Sprintf("train.steps=%d", 2*loopEnvs*loopWindow), "train.save=1000000",
	})
}

// loop measures the slower of two iterations of training.
func (c benchPlanCmd) loop(a *app) error {
	spec, err := loopSpec(a.reg)
	if err != nil {
		return err
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
	start := time.Now()
	loop, err := spec.Build(1, exp.Machine{Workers: 1, Clock: func() time.Duration { return time.Since(start) }})
	if err != nil {
		return err
	}
	var worst planLoop
	last, before := cpuTime(), map[string]float64{}
	err = loop.Run(a.ctx, run, func(p *train.Progress) {
		out := planLoop{Steps: loopEnvs * loopWindow, Sims: 600, CPU: (cpuTime() - last).Seconds(), Phases: map[string]float64{}}
		for _, list := range p.Stats {
			if len(list) > 0 {
				out.Decisions += list[0].N
			}
		}
		for name, s := range p.Phases {
			out.Phases[name] = s - before[name]
		}
		if out.CPU > worst.CPU {
			worst = out
		}
		last, before = cpuTime(), maps.Clone(p.Phases)
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return a.emit(map[string]any{"loop": worst})
	}
	fmt.Fprintf(a.out, "%d env steps with %d decisions of %d simulations, and learning: %.2f s of processor time\n", worst.Steps, worst.Decisions, worst.Sims, worst.CPU)
	for _, name := range slices.Sorted(maps.Keys(worst.Phases)) {
		fmt.Fprintf(a.out, "  %-24s %6.2f s by the clock\n", name, worst.Phases[name])
	}
	return nil
}
