package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hop/agent"
	"hop/dataset"
	"hop/f32"
	"hop/field"
	"hop/internal/cpu"
	"hop/pretrain"
	"hop/runlog"
)

type pretrainMOACmd struct {
	Data      string   `help:"Folder of a dataset." required:"" type:"path" placeholder:"DIR"`
	Out       string   `help:"Folder of the run; an interrupted one with the same settings goes on." required:"" type:"path" placeholder:"DIR"`
	Condition string   `help:"What the model is told about the agent: none, the goal it reached in the end, or its type." enum:"none,goal,type" default:"none"`
	History   bool     `help:"Remember the agent's steps so far (a GRU; model.history=64)."`
	Net       string   `help:"dense, or conv: HOP's net." enum:"dense,conv" default:"dense"`
	Beside    string   `help:"Run whose agents' own models of each other are judged on the same rows." type:"path" placeholder:"RUN"`
	Epochs    int      `help:"Passes over the data at most." default:"10"`
	Set       []string `help:"Set a field, such as learning.lr=1e-3 or model.hidden=[64,64]; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Seed      uint64   `help:"Names all random streams." default:"1"`
	JSON      bool     `help:"Print one JSON object."`
}

func (pretrainMOACmd) Help() string {
	return `Examples:

  hop collect --mix ns,nh --rows 107000 --seed 7 --out data/mix
  hop pretrain moa --data data/mix --history --out runs/moa --json
  hop pretrain moa --data data/mix --condition type --out runs/moa-type

  hop collect --agents runs/hop-4x4-001/seed-1 --rows 20000 --out data/hop
  hop pretrain moa --data data/hop --condition goal --beside runs/hop-4x4-001/seed-1 --out runs/moa-hop

The model is judged on episodes it has not seen, beside three baselines and the limit that an exact observer of the scripts sets; card.html in the run's folder shows all of it and ends in a verdict. docs/opponents.md explains the numbers.`
}

// moaJSON is the promise of the command.
type moaJSON struct {
	Run     string `json:"run"`
	Verdict string `json:"verdict"`
	*pretrain.MOAScore
	CPU      float64 `json:"cpu_s"`       // of learning
	Wall     float64 `json:"wall_s"`      // of learning
	EpochCPU float64 `json:"epoch_cpu_s"` // processor time of an epoch, judging the held-out rows included
}

func (c pretrainMOACmd) Run(a *app) error {
	if err := f32.KernelsErr(); err != nil {
		return err
	}
	data, g, err := openData(a, []string{c.Data})
	if err != nil {
		return err
	}
	cfg, err := c.config(data[0].Layout)
	if err != nil {
		return err
	}
	t, err := pretrain.NewMOA(cfg, data[0], c.Seed)
	if err != nil {
		return err
	}
	run, err := c.open(cfg, t)
	if err != nil {
		return err
	}
	defer run.Close()
	watch := cpu.Start()
	bar := a.progress("rows")
	epochs := 0
	err = t.Run(a.ctx, run, func(p pretrain.MOAProgress) {
		if p.Whole {
			epochs++
			run.Printf("epoch %d: learnt %.4f, held out %.4f, top-1 %.4f", p.Epoch, p.Learnt, p.Held, p.Top1)
			return
		}
		bar.update(p.Rows, p.Total)
	})
	bar.end()
	out := moaJSON{Run: c.Out}
	out.CPU, out.Wall = watch.Spent()
	out.EpochCPU = out.CPU / float64(max(epochs, 1))
	if err != nil {
		if a.ctx.Err() != nil {
			fmt.Fprintln(a.err, "stopped; whole epochs are saved. The same command goes on.")
			return errors.Join(run.Finish("stopped"), err)
		}
		return errors.Join(run.Finish("failed"), err)
	}
	score, report, err := t.Judge(g)
	if err != nil {
		return err
	}
	if c.Beside != "" {
		agents, err := a.reg.LoadAbout(c.Beside)
		if err != nil {
			return err
		}
		beside := map[agent.ID]pretrain.About{}
		for id, f := range agents {
			beside[id] = pretrain.About(f)
		}
		t.Beside(beside, score, report)
	}
	out.MOAScore, out.Verdict = score, report.Verdict()
	return finishPretrain(a, run, report, c.JSON, out)
}

// config returns the settings that the flags give, for data of this layout.
func (c pretrainMOACmd) config(l dataset.Layout) (pretrain.MOAConfig, error) {
	cfg := pretrain.DefaultMOA(l)
	cfg.Condition, cfg.Epochs, cfg.Model.Net = c.Condition, c.Epochs, c.Net
	if c.Net == "conv" {
		cfg.Model.Frame = "board"
	}
	if c.History {
		cfg.Model.History = 64
	}
	for _, s := range c.Set {
		path, value, ok := strings.Cut(s, "=")
		if !ok {
			return cfg, usage("--set %s: want FIELD=VALUE, such as learning.lr=1e-3", s)
		}
		if err := field.Set(&cfg, path, value); err != nil {
			return cfg, usage("--set %s: %w", s, err)
		}
	}
	if err := cfg.Validate(); err != nil {
		return cfg, usageError{err}
	}
	return cfg, nil
}

// open makes the run's folder, or goes on in one with the same settings.
func (c pretrainMOACmd) open(cfg pretrain.MOAConfig, t *pretrain.MOA) (*runlog.Run, error) {
	spec, err := yaml.Marshal(map[string]any{"data": c.Data, "seed": c.Seed, "moa": cfg})
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(c.Out, "spec.yaml")); errors.Is(err, fs.ErrNotExist) {
		return runlog.Create(c.Out, spec, runlog.Info{
			Preset: "moa", Seed: c.Seed, Command: os.Args, Version: version, Kernels: f32.Kernels(),
		})
	}
	was, err := runlog.ReadSpec(c.Out)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(was, spec) {
		return nil, usage("%s holds a run with other settings (see its spec.yaml); choose another --out", c.Out)
	}
	run, err := runlog.Open(c.Out)
	if err != nil {
		return nil, err
	}
	body, _, notes, err := run.Resume()
	for _, n := range notes {
		run.Printf("%s", n)
	}
	if err == nil && body != nil {
		err = t.Load(body)
	}
	if err != nil {
		run.Close()
		return nil, err
	}
	return run, nil
}
