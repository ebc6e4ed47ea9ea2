package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/lab/export"
)

type exportCmd struct {
	Run_   string             `arg:"" name:"run" help:"Folder of a run, or of several seeds of it." type:"path" placeholder:"RUN"`
	Ask    flags[export.ONNX] `embed:""`
	Format bool               `name:"onnx" help:"As ONNX files, the one format there is."`
	JSON   bool               `help:"Print one JSON object."`
}

type exportJSON struct {
	Runs []export.Result `json:"runs"`
}

func (c exportCmd) Run(a *app, k *kong.Context) error {
	if !c.Format {
		return usage("say which format: hop export %s --onnx", c.Run_)
	}
	ask, err := c.Ask.read(k, nil)
	if err != nil {
		return err
	}
	ask.Run = c.Run_
	all, err := ask.Do(a.lab())
	if err != nil {
		return err
	}
	if c.JSON {
		return a.emit(exportJSON{all})
	}
	for _, r := range all {
		for _, f := range r.Files {
			fmt.Fprintf(a.out, "%s  %s\n  reads %s\n  gives %s\n", f.Path, words[f.Kind], listed(f.Inputs), listed(f.Outputs))
		}
		if len(r.Without) > 0 {
			fmt.Fprintf(a.out, "Not in these files: %s. hop.load(%q) in Python plays with all of it.\n", strings.Join(r.Without, ", "), r.Run)
		}
	}
	return nil
}

// words say what kinds of networks are.
var words = map[string]string{
	"actor":    "the network that acts",
	"others":   "the model of others, from their own place",
	"response": "the response network, told who the others are",
}

// listed lists inputs or outputs with their shapes.
func listed(ports []export.Port) string {
	var list []string
	for _, p := range ports {
		dims := "batch"
		for _, d := range p.Dims {
			dims += fmt.Sprintf(", %d", d)
		}
		list = append(list, fmt.Sprintf("%s [%s]", p.Name, dims))
	}
	return strings.Join(list, ", ")
}
