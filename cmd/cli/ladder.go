package cli

import (
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/lab"
)

type ladderCmd struct {
	What string                  `arg:"" optional:"" help:"@ladder_what" default:"hop-4x4" placeholder:"PRESET|SPEC|RUN"`
	Ask  flags[lab.LadderConfig] `embed:""`
	JSON bool                    `help:"Print one JSON object."`
}

func (c ladderCmd) Run(a *app, k *kong.Context) error {
	ask, err := c.Ask.read(k, nil)
	if err != nil {
		return err
	}
	ask.What = c.What
	r, err := a.lab().Ladder(a.ctx, ask)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.emit(r)
	}
	fmt.Fprintf(a.out, "%s\n\n%s\nEach alone, everything else as trained:\n", r.Says, r.Bars(40))
	for _, s := range r.Singles {
		fmt.Fprintf(a.out, "  %-22s %+.3f (95 %% %+.3f to %+.3f), %.0f %% of the gap\n", s.Name, s.Delta, s.DeltaCI[0], s.DeltaCI[1], 100*s.Share)
	}
	_, err = fmt.Fprintf(a.out, "\nOpen the page: %s\n", r.Page)
	return err
}
