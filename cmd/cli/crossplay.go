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
	"github.com/hop-marl/hop/lab/report/cross"
)

type crossplayCmd struct {
	Entries []string               `arg:"" help:"@crossplay_entries" placeholder:"PRESET|RUN|WHO"`
	Ask     flags[lab.CrossConfig] `embed:""`
	Out     string                 `help:"Folder to write into; default: a new one, runs/crossplay-001." type:"path" placeholder:"DIR"`
	JSON    bool                   `help:"Print one JSON object."`
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
	if c.JSON {
		return a.emit(x.Summary(g.Spec().Name, ask.Seed, at))
	}
	_, err := fmt.Fprintf(a.out, "%s\nOpen the page: %s\n", x.Text(), at)
	return err
}
