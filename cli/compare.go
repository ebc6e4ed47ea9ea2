package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"hop/exp"
	"hop/report"
	"hop/runlog"
	"hop/stats"
)

type compareCmd struct {
	Variants  []string `arg:"" help:"Presets or spec files; the first is the one that others are held against." placeholder:"VARIANT"`
	Seeds     string   `help:"Seeds of every variant, such as 1-5 or 1,4,9." default:"1-5"`
	Set       []string `help:"Set a field of all variants, such as train.steps=200000; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Out       string   `help:"Folder of the comparison and of the runs it trains; the same folder goes on." default:"runs/compare" type:"path"`
	Reuse     []string `help:"Folders in which finished runs are looked for too." default:"runs" type:"path" sep:"none"`
	Threshold string   `help:"Return to which the time is measured; default: 95 % of the way from the lowest point to the best mean." default:"" placeholder:"X"`
	Workers   int      `help:"Cores to use; 0: all. Numbers do not depend on it." default:"0"`
	JSON      bool     `help:"Print one JSON object."`
}

func (compareCmd) Help() string {
	return `Examples:

  hop compare ppo-4x4 ppo-shared-4x4 ppo-prosocial-4x4 --seeds 1-5
  hop compare ppo-4x4 ppo-imagine-4x4 --seeds 1-3 --set train.steps=200000 --threshold 2.8 --json

Trains what is missing, one variant after the other, and compares the final agents. A finished run with the same resolved spec and seed is not trained again; an unfinished one in the folder goes on where it stopped. So Ctrl-C or a crash costs nothing: give the same command again. Writes compare.html (one file, opens offline), compare.md and the figures in compare/.`
}

type comparedJSON struct {
	Name    string         `json:"name"`
	Seeds   []comparedSeed `json:"seeds"`
	Mean    float64        `json:"mean"`
	CI      stats.Interval `json:"ci"`
	IQM     float64        `json:"iqm"`
	IQMCI   stats.Interval `json:"iqm_ci"`
	Diff    float64        `json:"diff"` // to the first variant
	DiffCI  stats.Interval `json:"diff_ci"`
	Reached int            `json:"reached"`  // seeds that came to the threshold
	StepsTo *float64       `json:"steps_to"` // median env steps to it; null: fewer than half got there
	CPUTo   *float64       `json:"cpu_s_to"`
}

type comparedSeed struct {
	Seed   uint64  `json:"seed"`
	Run    string  `json:"run"`
	Mean   float64 `json:"mean"`
	CPU    float64 `json:"cpu_s"`
	Reused bool    `json:"reused"`
}

type winJSON struct {
	Row string         `json:"row"`
	Col string         `json:"col"`
	P   float64        `json:"p"`
	CI  stats.Interval `json:"ci"`
}

type compareJSON struct {
	Game      string         `json:"game"`
	Threshold float64        `json:"threshold"`
	Variants  []comparedJSON `json:"variants"`
	Improve   []winJSON      `json:"improvement"`
	Page      string         `json:"page"`
}

// variant is a spec and where its runs are.
type variant struct {
	what   string
	spec   exp.Spec
	text   []byte            // the resolved spec
	runs   map[uint64]string // finished, by seed
	reused map[uint64]bool   // finished before this command
}

func (c compareCmd) Run(a *app) error {
	threshold := math.NaN()
	if c.Threshold != "" {
		var err error
		if threshold, err = strconv.ParseFloat(c.Threshold, 64); err != nil {
			return usage("--threshold %s: want a number", c.Threshold)
		}
	}
	seeds, err := parseSeeds(c.Seeds)
	if err != nil {
		return usageError{err}
	}
	list, err := c.load(a)
	if err != nil {
		return err
	}
	for i, v := range list {
		fmt.Fprintf(a.err, "variant %d of %d: %s\n", i+1, len(list), v.spec.Name)
		if err := c.complete(a, v, seeds); err != nil {
			if errors.Is(err, context.Canceled) {
				fmt.Fprintln(a.err, "stopped; everything is saved. Give the same command again to go on.")
			}
			return err
		}
	}
	var in []report.Variant
	for _, v := range list {
		x := report.Variant{Name: v.spec.Name}
		for _, s := range seeds {
			x.Dirs = append(x.Dirs, v.runs[s])
		}
		in = append(in, x)
	}
	res, err := report.Compare(a.reg, in, threshold)
	if err != nil {
		return err
	}
	res.Command = commandLine()
	if err := report.WriteCompare(c.Out, res); err != nil {
		return err
	}
	return c.show(a, list, res)
}

// load resolves the variants. They must play one game.
func (c compareCmd) load(a *app) ([]*variant, error) {
	var list []*variant
	for _, what := range c.Variants {
		s, err := a.reg.Load(what, c.Set)
		if err != nil {
			return nil, usageError{err}
		}
		text, err := s.YAML()
		if err != nil {
			return nil, err
		}
		for _, v := range list {
			if v.spec.Name == s.Name {
				return nil, usage("two variants are called %s; give one of them another name in its spec", s.Name)
			}
		}
		v := &variant{what: what, spec: s, text: text, runs: map[uint64]string{}, reused: map[uint64]bool{}}
		if len(list) > 0 {
			if err := sameGame(list[0], v); err != nil {
				return nil, err
			}
		}
		list = append(list, v)
	}
	return list, nil
}

// sameGame refuses variants whose returns mean different things.
func sameGame(v, w *variant) error {
	x, err := v.spec.Game.Map()
	if err != nil {
		return err
	}
	y, err := w.spec.Game.Map()
	if err != nil {
		return err
	}
	var differ []string
	for name := range y {
		if fmt.Sprint(x[name]) != fmt.Sprint(y[name]) {
			differ = append(differ, fmt.Sprintf("game.%s (%v and %v)", name, x[name], y[name]))
		}
	}
	if len(differ) == 0 {
		return nil
	}
	slices.Sort(differ)
	return usage("%s and %s play different games: %s; returns cannot be compared. Set the game for all with --set", v.spec.Name, w.spec.Name, strings.Join(differ, ", "))
}

// complete finds or trains the runs of all seeds.
func (c compareCmd) complete(a *app, v *variant, seeds []uint64) error {
	stopped, err := c.search(v, seeds)
	if err != nil {
		return err
	}
	for s, dir := range v.runs {
		v.reused[s] = true
		fmt.Fprintf(a.err, "seed %d is done already: %s\n", s, dir)
	}
	for _, s := range seeds {
		if dir := stopped[s]; v.runs[s] == "" && dir != "" {
			fmt.Fprintf(a.err, "seed %d goes on: %s\n", s, dir)
			if err := c.train(a, "--resume", dir); err != nil {
				return err
			}
			v.runs[s] = dir
		}
	}
	var missing []string
	for _, s := range seeds {
		if v.runs[s] == "" {
			missing = append(missing, strconv.FormatUint(s, 10))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	words := []string{v.what, "--seeds", strings.Join(missing, ","), "--out", c.Out}
	for _, set := range c.Set {
		words = append(words, "--set", set)
	}
	if err := c.train(a, words...); err != nil {
		return err
	}
	if _, err := c.search(v, seeds); err != nil {
		return err
	}
	for _, s := range seeds {
		if v.runs[s] == "" {
			return fmt.Errorf("seed %d of %s was trained but is not in %s", s, v.spec.Name, c.Out)
		}
	}
	return nil
}

// search finds the variant's finished runs, and in the comparison's own folder
// those that stopped on the way.
func (c compareCmd) search(v *variant, seeds []uint64) (stopped map[uint64]string, err error) {
	stopped = map[uint64]string{}
	for _, root := range append([]string{c.Out}, c.Reuse...) {
		dirs, err := filepath.Glob(filepath.Join(root, "*", "seed-*"))
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			text, err := runlog.ReadSpec(dir)
			if err != nil || !bytes.Equal(text, v.text) {
				continue
			}
			env, err := runlog.ReadEnv(dir)
			if err != nil || !slices.Contains(seeds, env.Seed) || v.runs[env.Seed] != "" {
				continue
			}
			if _, err := os.Stat(filepath.Join(dir, "result.json")); err == nil && env.Status == "done" {
				v.runs[env.Seed] = dir
			} else if root == c.Out {
				stopped[env.Seed] = dir
			}
		}
	}
	return stopped, nil
}

// train runs hop train in this process.
func (c compareCmd) train(a *app, words ...string) error {
	words = append([]string{"train", "--workers", strconv.Itoa(c.Workers)}, words...)
	var errs bytes.Buffer
	inner := &app{a.ctx, a.reg, a.in, io.Discard, io.MultiWriter(a.err, &errs)}
	if a.terminal() {
		inner.err = a.err // the live view needs the terminal itself
	}
	switch code := run(inner, words); {
	case a.ctx.Err() != nil:
		return a.ctx.Err()
	case code != 0:
		return fmt.Errorf("hop %s failed with exit code %d%s", strings.Join(words, " "), code, lastLine(errs.String()))
	}
	return nil
}

func (c compareCmd) show(a *app, list []*variant, res *report.Comparison) error {
	page := filepath.Join(c.Out, "compare.html")
	if c.JSON {
		return a.emit(compareResult(list, res, page))
	}
	fmt.Fprintf(a.out, "%s\n\n", res.Headline())
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "variant\tmean\t95 %\tIQM\tdifference\t95 %\twins\treached\tsteps to\tprocessor\t\n")
	for i, x := range res.Variants {
		fmt.Fprintf(w, "%s\t%.3f\t%s\t%.3f\t", x.Name, x.Mean, between(x.CI), x.IQM)
		if i == 0 {
			fmt.Fprint(w, "\t\t\t")
		} else {
			fmt.Fprintf(w, "%+.3f\t%s\t%.0f %%\t", x.Diff, between(x.DiffCI), 100*res.Improve[i][0].P)
		}
		fmt.Fprintf(w, "%d of %d\t%s\t%s\t\n", x.Reached, len(x.Seeds), dash(x.Short()), dash(x.Time()))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, n := range res.Notes {
		fmt.Fprintf(a.out, "note: %s\n", n)
	}
	_, err := fmt.Fprintf(a.out, "\nDifferences and wins are to %s. Intervals: Student's and Welch's over seeds. Steps and processor time are to a return of %.3f.\nOpen the page: %s\n", res.Variants[0].Name, res.Threshold, page)
	return err
}

func between(ci stats.Interval) string {
	if math.IsInf(ci[0], 0) || math.IsNaN(ci[0]) {
		return "–"
	}
	return fmt.Sprintf("%.3f to %.3f", ci[0], ci[1])
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func compareResult(list []*variant, res *report.Comparison, page string) compareJSON {
	out := compareJSON{Game: res.Label, Threshold: res.Threshold, Page: page}
	number := func(x float64) *float64 {
		if math.IsNaN(x) {
			return nil
		}
		return &x
	}
	for i, x := range res.Variants {
		j := comparedJSON{
			Name: x.Name, Mean: x.Mean, CI: x.CI, IQM: x.IQM, IQMCI: x.IQMCI, Diff: x.Diff, DiffCI: x.DiffCI,
			Reached: x.Reached, StepsTo: number(x.Steps), CPUTo: number(x.CPU),
		}
		for _, s := range x.Seeds {
			j.Seeds = append(j.Seeds, comparedSeed{s.Seed, s.Dir, s.Mean, s.CPU, list[i].reused[s.Seed]})
		}
		out.Variants = append(out.Variants, j)
		for k, w := range res.Improve[i] {
			if k != i {
				out.Improve = append(out.Improve, winJSON{x.Name, res.Variants[k].Name, w.P, w.CI})
			}
		}
	}
	return out
}
