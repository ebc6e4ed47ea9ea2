package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hop/diag/ladder"
	"hop/lab"
	"hop/report"
	"hop/rng"
)

type ladderCmd struct {
	What     string   `arg:"" optional:"" help:"${ladder_what}" default:"hop-4x4"`
	PPO      string   `name:"ppo" help:"${ladder_ppo}" default:"ppo-4x4" placeholder:"SPEC|RUN"`
	Vs       []string `help:"${ladder_vs}" sep:"none" placeholder:"BOT,..." default:"ns,ns,ns;ns,nh,nh;nh,ns,random"`
	Set      []string `help:"Set a field of what is trained first, such as train.steps=20000; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Seeds    string   `help:"Seeds to train, where something is trained first." default:"1-3"`
	Episodes int      `help:"Starts of every rung, team and seed." default:"200"`
	Seed     uint64   `help:"Names the starts." default:"1"`
	Out      string   `help:"Folder to write into; default: a new one, runs/ladder-001." type:"path" placeholder:"DIR"`
	Workers  int      `help:"Cores to use; 0: all. Numbers do not depend on it." default:"0"`
	JSON     bool     `help:"Print one JSON object."`
}

type ladderJSON struct {
	Run      string   `json:"run"`
	PPO      string   `json:"ppo"`
	Game     string   `json:"game"`
	Teams    []string `json:"teams"`
	Episodes int      `json:"episodes"`
	Seed     uint64   `json:"seed"`
	*ladder.Result
	Page string `json:"page"`
}

func (c ladderCmd) Run(a *app) error {
	if c.Episodes < 2 {
		return usage("--episodes %d, want at least 2", c.Episodes)
	}
	teams, err := c.teams()
	if err != nil {
		return err
	}
	seeds, err := parseSeeds(c.Seeds)
	if err != nil {
		return err
	}
	if err := a.lab().Climbable(c.What, c.Set); err != nil {
		return err
	}
	dir := c.Out
	if dir == "" {
		if dir, err = lab.NewFolder("runs", "ladder"); err != nil {
			return err
		}
	}
	runs, ppo, game, err := a.lab().LadderRuns(a.ctx, lab.LadderConfig{
		What: c.What, PPO: c.PPO, Set: c.Set, Seeds: seeds, Teams: teams, Out: dir, Workers: c.Workers,
	})
	if err != nil {
		return err
	}
	bar := a.progress("rungs")
	res, err := ladder.Run(a.ctx, ladder.Config{Reg: a.reg,
		Runs: runs, PPO: ppo, Vs: teams, Episodes: c.Episodes, Key: rng.New(c.Seed).Child("ladder"), Workers: c.Workers, Progress: bar.update,
	})
	bar.end()
	if err != nil {
		return err
	}
	return c.show(a, res, teams, runs, ppo, game, dir)
}

// teams reads the teams of co-players; the default holds several.
func (c ladderCmd) teams() ([][]string, error) {
	var out [][]string
	for _, v := range c.Vs {
		for _, team := range strings.Split(v, ";") {
			names := strings.Split(team, ",")
			for i := range names {
				names[i] = strings.TrimSpace(names[i])
			}
			if slices.Contains(names, "") {
				return nil, usage("--vs %s: want bots, such as ns,nh,nh", v)
			}
			out = append(out, names)
		}
	}
	return out, nil
}

func (c ladderCmd) show(a *app, res *ladder.Result, teams [][]string, runs, ppo []string, game, dir string) error {
	subject := filepath.Base(c.What)
	if strings.HasPrefix(subject, "seed-") {
		subject = filepath.Base(filepath.Dir(c.What)) + ", " + subject
	}
	l := lab.LadderPage(res, teams)
	l.Subject, l.Game, l.Episodes, l.Command = subject, game, c.Episodes, commandLine()
	if err := report.WriteLadder(dir, l); err != nil {
		return err
	}
	page := filepath.Join(dir, "ladder.html")
	if c.JSON {
		return a.emit(ladderJSON{Run: filepath.Dir(runs[0]), PPO: filepath.Dir(ppo[0]), Game: game, Teams: l.Vs, Episodes: c.Episodes,
			Seed: c.Seed, Result: res, Page: page})
	}
	fmt.Fprintf(a.out, "%s\n\n%s\nEach alone, everything else as trained:\n", res.Says, l.Bars(40))
	for _, s := range res.Singles {
		fmt.Fprintf(a.out, "  %-22s %+.3f (95 %% %+.3f to %+.3f), %.0f %% of the gap\n", s.Name, s.Delta, s.DeltaCI[0], s.DeltaCI[1], 100*s.Share)
	}
	_, err := fmt.Fprintf(a.out, "\nOpen the page: %s\n", page)
	return err
}
