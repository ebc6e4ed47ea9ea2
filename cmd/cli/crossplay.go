package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/compare"
	"github.com/hop-marl/hop/lab/report"
	"github.com/hop-marl/hop/lab/report/cross"
)

type crossplayCmd struct {
	Entries []string               `arg:"" help:"@crossplay_entries" placeholder:"PRESET|RUN|WHO"`
	Ask     flags[lab.CrossConfig] `embed:""`
	Out     string                 `help:"Folder to write into; default: a new one, runs/crossplay-001." type:"path" placeholder:"DIR"`
	jsonFlag
}

func (c crossplayCmd) Run(a *app, k *kong.Context) error {
	ask, err := c.Ask.read(k, nil)
	if err != nil {
		return err
	}
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
	Variants []string              `arg:"" help:"Folders of runs, presets or spec files; the first is the one that others are held against." placeholder:"RUN|PRESET|SPEC"`
	Ask      flags[compare.Config] `embed:""`
	jsonFlag
}

type compareJSON struct {
	*report.Comparison
	Improve []report.WinOver `json:"improvement"`
	Page    string           `json:"page"`
}

func (c compareCmd) Run(a *app, k *kong.Context) error {
	ask, err := c.Ask.read(k, nil)
	if err != nil {
		return err
	}
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
