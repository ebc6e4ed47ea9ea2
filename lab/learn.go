package lab

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/pretrain"
	"github.com/hop-marl/hop/train/spec/names"
)

// Model is what every model comes to that learns before a training.
type Model struct {
	Run     string     `json:"run"`
	Verdict string     `json:"verdict"`
	Status  string     `json:"status"`
	CPU     float64    `json:"cpu_s"`  // of learning
	Wall    float64    `json:"wall_s"` // of learning
	Card    *card.Card `json:"-"`
	epochs  int        // whole ones, this time
}

// Report returns the model's card and the folder that it is in.
func (m *Model) Report() (report *card.Card, dir string) { return m.Card, m.Run }

// resumed is a model that goes on from where a run's last checkpoint left it.
type resumed[P any] interface {
	Resume(body []byte, at int64) error
	Use(pool *cores.Pool)
	Run(ctx context.Context, run *runlog.Run, watch func(P)) error
}

// learning is one model's learning in its folder.
type learning[P any] struct {
	lab      *Lab
	seed     uint64
	kind     string
	settings map[string]any
	model    resumed[P]
	unit     string // what its progress counts
	watch    func(p P, done *Model, run *runlog.Run) (at, of int)
	score    func() (*card.Card, error)
}

// rows watches a model of a dataset, whose whole epochs are logged.
func rows(p pretrain.Progress, done *Model, run *runlog.Run) (at, of int) {
	if p.Whole {
		done.epochs++
		run.Printf("epoch %d: learnt from %s; held out %s", p.Epoch, terms(p.Learn), terms(p.Held))
	}
	return p.Rows, p.Total
}

// modelMeter tells what models cost that learn side by side, as stages do.
var modelMeter cpu.Meter

// run has the model learn in the run's folder, or go on there, scores it and
// writes its card.
func (t learning[P]) run(ctx context.Context, at Site) (*Model, error) {
	if err := f32.KernelsErr(); err != nil {
		return nil, err
	}
	t.settings["seed"] = t.seed
	run, err := t.open(at)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	done := &Model{Run: at.Dir}
	cost := modelMeter.Begin()
	defer cost.End()
	run.Measure(cost.Seconds)
	t.model.Use(cores.Of(ctx))
	count, end := t.lab.Counting(t.unit)
	err = t.model.Run(ctx, run, func(p P) { count(t.watch(p, done, run)) })
	end()
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, errors.Join(run.Finish("stopped"), err)
	case err != nil:
		return nil, errors.Join(run.Finish("failed"), err)
	}
	done.CPU, done.Wall = cost.Seconds()
	if done.Card, err = t.score(); err != nil {
		return nil, err
	}
	done.Verdict, done.Status = done.Card.Verdict(), done.Card.Status().Grade()
	return done, errors.Join(done.Card.Write(run.Dir()), run.Finish("done"))
}

// open makes a run's folder, or goes on in one with the same settings.
func (t learning[P]) open(at Site) (*runlog.Run, error) {
	spec, err := yaml.Marshal(t.settings)
	if err != nil {
		return nil, err
	}
	info := t.lab.Info(t.kind, t.seed)
	if _, err := os.Stat(filepath.Join(at.Dir, "spec.yaml")); errors.Is(err, fs.ErrNotExist) {
		return runlog.Create(at.Dir, spec, info)
	}
	was, err := runlog.ReadSpec(at.Dir)
	if err != nil {
		return nil, err
	}
	if err := differ(was, spec); err != nil {
		return nil, Misused("%s holds a run with other settings: %w; choose another --out", at.Dir, err)
	}
	env, err := runlog.ReadEnv(at.Dir)
	if err != nil {
		return nil, err
	}
	if err := env.Last().Same(info.Build); err != nil && !at.AcceptBuild {
		return nil, Misused("%s: %w", at.Dir, err)
	}
	if env.Status == "done" {
		if err := runlog.Lost(at.Dir); err != nil {
			return nil, err
		}
	}
	run, err := runlog.Open(at.Dir)
	if err != nil {
		return nil, err
	}
	if err := run.GoOn(info.Build); err != nil {
		return nil, errors.Join(err, run.Close())
	}
	run.Printf("going on: %s", info.Line())
	body, step, notes, err := run.Resume()
	for _, n := range notes {
		t.lab.Say("note: %s", n)
	}
	if err == nil && body != nil {
		err = t.model.Resume(body, step)
	}
	if err != nil {
		return nil, errors.Join(err, run.Close())
	}
	return run, nil
}

// differ says in which settings a run's spec differs from what is asked for. Data and
// models are settings by what they hold, not by where they lie.
func differ(was, is []byte) error {
	if slices.Equal(was, is) {
		return nil
	}
	var a, b map[string]any
	if err := errors.Join(yaml.Unmarshal(was, &a), yaml.Unmarshal(is, &b)); err != nil {
		return err
	}
	both := maps.Clone(a)
	maps.Copy(both, b)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(both)) {
		x, _ := json.Marshal(a[name])
		y, _ := json.Marshal(b[name])
		switch {
		case slices.Equal(x, y):
		case name == "data" || name == "vae":
			list = append(list, fmt.Sprintf("what it has learnt from is not what --%s holds now, which has been replaced or is another one "+
				"(it was %.300s, and is %.300s)", name, x, y))
		default:
			list = append(list, fmt.Sprintf("%s was %.300s and is %.300s", name, x, y))
		}
	}
	return errors.New(strings.Join(list, "; "))
}

// content is what a dataset holds, wherever it lies: its manifest's hash, and who played.
type content struct {
	SHA256 string   `yaml:"sha256"`
	Bots   []string `yaml:"bots"`
}

func contents(data []*dataset.Data) (list []content) {
	for _, d := range data {
		list = append(list, content{d.Checksum, d.Bots})
	}
	return list
}

// weighed is what a model holds, wherever it lies: the hash of its settings and weights.
func weighed(config any, p *nn.Params) map[string]string {
	h := sha256.New()
	fmt.Fprintf(h, "%+v\n", config)
	_ = binary.Write(h, binary.LittleEndian, p.W) // a hash takes everything
	return map[string]string{"sha256": hex.EncodeToString(h.Sum(nil))}
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

// outside is the name of a game that is none of ours, in data that somebody else recorded.
const outside = "outside"

// openData opens the datasets that a sound config learns from, which must be of one game, and builds
// that game; nil if it is none of ours.
func (l *Lab) openData(c prepare.Config, dirs ...prepare.Folder) ([]*dataset.Data, game.Game, error) {
	if err := c.Validate(); err != nil {
		return nil, nil, Misuse{err}
	}
	var data []*dataset.Data
	for _, dir := range dirs {
		d, err := dataset.Open(string(dir))
		if err != nil {
			return nil, nil, fmt.Errorf("--data %s: %w", dir, err)
		}
		data = append(data, d)
	}
	var is struct{ Name string }
	if json.Unmarshal(data[0].Game, &is) == nil && is.Name == outside {
		l.Note("%s is of a game that hop does not have; what needs its rules or its bots, such as limits and new episodes, is left out",
			dirs[0])
		return data, nil, nil
	}
	made, err := names.Game(l.Reg, data[0].Game)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the game of %s: %w", dirs[0], err)
	}
	g, err := made.Of(string(dirs[0])).Build()
	if err != nil {
		return nil, nil, err
	}
	if whole, ok := game.WholeOf(g); ok { // which rows show
		g = whole
	}
	return data, g, nil
}
