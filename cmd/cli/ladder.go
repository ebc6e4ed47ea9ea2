package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hop-marl/hop/audit/ladder"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/rng"
)

type ladderCmd struct {
	lab.LadderConfig
	Vs       []string     `help:"@ladder_vs" sep:"none" placeholder:"BOT,..." default:"ns,ns,ns;ns,nh,nh;nh,ns,random"`
	Trained  config.Seeds `name:"seeds" help:"Seeds to train, where something is trained first." default:"1-3"`
	Episodes int          `help:"Starts of every rung, team and seed." default:"200"`
	Seed     uint64       `help:"The starts follow from it." default:"1"`
	JSON     bool         `help:"Print one JSON object."`
}

func (c ladderCmd) Run(a *app) error {
	if c.Episodes < 2 {
		return usage("--episodes %d, want at least 2", c.Episodes)
	}
	var err error
	if c.Teams, err = c.teams(); err != nil {
		return err
	}
	if err := a.lab().Climbable(c.LadderConfig); err != nil {
		return err
	}
	if c.Out == "" {
		if c.Out, err = lab.NewFolder("runs", "ladder"); err != nil {
			return err
		}
	}
	c.Seeds = c.Trained
	runs, ppo, game, err := a.lab().LadderRuns(a.ctx, c.LadderConfig)
	if err != nil {
		return err
	}
	bar := a.progress("rungs")
	res, err := ladder.Run(a.ctx, ladder.Config{Reg: a.reg,
		Runs: runs, PPO: ppo, Vs: c.Teams, Episodes: c.Episodes, Key: rng.New(c.Seed).Child("ladder"), Workers: c.Workers, Progress: bar.update,
	})
	bar.end()
	if err != nil {
		return err
	}
	subject := filepath.Base(c.What)
	if strings.HasPrefix(subject, "seed-") {
		subject = filepath.Base(filepath.Dir(c.What)) + ", " + subject
	}
	r := &ladder.Report{Run: filepath.Dir(runs[0]), PPO: filepath.Dir(ppo[0]), Game: game, Episodes: c.Episodes, Seed: c.Seed, Result: res,
		Page: filepath.Join(c.Out, "ladder.html"), Subject: subject, Command: commandLine(),
		Used: a.reg.Runs.Used()}
	for _, t := range c.Teams {
		r.Teams = append(r.Teams, strings.Join(t, ","))
	}
	if err := r.Write(c.Out); err != nil {
		return err
	}
	if c.JSON {
		return a.emit(r)
	}
	fmt.Fprintf(a.out, "%s\n\n%s\nEach alone, everything else as trained:\n", res.Says, r.Bars(40))
	for _, s := range res.Singles {
		fmt.Fprintf(a.out, "  %-22s %+.3f (95 %% %+.3f to %+.3f), %.0f %% of the gap\n", s.Name, s.Delta, s.DeltaCI[0], s.DeltaCI[1], 100*s.Share)
	}
	_, err = fmt.Fprintf(a.out, "\nOpen the page: %s\n", r.Page)
	return err
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
