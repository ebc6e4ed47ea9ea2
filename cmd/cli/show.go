package cli

import (
	"cmp"
	"fmt"
	"text/tabwriter"

	"go.yaml.in/yaml/v3"

	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/train/spec"
)

type showCmd struct {
	What string   `arg:"" help:"A preset, a spec file, or the folder of a run." placeholder:"PRESET|SPEC|RUN"`
	Set  []string `help:"Set a field, such as ppo.lr=1e-3; repeatable (hop list fields)." sep:"none" placeholder:"PATH=VALUE"`
	Diff string   `help:"Only the fields that differ from this preset, spec file or run." placeholder:"PRESET|SPEC|RUN"`
	JSON bool     `help:"Print one JSON object."`
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
