package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hop/card"
	"hop/dataset"
	"hop/f32"
	"hop/field"
	"hop/game"
	"hop/internal/cpu"
	"hop/pretrain"
	"hop/runlog"
)

// pretrainCmd learns models from recorded episodes.
type pretrainCmd struct {
	MOA      pretrainMOACmd      `cmd:"" name:"moa" help:"A model of what others do next."`
	VAE      pretrainVAECmd      `cmd:"" name:"vae" help:"Codes of states: learnt goals."`
	CVAE     pretrainCVAECmd     `cmd:"" name:"cvae" help:"Subgoals inferred from history."`
	World    pretrainWorldCmd    `cmd:"" help:"A model of the rules."`
	Response pretrainResponseCmd `cmd:"" help:"The response network: how to answer known co-players, and what states are worth against them."`
}

// pretrainFlags are those that all of them have.
type pretrainFlags struct {
	Out  string `help:"Folder of the run; an interrupted one with the same settings goes on." required:"" type:"path" placeholder:"DIR"`
	Seed uint64 `help:"Names all random streams; the same seed holds out the same episodes of a dataset." default:"1"`
	JSON bool   `help:"Print one JSON object."`
}

// pretrained is what all of them promise.
type pretrained struct {
	Run     string  `json:"run"`
	Verdict string  `json:"verdict"`
	Status  string  `json:"status"`
	CPU     float64 `json:"cpu_s"`  // of learning
	Wall    float64 `json:"wall_s"` // of learning
	epochs  int     // whole ones, this time
}

// learner is a model that goes on from where a run's last checkpoint left it.
type learner[P any] interface {
	Resume(body []byte, at int64) error
	Run(ctx context.Context, run *runlog.Run, watch func(P)) error
}

// scorer scores what was learnt: the result, which holds done, and its card.
type scorer func(done *pretrained) (out any, report *card.Card, err error)

// learnRows is learn for a model of a dataset, whose whole epochs are logged.
func learnRows(a *app, f pretrainFlags, kind string, settings map[string]any, m learner[pretrain.Progress], score scorer) error {
	show := func(p pretrain.Progress, done *pretrained, run *runlog.Run, bar *progress) {
		if p.Whole {
			done.epochs++
			run.Printf("epoch %d: learnt from %s; held out %s", p.Epoch, terms(p.Learn), terms(p.Held))
		}
		bar.update(p.Rows, p.Total)
	}
	return learn(a, f, kind, settings, "rows", m, show, score)
}

// learn has a model learn in the run's folder, or go on there, scores it, writes
// its card, and says what that says, or the result as JSON.
func learn[P any](a *app, f pretrainFlags, kind string, settings map[string]any, unit string, m learner[P],
	show func(p P, done *pretrained, run *runlog.Run, bar *progress), score scorer,
) error {
	if err := f32.KernelsErr(); err != nil {
		return err
	}
	settings["seed"] = f.Seed
	run, err := openPretrain(f, kind, settings, m.Resume)
	if err != nil {
		return err
	}
	defer run.Close()
	done := &pretrained{Run: f.Out}
	watch, bar := cpu.Start(), a.progress(unit)
	err = m.Run(a.ctx, run, func(p P) { show(p, done, run, bar) })
	bar.end()
	switch {
	case err != nil && a.ctx.Err() != nil:
		fmt.Fprintln(a.err, "stopped; whole epochs are saved. The same command goes on.")
		return errors.Join(run.Finish("stopped"), err)
	case err != nil:
		return errors.Join(run.Finish("failed"), err)
	}
	done.CPU, done.Wall = watch.Spent()
	out, report, err := score(done)
	if err != nil {
		return err
	}
	done.Verdict, done.Status = report.Verdict(), report.Status().Grade()
	if err := errors.Join(report.Write(run.Dir()), run.Finish("done")); err != nil {
		return err
	}
	if f.JSON {
		return a.emit(out)
	}
	fmt.Fprintln(a.out, report.Markdown())
	fmt.Fprintf(a.out, "See %s\n", filepath.Join(run.Dir(), "card.html"))
	return nil
}

// openPretrain makes a run's folder, or goes on in one with the same settings.
func openPretrain(f pretrainFlags, kind string, settings map[string]any, resume func(body []byte, at int64) error) (*runlog.Run, error) {
	spec, err := yaml.Marshal(settings)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(f.Out, "spec.yaml")); errors.Is(err, fs.ErrNotExist) {
		info := runlog.Info{Preset: kind, Seed: f.Seed, Command: os.Args, Version: version, Kernels: f32.Kernels()}
		return runlog.Create(f.Out, spec, info)
	}
	was, err := runlog.ReadSpec(f.Out)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(was, spec) {
		return nil, usage("%s holds a run with other settings (see its spec.yaml); choose another --out", f.Out)
	}
	run, err := runlog.Open(f.Out)
	if err != nil {
		return nil, err
	}
	body, step, notes, err := run.Resume()
	for _, n := range notes {
		run.Printf("%s", n)
	}
	if err == nil && body != nil {
		err = resume(body, step)
	}
	if err != nil {
		return nil, errors.Join(err, run.Close())
	}
	return run, nil
}

// terms writes every term under its own name.
func terms(of map[string]float64) string {
	var parts []string
	for name, v := range of {
		parts = append(parts, fmt.Sprintf("%s %.5g", name, v))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// configure applies --set flags to settings and checks them.
func configure(cfg interface{ Validate() error }, set []string) error {
	for _, s := range set {
		path, value, ok := strings.Cut(s, "=")
		if !ok {
			return usage("--set %s: want FIELD=VALUE, such as epochs=20", s)
		}
		if err := field.Set(cfg, path, value); err != nil {
			return usage("--set %s: %w", s, err)
		}
	}
	if err := cfg.Validate(); err != nil {
		return usageError{err}
	}
	return nil
}

// openData opens the datasets, which must be of one game, and builds that game.
func openData(a *app, dirs ...string) ([]*dataset.Data, game.Game, error) {
	var data []*dataset.Data
	for _, dir := range dirs {
		d, err := dataset.Open(dir)
		if err != nil {
			return nil, nil, err
		}
		data = append(data, d)
	}
	var params map[string]json.RawMessage
	var name, word string
	err := json.Unmarshal(data[0].Game, &params)
	if err == nil {
		err = json.Unmarshal(params["name"], &name)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the game of %s: %w", dirs[0], err)
	}
	made, err := a.reg.NewGame(name)
	if err != nil {
		return nil, nil, err
	}
	delete(params, "name")
	for path, value := range params {
		text := string(value)
		if json.Unmarshal(value, &word) == nil {
			text = word
		}
		if err := made.Set(path, text); err != nil {
			return nil, nil, fmt.Errorf("reading the game of %s: %w", dirs[0], err)
		}
	}
	g, err := made.Build()
	return data, g, err
}
