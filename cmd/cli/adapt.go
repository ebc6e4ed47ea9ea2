package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/spec"
)

type adaptCmd struct {
	Runs []string `arg:"" name:"run" help:"Runs' folders, or folders of seeds; also br, plan, plan-infer, plan-paper, bandit, a bot, py:MODULE:FUNCTION or FILE.onnx." placeholder:"RUN|WHO"`
	flags[prepare.Adapt]
	Game string   `help:"The game for those that are no runs." default:"staghunt"`
	Set  []string `help:"@adapt_set" sep:"none" placeholder:"PATH=VALUE"`
	Out  string   `help:"Folder for the table and the curves: adapt.md, adapt.html, adapt.json." placeholder:"DIR"`
	jsonFlag
}

func (c adaptCmd) Run(a *app, ask prepare.Adapt) error {
	ofGame, _ := splitSets(c.Set)
	g, err := a.lab().GameWith(c.Game, ofGame)
	if err != nil {
		return err
	}
	table, err := a.lab().Adapt(a.ctx, ask, lab.Site{Game: g, Set: c.Set, Runs: c.Runs, Dir: c.Out})
	if err != nil {
		return err
	}
	if c.JSON && len(table.Table) == 1 && table.First == nil {
		return a.emit(table.Table[0])
	}
	return c.answer(a, table, table.Text())
}

// strangersCmd is about co-players that nobody was raised with.
type strangersCmd struct {
	List  strangersListCmd  `cmd:"" help:"List the co-players of a split, as texts of a game's language."`
	Words strangersWordsCmd `cmd:"" help:"List the words of a game's language, and the split that each is in."`
	Show  strangersShowCmd  `cmd:"" help:"Say what a co-player does, and what the best response to it earns."`
	Score adaptCmd          `cmd:"" help:"Score agents among strangers: hop adapt with --strangers test."`
}

// about are flags of commands that say something of a game.
type about struct {
	gameFlags
	jsonFlag
}

// say prints what is to be said of the game, under a name.
func (c about) say(a *app, name string, said fmt.Stringer, err error) error {
	switch {
	case err != nil:
		return usageError{err}
	case c.JSON && name != "":
		return a.emit(map[string]any{name: said})
	}
	return c.answer(a, said, said.String())
}

type strangersListCmd struct {
	about
	Split    string   `help:"train, validation or test; none: all." placeholder:"SPLIT"`
	LeaveOut []string `help:"Words, bots or things: who is made with one of them is not listed." placeholder:"WORD,..."`
	Zoo      string   `help:"Folder of hop zoo train, whose members are listed too." placeholder:"DIR"`
}

func (c strangersListCmd) Run(a *app, g game.Game) error {
	list, err := c.list(a, g)
	return c.say(a, "strangers", list, err)
}

func (c strangersListCmd) list(a *app, g game.Game) (lab.StrangerList, error) {
	list, err := lab.Strangers(g, c.Split, c.LeaveOut)
	if err != nil || c.Zoo == "" {
		return list, err
	}
	about, err := a.lab().GameWith(c.Game, c.Set)
	if err != nil {
		return nil, err
	}
	is, err := about.Map()
	if err != nil {
		return nil, err
	}
	learners, err := a.lab().ZooStrangers(c.Zoo, is, c.Split)
	return append(list, learners...), err
}

type strangersWordsCmd struct{ about }

func (c strangersWordsCmd) Run(a *app, g game.Game) error {
	words, err := lab.Words(g)
	return c.say(a, "words", words, err)
}

type strangersShowCmd struct {
	about
	Who    string `arg:"" help:"A text of the language, a name of hop strangers list, or played:FOLDER, a person by what it played." placeholder:"TEXT|NAME"`
	Starts int    `help:"Over how many starts the best response is averaged." default:"32"`
}

func (c strangersShowCmd) Run(a *app, g game.Game) error {
	who, err := lab.Stranger(a.ctx, g, c.Who, c.Starts)
	return c.say(a, "", who, err)
}

// zooCmd keeps co-players that have learnt.
type zooCmd struct {
	Train zooTrainCmd `cmd:"" help:"Train a small set of co-players; those that exist are kept."`
	List  zooListCmd  `cmd:"" help:"List the co-players there are."`
}

type zooTrainCmd struct {
	Game string   `help:"Name of the game (hop list games)." default:"staghunt"`
	Set  []string `help:"Set a parameter, such as game.size=8; repeatable (hop list fields)." sep:"none" placeholder:"PATH=VALUE"`
	flags[prepare.Zoo]
	Out         string `help:"Folder of the zoo." default:"zoo"`
	AcceptBuild bool   `help:"Keep, or go on with, what another build of hop began."`
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

func (c zooTrainCmd) Run(a *app, ask prepare.Zoo) error {
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
	text := a.lab().ZooText(list)
	if len(list) == 0 {
		text = fmt.Sprintf("%s holds no co-players; train some with: hop zoo train --out %s\n", c.Out, c.Out)
	}
	return c.answer(a, zooJSON{Zoo: c.Out, Members: list}, text)
}
