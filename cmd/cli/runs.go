package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/serve/runs"
)

type lsCmd struct {
	Folders []string `arg:"" optional:"" help:"Folders below which runs are looked for." default:"runs" type:"path" placeholder:"FOLDER"`
	jsonFlag
}

func (c lsCmd) Run(a *app) error {
	shelf, err := runs.New(c.Folders)
	if err != nil {
		return usage("%w", err)
	}
	look := shelf.Now()
	for _, note := range look.Notes {
		fmt.Fprintln(a.err, "note:", note)
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "run\tstate\tseeds\tscore\t95 %\tsettings in which runs differ")
	list := []*runs.Training{}
	for _, r := range look.Rows {
		list = append(list, r.Training)
		score, ci := "–", ""
		if r.Mean != nil {
			score = fmt.Sprintf("%.3f", *r.Mean)
		}
		if r.CI != nil {
			ci = r.CI.Text()
		}
		var differs []string
		for _, path := range slices.Sorted(maps.Keys(r.Settings)) {
			differs = append(differs, path+"="+r.Settings[path])
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", r.Title, r.State, len(r.Seeds), score, ci, strings.Join(differs, " "))
	}
	w.Flush()
	return c.answer(a, map[string]any{"runs": list}, text.String())
}

type rmCmd struct {
	Runs []string `arg:"" help:"Folders of runs." type:"path" placeholder:"RUN"`
}

func (c rmCmd) Run(a *app) error {
	for _, dir := range c.Runs {
		if err := lab.Movable(dir); err != nil {
			return err
		}
	}
	for _, dir := range c.Runs {
		to, err := lab.Discard(dir)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s is in %s; delete that folder for good, or put it back with hop mv %s %s\n", dir, to, to, dir)
	}
	return nil
}

type mvCmd struct {
	Run_ string `arg:"" name:"run" help:"Folder of a run." type:"path" placeholder:"RUN"`
	To   string `arg:"" help:"Its new path, or a folder that is there." type:"path" placeholder:"PATH"`
}

func (c mvCmd) Run(a *app) error {
	to := c.To
	if at, err := os.Stat(to); err == nil && at.IsDir() {
		to = filepath.Join(to, filepath.Base(c.Run_))
	}
	if err := lab.Move(c.Run_, to); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s is now %s\n", c.Run_, to)
	return nil
}
