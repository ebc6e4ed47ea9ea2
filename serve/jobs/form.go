package jobs

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/train/spec"
)

// Field is a field of a spec, for a form.
type Field struct {
	config.Info          // Default is its value now
	Was         string   `json:"was"` // in the preset
	Options     []string `json:"options,omitempty"`
	Fault       string   `json:"fault,omitempty"`
	Set         string   `json:"set,omitempty"` // as it was typed, if it was
}

// Form is a training that might be started: a preset with some fields set.
type Form struct {
	Preset  string   `json:"preset"`
	Doc     string   `json:"doc"`
	Fields  []Field  `json:"fields"`
	Faults  []string `json:"faults"`  // of nothing that stands in Fields
	Command string   `json:"command"` // that it amounts to
	Words   []string `json:"-"`
}

// Asked is what somebody has typed into the form.
type Asked struct {
	Preset string   `json:"preset"`
	Sets   []string `json:"sets"` // such as ppo.lr=1e-3, in the order of typing
	Seeds  string   `json:"seeds"`
	Folder int      `json:"folder"`
}

var (
	seedsText = regexp.MustCompile(`^[0-9]{1,18}(-[0-9]{1,18})?(,[0-9]{1,18}(-[0-9]{1,18})?)*$`)
	setText   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.\-+]{0,200}=`)
)

// OK reports whether nothing is wrong with it.
func (f *Form) OK() bool {
	return len(f.Faults) == 0 && !slices.ContainsFunc(f.Fields, func(x Field) bool { return x.Fault != "" })
}

// NewForm returns the form of what was typed, with every fault beside its field. out is the
// folder that runs are put in, as one would type it. Only presets can be named: a file of
// this machine cannot.
func NewForm(reg *spec.Registry, a Asked, out string) (*Form, error) {
	if !slices.Contains(reg.PresetNames(), a.Preset) {
		return nil, fmt.Errorf("there is no preset %.100q%s", a.Preset, config.Suggest(a.Preset, reg.PresetNames(), ""))
	}
	f := &Form{Preset: a.Preset, Faults: []string{}}
	for _, p := range reg.PresetList() {
		if p.Name == a.Preset {
			f.Doc = p.Doc
		}
	}
	base, err := reg.Load(a.Preset, nil)
	if err != nil {
		return nil, err
	}
	var sets []string
	for _, set := range a.Sets {
		if len(set) > 4000 || !setText.MatchString(set) || strings.ContainsAny(set, "\x00") {
			f.Faults = append(f.Faults, fmt.Sprintf("%.100q: want FIELD=VALUE", set))
			continue
		}
		sets = append(sets, set)
	}
	sp, faults := load(reg, a.Preset, sets)
	was := map[string]string{}
	for _, x := range base.Fields() {
		was[x.Path] = x.Default
	}
	for _, x := range sp.Fields() {
		g := Field{Info: x, Was: was[x.Path], Options: options(x), Fault: faults[x.Path]}
		for _, set := range sets {
			if value, ok := strings.CutPrefix(set, x.Path+"="); ok {
				g.Set = value
			}
		}
		delete(faults, x.Path)
		f.Fields = append(f.Fields, g)
	}
	for _, says := range faults {
		f.Faults = append(f.Faults, says)
	}
	if a.Seeds == "" {
		a.Seeds = "1"
	}
	if !seedsText.MatchString(a.Seeds) {
		f.Faults = append(f.Faults, fmt.Sprintf("seeds %.60q: want numbers such as 1-5 or 1,4,9", a.Seeds))
	}
	slices.Sort(f.Faults)
	f.Words = []string{"train", a.Preset}
	for _, set := range sets {
		f.Words = append(f.Words, "--set", set)
	}
	f.Words = append(f.Words, "--seeds", a.Seeds, "--out", out)
	f.Command = Line(f.Words)
	return f, nil
}

// load returns the spec with as many of the sets as can be, and what is wrong with the
// others, by field.
func load(reg *spec.Registry, preset string, sets []string) (spec.Spec, map[string]string) {
	faults := map[string]string{}
	for {
		sp, err := reg.Load(preset, sets)
		if err == nil || len(sets) == 0 {
			return sp, faults
		}
		left := slices.Clone(sets)
		for _, e := range config.Split(err) {
			path, says := about(e)
			key := path
			if key == "" {
				key = says
			}
			if faults[key] == "" {
				faults[key] = says
			}
			left = slices.DeleteFunc(left, func(set string) bool { return path != "" && strings.HasPrefix(set, path+"=") })
		}
		if len(left) == len(sets) && len(sets) > 0 { // nothing says which one it is
			left = sets[:len(sets)-1]
		}
		sets = left
	}
}

// about returns which field an error is about, and what it says of it.
func about(err error) (path, says string) {
	says = err.Error()
	if set, rest, ok := strings.Cut(strings.TrimPrefix(says, "--set "), ": "); ok && strings.HasPrefix(says, "--set ") {
		if name, _, is := strings.Cut(set, "="); is {
			path, says = name, rest
		}
	}
	var f *config.Fault
	if errors.As(err, &f) {
		if path == "" {
			path = f.Path
		}
	}
	return path, says
}

// options are the values that a field can have, where they are few.
func options(x config.Info) []string {
	if x.Type == "yes or no" {
		return []string{"true", "false"}
	}
	if list, ok := strings.CutPrefix(x.Want, "one of "); ok && !strings.HasPrefix(x.Type, "list") {
		return strings.Split(list, ", ")
	}
	return nil
}

// Presets are those of a group.
type Presets struct {
	Name string
	List []spec.Preset
}

// Groups are the presets of a registry, group by group.
func Groups(reg *spec.Registry) (list []Presets) {
	for _, p := range reg.PresetList() {
		if n := len(list); n == 0 || list[n-1].Name != p.Group {
			list = append(list, Presets{Name: p.Group})
		}
		g := &list[len(list)-1]
		g.List = append(g.List, p)
	}
	return list
}

// Block is the fields of a block of the spec; those of none are in one without a name.
type Block struct {
	Name            string
	List            []Field
	Changed, Faults int
}

// Blocks are the form's fields, block by block.
func (f *Form) Blocks() (list []Block) {
	for _, x := range f.Fields {
		name, _, deeper := strings.Cut(x.Path, ".")
		if !deeper {
			name = ""
		}
		i := slices.IndexFunc(list, func(b Block) bool { return b.Name == name })
		if i < 0 {
			i = len(list)
			list = append(list, Block{Name: name})
		}
		b := &list[i]
		b.List = append(b.List, x)
		if x.Set != "" || x.Default != x.Was {
			b.Changed++
		}
		if x.Fault != "" {
			b.Faults++
		}
	}
	return list
}
