package cli

import (
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/lab/export"
)

type reportCmd struct {
	Runs  []string `arg:"" help:"Folders that hop train made: of several seeds, or of one." type:"path" placeholder:"RUN"`
	NoGIF bool     `name:"no-gif" help:"Do not play and draw episodes of the final agents."`
	jsonFlag
}

type reportJSON struct {
	Reports []string `json:"reports"`
}

func (c reportCmd) Run(a *app) error {
	var out reportJSON
	for _, dir := range c.Runs {
		page, err := a.lab().Report(a.ctx, dir, !c.NoGIF)
		if err != nil {
			return err
		}
		out.Reports = append(out.Reports, page)
		if !c.JSON {
			fmt.Fprintf(a.out, "%s\n", page)
		}
	}
	if c.JSON {
		return a.emit(out)
	}
	return nil
}

type exportCmd struct {
	Run_   string             `arg:"" name:"run" help:"Folder of a run, or of several seeds of it." type:"path" placeholder:"RUN"`
	Ask    flags[export.ONNX] `embed:""`
	Format bool               `name:"onnx" help:"As ONNX files, the one format there is."`
	jsonFlag
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
		return a.emit(map[string]any{"runs": all})
	}
	for _, r := range all {
		fmt.Fprint(a.out, r.Text())
	}
	return nil
}
