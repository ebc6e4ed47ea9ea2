package cli

import (
	"strings"

	"hop/f32"
	"hop/internal/cpu"
	"hop/pretrain"
)

type pretrainJudgeCmd struct {
	gameFlags
	Out      string `help:"Folder of the run; an interrupted one with the same settings goes on." required:"" type:"path" placeholder:"DIR"`
	Episodes int    `help:"Fresh episodes of every team to judge it by." default:"500"`
	Seed     uint64 `help:"Names all random streams." default:"1"`
	Workers  int    `help:"Cores to use; 0: all. Numbers do not depend on it." default:"0"`
	JSON     bool   `help:"Print one JSON object."`
}

func (pretrainJudgeCmd) Help() string {
	return `Examples:

  hop pretrain judge --out runs/judge
  hop pretrain judge --game staghunt --set game.size=8 --set game.blocks=5 --set steps=6000000 --out runs/judge8

A network learns by PPO to answer teams of bots and is told who they are, so that a search can ask it what a state is worth against what the co-players are thought to want (plan.leaf judge). --set also takes its own fields, such as steps, who, net.hidden or ppo.gamma. docs/planning.md explains it.`
}

// judgeJSON is the promise of the command.
type judgeJSON struct {
	Run     string `json:"run"`
	Verdict string `json:"verdict"`
	Status  string `json:"status"`
	*pretrain.JudgeScore
	CPU  float64 `json:"cpu_s"`  // of learning
	Wall float64 `json:"wall_s"` // of learning
}

func (c pretrainJudgeCmd) Run(a *app) error {
	if err := f32.KernelsErr(); err != nil {
		return err
	}
	cfg := pretrain.DefaultJudge()
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
	j, err := pretrain.NewJudge(cfg, g, c.Seed, c.Workers)
	if err != nil {
		return err
	}
	run, err := openPretrain(c.Out, "judge", c.Seed, map[string]any{"game": played, "seed": c.Seed, "judge": cfg}, j.Resume)
	if err != nil {
		return err
	}
	defer run.Close()
	watch := cpu.Start()
	bar := a.progress("steps")
	err = j.Run(a.ctx, run, func(p pretrain.JudgeProgress) { bar.update(p.Step, p.Steps) })
	bar.end()
	if err != nil {
		return stoppedPretrain(a, run, err)
	}
	out := judgeJSON{Run: c.Out}
	out.CPU, out.Wall = watch.Spent()
	if out.JudgeScore, err = j.Score(c.Episodes); err != nil {
		return err
	}
	report, err := j.Card(out.JudgeScore)
	if err != nil {
		return err
	}
	out.Verdict, out.Status = report.Verdict(), string(report.Status())
	return finishPretrain(a, run, report, c.JSON, out)
}
