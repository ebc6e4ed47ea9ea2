package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/train/prepare"
)

// strangersCmd is about co-players that nobody was raised with.
type strangersCmd struct {
	List  strangersListCmd  `cmd:"" help:"List the co-players of a split, as texts of a game's language."`
	Words strangersWordsCmd `cmd:"" help:"List the words of a game's language, and the split that each is in."`
	Show  strangersShowCmd  `cmd:"" help:"Say what a co-player does, and what the best response to it earns."`
	Score strangersScoreCmd `cmd:"" help:"Score agents among strangers: hop adapt with --strangers test."`
}

type strangersListCmd struct {
	gameFlags
	Split string `help:"train, validation or test; none: all." placeholder:"SPLIT"`
	JSON  bool   `help:"Print one JSON object."`
}

func (c strangersListCmd) Run(a *app) error {
	g, _, err := c.build(a)
	if err != nil {
		return err
	}
	list, err := lab.Strangers(g, c.Split)
	if err != nil {
		return usageError{err}
	}
	if c.JSON {
		return a.emit(map[string]any{"strangers": list})
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, s := range list {
		fmt.Fprintf(w, "%s\t%s\n", s.Name, s.Text)
	}
	return w.Flush()
}

type strangersWordsCmd struct {
	gameFlags
	JSON bool `help:"Print one JSON object."`
}

func (c strangersWordsCmd) Run(a *app) error {
	g, _, err := c.build(a)
	if err != nil {
		return err
	}
	words, err := lab.Words(g)
	if err != nil {
		return usageError{err}
	}
	if c.JSON {
		return a.emit(map[string]any{"words": words})
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "word\tis\tabout\tsplit\t")
	for _, x := range words {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", x.Text, x.Kind, x.Group, x.Split, x.Doc)
	}
	return w.Flush()
}

type strangersShowCmd struct {
	gameFlags
	Who    string `arg:"" help:"A text of the language, or a name of hop strangers list." placeholder:"TEXT|NAME"`
	Starts int    `help:"Over how many starts the best response is averaged." default:"32"`
	JSON   bool   `help:"Print one JSON object."`
}

func (c strangersShowCmd) Run(a *app) error {
	g, _, err := c.build(a)
	if err != nil {
		return err
	}
	s, err := lab.Stranger(a.ctx, g, c.Who, c.Starts)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.emit(s)
	}
	fmt.Fprintf(a.out, "%s\n\n", s.Text)
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, x := range s.Words {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", x.Text, x.Group, x.Split, x.Doc)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "\n%s\n\nWatch it: hop play --game %s --team %s\n", s.Sentence(), g.Spec().Name,
		strings.Join([]string{"random", quote(s.Text), quote(s.Text), quote(s.Text)}[:g.Spec().Seats], ","))
	return nil
}

// quote puts a text with brackets into quotes, for a shell.
func quote(text string) string {
	if strings.Contains(text, "(") {
		return "'" + text + "'"
	}
	return text
}

type strangersScoreCmd struct {
	Agents []string             `arg:"" help:"Runs' folders, or folders of seeds; also bandit, br, plan, plan-infer, or a bot or a text." placeholder:"AGENT"`
	Ask    flags[prepare.Adapt] `embed:""`
	Game   string               `help:"The game for those that are no runs." default:"staghunt"`
	Set    []string             `help:"@adapt_set" sep:"none" placeholder:"PATH=VALUE"`
	Out    string               `help:"Folder for the table and the curves: adapt.md, adapt.html, adapt.json." placeholder:"DIR"`
	JSON   bool                 `help:"Print one JSON object."`
}

func (c strangersScoreCmd) Run(a *app, k *kong.Context) error {
	return adaptCmd{Runs: c.Agents, Ask: c.Ask, Game: c.Game, Set: c.Set, Out: c.Out, JSON: c.JSON}.Run(a, k)
}
