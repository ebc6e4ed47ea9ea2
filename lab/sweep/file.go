package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hop-marl/hop/lab/sweep/design"
	"github.com/hop-marl/hop/lab/sweep/queue"
	"github.com/hop-marl/hop/num/config"
)

// File is a sweep as a user writes it down.
type File struct {
	Base    string          `yaml:"base"`   // a preset or a spec file
	Set     values          `yaml:"set"`    // fields of all variants
	Grid    values          `yaml:"grid"`   // fields with lists: every combination
	Random  values          `yaml:"random"` // fields with lists or ranges: draws
	Draws   int             `yaml:"draws"`  // how many
	Draw    uint64          `yaml:"draw_seed"`
	Seeds   string          `yaml:"seeds"`   // such as 1-10 or 1,4,9
	Halving *design.Halving `yaml:"halving"` // stop variants early
	Budget  Budget          `yaml:"budget"`
	Each    Each            `yaml:"each"`
	Then    []string        `yaml:"then"`  // commands for every trained run, {run}
	After   []string        `yaml:"after"` // commands over all, {variants} or {specs}
}

// commands returns what is wrong with then or after.
func commands(field string, list []string, words ...string) (errs []error) {
	for i, text := range list {
		if err := queue.Line(strings.Fields(placed.Replace(text))).Validate(); err != nil {
			errs = append(errs, fmt.Errorf("sweep: %s[%d] is %q: %w", field, i, text, err))
		}
		if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) }) {
			errs = append(errs, fmt.Errorf("sweep: %s[%d] is %q, want %s in it, which stands for what was trained", field, i, text,
				strings.Join(words, " or ")))
		}
	}
	return errs
}

// placed puts something in the place of words that stand for what was trained.
var placed = strings.NewReplacer("{run}", "in/seed-1", "{variants}", "in/variant", "{specs}", "variant.yaml")

// Budget is how much a sweep may use; what is 0 has no limit.
type Budget struct {
	Runs  int     `yaml:"runs" json:"runs,omitempty"`
	CPU   float64 `yaml:"cpu_hours" json:"cpu_hours,omitempty"`
	Hours float64 `yaml:"hours" json:"hours,omitempty"`
}

// Each is what one job needs and may take.
type Each struct {
	Cores  int           `yaml:"cores" json:"cores,omitempty"`
	Memory string        `yaml:"memory" json:"memory,omitempty"` // such as 2GB; a job that takes more has failed
	Labels []string      `yaml:"labels" json:"labels,omitempty"`
	Limit  time.Duration `yaml:"limit" json:"limit_ns,omitempty"` // a job that takes longer has failed
	Quiet  time.Duration `yaml:"quiet" json:"quiet_ns,omitempty"` // so has one that says nothing for so long
}

// values are fields in the order in which they were written.
type values []design.Field

// UnmarshalYAML reads a map from paths to a value, a list of values or a range.
func (v *values) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want fields and their values, such as {game.stags: [1, 2]}", n.Line)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		f := design.Field{Path: key.Value}
		switch val.Kind {
		case yaml.SequenceNode:
			for _, item := range val.Content {
				text, err := flow(item)
				if err != nil {
					return err
				}
				f.Values = append(f.Values, text)
			}
		case yaml.MappingNode:
			f.Range = &design.Range{}
			if err := strict(val, f.Range); err != nil {
				return fmt.Errorf("%s: %w", key.Value, err)
			}
		default:
			text, err := flow(val)
			if err != nil {
				return err
			}
			f.Values = []string{text}
		}
		*v = append(*v, f)
	}
	return nil
}

// flow writes a value on one line.
func flow(n *yaml.Node) (string, error) {
	if n.Kind == yaml.ScalarNode {
		return n.Value, nil
	}
	own := *n
	own.Style = yaml.FlowStyle
	b, err := yaml.Marshal(&own)
	return strings.TrimSpace(string(b)), err
}

// strict decodes a node without passing over what it does not know.
func strict(n *yaml.Node, to any) error {
	b, err := yaml.Marshal(n)
	if err != nil {
		return err
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	return d.Decode(to)
}

// ReadFile reads a sweep. A base that is a file is looked for beside it.
func ReadFile(name string) (*File, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f := &File{}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(f); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("sweep: %s: %w", name, err)
	}
	if f.Base == "" {
		return nil, fmt.Errorf("sweep: %s has no base; name a preset or a spec file", name)
	}
	if beside := filepath.Join(filepath.Dir(name), f.Base); !filepath.IsAbs(f.Base) {
		if _, err := os.Stat(beside); err == nil {
			f.Base = beside
		}
	}
	return f, nil
}

// Line makes a sweep of a command line: a field set to several values, between commas, is tried with
// each.
func Line(base string, sets []string, seeds string) (*File, error) {
	f := &File{Base: base, Seeds: seeds}
	for _, s := range sets {
		path, text, ok := strings.Cut(s, "=")
		if !ok {
			return nil, fmt.Errorf("sweep: --set %s: want PATH=VALUE, or PATH=VALUE,VALUE to try several", s)
		}
		f.Grid = append(f.Grid, design.Field{Path: path, Values: design.Split(text)})
	}
	return f, nil
}

// variants are the combinations to try.
func (f *File) variants() ([]design.Variant, error) {
	var errs []error
	for _, s := range f.Set {
		if s.Range != nil || len(s.Values) != 1 {
			errs = append(errs, fmt.Errorf("sweep: set.%s has no single value; lists belong into grid, ranges into random", s.Path))
		}
	}
	if len(f.Random) > 0 && len(f.Grid) > 0 {
		errs = append(errs, errors.New("sweep: there are both grid and random; a list under random is drawn from, so put the lists there"))
	}
	if (len(f.Random) > 0) != (f.Draws > 0) {
		errs = append(errs, fmt.Errorf("sweep: draws is %d; random and draws go together: how many variants are drawn", f.Draws))
	}
	errs = append(errs, commands("then", f.Then, "{run}")...)
	errs = append(errs, commands("after", f.After, "{variants}", "{specs}")...)
	if b := f.Budget; b.Runs < 0 || b.CPU < 0 || b.Hours < 0 {
		errs = append(errs, fmt.Errorf("sweep: budget is %+v, want 0, which is no limit, or more", b))
	}
	if e := f.Each; e.Cores < 0 || e.Limit < 0 || e.Quiet < 0 {
		errs = append(errs, errors.New("sweep: each has a number below 0"))
	}
	if f.Halving != nil {
		errs = append(errs, f.Halving.Validate())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(f.Random) > 0 {
		return design.Draw(f.Random, f.Draws, f.Draw)
	}
	return design.Grid(f.Grid)
}

// memory reads a size such as 512MB or 2GB.
func memory(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	var n float64
	var unit string
	if _, err := fmt.Sscanf(text, "%g%s", &n, &unit); err == nil && n > 0 {
		if size, ok := map[string]float64{"MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}[strings.ToUpper(unit)]; ok {
			return int64(n * size), nil
		}
	}
	return 0, fmt.Errorf("sweep: each.memory is %q, want a size such as 512MB or 2GB", text)
}

// Open reads a sweep's file, or makes one of a preset or a spec file whose fields are varied. Its
// seeds are those that it names, or else the given ones.
func Open(what string, sets []string, seeds config.Seeds) (f *File, list config.Seeds, err error) {
	if strings.HasSuffix(what, ".yaml") && len(sets) == 0 {
		if f, err = ReadFile(what); err != nil && !errors.Is(err, fs.ErrNotExist) {
			f = nil // a spec's
		}
	}
	if f == nil && (err == nil || !errors.Is(err, fs.ErrNotExist)) {
		f, err = Line(what, sets, seeds.String())
	}
	if err != nil {
		return nil, nil, err
	}
	if f.Seeds == "" {
		return f, seeds, nil
	}
	return f, list, list.UnmarshalText([]byte(f.Seeds))
}
