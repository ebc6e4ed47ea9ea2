package cli

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"hop/eval"
	"hop/game"
	"hop/report"
	"hop/rng"
	"hop/stats"
)

type crossplayCmd struct {
	Entries  []string `arg:"" help:"Who plays: folders that hop train made, presets trained before, bots, plan-infer, plan or br." placeholder:"ENTRY"`
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

func (crossplayCmd) Help() string {
	return `Examples:

  hop crossplay ns nh random
  hop crossplay runs/ppo-4x4-001 runs/hop-4x4-001 ns nh random --episodes 500
  hop crossplay ppo-4x4 ppo-prosocial-4x4 ns --set game.stags=2 --json
  hop crossplay --game snowdrift nd fix random plan --planner scripts=[nd,fix]

Each entry (row) takes one seat in a team of each entry (column). All cells are played from the same starts, from every seat. A folder of several seeds is one entry: its seed i meets seed i of the other. br is the exact best response and plan a planner that is told who the others are: both need teams of bots. Writes crossplay.html (one file, opens offline), crossplay.md and crossplay.png.`
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
	if c.Episodes < 1 {
		return usage("--episodes %d, want at least 1", c.Episodes)
	}
	g, label, entries, err := c.enter(a)
	if err != nil {
		return err
	}
	out := &report.Cross{Game: label, Starts: c.Episodes, Seats: g.Spec().Seats, Greedy: c.Greedy, Command: commandLine()}
	for _, e := range entries {
		out.Entries = append(out.Entries, report.CrossEntry{Name: e.name, Kind: e.kind, Seeds: len(e.runs)})
	}
	bar := a.progress("episodes")
	done, total := 0, len(entries)*len(entries)*g.Spec().Seats*c.Episodes
	for i := range entries {
		out.Cells = append(out.Cells, nil)
		for k := range entries {
			cell, err := c.cell(a, g, &entries[i], &entries[k], func(n, all int) { bar.update(done+n*g.Spec().Seats*c.Episodes/all, total) })
			if err != nil {
				bar.end()
				return err
			}
			done += g.Spec().Seats * c.Episodes
			out.Cells[i] = append(out.Cells[i], cell)
		}
	}
	bar.end()
	return c.show(a, g, out)
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
		if dir, err = freeFolder("runs", "crossplay"); err != nil {
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

// cell plays a newcomer among a team.
func (c crossplayCmd) cell(a *app, g game.Game, one, team *entry, progress func(done, total int)) (report.CrossCell, error) {
	pairs := max(1, len(one.runs), len(team.runs))
	var own, others stats.Acc
	var cell report.CrossCell
	for k := range pairs {
		teams, err := c.teams(g, one, team, k)
		var no usageError
		if errors.As(err, &no) {
			return report.CrossCell{Missing: no.Error()}, nil
		}
		if err != nil {
			return cell, err
		}
		if one == team {
			teams = teams[:1]
		}
		res, err := eval.Cross{
			Game: g, Starts: c.Episodes, Key: rng.New(c.Seed), Workers: c.Workers,
			Progress: func(done, total int) { progress(k*total+done, pairs*total) },
		}.Run(a.ctx, teams)
		if err != nil {
			return cell, err
		}
		if pairs == 1 {
			own, others = res.Own, res.Others
			break
		}
		own.Add(res.Own.Mean())
		others.Add(res.Others.Mean())
	}
	cell.Own = report.CrossMean{Mean: own.Mean(), CI: own.CI(0.95)}
	cell.Others = report.CrossMean{Mean: others.Mean(), CI: others.CI(0.95)}
	if math.IsNaN(cell.Own.Mean) {
		return cell, fmt.Errorf("%s among %s got no number", one.name, team.name)
	}
	return cell, nil
}

// teams returns, for each seat of the newcomer, everyone who plays.
func (c crossplayCmd) teams(g game.Game, one, team *entry, k int) ([][]eval.Member, error) {
	seats := g.Spec().Seats
	teams := make([][]eval.Member, seats)
	for s := range teams {
		names := make([]string, seats)
		for b := range names {
			names[b] = team.name
		}
		names[s] = one.name
		for b := range seats {
			who := team
			if b == s {
				who = one
			}
			m, err := c.member(g, who, names, b, k)
			if err != nil {
				return nil, err
			}
			teams[s] = append(teams[s], m)
		}
	}
	return teams, nil
}

// member returns the one of an entry that sits on a seat: agent a of a run on
// seat a, with which it trained.
func (c crossplayCmd) member(g game.Game, e *entry, names []string, seat, k int) (eval.Member, error) {
	if e.bot == "" {
		run := e.runs[k%len(e.runs)]
		own := run.Members
		if c.Greedy {
			own = run.Greedy
		}
		full, err := run.Spec.Team(run, own)
		if err != nil {
			return eval.Member{}, err
		}
		if full[seat].Name == own[seat].Name {
			return own[seat], nil
		}
		if run.Spec.Plan.On {
			return eval.Member{}, usage("%s has no agent of its own on seat %d", e.name, seat)
		}
		for b := range own { // a network plays any seat
			if full[b].Name == own[b].Name {
				return own[b], nil
			}
		}
		return eval.Member{}, usage("%s has no agent that learnt", e.name)
	}
	if !isThinker(e.bot) {
		return eval.Bot(g, e.bot), nil
	}
	if e.bot != "plan-infer" {
		random := 0
		for b, name := range names {
			if name == "random" {
				random++
			}
			if _, err := game.NewBot(g, name); err != nil && b != seat {
				return eval.Member{}, usage("%s needs to know the others' bots", e.bot)
			}
		}
		if e.bot == "br" && random > 1 {
			return eval.Member{}, usage("br takes minutes a start among several random bots (hop oracle does it)")
		}
	}
	m, err := thinker(g, names, seat, c.Planner)
	if err != nil {
		return eval.Member{}, usage("%s cannot play here: %w", e.name, err)
	}
	return *m, nil
}
