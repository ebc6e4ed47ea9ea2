package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/prepare"
	"github.com/hop-marl/hop/store/card"
)

// pretrainCmd has models learn before a training.
type pretrainCmd struct {
	MOA      learnCmd[prepare.MOA, *prepare.MOAResult]           `cmd:"" name:"moa" help:"A model of what others do next."`
	Sequence learnCmd[prepare.Sequence, *prepare.SequenceResult] `cmd:"" help:"What others do next and are after, read off a whole life among them."`
	VAE      learnCmd[prepare.VAE, *prepare.VAEResult]           `cmd:"" name:"vae" help:"Codes of states: learnt goals."`
	CVAE     learnCmd[prepare.CVAE, *prepare.CVAEResult]         `cmd:"" name:"cvae" help:"Subgoals inferred from history."`
	World    learnCmd[prepare.World, *prepare.WorldResult]       `cmd:"" help:"A model of the rules."`
	Response learnCmd[prepare.Response, *prepare.ResponseResult] `cmd:"" help:"The response network: how to answer known co-players, and what states are worth against them."`
}

// learnCmd has one kind of model learn.
type learnCmd[Q asked[R], R learnt] struct {
	Model Q    `embed:""`
	JSON  bool `help:"Print one JSON object."`
}

type asked[R learnt] interface {
	Do(ctx context.Context, l *lab.Lab) (R, error)
}

type learnt interface {
	Report() (report *card.Card, dir string)
}

func (c learnCmd[Q, R]) work(ctx context.Context, l *lab.Lab) (any, error) { return c.Model.Do(ctx, l) }

// Run prints the model's card.
func (c learnCmd[Q, R]) Run(a *app) error {
	out, err := c.Model.Do(a.ctx, a.lab())
	switch {
	case err != nil:
		return lab.Stop(err, "whole epochs are saved. The same command goes on.")
	case c.JSON:
		return a.emit(out)
	}
	report, dir := out.Report()
	_, err = fmt.Fprintf(a.out, "%s\nSee %s\n", report.Markdown(), filepath.Join(dir, "card.html"))
	return err
}
