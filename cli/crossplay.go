package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"hop/game"
	"hop/lab"
	"hop/report"
	"hop/stats"
)

type crossplayCmd struct {
	Entries  []string `arg:"" help:"${crossplay_entries}" placeholder:"ENTRY"`
	Game     string   `help:"Name of the game; default: that of the first run, or staghunt." default:""`
	Set      []string `help:"Set a parameter, such as game.stags=2; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Episodes int      `help:"Starts of each pair; each is played from every seat." default:"1000"`
	Seed     uint64   `help:"Names all random streams." default:"1"`
	Greedy   bool     `help:"Trained agents take their likeliest action."`
	Split    bool     `help:"Every seed of a run is an entry of its own."`
	Runs     string   `help:"Where presets trained before are looked for." default:"runs" type:"path"`
	Out      string   `help:"Folder to write into; default: a new one, runs/crossplay-001." type:"path" placeholder:"DIR"`
	Planner  []string `help:"Set a field of planners, such as plan.sims=200; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Workers  int      `help:"Cores to use; 0: all. Numbers do not depend on it." default:"0"`
	JSON     bool     `help:"Print one JSON object."`
}

type crossMeanJSON struct {
	Mean float64        `json:"mean"`
	CI   stats.Interval `json:"ci"`
}

type crossCellJSON struct {
	Newcomer string         `json:"newcomer"`
	Team     string         `json:"team"`
	Own      *crossMeanJSON `json:"own"`
	Others   *crossMeanJSON `json:"others"`
	Missing  string         `json:"missing,omitempty"`
}

type crossplayJSON struct {
	Game     string          `json:"game"`
	Entries  []string        `json:"entries"`
	Episodes int             `json:"episodes"`
	Seed     uint64          `json:"seed"`
	Cells    []crossCellJSON `json:"cells"` // row by row
	Page     string          `json:"page"`
}

func (c crossplayCmd) Run(a *app) error {
	bar := a.progress("episodes")
	x, g, err := a.lab().Crossplay(a.ctx, lab.CrossConfig{
		Entries: c.Entries, Game: c.Game, Set: c.Set, Starts: c.Episodes, Seed: c.Seed, Greedy: c.Greedy, Split: c.Split, Runs: c.Runs,
		Planner: c.Planner, Workers: c.Workers, Progress: bar.update,
	})
	bar.end()
	if err != nil {
		return err
	}
	x.Command = commandLine()
	return c.show(a, g, x)
}

// commandLine is how the program was called.
func commandLine() string {
	words := slices.Clone(os.Args)
	words[0] = "hop"
	return strings.Join(words, " ")
}

// show writes the files and the result.
func (c crossplayCmd) show(a *app, g game.Game, x *report.Cross) error {
	dir := c.Out
	if dir == "" {
		var err error
		if dir, err = lab.NewFolder("runs", "crossplay"); err != nil {
			return err
		}
	}
	if err := report.WriteCross(dir, x); err != nil {
		return err
	}
	page := filepath.Join(dir, "crossplay.html")
	if c.JSON {
		return a.emit(c.json(g, x, page))
	}
	fmt.Fprintf(a.out, "%s: rows join teams of columns; what the newcomer gets / what each of the others gets\n\n", x.Game)
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "newcomer\t")
	for _, e := range x.Entries {
		fmt.Fprintf(w, "%s\t", e.Name)
	}
	fmt.Fprintln(w)
	for i, row := range x.Cells {
		fmt.Fprintf(w, "%s\t", x.Entries[i].Name)
		for _, cell := range row {
			if cell.Missing != "" {
				fmt.Fprint(w, "–\t")
				continue
			}
			fmt.Fprintf(w, "%.3f ± %.3f / %.3f\t", cell.Own.Mean, cell.Own.Half(), cell.Others.Mean)
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, why := range x.Absent() {
		fmt.Fprintf(a.out, "\nNot played where there is a dash: %s.", why)
	}
	over := "starts"
	if x.Seeded() {
		over = "pairs of seeds, or over starts where neither has several seeds"
	}
	_, err := fmt.Fprintf(a.out, "\n\n± is half the 95 %% interval over %s.\nOpen the page: %s\n", over, page)
	return err
}

func (c crossplayCmd) json(g game.Game, x *report.Cross, page string) crossplayJSON {
	out := crossplayJSON{Game: g.Spec().Name, Episodes: c.Episodes, Seed: c.Seed, Page: page}
	for i, row := range x.Cells {
		out.Entries = append(out.Entries, x.Entries[i].Name)
		for k, cell := range row {
			j := crossCellJSON{Newcomer: x.Entries[i].Name, Team: x.Entries[k].Name, Missing: cell.Missing}
			if cell.Missing == "" {
				j.Own, j.Others = &crossMeanJSON{cell.Own.Mean, cell.Own.CI}, &crossMeanJSON{cell.Others.Mean, cell.Others.CI}
			}
			out.Cells = append(out.Cells, j)
		}
	}
	return out
}
