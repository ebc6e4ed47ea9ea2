package cli

import "fmt"

type reportCmd struct {
	Runs  []string `arg:"" help:"Folders that hop train made: of several seeds, or of one." type:"path" placeholder:"RUN"`
	NoGIF bool     `name:"no-gif" help:"Do not play and draw episodes of the final agents."`
	JSON  bool     `help:"Print one JSON object."`
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
