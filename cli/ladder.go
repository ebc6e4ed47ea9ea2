package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hop/diag/ladder"
	"hop/exp"
	"hop/report"
	"hop/rng"
	"hop/runlog"
)

type ladderCmd struct {
	What     string   `arg:"" optional:"" help:"A preset or spec file of agents that plan, to train first, or the folder of a run." default:"hop-4x4"`
	PPO      string   `name:"ppo" help:"The lowest rung: a PPO preset or spec file, or the folder of a run." default:"ppo-4x4" placeholder:"SPEC|RUN"`
	Vs       []string `help:"A team of co-players, such as ns,nh,nh; repeatable." sep:"none" placeholder:"BOT,..." default:"ns,ns,ns;ns,nh,nh;nh,ns,random"`
	Set      []string `help:"Set a field of what is trained first, such as train.steps=20000; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Seeds    string   `help:"Seeds to train, where something is trained first." default:"1-3"`
	Episodes int      `help:"Starts of every rung, team and seed." default:"200"`
	Seed     uint64   `help:"Names the starts." default:"1"`
	Out      string   `help:"Folder to write into; default: a new one, runs/ladder-001." type:"path" placeholder:"DIR"`
	Workers  int      `help:"Cores to use; 0: all. Numbers do not depend on it." default:"0"`
	JSON     bool     `help:"Print one JSON object."`
}

func (ladderCmd) Help() string {
	return `Examples:

  hop ladder hop-4x4
  hop ladder runs/hop-4x4-001 --ppo runs/ppo-4x4-001 --vs ns,nh,nh --vs ns,ns,ns --episodes 500
  hop ladder hop-4x4 --seeds 1 --set train.steps=10000 --json

What is each module worth, and what does its imperfection cost? One agent plays against scripted co-players from the same starts, rung after rung: a PPO agent; the planning agent's network alone; with its planner, its model of others, its inference switched on; then with one module after the other replaced by the truth; at the top the exact best response. The differences add up to the whole gap. Each replacement is also measured alone. Writes ladder.html (one file, opens offline), ladder.md and ladder.png.`
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
	if err := c.plans(a); err != nil {
		return err
	}
	dir := c.Out
	if dir == "" {
		if dir, err = freeFolder("runs", "ladder"); err != nil {
			return err
		}
	}
	ppo, err := c.runs(a, c.PPO, nil, dir)
	if err != nil {
		return err
	}
	runs, err := c.runs(a, c.What, c.Set, dir)
	if err != nil {
		return err
	}
	game, err := c.fits(a, runs, ppo, teams)
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
	return c.show(a, res, runs, ppo, game, dir)
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

// plans refuses specs that cannot be taken apart before anything is trained.
func (c ladderCmd) plans(a *app) error {
	spec, err := ladderSpec(a, c.What, c.Set)
	if err != nil {
		return usageError{err}
	}
	if _, err := ladder.Rungs(spec); err != nil {
		return usageError{err}
	}
	return nil
}

// ladderSpec returns the spec of a preset, a file or a run's folder.
func ladderSpec(a *app, what string, sets []string) (exp.Spec, error) {
	dirs, err := seedFolders(what)
	if err != nil {
		return a.reg.Load(what, sets)
	}
	text, err := runlog.ReadSpec(dirs[0])
	if err != nil {
		return exp.Spec{}, err
	}
	return a.reg.Parse(text, filepath.Join(dirs[0], "spec.yaml"), "run", nil)
}

// seedFolders returns the runs of a folder: itself, or seed-1, seed-2, ...
func seedFolders(dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, "spec.yaml")); err == nil {
		return []string{dir}, nil
	}
	dirs, err := filepath.Glob(filepath.Join(dir, "seed-*"))
	if err == nil && len(dirs) == 0 {
		err = fmt.Errorf("%s holds no run: neither spec.yaml nor folders seed-*", dir)
	}
	return dirs, err
}

// runs returns a run's folders, after training it if it is a spec.
func (c ladderCmd) runs(a *app, what string, sets []string, out string) ([]string, error) {
	if dirs, err := seedFolders(what); err == nil {
		return dirs, nil
	}
	var text bytes.Buffer
	quiet := *a
	quiet.out = &text
	if err := (trainCmd{What: what, Set: sets, Seeds: c.Seeds, Out: out, Workers: c.Workers, JSON: true}).Run(&quiet); err != nil {
		return nil, err
	}
	var made trainJSON
	if err := json.Unmarshal(text.Bytes(), &made); err != nil {
		return nil, fmt.Errorf("reading what was trained: %w", err)
	}
	return seedFolders(made.Run)
}

// fits checks that both runs play the same game and that teams fill it.
func (c ladderCmd) fits(a *app, runs, ppo []string, teams [][]string) (string, error) {
	var labels []string
	for _, dir := range []string{runs[0], ppo[0]} {
		spec, err := ladderSpec(a, dir, nil)
		if err != nil {
			return "", err
		}
		g, err := spec.Game.Build()
		if err != nil {
			return "", err
		}
		for _, t := range teams {
			if n := g.Spec().Seats - 1; len(t) != n {
				return "", usage("--vs %s names %d co-players, %s has room for %d", strings.Join(t, ","), len(t), g.Spec().Name, n)
			}
		}
		m, err := spec.Game.Map()
		if err != nil {
			return "", err
		}
		b, err := json.Marshal(m)
		if err != nil {
			return "", err
		}
		labels = append(labels, string(b))
	}
	if labels[0] != labels[1] {
		return "", usage("%s and %s were trained on different games:\n  %s\n  %s", runs[0], ppo[0], labels[0], labels[1])
	}
	spec, err := ladderSpec(a, runs[0], nil)
	return spec.Game.Name, err
}

func (c ladderCmd) show(a *app, res *ladder.Result, runs, ppo []string, game, dir string) error {
	subject := filepath.Base(c.What)
	if strings.HasPrefix(subject, "seed-") {
		subject = filepath.Base(filepath.Dir(c.What)) + ", " + subject
	}
	l := &report.Ladder{
		Subject: subject, Game: game, Says: res.Says, Seeds: res.Seeds, Episodes: c.Episodes, Best: res.Best, Command: commandLine(),
	}
	teams, err := c.teams()
	if err != nil {
		return err
	}
	for _, t := range teams {
		l.Vs = append(l.Vs, strings.Join(t, ","))
	}
	for i, s := range res.Rungs {
		r := report.LadderRung{Name: s.Name, Module: s.Module, Oracle: s.Oracle, Total: i == 0 || s.Name == "as trained" || i == len(res.Rungs)-1, Mean: s.Mean.Mean, CI: s.CI}
		if i > 0 {
			r.Delta, r.DeltaCI = res.Deltas[i-1].Delta, res.Deltas[i-1].CI
		}
		for _, v := range s.Vs {
			r.Vs = append(r.Vs, v.Mean)
		}
		l.Rungs = append(l.Rungs, r)
	}
	for _, s := range res.Singles {
		l.Singles = append(l.Singles, report.LadderSingle{Name: s.Name, Module: s.Module, Mean: s.Mean.Mean, Delta: s.Delta, CI: s.DeltaCI, Share: s.Share})
	}
	if err := report.WriteLadder(dir, l); err != nil {
		return err
	}
	page := filepath.Join(dir, "ladder.html")
	if c.JSON {
		return a.emit(ladderJSON{Run: filepath.Dir(runs[0]), PPO: filepath.Dir(ppo[0]), Game: game, Teams: l.Vs, Episodes: c.Episodes, Seed: c.Seed, Result: res, Page: page})
	}
	fmt.Fprintf(a.out, "%s\n\n%s\nEach alone, everything else as trained:\n", res.Says, l.Bars(40))
	for _, s := range res.Singles {
		fmt.Fprintf(a.out, "  %-22s %+.3f (95 %% %+.3f to %+.3f), %.0f %% of the gap\n", s.Name, s.Delta, s.DeltaCI[0], s.DeltaCI[1], 100*s.Share)
	}
	_, err = fmt.Fprintf(a.out, "\nOpen the page: %s\n", page)
	return err
}
