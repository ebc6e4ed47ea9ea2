package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/compare"
	"github.com/hop-marl/hop/lab/play"
	"github.com/hop-marl/hop/lab/report"
	"github.com/hop-marl/hop/lab/report/cross"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/train/eval"
)

type evalCmd struct {
	gameFlags
	flags[lab.EvalConfig]
	jsonFlag
}

func (c evalCmd) Run(a *app, ask lab.EvalConfig, g game.Game) error {
	bar := a.progress("episodes")
	ask.Progress = bar.Update
	out, err := lab.Eval(a.ctx, g, ask)
	bar.End()
	if err != nil {
		return err
	}
	return c.answer(a, out, out.Text(g.Spec().Goals))
}

type oracleCmd struct {
	gameFlags
	flags[lab.SolveConfig]
	jsonFlag
}

func (c oracleCmd) Run(a *app, ask lab.SolveConfig, g game.Game) error {
	bar := a.progress("starts")
	ask.Progress = bar.Update
	out, err := lab.Solve(a.ctx, g, ask)
	bar.End()
	if err != nil {
		return err
	}
	return c.answer(a, out, out.Text())
}

// envFlag names an environment in Python.
type envFlag struct {
	Env     lab.PythonEnv `help:"Play a PettingZoo environment in Python: MODULE:FUNCTION, a function that makes it (docs/environments.md)." placeholder:"MODULE:FUNCTION"`
	Lenient bool          `help:"With --env: clip observations that are outside of their space, and count them, instead of refusing them."`
}

// with returns settings, and what the flags of the environment add to them.
func (f envFlag) with(sets []string) []string {
	if f.Lenient && f.Env != "" {
		return slices.Concat([]string{"game.lenient=true"}, sets)
	}
	return sets
}

// gameFlags choose a game and its parameters.
type gameFlags struct {
	envFlag
	Game string   `help:"Name of the game (hop list games)." default:"staghunt"`
	Set  []string `help:"Set a parameter, such as game.size=8; repeatable (hop list fields)." sep:"none" placeholder:"PATH=VALUE"`
}

// splitSets tells parameters of the game from other fields.
func splitSets(sets []string) (ofGame, other []string) {
	for _, s := range sets {
		if strings.HasPrefix(s, "game.") {
			ofGame = append(ofGame, s)
		} else {
			other = append(other, s)
		}
	}
	return ofGame, other
}

// site returns where something is done in that game.
func (f gameFlags) site(a *app, m madeFlags) (lab.Site, error) {
	g, err := a.lab().GameWith(f.Env.Named(f.Game, f.with(f.Set)))
	return lab.Site{Game: g, Set: f.Set, Dir: m.Out, AcceptBuild: m.AcceptBuild}, err
}

// ProvideGame hands a command its game.
func (f gameFlags) ProvideGame(a *app) (game.Game, error) {
	g, _, err := a.lab().NewGame(f.Env.Named(f.Game, f.with(f.Set)))
	return g, provided(err)
}

type crossplayCmd struct {
	Entries []string `arg:"" help:"@crossplay_entries" placeholder:"PRESET|RUN|WHO"`
	flags[lab.CrossConfig]
	Out string `help:"Folder to write into; default: a new one, runs/crossplay-001." type:"path" placeholder:"DIR"`
	jsonFlag
}

func (c crossplayCmd) Run(a *app, ask lab.CrossConfig) error {
	bar := a.progress("episodes")
	ask.Entries, ask.Runs, ask.Progress = c.Entries, kong.ExpandPath(ask.Runs), bar.Update
	x, g, err := a.lab().Crossplay(a.ctx, ask)
	bar.End()
	if err != nil {
		return err
	}
	x.Command = commandLine()
	return c.show(a, g, x, ask)
}

// commandLine is how the program was called.
func commandLine() string {
	words := slices.Clone(os.Args)
	words[0] = "hop"
	return strings.Join(words, " ")
}

// show writes the files and the result.
func (c crossplayCmd) show(a *app, g game.Game, x *cross.Table, ask lab.CrossConfig) error {
	dir := c.Out
	if dir == "" {
		var err error
		if dir, err = lab.NewFolder("runs", "crossplay"); err != nil {
			return err
		}
	}
	if err := cross.Write(dir, x); err != nil {
		return err
	}
	at := filepath.Join(dir, "crossplay.html")
	return c.answer(a, x.Summary(g.Spec().Name, ask.Seed, at), fmt.Sprintf("%s\nOpen the page: %s\n", x.Text(), at))
}

type compareCmd struct {
	Variants []string `arg:"" help:"Folders of runs, presets or spec files; the first is the one that others are held against." placeholder:"RUN|PRESET|SPEC"`
	flags[compare.Config]
	jsonFlag
}

type compareJSON struct {
	*report.Comparison
	Improve []report.WinOver `json:"improvement"`
	Page    string           `json:"page"`
}

func (c compareCmd) Run(a *app, ask compare.Config) error {
	ask.Variants, ask.Out = c.Variants, kong.ExpandPath(ask.Out)
	for i, dir := range ask.Reuse {
		ask.Reuse[i] = kong.ExpandPath(dir)
	}
	res, err := compare.Run(a.ctx, a.lab(), ask)
	if err != nil {
		return err
	}
	res.Command = commandLine()
	if err := report.WriteCompare(ask.Out, res); err != nil {
		return err
	}
	page := filepath.Join(ask.Out, "compare.html")
	return c.answer(a, compareJSON{res, res.Wins(), page}, fmt.Sprintf("%s\nOpen the page: %s\n", res.Text(), page))
}

type playCmd struct {
	gameFlags
	Team     []string      `help:"@play_team" placeholder:"WHO"`
	Run_     string        `name:"run" help:"@play_run" type:"path" placeholder:"RUN"`
	Think    int           `help:"@play_think" default:"-1" placeholder:"N"`
	Planner  []string      `help:"Set a field of planners, such as plan.sims=200; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Seat     int           `help:"Join on this seat with the keyboard: bots, planners or a run's agents; -1: watch." default:"-1"`
	Seed     uint64        `help:"Seed of the first episode." default:"1"`
	Episodes int           `help:"Stop after so many; 0: one, or on a terminal as many as you like." default:"0"`
	GIF      string        `name:"gif" help:"Write the episodes to this GIF, or to an MP4 if its name ends so." type:"path" placeholder:"FILE"`
	Plain    bool          `help:"Print frames as plain text."`
	Delay    time.Duration `help:"Time between steps; when thoughts are shown, five times as long unless given." default:"400ms"`
}

// Run plays bots as they are, and teams in which anyone is none through their
// players.
func (c playCmd) Run(a *app) error {
	g, members, err := c.team(a)
	if err != nil {
		return err
	}
	o := play.Options{
		Game: g, Seed: c.Seed, Human: game.Seat(c.Seat), GIF: c.GIF, Plain: c.Plain, Delay: c.Delay,
		In: a.in, Out: a.out, MaxEpisodes: c.Episodes, Label: game.Label(g),
	}
	names := make([]string, len(members))
	for s, m := range members {
		names[s] = m.Name
	}
	var made error
	player := func(s game.Seat) (rollout.Player, error) {
		p, err := members[s].Players(1, 1)
		if made = err; err != nil {
			return nil, err
		}
		return p[0], nil
	}
	if err := o.Seat(names, player, game.Seat(c.Think)); err != nil && made == nil {
		return usageError{err}
	} else if err != nil {
		return err
	}
	if c.Think >= 0 && c.Delay == defaultDelay {
		o.Delay *= 5
	}
	if err := o.Validate(); err != nil {
		return usageError{err}
	}
	if o.Agents != nil {
		o.Agents.Cores = cores.New(0, nil)
		o.Agents.Cores.Open()
		defer o.Agents.Cores.Close()
	}
	return play.Run(a.ctx, o)
}

// defaultDelay is that of --delay.
const defaultDelay = 400 * time.Millisecond

// team returns the game and who plays it.
func (c playCmd) team(a *app) (game.Game, []eval.Member, error) {
	if len(c.Team) > 0 {
		c.Team = script.Split(strings.Join(c.Team, ",")) // commas in brackets do not separate
	}
	if c.Run_ != "" {
		return a.lab().RunTeam(c.Run_, c.Set, c.Team, c.Planner)
	}
	g, err := c.ProvideGame(a)
	if err != nil {
		return nil, nil, err
	}
	if len(c.Team) == 0 {
		c.Team = []string{"random"}
	}
	members, err := lab.Team(g, c.Team, c.Planner...)
	return g, members, err
}
