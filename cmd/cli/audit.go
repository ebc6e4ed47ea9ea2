package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/audit"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/export"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/config"
)

type auditCmd struct {
	envFlag
	What     string       `arg:"" optional:"" help:"@audit_what" default:"ppo-4x4" placeholder:"PRESET|SPEC|RUN"`
	Set      []string     `help:"Set a field of the spec, such as ppo.lr=1e-3; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Seeds    config.Seeds `help:"Seeds to compare agents over; the first one's run is examined closely. Else 1-3, or all that a run has."`
	Updates  int          `help:"Windows to train and watch; 0: as the kind of agent needs." default:"0"`
	Episodes int          `help:"Episodes of scripted play to compare seats with." default:"1000"`
	Out      string       `help:"Folder that the page is put in." default:"runs" type:"path"`
	jsonFlag

	Data         string `help:"Audit trajectories of other code instead: all .npz of a folder, a run each." type:"path" placeholder:"DIR"`
	Trajectories string `help:"The same of one .npz, such as hop.Recorder writes in Python." type:"path" placeholder:"FILE"`
}

func (c auditCmd) Run(a *app) error {
	if c.Data != "" || c.Trajectories != "" {
		return c.foreign(a)
	}
	if c.Updates < 0 || c.Updates > 0 && c.Updates < 3 {
		return usage("--updates %d, want 0 or at least 3", c.Updates)
	}
	if c.Episodes < 20 {
		return usage("--episodes %d, want at least 20", c.Episodes)
	}
	opt := audit.Options{Seeds: c.Seeds, Updates: c.Updates, Episodes: c.Episodes}
	opt.Say = func(what string) {
		if a.terminal() {
			fmt.Fprintf(a.err, "\r\x1b[K%s", what)
			return
		}
		fmt.Fprintln(a.err, what)
	}
	what, sets := c.Env.Preset(a.reg, c.What, c.with(c.Set))
	if !audit.Folder(what) {
		fmt.Fprintf(a.err, "trains %s for some seconds, watched; of agents that you have: hop audit RUN\n", what)
	}
	r, name, err := a.lab().Audit(a.ctx, what, sets, c.Out, opt)
	if a.terminal() {
		fmt.Fprint(a.err, "\r\x1b[K")
	}
	if err != nil {
		return err
	}
	return c.show(a, r, name)
}

// foreign audits trajectories that other code recorded: one file, or all .npz
// of a folder, runs of the same agents.
func (c auditCmd) foreign(a *app) error {
	if c.Data != "" && c.Trajectories != "" {
		return usage("--data %s and --trajectories %s: choose one", c.Data, c.Trajectories)
	}
	subject := c.Data + c.Trajectories
	r, err := audit.Recorded(subject)
	if err != nil {
		return usageError{err}
	}
	for _, f := range r.Findings {
		if c.JSON && f.Status == check.NotAsked {
			fmt.Fprintln(a.err, "not asked:", f.Says)
		}
	}
	return c.show(a, r, strings.TrimSuffix(filepath.Base(subject), ".npz"))
}

// show writes the page and the result.
func (c auditCmd) show(a *app, r *audit.Result, name string) error {
	dir, err := lab.NewFolder(c.Out, "audit-"+name)
	if err != nil {
		return err
	}
	page, err := r.Write(dir, c.command())
	if err != nil {
		return err
	}
	out := struct {
		*audit.Result
		Page string `json:"page"`
	}{r, page}
	return c.answer(a, out, fmt.Sprintf("%s\nPage: %s\n", r.Text(c.Data+c.Trajectories != ""), page))
}

// command is how to do it again.
func (c auditCmd) command() string {
	switch {
	case c.Data != "":
		return "hop audit --data " + c.Data
	case c.Trajectories != "":
		return "hop audit --trajectories " + c.Trajectories
	}
	command := "hop audit " + c.What
	for _, s := range c.Set {
		command += " --set " + s
	}
	if len(c.Seeds) > 0 {
		command += " --seeds " + c.Seeds.String()
	}
	return command
}

type ladderCmd struct {
	What string `arg:"" optional:"" help:"@ladder_what" default:"hop-4x4" placeholder:"PRESET|SPEC|RUN"`
	flags[lab.LadderConfig]
	jsonFlag
}

func (c ladderCmd) Run(a *app, k *kong.Context, ask lab.LadderConfig) error {
	ask.What = c.What
	if !slices.Contains(typed(k), c.What) {
		fmt.Fprintf(a.err, "hop ladder alone trains %s and %s, seeds %s, which takes minutes, and plays %d starts of every rung among %s.\n"+
			"Of agents that you have: hop ladder RUN --ppo RUN. Ctrl-C stops it.\n",
			ask.PPO, ask.What, ask.Seeds, ask.Episodes, strings.Join(ask.VS, "; "))
	}
	r, err := a.lab().Ladder(a.ctx, ask)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s\n\n%s\nEach alone, everything else as trained:\n", r.Says, r.Bars(40))
	for _, s := range r.Singles {
		text += fmt.Sprintf("  %-22s %+.3f (95 %% %+.3f to %+.3f), %.0f %% of the gap\n",
			s.Name, s.Delta, s.DeltaCI[0], s.DeltaCI[1], 100*s.Share)
	}
	return c.answer(a, r, text+"\nOpen the page: "+r.Page+"\n")
}

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
	Run_ string `arg:"" name:"run" help:"Folder of a run, or of several seeds of it." type:"path" placeholder:"RUN"`
	flags[export.ONNX]
	ONNX   bool `name:"onnx" help:"The networks, as ONNX files."`
	WandB  bool `name:"wandb" help:"The runs, as Weights & Biases keeps them offline; --out is else wandb."`
	MLflow bool `name:"mlflow" help:"The runs, as MLflow's file store; --out is else mlruns."`
	jsonFlag
}

func (c exportCmd) Run(a *app, ask export.ONNX) error {
	ask.Run = c.Run_
	for name, chosen := range map[string]bool{"wandb": c.WandB, "mlflow": c.MLflow} {
		if chosen && (c.ONNX || c.WandB && c.MLflow) {
			return usage("choose one of --onnx, --wandb and --mlflow")
		}
		if chosen {
			return c.track(a, name, ask)
		}
	}
	if !c.ONNX {
		return usage("say which format: hop export %s --onnx, --wandb or --mlflow", c.Run_)
	}
	all, err := ask.Do(a.lab())
	if err != nil {
		return err
	}
	text := ""
	for _, r := range all {
		text += r.Text()
	}
	return c.answer(a, map[string]any{"runs": all}, text)
}

// track writes runs for a tracker of others.
func (c exportCmd) track(a *app, name string, ask export.ONNX) error {
	if ask.Check > 0 {
		return usage("--check is of --onnx")
	}
	to := export.Trackers[name]
	out := cmp.Or(ask.Out, to.Out)
	paths, err := export.Track(ask.Run, name, out)
	if err != nil {
		return err
	}
	next := fmt.Sprintf(to.Next, out)
	return c.answer(a, map[string]any{"runs": paths, "next": next}, strings.Join(paths, "\n")+"\nNext: "+next+"\n")
}
