package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"hop/lab"
	"hop/report"
)

type adaptCmd struct {
	Runs      []string `arg:"" name:"run" help:"Runs' folders, or folders of seeds; also br, plan, plan-infer, plan-paper, or a bot." `
	VS        []string `name:"vs" help:"The co-players, one for each: bots, kinds of the zoo, or RUN#AGENT." placeholder:"WHO,..."`
	Trios     string   `help:"Several trios: six for the six of bots; or trios separated by spaces." placeholder:"six"`
	Then      []string `help:"Who takes the co-players' places later." placeholder:"WHO,..."`
	AtEpisode int      `help:"The first episode with those of --then." default:"10"`
	Zoo       string   `help:"Folder of learnt co-players (hop zoo train)." default:"zoo"`
	Learn     string   `help:"${adapt_learn}" enum:"nothing,beliefs,moa,policy,all" default:"beliefs"`
	Every     int      `help:"Steps between two updates of what learns." default:"200"`
	Steps     int      `help:"Env steps of a life." default:"2400"`
	Last      int      `help:"The last steps, which are judged." default:"600"`
	Lives     int      `help:"How often each seed lives it, with other starts." default:"16"`
	Seeds     string   `help:"Seeds of the lives, such as 1-5; none: as many as a run has seeds." placeholder:"1-5"`
	Agent     int      `help:"Which agent of a run." default:"0"`
	Starts    int      `help:"${adapt_starts}" default:"64"`
	Game      string   `help:"The game for those that are no runs." default:"staghunt"`
	Set       []string `help:"${adapt_set}" sep:"none" placeholder:"PATH=VALUE"`
	Out       string   `help:"Folder for the table and the curves: adapt.md, adapt.html, adapt.json." placeholder:"DIR"`
	Workers   int      `help:"Cores to use; 0: all. Numbers do not depend on it." default:"0"`
	JSON      bool     `help:"Print one JSON object."`
}

// six are the trios of bots that docs/adaptation.md shows.
const six = "ns,ns,ns nh,nh,nh random,random,random ns,nh,nh ns,ns,random nh,ns,random"

func (c adaptCmd) Run(a *app) error {
	trios, err := c.trios()
	if err != nil {
		return err
	}
	var seeds []uint64
	if c.Seeds != "" {
		if seeds, err = parseSeeds(c.Seeds); err != nil {
			return err
		}
	}
	bar := a.progress("meetings")
	table, err := a.lab().Adapt(a.ctx, lab.AdaptConfig{
		Runs: c.Runs, Teams: trios, Then: c.Then, AtEpisode: c.AtEpisode, Zoo: c.Zoo, Learn: c.Learn, Every: c.Every, Steps: c.Steps,
		Last: c.Last, Lives: c.Lives, Seeds: seeds, Agent: c.Agent, Starts: c.Starts, Game: c.Game, Set: c.Set, Workers: c.Workers,
		Progress: bar.update,
	})
	bar.end()
	if err != nil {
		return err
	}
	if c.Out != "" {
		if err := report.WriteAdapt(c.Out, table); err != nil {
			return err
		}
	}
	switch {
	case c.JSON && len(table.Table) == 1:
		return a.emit(table.Table[0])
	case c.JSON:
		return a.emit(table)
	}
	return adaptText(a, table)
}

// trios returns the co-players of each meeting.
func (c adaptCmd) trios() ([][]string, error) {
	switch {
	case len(c.VS) > 0 && c.Trios != "", len(c.VS) == 0 && c.Trios == "":
		return nil, usage("name the co-players with --vs, or several trios with --trios")
	case len(c.VS) > 0:
		return [][]string{c.VS}, nil
	}
	text := c.Trios
	if text == "six" {
		text = six
	}
	var list [][]string
	for _, t := range strings.Fields(text) {
		list = append(list, strings.Split(t, ","))
	}
	return list, nil
}

func adaptText(a *app, t *report.AdaptTable) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(a.out, "%s; last %d of %d steps\n\n", t.Words, t.Last, t.Steps)
	fmt.Fprintln(w, "against\twho\tscore\t95 %\tbest response\trandom\tnormalised\t95 %\tregret\tfirst episode\t")
	for _, r := range t.Table {
		note := ""
		if !r.Known {
			note = "has not met them"
		}
		if r.Back != nil {
			note += fmt.Sprintf(" back at 90 %% after %d episodes", *r.Back)
		}
		fmt.Fprintf(w, "%s\t%s\t%.3f\t%s\t%.3f %s\t%.3f\t%.3f\t%s\t%.3f\t%.3f\t%s\n", r.Against(), r.Run, r.Score, between(r.CI),
			r.BestResponse, r.BestName, r.Random, r.Normalised, between(r.NormalisedCI), r.Regret, r.First, strings.TrimSpace(note))
	}
	return w.Flush()
}
