// Package target asks how well inferred goals name what a co-player is really after at each step:
// which kind of prey, and which of them. Recorded players are ns and nh, who can be asked.
package target

import (
	"encoding/json"
	"flag"
	"os"

	"github.com/hop-marl/hop/model/cvae"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/pretrain"
)

// Command is baselines target -data DATA -vae VAE CVAE...
func Command(args []string) error {
	f := flag.NewFlagSet("target", flag.ExitOnError)
	data, codes := f.String("data", "", "folder of hop collect --mix ns,nh"), f.String("vae", "", "folder of hop pretrain vae")
	seed := f.Uint64("seed", 1, "that the models were learnt with, which says what is held out")
	f.Parse(args)
	return run(*data, *codes, *seed, f.Args())
}

// result is how often a linear probe names the target, of rows that were not learnt from.
type result struct {
	Kind vae.Score `json:"kind"`
	Cell vae.Score `json:"cell"`
}

func run(dir, codes string, seed uint64, inferences []string) error {
	d, err := dataset.Open(dir)
	if err != nil {
		return err
	}
	runs := &runlog.Reader{}
	m, w, err := vae.Load(runs, codes)
	if err != nil {
		return err
	}
	out := map[string]result{}
	for _, name := range inferences {
		c, err := pretrain.NewCVAE(pretrain.DefaultCVAE(), d, m, w, seed)
		if err != nil {
			return err
		}
		_, p, err := cvae.Load(runs, name)
		if err != nil {
			return err
		}
		c.Learner.Params.CopyFrom(p)
		out[name] = score(c, func(part int, z []float32) {
			c.Goals(part, func(row int, mu, _ []float32) { copy(z[row*m.Width():], mu) })
		})
		if _, known := out["the state alone"]; known {
			continue
		}
		out["the state alone"] = score(c, func(part int, z []float32) {
			at := 0
			m.Each(c.Parts[part].States, func(ws *vae.Work) {
				ws.Encode(w)
				at += copy(z[at:], ws.Mu[:ws.X.Rows()*m.Width()])
			})
		})
	}
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// score fits probes to the rows that were learnt from and scores them on those held out. infer
// writes the goals of a part.
func score(c *pretrain.CVAE, infer func(part int, z []float32)) result {
	var kinds, cells [2]vae.Codes
	for i, part := range []int{0, 2} {
		z := make([]float32, len(c.Parts[part].Rows)*c.VAE.Width())
		infer(part, z)
		kinds[i], cells[i] = vae.Codes{Dim: c.VAE.Width(), Z: z}, vae.Codes{Dim: c.VAE.Width(), Z: z}
		for _, row := range c.Parts[part].Rows {
			kind, cell := Target(c.Data, int(row))
			kinds[i].Label, cells[i].Label = append(kinds[i].Label, kind), append(cells[i].Label, cell)
		}
	}
	return result{
		vae.FitProbe(kinds[0], 2).Score(kinds[1]),
		vae.FitProbe(cells[0], c.Data.Layout.Height*c.Data.Layout.Width).Score(cells[1]),
	}
}

// Target returns what the agent of a row is after: the kind of prey, 0 stag and 1 hare, and its
// cell; -1 where there is none left, and of the cell where two are as near. Boards have no blocks.
func Target(d *dataset.Data, row int) (kind, cell int) {
	l := d.Layout
	planes, n := len(l.Planes), l.Seats
	at := func(c, plane int) bool { return d.Columns.Obs[(row*l.Height*l.Width+c)*planes+plane] != 0 }
	own, prey := 0, [2][]int{}
	for c := range l.Height * l.Width {
		if at(c, 0) {
			own = c
		}
		for k := range prey {
			if at(c, n+1+k) {
				prey[k] = append(prey[k], c)
			}
		}
	}
	if kind = 1; d.Bots[d.Bot[row]] == "ns" && len(prey[0]) > 0 {
		kind = 0
	}
	if len(prey[kind]) == 0 {
		return -1, -1
	}
	cell, best := -1, 1<<20
	for _, c := range prey[kind] {
		steps := max(c/l.Width-own/l.Width, own/l.Width-c/l.Width) + max(c%l.Width-own%l.Width, own%l.Width-c%l.Width)
		switch {
		case steps < best:
			cell, best = c, steps
		case steps == best:
			cell = -1
		}
	}
	return kind, cell
}
