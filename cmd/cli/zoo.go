package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/spec"
)

// zooCmd keeps co-players that have learnt.
type zooCmd struct {
	Train zooTrainCmd `cmd:"" help:"Train a small set of co-players; those that exist are kept."`
	List  zooListCmd  `cmd:"" help:"List the co-players there are."`
}

type zooTrainCmd struct {
	Game        string             `help:"Name of the game (hop list games)." default:"staghunt"`
	Set         []string           `help:"Set a parameter, such as game.size=8; repeatable (hop list fields)." sep:"none" placeholder:"PATH=VALUE"`
	Ask         flags[prepare.Zoo] `embed:""`
	Out         string             `help:"Folder of the zoo." default:"zoo"`
	AcceptBuild bool               `help:"Keep, or go on with, what another build of hop began."`
	jsonFlag
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

func (c zooTrainCmd) Run(a *app, k *kong.Context) error {
	ask, err := c.Ask.read(k, nil)
	if err != nil {
		return err
	}
	at, err := gameFlags{Game: c.Game, Set: c.Set}.site(a, madeFlags{Out: c.Out, AcceptBuild: c.AcceptBuild})
	if err != nil {
		return err
	}
	list, err := a.lab().TrainZoo(a.ctx, ask, at)
	if err != nil {
		return err
	}
	return c.answer(a, zooJSON{Zoo: c.Out, Members: list}, a.lab().ZooText(list))
}

type zooListCmd struct {
	Out string `help:"Folder of the zoo." default:"zoo"`
	jsonFlag
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
	_, err = fmt.Fprint(a.out, a.lab().ZooText(list))
	return err
}
