package cli

import (
	"hop/agent"
	"hop/card"
	"hop/dataset"
	"hop/f32"
	"hop/internal/cpu"
	"hop/pretrain"
	"hop/pretrain/score"
)

type pretrainMOACmd struct {
	Data      string   `help:"Folder of a dataset." required:"" type:"path" placeholder:"DIR"`
	Out       string   `help:"Folder of the run; an interrupted one with the same settings goes on." required:"" type:"path" placeholder:"DIR"`
	Condition string   `help:"What the model is told about the agent: none, the goal it reached in the end, or its type." enum:"none,goal,type" default:"none"`
	History   bool     `help:"Remember the agent's steps so far (a GRU; model.history=64)."`
	Net       string   `help:"dense, or conv: HOP's net." enum:"dense,conv" default:"dense"`
	Beside    string   `help:"Run whose agents' own models of each other are scored on the same rows." type:"path" placeholder:"RUN"`
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

The model is scored on episodes it has not seen, beside three baselines and the limit that an exact observer of the scripts sets; card.html in the run's folder shows all of it and ends in a verdict. docs/opponents.md explains the numbers.`
}

// moaJSON is the promise of the command.
type moaJSON struct {
	Run     string `json:"run"`
	Verdict string `json:"verdict"`
	*score.MOAScore
	CPU      float64 `json:"cpu_s"`       // of learning
	Wall     float64 `json:"wall_s"`      // of learning
	EpochCPU float64 `json:"epoch_cpu_s"` // processor time of an epoch, scoring the held-out rows included
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
	run, err := openPretrain(c.Out, "moa", c.Seed, map[string]any{"data": c.Data, "seed": c.Seed, "moa": cfg}, t.Resume)
	if err != nil {
		return err
	}
	defer run.Close()
	watch := cpu.Start()
	bar := a.progress("rows")
	began := t.Epoch
	err = t.Run(a.ctx, run, logEpochs(run, bar))
	bar.end()
	out, report := moaJSON{Run: c.Out}, (*card.Card)(nil)
	out.CPU, out.Wall = watch.Spent()
	out.EpochCPU = out.CPU / float64(max(t.Epoch-began, 1))
	if err != nil {
		return stoppedPretrain(a, run, err)
	}
	out.MOAScore, report, err = score.MOA(t, g)
	if err != nil {
		return err
	}
	if c.Beside != "" {
		agents, err := a.reg.LoadAbout(c.Beside)
		if err != nil {
			return err
		}
		beside := map[agent.ID]score.About{}
		for id, f := range agents {
			beside[id] = score.About(f)
		}
		score.Beside(t, beside, out.MOAScore, report)
	}
	out.Verdict = report.Verdict()
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
	if err := setFields(&cfg, c.Set); err != nil {
		return cfg, err
	}
	if err := cfg.Validate(); err != nil {
		return cfg, usageError{err}
	}
	return cfg, nil
}
