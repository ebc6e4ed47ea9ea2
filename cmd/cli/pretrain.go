package cli

import (
	"fmt"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/train/prepare"
)

// pretrainCmd has models learn before a training.
type pretrainCmd struct {
	MOA      learnCmd[prepare.MOA]      `cmd:"" name:"moa" help:"A model of what others do next."`
	Sequence learnCmd[prepare.Sequence] `cmd:"" help:"What others do next and are after, read off a whole life among them."`
	VAE      learnCmd[prepare.VAE]      `cmd:"" name:"vae" help:"Codes of states: learnt goals."`
	CVAE     learnCmd[prepare.CVAE]     `cmd:"" name:"cvae" help:"Subgoals inferred from history."`
	World    learnCmd[prepare.World]    `cmd:"" help:"A model of the rules."`
	Response responseCmd                `cmd:"" help:"The response network: how to answer known co-players, and what states are worth against them."`
}

// learnCmd has one model learn from recorded games.
type learnCmd[C any] struct {
	Ask flags[C] `embed:""`
	Set []string `help:"Set a field, such as epochs=20 or model.hidden=[64,64]; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	madeFlags
}

// Run prints the model's card.
func (c learnCmd[C]) Run(a *app, k *kong.Context) error {
	ask, err := c.Ask.read(k, c.Set)
	if err != nil {
		return err
	}
	return a.learn(any(&ask).(prepare.Config), lab.Site{Dir: c.Out, AcceptBuild: c.AcceptBuild}, c.JSON)
}

// responseCmd has a response network learn in a game.
type responseCmd struct {
	envFlag
	Game string                  `help:"Name of the game (hop list games)." default:"staghunt"`
	Ask  flags[prepare.Response] `embed:""`
	Set  []string                `help:"Set a field, such as game.size=8 or net.hidden=[64,64]; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	madeFlags
}

// Run prints the network's card.
func (c responseCmd) Run(a *app, k *kong.Context) error {
	ofGame, own := splitSets(c.Set)
	ask, err := c.Ask.read(k, own)
	if err != nil {
		return err
	}
	at, err := gameFlags{c.envFlag, c.Game, ofGame}.site(a, c.madeFlags)
	if err != nil {
		return err
	}
	return a.learn(&ask, at, c.JSON)
}

// learn has a model learn and prints its card.
func (a *app) learn(ask prepare.Config, at lab.Site, asJSON bool) error {
	out, err := a.lab().Do(a.ctx, ask, at)
	switch {
	case err != nil:
		return lab.Stop(err, "whole epochs are saved. The same command goes on.")
	case asJSON:
		return a.emit(out)
	}
	report, dir := out.(interface{ Report() (*card.Card, string) }).Report()
	_, err = fmt.Fprintf(a.out, "%s\nSee %s\n", report.Markdown(), filepath.Join(dir, "card.html"))
	return err
}

type collectCmd struct {
	gameFlags
	Ask flags[prepare.Collect] `embed:""`
	madeFlags
}

func (c collectCmd) Run(a *app, k *kong.Context) error {
	ask, err := c.Ask.read(k, nil)
	if err != nil {
		return err
	}
	at, err := c.site(a, c.madeFlags)
	if err != nil {
		return err
	}
	m, g, err := a.lab().Collect(a.ctx, ask, at)
	if err != nil {
		return lab.Stop(err, "whole files are kept. The same command goes on.")
	}
	if c.JSON {
		return a.emit(map[string]any{
			"dir": c.Out, "rows": m.Rows, "episodes": m.Episodes, "action_counts": m.ActionCounts, "sha256": m.SHA256,
		})
	}
	fmt.Fprintf(a.out, "%s holds %d rows of %d episodes in %d files\n", c.Out, m.Rows, m.Episodes, len(m.Shards))
	for k, n := range m.ActionCounts {
		fmt.Fprintf(a.out, "  %-10s %8d  %5.1f %%\n", g.Spec().Actions[k], n, 100*float64(n)/float64(m.Rows))
	}
	fmt.Fprintf(a.out, "  sha256 %s\n", m.SHA256)
	return nil
}
