package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/train/spec"
)

// zooCmd keeps co-players that have learnt.
type zooCmd struct {
	Train zooTrainCmd `cmd:"" help:"Train a small set of co-players; those that exist are kept."`
	List  zooListCmd  `cmd:"" help:"List the co-players there are."`
}

type zooTrainCmd struct {
	lab.ZooConfig
	JSON bool `help:"Print one JSON object."`
}

// Help is the text, in which nameBreeds puts the kinds.
func (zooTrainCmd) Help() string { return text("zoo") }

// nameBreeds lists a registry's kinds of co-players in the help of zoo train.
func nameBreeds(n *kong.Node, reg *spec.Registry) error {
	var kinds strings.Builder
	for _, b := range lab.Breeds(reg) {
		fmt.Fprintf(&kinds, "  %-10s %s\n", b.Name, b.Doc)
	}
	return kong.Visit(n, func(v kong.Visitable, next kong.Next) error {
		if n, ok := v.(*kong.Node); ok {
			n.Detail = strings.Replace(n.Detail, "KINDS\n", kinds.String(), 1)
		}
		return next(nil)
	})
}

type zooJSON struct {
	Zoo     string         `json:"zoo"`
	Members []lab.ZooEntry `json:"members"`
}

func (c zooTrainCmd) work(ctx context.Context, l *lab.Lab) (any, error) {
	return l.TrainZoo(ctx, c.ZooConfig)
}

func (c zooTrainCmd) Run(a *app) error {
	list, err := a.lab().TrainZoo(a.ctx, c.ZooConfig)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.emit(zooJSON{Zoo: c.Out, Members: list})
	}
	return zooTable(a, list)
}

type zooListCmd struct {
	Out  string `help:"Folder of the zoo." default:"zoo"`
	JSON bool   `help:"Print one JSON object."`
}

func (c zooListCmd) Run(a *app) error {
	list, err := a.lab().Zoo(c.Out)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.emit(zooJSON{Zoo: c.Out, Members: list})
	}
	if len(list) == 0 {
		fmt.Fprintf(a.out, "%s holds no co-players; train some with: hop zoo train --out %s\n", c.Out, c.Out)
		return nil
	}
	return zooTable(a, list)
}

func zooTable(a *app, list []lab.ZooEntry) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\tkind\tage\theld out\tmean\tagents\tenv steps\tgame\tfolder")
	for _, e := range list {
		var agents []string
		for _, x := range e.Agents {
			agents = append(agents, fmt.Sprintf("%.2f", x))
		}
		mean := e.Status
		if e.Status == "done" {
			mean = fmt.Sprintf("%.3f", e.Mean)
		}
		held := ""
		if e.HeldOut {
			held = "held out"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Name, e.Kind, e.Age, held, mean, strings.Join(agents, " "),
			plot.Short(float64(e.EnvSteps)), a.lab().GameWords(e.Game), e.Run)
	}
	return w.Flush()
}
