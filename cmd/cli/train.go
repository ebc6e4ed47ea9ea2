package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/train/spec"
)

type trainCmd struct {
	envFlag
	What    string       `arg:"" optional:"" help:"A preset (hop list presets) or a spec file; alone: HOP+ end to end." default:"hop+main" placeholder:"PRESET|SPEC"`
	Set     []string     `help:"Set a field, such as ppo.lr=1e-3; repeatable (hop list fields)." sep:"none" placeholder:"PATH=VALUE"`
	Seeds   config.Seeds `help:"Seeds to run, such as 1-5 or 1,4,9; side by side over the cores. With --resume: those missing are added." default:"1"`
	Steps   int          `help:"Env steps of each seed in all, train.steps. With --resume: train longer, or stop sooner." placeholder:"N"`
	Out     string       `help:"Folder that runs are put in." default:"runs" type:"path"`
	Resume  string       `help:"Go on with the runs in this folder; nothing changes in those that are finished." type:"path" placeholder:"RUN"`
	Workers int          `help:"Cores to use; 0: all. Numbers do not depend on it." default:"0"`
	Serve   bool         `help:"Show the run in the browser while it trains (hop serve)."`
	jsonFlag

	AcceptBuild bool `help:"With --resume: go on with what another build of hop began."`
}

func (c trainCmd) Run(a *app, k *kong.Context) error {
	t, err := c.training(a, k)
	if err != nil {
		return err
	}
	if c.Serve {
		end, err := a.beside(t.Folder)
		if err != nil {
			return err
		}
		defer end()
	}
	out, err := a.lab().Train(a.ctx, t)
	if err != nil {
		return err
	}
	return c.answer(a, out, out.Text(t.Spec.Eval.Episodes))
}

// spec is what a new training trains.
func (c trainCmd) spec(reg *spec.Registry) (spec.Spec, error) {
	if c.Steps > 0 {
		c.Set = append(c.Set, fmt.Sprintf("train.steps=%d", c.Steps))
	}
	sp, err := reg.Load(c.Env.Preset(reg, c.What, c.with(c.Set)))
	if err != nil {
		err = usageError{c.boardless(err)}
	}
	return sp, err
}

// boardless adds to what is wrong with a planner on an environment in Python what it takes.
func (c trainCmd) boardless(err error) error {
	if err == nil || c.Env == "" || strings.Contains(err.Error(), "hop_layout") || !slices.ContainsFunc(
		[]string{"no board", "language of co-players", "search.", "no rules"}, func(s string) bool { return strings.Contains(err.Error(), s) }) {
		return err
	}
	return fmt.Errorf("%w\nWhat models others and plans needs an environment that says what its board is: let it have hop_layout "+
		"(docs/environments.md), and train hop+types; or train ppo, which needs none", err)
}

// training makes or opens the folders.
func (c trainCmd) training(a *app, k *kong.Context) (*lab.Training, error) {
	given := typed(k)
	if slices.Contains(given, "--steps") && c.Steps < 1 {
		return nil, usage("--steps %d: want at least 1", c.Steps)
	}
	if c.Resume == "" {
		spec, err := c.spec(a.reg)
		if err != nil {
			return nil, err
		}
		if n := len(spec.Prepare) + len(spec.Follow); c.Steps > 0 && n > 0 {
			fmt.Fprintf(a.err, "note: --steps %d bounds the training of %s; %s before and after it keep their own lengths (hop show %s lists "+
				"them)\n", c.Steps, spec.Name, plot.Count(n, "stage"), c.What)
		}
		t, err := a.lab().NewTraining(spec, c.Seeds, c.Out, c.Workers)
		return t, c.boardless(err)
	}
	beside := []string{"--resume", "--steps", "--seeds", "--workers", "--json", "--serve", "--accept-build", "--accept-older",
		"--accept-unsealed", "--trust"}
	for _, word := range given {
		if !slices.Contains(beside, word) {
			return nil, usage("%s beside --resume: a run goes on with the spec and in the folder that it has; only --steps, --seeds, --workers, "+
				"--accept-build, --accept-older, --accept-unsealed, --trust and --json can be given", word)
		}
	}
	more := lab.Further{Steps: c.Steps, Build: c.AcceptBuild}
	if slices.Contains(given, "--seeds") {
		more.Seeds = c.Seeds
	}
	return a.lab().Reopen(c.Resume, more, c.Workers)
}

// typed lists the flags and arguments that were given, not those with a default.
func typed(k *kong.Context) (list []string) {
	for _, p := range k.Path {
		switch {
		case p.Flag != nil:
			list = append(list, "--"+p.Flag.Name)
		case p.Positional != nil:
			list = append(list, fmt.Sprint(p.Positional.Target.Interface()))
		}
	}
	return list
}
