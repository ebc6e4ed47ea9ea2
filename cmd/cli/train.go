package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/train/prepare"
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
	deviceFlag
	Serve bool `help:"Show the run in the browser while it trains (hop serve)."`
	jsonFlag

	AcceptBuild bool `help:"With --resume: go on with what another build of hop began."`
}

func (c trainCmd) Run(a *app, k *kong.Context) error {
	if err := c.open(a); err != nil {
		return err
	}
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
	a.end.says = out.Sentence()
	return c.answer(a, out, out.Text(t.Spec.Eval.Episodes))
}

// deviceFlag is of commands that train networks.
type deviceFlag struct {
	Device string `help:"Let a graphics card take the gradient steps, and say what large networks do: cuda, of the program hop-cuda; empty: the processor does both." placeholder:"NAME"`
}

// open opens the device.
func (c deviceFlag) open(a *app) error {
	if err := a.reg.LearnOn(c.Device); err != nil {
		return usage("--device %s: %w", c.Device, err)
	}
	return nil
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
	return fmt.Errorf("%w\nOf an environment in Python nobody knows the rules: train hop+, which learns a world model of vectors, or ppo. "+
		"hop+types needs one that says what its board is: let it have hop_layout (docs/environments.md)", err)
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
	beside := []string{"--resume", "--steps", "--seeds", "--workers", "--device", "--json", "--serve", "--notify", "--accept-build",
		"--accept-older", "--accept-unsealed", "--trust"}
	for _, word := range given {
		if !slices.Contains(beside, word) {
			return nil, usage("%s beside --resume: a run goes on with the spec and in the folder that it has; only --steps, --seeds, --workers, "+
				"--device, --accept-build, --accept-older, --accept-unsealed, --trust and --json can be given", word)
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

// pretrainCmd has models learn before a training.
type pretrainCmd struct {
	MOA      learnCmd[prepare.MOA]      `cmd:"" name:"moa" help:"A model of what others do next."`
	Sequence learnCmd[prepare.Sequence] `cmd:"" help:"What others do next and are after, read off a whole life among them."`
	VAE      learnCmd[prepare.VAE]      `cmd:"" name:"vae" help:"Codes of states: learnt goals."`
	CVAE     learnCmd[prepare.CVAE]     `cmd:"" name:"cvae" help:"Subgoals inferred from history."`
	World    learnCmd[prepare.World]    `cmd:"" help:"A model of the rules."`
	Response responseCmd                `cmd:"" help:"The response network: how to answer known co-players, and what states are worth against them."`
}

// learnCmd has one model learn from recorded games.
type learnCmd[C any] struct {
	flags[C]
	Set []string `help:"Set a field, such as epochs=20 or model.hidden=[64,64]; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	madeFlags
}

// Run prints the model's card.
func (c learnCmd[C]) Run(a *app, k *kong.Context) error {
	ask, err := c.read(k, c.Set)
	if err != nil {
		return err
	}
	return a.learn(any(&ask).(prepare.Config), lab.Site{Dir: c.Out, AcceptBuild: c.AcceptBuild}, c.madeFlags)
}

// responseCmd has a response network learn in a game.
type responseCmd struct {
	envFlag
	Game string `help:"Name of the game (hop list games)." default:"staghunt"`
	flags[prepare.Response]
	Set []string `help:"Set a field, such as game.size=8 or net.hidden=[64,64]; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	madeFlags
}

// Run prints the network's card.
func (c responseCmd) Run(a *app, k *kong.Context) error {
	ofGame, own := splitSets(c.Set)
	ask, err := c.read(k, own)
	if err != nil {
		return err
	}
	at, err := gameFlags{c.envFlag, c.Game, ofGame}.site(a, c.madeFlags)
	if err != nil {
		return err
	}
	return a.learn(&ask, at, c.madeFlags)
}

// learn has a model learn and prints its card.
func (a *app) learn(ask prepare.Config, at lab.Site, to madeFlags) error {
	out, err := a.lab().Do(a.ctx, ask, at)
	if err != nil {
		return lab.Stop(err, "whole epochs are saved. The same command goes on.")
	}
	report, dir := out.(interface{ Report() (*card.Card, string) }).Report()
	return to.answer(a, out, fmt.Sprintf("%s\nSee %s\n", report.Markdown(), filepath.Join(dir, "card.html")))
}

type collectCmd struct {
	gameFlags
	flags[prepare.Collect]
	madeFlags
}

func (c collectCmd) Run(a *app, ask prepare.Collect) error {
	at, err := c.site(a, c.madeFlags)
	if err != nil {
		return err
	}
	m, g, err := a.lab().Collect(a.ctx, ask, at)
	if err != nil {
		return lab.Stop(err, "whole files are kept. The same command goes on.")
	}
	text := fmt.Sprintf("%s holds %d rows of %d episodes in %d files\n", c.Out, m.Rows, m.Episodes, len(m.Shards))
	for k, n := range m.ActionCounts {
		text += fmt.Sprintf("  %-10s %8d  %5.1f %%\n", g.Spec().Actions[k], n, 100*float64(n)/float64(m.Rows))
	}
	out := map[string]any{"dir": c.Out, "rows": m.Rows, "episodes": m.Episodes, "action_counts": m.ActionCounts, "sha256": m.SHA256}
	return c.answer(a, out, text+"  sha256 "+m.SHA256+"\n")
}
