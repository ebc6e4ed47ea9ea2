package cli

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"go.yaml.in/yaml/v3"

	"github.com/hop-marl/hop/cmd/cli/complete"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/store/trust"
	"github.com/hop-marl/hop/train/spec"
	"github.com/hop-marl/hop/train/spec/names"
)

type listCmd struct {
	What string `arg:"" help:"games, minds, bots, presets or fields." enum:"games,minds,bots,presets,fields"`
	Of   string `arg:"" optional:"" help:"For fields: a preset, a spec file or the folder of a run." placeholder:"PRESET|SPEC|RUN"`
	gameFlags
	jsonFlag
}

func (c listCmd) Run(a *app) error {
	if c.Of != "" && c.What != "fields" {
		return usage("hop list %s takes no %s; only hop list fields does", c.What, c.Of)
	}
	switch c.What {
	case "games":
		return c.games(a)
	case "minds":
		rows := []named{}
		for _, name := range a.reg.MindNames() {
			rows = append(rows, named{Name: name, Doc: a.reg.MindDoc(name)})
		}
		return c.show(a, rows, map[string]any{"minds": rows})
	case "bots":
		return c.bots(a)
	case "presets":
		rows := []named{}
		for _, p := range a.reg.PresetList() {
			rows = append(rows, named(p))
		}
		return c.show(a, rows, map[string]any{"presets": rows})
	}
	return c.fields(a)
}

func (c listCmd) games(a *app) error {
	rows, err := a.reg.GameList()
	if err != nil {
		return err
	}
	if c.JSON {
		return a.emit(map[string]any{"games": rows})
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "game\tkind\tseats\tactions\tgoals\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s\n", r.Name, r.Kind, r.Seats, len(r.Actions), len(r.Goals), r.Doc)
	}
	return w.Flush()
}

// named is something that a user can name, and what it is.
type named struct {
	Name  string `json:"name"`
	Doc   string `json:"doc"`
	Group string `json:"group,omitempty"`
}

func (c listCmd) bots(a *app) error {
	name, sets := c.Env.Named(c.Game, c.with(c.Set))
	for _, set := range sets {
		if !strings.HasPrefix(set, "game.") {
			return usage("--set %s: want game.FIELD=VALUE, such as game.size=8", set)
		}
	}
	spec, err := a.lab().SpecWith(name, sets)
	if err != nil {
		return err
	}
	bots := []game.BotInfo{game.RandomBot(1)} // what every environment of others has: a list starts none
	built, err := spec.Game.Peek()
	if err != nil {
		return usageError{err}
	}
	if built != nil {
		bots = game.AllBots(built)
	}
	rows := []named{}
	for _, b := range bots {
		rows = append(rows, named{Name: b.Name, Doc: b.Doc})
	}
	return c.show(a, rows, map[string]any{"game": c.Game, "bots": rows})
}

// show prints the rows, with a headline where a group begins.
func (c listCmd) show(a *app, rows []named, out map[string]any) error {
	if c.JSON {
		return a.emit(out)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.DiscardEmptyColumns)
	group := ""
	for i, r := range rows {
		if r.Group != group {
			if group = r.Group; i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintln(w, group)
		}
		indent := ""
		if group != "" {
			indent = "  "
		}
		fmt.Fprintf(w, "%s%s\t%s\n", indent, r.Name, r.Doc)
	}
	return w.Flush()
}

// fields lists the fields of a spec, or all that a spec of the game can have.
func (c listCmd) fields(a *app) error {
	var fields []config.Info
	value := "value"
	if c.Of != "" {
		spec, err := a.lab().SpecOf(c.Of, c.Set)
		if err != nil {
			return err
		}
		fields = spec.Fields()
	} else {
		spec, err := a.lab().SpecWith(c.Env.Named(c.Game, c.with(c.Set)))
		if err != nil {
			return err
		}
		fields, value = spec.AllFields(), "default"
	}
	return c.answer(a, map[string][]config.Info{"fields": fields}, config.Text(fields, value, c.Of == ""))
}

type showCmd struct {
	What string   `arg:"" help:"A preset, a spec file, or the folder of a run." placeholder:"PRESET|SPEC|RUN"`
	Set  []string `help:"Set a field, such as ppo.lr=1e-3; repeatable (hop list fields)." sep:"none" placeholder:"PATH=VALUE"`
	Diff string   `help:"Only the fields that differ from this preset, spec file or run." placeholder:"PRESET|SPEC|RUN"`
	jsonFlag
}

func (c showCmd) Run(a *app) error {
	s, err := a.lab().SpecOf(c.What, c.Set)
	if err != nil {
		return err
	}
	if c.Diff != "" {
		return c.diff(a, &s)
	}
	text, err := s.YAML()
	if err != nil {
		return err
	}
	if !c.JSON {
		_, err = a.out.Write(text)
		return err
	}
	values := map[string]any{}
	if err := yaml.Unmarshal(text, &values); err != nil {
		return err
	}
	return a.emit(map[string]any{"spec": values})
}

// diff prints the fields in which two specs differ. A side that does not have a
// field has a dash.
func (c showCmd) diff(a *app, s *spec.Spec) error {
	other, err := a.lab().SpecOf(c.Diff, nil)
	if err != nil {
		return err
	}
	changes := s.Diff(&other)
	if c.JSON {
		return a.emit(struct {
			A       string          `json:"a"`
			B       string          `json:"b"`
			Changes []config.Change `json:"changes"`
		}{c.What, c.Diff, append([]config.Change{}, changes...)})
	}
	if len(changes) == 0 {
		_, err := fmt.Fprintf(a.out, "%s and %s differ in no field\n", c.What, c.Diff)
		return err
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "field\t%s\t%s\n", c.What, c.Diff)
	for _, d := range changes {
		fmt.Fprintf(w, "%s\t%s\t%s\n", d.Path, cmp.Or(d.A, "-"), cmp.Or(d.B, "-"))
	}
	return w.Flush()
}

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
		return usage("name a folder to trust, or --list\nExample: hop trust runs/from-a-friend")
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
