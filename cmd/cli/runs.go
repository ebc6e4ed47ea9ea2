package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/serve/runs"
	"github.com/hop-marl/hop/store/runlog"
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
	fmt.Fprintln(w, "run\tstate\tseeds\tscore\t95 %\tdiffers from others of its preset in")
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

// trash is the folder beside runs into which they are moved when they are removed.
const trash = ".trash"

type rmCmd struct {
	Runs []string `arg:"" help:"Folders of runs." type:"path" placeholder:"RUN"`
}

func (c rmCmd) Run(a *app) error {
	for _, dir := range c.Runs {
		if err := movable(dir); err != nil {
			return err
		}
	}
	for _, dir := range c.Runs {
		bin := filepath.Join(filepath.Dir(dir), trash)
		if err := disk.Make(bin); err != nil {
			return err
		}
		to, err := lab.NewFolder(bin, filepath.Base(dir))
		if err != nil {
			return err
		}
		to = filepath.Join(to, filepath.Base(dir))
		if err := os.Rename(dir, to); err != nil {
			return fmt.Errorf("removing %s: %w", dir, err)
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
	if err := movable(c.Run_); err != nil {
		return err
	}
	to := c.To
	if at, err := os.Stat(to); err == nil && at.IsDir() {
		to = filepath.Join(to, filepath.Base(c.Run_))
	}
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return usage("%s is there already", to)
	}
	if err := disk.Make(filepath.Dir(to)); err != nil {
		return err
	}
	if err := os.Rename(c.Run_, to); err != nil {
		return fmt.Errorf("moving %s: %w", c.Run_, err)
	}
	fmt.Fprintf(a.out, "%s is now %s\n", c.Run_, to)
	return nil
}

// movable refuses what is no whole run, and a run that somebody writes.
func movable(dir string) error {
	seeds, err := lab.Folders(dir)
	if err != nil {
		return err
	}
	if _, ok := runlog.SeedOf(filepath.Base(dir)); ok {
		return usage("%s is a seed of %s; move or remove the whole run", dir, filepath.Dir(dir))
	}
	for _, seed := range seeds {
		if h, err := disk.Held(seed); err != nil {
			return err
		} else if h.Held {
			return usage("%s is being written by process %d; stop it first", seed, h.PID)
		}
	}
	return nil
}
