package cli

import (
	"strings"

	"hop/f32"
	"hop/internal/cpu"
	"hop/pretrain"
	"hop/pretrain/score"
)

type pretrainResponseCmd struct {
	gameFlags
	Out      string `help:"Folder of the run; an interrupted one with the same settings goes on." required:"" type:"path" placeholder:"DIR"`
	Episodes int    `help:"Fresh episodes of every team to score it by." default:"500"`
	Seed     uint64 `help:"Names all random streams." default:"1"`
	Workers  int    `help:"Cores to use; 0: all. Numbers do not depend on it." default:"0"`
	JSON     bool   `help:"Print one JSON object."`
}

func (pretrainResponseCmd) Help() string {
	return `Examples:

  hop pretrain response --out runs/response
  hop pretrain response --game staghunt --set game.size=8 --set game.blocks=5 --set steps=6000000 --out runs/response8

A network learns by PPO to answer teams of bots and is told who they are, so that a search can ask it what a state is worth against what the co-players are thought to want (plan.leaf response). --set also takes its own fields, such as steps, who, net.hidden or ppo.gamma. docs/planning.md explains it.`
}

// responseJSON is the promise of the command.
type responseJSON struct {
	Run     string `json:"run"`
	Verdict string `json:"verdict"`
	Status  string `json:"status"`
	*score.ResponseScore
	CPU  float64 `json:"cpu_s"`  // of learning
	Wall float64 `json:"wall_s"` // of learning
}

func (c pretrainResponseCmd) Run(a *app) error {
	if err := f32.KernelsErr(); err != nil {
		return err
	}
	cfg := pretrain.DefaultResponse()
	var own []string
	all := c.Set
	c.Set = nil
	for _, s := range all {
		if strings.HasPrefix(s, "game.") {
			c.Set = append(c.Set, s)
		} else {
			own = append(own, s)
		}
	}
	if err := setFields(&cfg, own); err != nil {
		return err
	}
	if err := cfg.Validate(); err != nil {
		return usageError{err}
	}
	g, params, err := c.build(a)
	if err != nil {
		return err
	}
	played, err := params.Map()
	if err != nil {
		return err
	}
	r, err := pretrain.NewResponse(cfg, g, c.Seed, c.Workers)
	if err != nil {
		return err
	}
	run, err := openPretrain(c.Out, "response", c.Seed, map[string]any{"game": played, "seed": c.Seed, "response": cfg}, r.Resume)
	if err != nil {
		return err
	}
	defer run.Close()
	watch := cpu.Start()
	bar := a.progress("steps")
	err = r.Run(a.ctx, run, func(p pretrain.ResponseProgress) { bar.update(p.Step, p.Steps) })
	bar.end()
	if err != nil {
		return stoppedPretrain(a, run, err)
	}
	out := responseJSON{Run: c.Out}
	out.CPU, out.Wall = watch.Spent()
	score, report, err := score.Response(r, c.Episodes)
	if err != nil {
		return err
	}
	out.ResponseScore = score
	out.Verdict, out.Status = report.Verdict(), string(report.Status())
	return finishPretrain(a, run, report, c.JSON, out)
}
