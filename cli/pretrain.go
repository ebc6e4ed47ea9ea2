package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"hop/card"
	"hop/runlog"
)

// pretrainCmd learns models from recorded episodes.
type pretrainCmd struct {
	MOA      pretrainMOACmd      `cmd:"" name:"moa" help:"A model of what others do next."`
	VAE      pretrainVAECmd      `cmd:"" name:"vae" help:"Codes of states: learnt goals."`
	CVAE     pretrainCVAECmd     `cmd:"" name:"cvae" help:"Subgoals inferred from history."`
	World    pretrainWorldCmd    `cmd:"" help:"A model of the rules."`
	Response pretrainResponseCmd `cmd:"" help:"The response network: how to answer known co-players, and what states are worth against them."`
}

// finishPretrain writes the card of a run that is done, and says what it says, or
// out as JSON.
func finishPretrain(a *app, run *runlog.Run, report *card.Card, asJSON bool, out any) error {
	if err := errors.Join(report.Write(run.Dir()), run.Finish("done")); err != nil {
		return err
	}
	if asJSON {
		return a.emit(out)
	}
	fmt.Fprintln(a.out, report.Markdown())
	fmt.Fprintf(a.out, "See %s\n", filepath.Join(run.Dir(), "card.html"))
	return nil
}
