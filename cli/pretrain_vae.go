package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hop/f32"
	"hop/field"
	"hop/internal/cpu"
	"hop/pretrain"
	"hop/pretrain/score"
	"hop/runlog"
)

type pretrainVAECmd struct {
	Data     string   `help:"Folder of a dataset." required:"" type:"path" placeholder:"DIR"`
	Loss     string   `help:"a: rebuild the state; b: help to predict the agent's action." enum:"a,b" default:"a"`
	Dim      int      `help:"Dimensions of z." default:"16"`
	Discrete int      `help:"Classes of a discrete goal in place of a continuous z; 0: continuous." default:"0"`
	Out      string   `help:"Folder of the run; an interrupted one with the same settings goes on." required:"" type:"path" placeholder:"DIR"`
	Set      []string `help:"Set a field, such as epochs=30 or model.hidden=[512,256]; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Seed     uint64   `help:"Names all random streams." default:"1"`
	JSON     bool     `help:"Print one JSON object."`
}

func (pretrainVAECmd) Help() string {
	return `Examples:

  hop collect --mix ns,nh --rows 107000 --seed 7 --out data/
  hop pretrain vae --data data/ --loss a --dim 16 --out runs/vae-a --json
  hop pretrain vae --data data/ --loss b --discrete 8 --out runs/vae-b8

Loss a and loss b are different quantities; each of their terms has its own name. card.html in the run's folder shows them all, and what z says about the goal finally reached. docs/opponents.md explains it.`
}

// vaeJSON is the promise of the command.
type vaeJSON struct {
	Run     string `json:"run"`
	Loss    string `json:"loss"`
	Verdict string `json:"verdict"`
	Status  string `json:"status"`
	*score.VAEScore
	CPU  float64 `json:"cpu_s"`  // of learning
	Wall float64 `json:"wall_s"` // of learning
}

func (c pretrainVAECmd) Run(a *app) error {
	if err := f32.KernelsErr(); err != nil {
		return err
	}
	cfg := pretrain.DefaultVAE(c.Loss)
	cfg.Model.Dim, cfg.Model.Discrete = c.Dim, c.Discrete
	if err := setFields(&cfg, c.Set); err != nil {
		return err
	}
	if err := cfg.Validate(); err != nil {
		return usageError{err}
	}
	data, _, err := openData(a, []string{c.Data})
	if err != nil {
		return err
	}
	v, err := pretrain.NewVAE(cfg, data[0], c.Seed)
	if err != nil {
		return err
	}
	run, err := openPretrain(c.Out, "vae", c.Seed, map[string]any{"data": c.Data, "seed": c.Seed, "vae": cfg}, v.Resume)
	if err != nil {
		return err
	}
	defer run.Close()
	watch := cpu.Start()
	bar := a.progress("rows")
	err = v.Run(a.ctx, run, logEpochs(run, bar))
	bar.end()
	if err != nil {
		return stoppedPretrain(a, run, err)
	}
	out := vaeJSON{Run: c.Out, Loss: cfg.Model.Loss}
	out.CPU, out.Wall = watch.Spent()
	score, report, err := score.VAE(v)
	if err != nil {
		return err
	}
	out.VAEScore = score
	out.Verdict, out.Status = report.Verdict(), string(report.Status())
	return finishPretrain(a, run, report, c.JSON, out)
}

// logEpochs shows the rows on a bar and writes whole epochs to the log.
func logEpochs(run *runlog.Run, bar *progress) func(pretrain.Progress) {
	return func(p pretrain.Progress) {
		if p.Whole {
			run.Printf("epoch %d: learnt from %s; held out %s", p.Epoch, terms(p.Learn), terms(p.Held))
		}
		bar.update(p.Rows, p.Total)
	}
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

// setFields applies --set flags to a settings struct.
func setFields(cfg any, set []string) error {
	for _, s := range set {
		path, value, ok := strings.Cut(s, "=")
		if !ok {
			return usage("--set %s: want FIELD=VALUE, such as epochs=20", s)
		}
		if err := field.Set(cfg, path, value); err != nil {
			return usage("--set %s: %w", s, err)
		}
	}
	return nil
}

// openPretrain makes a run's folder, or goes on in one with the same settings.
func openPretrain(dir, kind string, seed uint64, settings map[string]any, resume func(body []byte, epoch int64) error) (*runlog.Run, error) {
	spec, err := yaml.Marshal(settings)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, "spec.yaml")); errors.Is(err, fs.ErrNotExist) {
		return runlog.Create(dir, spec, runlog.Info{Preset: kind, Seed: seed, Command: os.Args, Version: version, Kernels: f32.Kernels()})
	}
	was, err := runlog.ReadSpec(dir)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(was, spec) {
		return nil, usage("%s holds a run with other settings (see its spec.yaml); choose another --out", dir)
	}
	run, err := runlog.Open(dir)
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

// stoppedPretrain closes a run that did not end by itself.
func stoppedPretrain(a *app, run *runlog.Run, err error) error {
	if a.ctx.Err() != nil {
		fmt.Fprintln(a.err, "stopped; whole epochs are saved. The same command goes on.")
		return errors.Join(run.Finish("stopped"), err)
	}
	return errors.Join(run.Finish("failed"), err)
}
