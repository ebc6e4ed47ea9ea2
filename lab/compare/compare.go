// Package compare trains variants over the same seeds, reuses what is trained, and
// compares the final agents.
package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/report"
	"github.com/hop-marl/hop/lab/sweep/design"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/spec"
)

// Config says what is compared.
type Config struct {
	Variants  []string     `yaml:"variants" doc:"runs, presets or spec files; the first is the one that others are held against" unit:"RUN|PRESET|SPEC" flag:"-"`
	Seeds     config.Seeds `yaml:"seeds" doc:"seeds of every variant that is trained, such as 1-5 or 1,4,9; a run has its own"`
	Vary      []string     `yaml:"vary" doc:"every preset or spec with each of these values, such as ppo.lr=1e-3,1e-2; repeatable, every combination" unit:"PATH=V,V" flag:"each"`
	Set       []string     `yaml:"set" doc:"set a field of all variants, such as train.steps=200000; repeatable" unit:"PATH=VALUE" flag:"each"`
	Out       string       `yaml:"out" doc:"folder of the comparison and of the runs it trains; the same folder goes on" flag:"file"`
	Reuse     []string     `yaml:"reuse" doc:"folders in which finished runs are looked for too" flag:"each file"`
	Threshold float64      `yaml:"threshold" doc:"measure how long each variant takes to reach this return; none: 95 % of the way from the lowest point to the best mean" unit:"X"`
	Workers   int          `yaml:"workers" doc:"cores to use; 0: all; numbers do not depend on it" range:"0.."`
}

// Default returns what is usual; what is compared is for its user to say.
func Default() Config {
	return Config{Seeds: config.Seeds{1, 2, 3, 4, 5}, Out: filepath.FromSlash("runs/compare"), Reuse: []string{"runs"}, Threshold: math.NaN()}
}

// variant is a spec and where its runs are.
type variant struct {
	name   string // what it is called: as its spec, or as its file where specs have the same name
	what   string // as it was named on the command line
	varied string // what tells it from others of the same spec
	made   bool   // it is a run's folder: its seeds are those found there
	spec   spec.Spec
	text   []byte            // the resolved spec
	runs   map[uint64]string // finished, by seed
}

// Run trains what is missing, one variant after the other, and compares the final
// agents.
func Run(ctx context.Context, l *lab.Lab, c Config) (*report.Comparison, error) {
	list, err := c.variants(l)
	if err != nil {
		return nil, err
	}
	var in []report.Variant
	var notes []string
	for i, v := range list {
		l.Say("variant %d of %d: %s", i+1, len(list), v.name)
		x := report.Variant{Name: v.name, Reused: map[string]bool{}}
		if err := c.complete(ctx, l, v, x.Reused); err != nil {
			return nil, lab.Stop(err, "everything is saved. Give the same command again to go on.")
		}
		for _, s := range slices.Sorted(maps.Keys(v.runs)) {
			x.Dirs = append(x.Dirs, v.runs[s])
		}
		for dir := range x.Reused {
			if env, err := runlog.ReadEnv(dir); err == nil && env.Last().Same(l.Build()) != nil {
				notes = append(notes, fmt.Sprintf("%s was trained by another build: %s.", dir, env.Last().Line()))
			}
		}
		in = append(in, x)
	}
	res, err := report.Compare(l.Reg, in, c.Threshold)
	if err != nil {
		return nil, err
	}
	slices.Sort(notes)
	res.Notes = append(res.Notes, notes...)
	return res, nil
}

// variants resolves the variants. They must play one game.
func (c Config) variants(l *lab.Lab) ([]*variant, error) {
	grid, err := c.grid()
	if err != nil {
		return nil, err
	}
	var list []*variant
	for _, what := range c.Variants {
		if at, none := os.Stat(what); none == nil && at.IsDir() {
			v, err := c.folder(l, what)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
			continue
		}
		for _, g := range grid {
			v, err := c.specified(l, what, g)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
	}
	for _, v := range list {
		if err := lab.SameGame(&list[0].spec, &v.spec); err != nil {
			return nil, err
		}
	}
	return list, named(list)
}

// grid lists what --vary asks for; a single variant with nothing set if nothing is.
func (c Config) grid() ([]design.Variant, error) {
	var fields []design.Field
	for _, vary := range c.Vary {
		path, text, ok := strings.Cut(vary, "=")
		if !ok || text == "" {
			return nil, lab.Misused("--vary %s: want PATH=VALUE,VALUE, such as ppo.lr=1e-3,1e-2", vary)
		}
		fields = append(fields, design.Field{Path: path, Values: design.Split(text)})
	}
	return design.Grid(fields)
}

// specified is a preset or a spec file with what is set and varied.
func (c Config) specified(l *lab.Lab, what string, g design.Variant) (*variant, error) {
	sets := slices.Clone(c.Set)
	for _, s := range g.Settings {
		sets = append(sets, s.Path+"="+s.Value)
	}
	s, err := l.Reg.Load(what, sets)
	if err != nil {
		return nil, lab.Misused("%w", err)
	}
	if _, err := s.Resolve(); err != nil {
		return nil, lab.Misused("%w", err)
	}
	text, err := s.YAML()
	if err != nil {
		return nil, err
	}
	v := &variant{name: s.Name, what: what, spec: s, text: text, runs: map[uint64]string{}}
	if len(c.Vary) > 0 {
		v.varied = " " + g.Name
		v.name += v.varied
	}
	return v, nil
}

// folder is what was trained before, with those of its seeds that have a result.
func (c Config) folder(l *lab.Lab, dir string) (*variant, error) {
	if len(c.Set)+len(c.Vary) > 0 {
		return nil, lab.Misused("%s is a run, which is compared as it was trained; --set and --vary are for presets and spec files", dir)
	}
	dirs, err := lab.Folders(dir)
	if err != nil {
		return nil, err
	}
	v := &variant{name: filepath.Base(dir), what: dir, made: true, runs: map[uint64]string{}}
	if v.spec, err = l.SpecOf(dir, nil); err != nil {
		return nil, err
	}
	for _, seed := range dirs {
		rec, err := runlog.Read(seed)
		if err != nil {
			return nil, err
		}
		if result, err := rec.Result(); err != nil {
			return nil, err
		} else if result == nil {
			l.Say("%s is left out: its agents were not scored yet", seed)
			continue
		}
		v.runs[rec.Env.Seed] = seed
	}
	if len(v.runs) == 0 {
		return nil, lab.Misused("%s: no seed of it has a result yet; go on with hop train --resume %s", dir, dir)
	}
	return v, nil
}

// named gives variants of the same name that of their file, or else what was typed.
func named(list []*variant) error {
	longer := []func(v *variant) string{file, func(v *variant) string { return filepath.Clean(v.what) + v.varied }}
	for k := 0; ; k++ {
		count := map[string]int{}
		for _, v := range list {
			count[v.name]++
		}
		i := slices.IndexFunc(list, func(v *variant) bool { return count[v.name] > 1 })
		switch {
		case i < 0:
			return nil
		case k == len(longer):
			return lab.Misused("two variants are called %s; give one of them another name in its spec", list[i].name)
		}
		for _, v := range list {
			if count[v.name] > 1 {
				v.name = longer[k](v)
			}
		}
	}
}

// file is what a spec's file is called.
func file(v *variant) string {
	return strings.TrimSuffix(filepath.Base(v.what), ".yaml") + v.varied
}

// complete finds or trains the runs of all seeds.
func (c Config) complete(ctx context.Context, l *lab.Lab, v *variant, reused map[string]bool) error {
	if v.made {
		for _, dir := range v.runs {
			reused[dir] = true
		}
		return nil
	}
	stopped, err := c.search(l, v)
	if err != nil {
		return err
	}
	var missing []uint64
	for _, s := range c.Seeds {
		dir, halfway := v.runs[s], stopped[s]
		switch {
		case dir != "":
			reused[dir] = true
			l.Say("seed %d is done already: %s", s, dir)
		case halfway != "":
			l.Say("seed %d goes on: %s", s, halfway)
			t, err := l.Reopen(halfway, lab.Further{}, c.Workers)
			if err != nil {
				return err
			}
			if _, err := l.Train(ctx, t); err != nil {
				return err
			}
			v.runs[s] = halfway
		default:
			missing = append(missing, s)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	t, err := l.NewTraining(v.spec, missing, c.Out, c.Workers)
	if err != nil {
		return err
	}
	out, err := l.Train(ctx, t)
	if err != nil {
		return err
	}
	for _, s := range out.Seeds {
		v.runs[s.Seed] = s.Run
	}
	return nil
}

// search finds the variant's finished runs, and in the comparison's own folder
// those that stopped on the way. One that is not as it was written is none.
func (c Config) search(l *lab.Lab, v *variant) (stopped map[uint64]string, err error) {
	stopped = map[uint64]string{}
	for _, root := range append([]string{c.Out}, c.Reuse...) {
		dirs, err := disk.Match(root, "*/seed-*")
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			rec, err := runlog.Read(dir)
			if err == nil && bytes.Equal(rec.Spec, v.text) {
				err = rec.Faults(lab.ResultFile)
			}
			if errors.Is(err, runlog.ErrDamaged) {
				l.Say("%s is not reused: %v", dir, err)
			}
			if err != nil || !bytes.Equal(rec.Spec, v.text) || !slices.Contains(c.Seeds, rec.Env.Seed) || v.runs[rec.Env.Seed] != "" {
				continue
			}
			result, err := rec.Result()
			switch {
			case result != nil && rec.Env.Status == "done":
				v.runs[rec.Env.Seed] = dir
			case root == c.Out:
				stopped[rec.Env.Seed] = dir
			case err != nil:
				l.Say("%s is not reused: %v", dir, err)
			}
		}
	}
	return stopped, nil
}
