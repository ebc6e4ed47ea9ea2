package spec

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/config"
)

// Mind is the part of a spec that names a kind of minds and holds its settings,
// whose fields are blocks of the spec. Make it with NewMind.
type Mind struct {
	reg    *Registry
	Name   string
	params any
	lines  config.Lines
}

// NewMind returns the kind of minds of that name at its default settings.
func (r *Registry) NewMind(name string) (Mind, error) {
	e, ok := r.Minds[name]
	if !ok {
		return Mind{}, unknown("mind", name, r.MindNames())
	}
	return Mind{reg: r, Name: name, params: e.params()}, nil
}

// SettingsAs returns the settings of a spec's minds as a T, mostly an interface, if they are one.
func SettingsAs[T any](s *Spec) (T, bool) {
	c, ok := s.Mind.params.(T)
	return c, ok
}

// Title names the spec's minds with their settings, for reports.
func (s *Spec) Title() string {
	if of := s.Mind.entry().title; of != nil {
		return of(s.Mind.params)
	}
	return s.Mind.Name
}

// Plain reports whether all agents are of one kind of minds that is plain (MindEntry.Plain).
func (s *Spec) Plain() bool { return len(s.Kinds) == 0 && s.Mind.entry().plain }

func (m Mind) entry() MindEntry { return m.reg.Minds[m.Name] }

// Audit returns what an audit must know of the spec's minds, with their settings.
func (s *Spec) Audit() (a Audit, params any) {
	return s.Mind.entry().audit, s.Mind.params
}

// Audits returns what an audit must know of each kind of the spec's minds.
func (s *Spec) Audits() (list []Audit) {
	for i := -1; i < len(s.Kinds); i++ {
		known, _ := s.Learns(i).Audit()
		list = append(list, known)
	}
	return list
}

// blocks names the blocks of the spec that are the mind's.
func (m Mind) blocks() []string {
	var names []string
	for _, f := range config.ListAll(m.params) {
		name, _, _ := strings.Cut(f.Path, ".")
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return names
}

// owner returns a kind of minds that has a block of that name, or "".
func (r *Registry) owner(block string) string {
	for _, name := range r.MindNames() {
		m, _ := r.NewMind(name)
		if slices.Contains(m.blocks(), block) {
			return name
		}
	}
	return ""
}

// build makes the minds of a run.
func (m Mind) build(making Making) ([]learner.Mind, error) {
	list, err := m.entry().build(m.params, making)
	if err != nil {
		return nil, fmt.Errorf("spec: making minds: %w", err)
	}
	return list, nil
}

// validate returns everything that is wrong with the settings.
func (m Mind) validate(s *Spec, g game.Game) []error {
	var errs []error
	if v, ok := m.params.(interface{ Validate() error }); ok {
		errs = append(errs, config.At(v.Validate(), "", m.lines))
	} else {
		errs = append(errs, config.At(config.Check(m.params), "", m.lines))
	}
	return append(errs, config.At(m.entry().check(m.params, s, g), "", m.lines))
}

// clone returns a copy whose settings can be changed apart.
func (m Mind) clone() Mind {
	c := Mind{reg: m.reg, Name: m.Name, params: m.entry().params(), lines: m.lines}
	text, err := yaml.Marshal(m.params)
	if err == nil {
		err = yaml.Unmarshal(text, c.params)
	}
	if err != nil {
		panic("spec: settings of a mind cannot be copied: " + err.Error())
	}
	return c
}
