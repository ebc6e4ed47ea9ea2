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
