package cli

import (
	"hop/f32"
	"hop/internal/cpu"
	"hop/model/vae"
	"hop/pretrain"
	"hop/pretrain/score"
)

type pretrainCVAECmd struct {
	Data     string   `help:"Folder of a dataset." required:"" type:"path" placeholder:"DIR"`
	VAE      string   `name:"vae" help:"Run of hop pretrain vae whose codes are the subgoals." required:"" type:"path" placeholder:"RUN"`
	Selector string   `help:"Which of the next states is the subgoal: the one of the highest or lowest value." enum:"optimistic,conservative" default:"optimistic"`
	Out      string   `help:"Folder of the run; an interrupted one with the same settings goes on." required:"" type:"path" placeholder:"DIR"`
	Gate     int      `help:"Score g as a planner with this distance gate uses it: neutral beyond so many cells of a prey; -1: everywhere." default:"-1"`
	Set      []string `help:"Set a field, such as epochs=20 or model.gru=64; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Seed     uint64   `help:"Names all random streams; with the VAE's seed the same episodes are scored." default:"1"`
	JSON     bool     `help:"Print one JSON object."`
}

func (pretrainCVAECmd) Help() string {
	return `Examples:

  hop pretrain vae --data data/ --loss b --out runs/vae-b
  hop pretrain cvae --data data/ --vae runs/vae-b --out runs/cvae --json

The model learns to tell from an agent's history which state it is going to. card.html in the run's folder shows how well, beside what Bayes' rule makes of the same history. docs/opponents.md explains it.`
}

// cvaeJSON is the promise of the command.
type cvaeJSON struct {
	Run     string `json:"run"`
	VAE     string `json:"vae"`
	Verdict string `json:"verdict"`
	Status  string `json:"status"`
	*score.CVAEScore
	CPU  float64 `json:"cpu_s"`  // of learning
	Wall float64 `json:"wall_s"` // of learning
}

func (c pretrainCVAECmd) Run(a *app) error {
	if err := f32.KernelsErr(); err != nil {
		return err
	}
	cfg := pretrain.DefaultCVAE()
	cfg.Selector, cfg.Gate = c.Selector, c.Gate
	if err := setFields(&cfg, c.Set); err != nil {
		return err
	}
	codes, weights, err := vae.Load(c.VAE)
	if err != nil {
		return err
	}
	cfg.Model.Dim = codes.Width()
	if err := cfg.Validate(); err != nil {
		return usageError{err}
	}
	data, g, err := openData(a, []string{c.Data})
	if err != nil {
		return err
	}
	v, err := pretrain.NewCVAE(cfg, data[0], codes, weights, c.Seed)
	if err != nil {
		return err
	}
	run, err := openPretrain(c.Out, "cvae", c.Seed, map[string]any{"data": c.Data, "vae": c.VAE, "seed": c.Seed, "cvae": cfg}, v.Resume)
	if err != nil {
		return err
	}
	defer run.Close()
	watch := cpu.Start()
	bar := a.progress("rows")
	err = v.Run(a.ctx, run, logEpochs(run, bar))
	bar.end()
	if err != nil {
		return stoppedPretrain(a, run, err)
	}
	out := cvaeJSON{Run: c.Out, VAE: c.VAE}
	out.CPU, out.Wall = watch.Spent()
	score, report, err := score.CVAE(v, g)
	if err != nil {
		return err
	}
	out.CVAEScore = score
	out.Verdict, out.Status = report.Verdict(), string(report.Status())
	return finishPretrain(a, run, report, c.JSON, out)
}
