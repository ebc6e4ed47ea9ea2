package cli

import (
	"fmt"

	"github.com/hop-marl/hop/cmd/cli/complete"
	"github.com/hop-marl/hop/store/trust"
	"github.com/hop-marl/hop/train/spec/names"
)

type trustCmd struct {
	Folder string `arg:"" optional:"" help:"A run, a dataset, a sweep, a zoo, or a folder that holds such." type:"path" placeholder:"RUN"`
	List   bool   `help:"List the folders that you trust."`
	Remove bool   `help:"Trust the folder no longer."`
	jsonFlag
}

func (c trustCmd) Run(a *app) error {
	switch {
	case c.List && (c.Remove || c.Folder != ""):
		return usage("--list lists all folders that you trust, and takes neither a folder nor --remove")
	case c.List:
		list, err := a.reg.Trust.Entries()
		if err != nil {
			return err
		}
		return c.show(a, list...)
	case c.Folder == "":
		return usage("name a folder to trust, or --list")
	case c.Remove:
		return c.remove(a)
	}
	what, err := names.In(a.reg, c.Folder)
	if err != nil {
		return err
	}
	if len(what) == 0 {
		fmt.Fprintf(a.err, "%s names nothing to run: there is nothing to trust\n", c.Folder)
		return nil
	}
	if err := a.reg.Trust.Add(c.Folder, what); err != nil {
		return err
	}
	return c.show(a, trust.Entry{Folder: c.Folder, What: what})
}

// remove trusts a folder no longer.
func (c trustCmd) remove(a *app) error {
	was, err := a.reg.Trust.Remove(c.Folder)
	if err == nil && !was {
		err = usage("%s is not among the folders that you trust (hop trust --list)", c.Folder)
	}
	return err
}

// show prints folders, and what each may run.
func (c trustCmd) show(a *app, list ...trust.Entry) error {
	if c.JSON {
		return a.emit(map[string]any{"trusted": append([]trust.Entry{}, list...)})
	}
	for _, e := range list {
		fmt.Fprintf(a.out, "%s may run\n", e.Folder)
		for _, line := range e.What {
			fmt.Fprintf(a.out, "  %s\n", line)
		}
	}
	return nil
}

type completionCmd struct {
	Shell string `arg:"" help:"bash, zsh, fish or powershell." enum:"bash,zsh,fish,powershell"`
}

func (c completionCmd) Run(a *app) error {
	script, err := complete.Script(c.Shell)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(a.out, script)
	return err
}
