package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/train/prepare"
)

const (
	maxBases = 8       // how many specs may lie under each other
	maxText  = 1 << 16 // how many bytes a spec may have
)

// overlay writes a spec's text over s. A base comes first: a variant is the lines
// that differ. under are the specs above it.
func (s *Spec) overlay(text []byte, file, name string, under []string) error {
	s.Name, s.file = name, file
	top, err := onlyDocument(text)
	if err != nil {
		return fmt.Errorf("%s %w", file, err)
	}
	if top.Kind != yaml.MappingNode {
		return &config.Fault{Path: "the spec", Value: top.Value, Want: "a block of fields", Line: top.Line}
	}
	var errs []error
	based := false
	if base := value(top, "base"); base != nil {
		based = true
		errs = append(errs, s.overlayBase(base, append(under, file)))
		s.Name, s.file = name, file
	}
	return errors.Join(append(errs, s.decode(top, append(under, file), based))...)
}

// onlyDocument returns the one document that a spec is.
func onlyDocument(text []byte) (*yaml.Node, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("holds %d bytes, want at most %d", len(text), maxText)
	}
	var doc, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0:
		return nil, errors.New("is empty, want a spec; hop show ppo-4x4 prints one")
	case err != nil:
		return nil, fmt.Errorf("is not YAML: %w", err)
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		return nil, fmt.Errorf("holds a second document from line %d on, want one spec", max(more.Line, 1))
	case !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("is not YAML: %w", err)
	}
	return doc.Content[0], nil
}

// overlayBase writes the spec that another one is based on.
func (s *Spec) overlayBase(base *yaml.Node, under []string) error {
	bad := func(want string) error {
		return &config.Fault{Path: "base", Value: base.Value, Want: want, Line: base.Line}
	}
	if len(under) > maxBases {
		return bad(fmt.Sprintf("at most %d specs under each other: %s", maxBases, strings.Join(under, ", ")))
	}
	if s.held && !slices.Contains(s.reg.PresetNames(), base.Value) {
		return bad("a preset, because a folder's spec reads no other file")
	}
	text, file, name, err := s.reg.read(base.Value)
	if err != nil {
		return bad(err.Error())
	}
	if slices.Contains(under, file) {
		return bad("no circle: " + strings.Join(append(under, file), ", "))
	}
	return s.overlay(text, file, name, under)
}

// value returns what a mapping holds under a key, or nil.
func value(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// decode reads the top of a spec. Which fields there are depends on the game and
// the mind that it names. under are the specs above it, and itself.
func (s *Spec) decode(n *yaml.Node, under []string, based bool) error {
	var errs []error
	var kinds *yaml.Node
	if m := value(n, "mind"); m != nil && m.Value != s.Mind.Name {
		fresh, err := s.reg.NewMind(m.Value)
		if err != nil {
			want := among(m.Value, s.reg.MindNames())
			if config.Suggest(m.Value, s.reg.MindNames(), "") == "" {
				want += "; minds of another program, such as examples/baselines, need that program"
			}
			errs = append(errs, &config.Fault{Path: "mind", Value: m.Value, Want: want, Line: m.Line})
		} else {
			s.Mind = fresh
		}
	}
	own, rest := &yaml.Node{Kind: yaml.MappingNode, Line: n.Line}, &yaml.Node{Kind: yaml.MappingNode, Line: n.Line}
	blocks, ours, seen := s.Mind.blocks(), s.blocks(), map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		twice := seen[key.Value]
		seen[key.Value] = true
		switch {
		case twice:
			errs = append(errs, &config.Fault{Path: key.Value, Value: "given twice", Want: "one value", Line: key.Line})
		case key.Value == "base" || key.Value == "mind":
		case key.Value == "game":
			errs = append(errs, s.Game.decode(v))
		case key.Value == "minds":
			kinds = v
		case slices.Contains(blocks, key.Value):
			own.Content = append(own.Content, key, v)
		case slices.Contains(ours, key.Value):
			rest.Content = append(rest.Content, key, v)
		default:
			is, want := "not a field", "one of `hop list fields`"+config.Suggest(key.Value, append(ours, blocks...), "")
			if owner := s.reg.owner(key.Value); owner != "" {
				is, want = "a block of mind "+owner, "none, because mind is "+s.Mind.Name
			}
			errs = append(errs, &config.Fault{Path: key.Value, Value: is, Want: want, Line: key.Line})
		}
	}
	prepare, follow := s.Prepare, s.Follow
	s.Prepare, s.Follow = nil, nil
	lines, faults := config.Decode(rest, s, "")
	s.lines = lines
	_, framed := lines["actor.frame"]
	s.framed = s.framed || framed
	ownLines, ownFaults := config.Decode(own, s.Mind.params, "")
	s.Mind.lines = ownLines
	s.Prepare, s.Follow = merged(prepare, s.Prepare), merged(follow, s.Follow)
	if kinds != nil { // once what they start as is read
		errs = append(errs, s.decodeKinds(kinds, under))
	}
	if based {
		s.Prepare = s.needed(prepare)
	}
	return errors.Join(append(errs, join(append(faults, ownFaults...)))...)
}

// merged puts stages over those of a base: one of the same name takes its place, a new
// one comes before the first of those behind it that the base has, or last.
func merged(base, over prepare.List) prepare.List {
	list := slices.Clone(base)
	at := func(name string) int {
		return slices.IndexFunc(list, func(b prepare.Stage) bool { return b.Name == name })
	}
	for n, st := range over {
		i := at(st.Name)
		if i >= 0 {
			list[i] = st
			continue
		}
		i = len(list)
		for _, later := range over[n+1:] {
			if k := at(later.Name); k >= 0 {
				i = k
				break
			}
		}
		list = slices.Insert(list, i, st)
	}
	return list
}

// needed returns the stages without those of the base that nothing names any more.
func (s *Spec) needed(base prepare.List) prepare.List {
	list := slices.Clone(s.Prepare)
	for i := len(list) - 1; i >= 0; i-- {
		name := list[i].Name
		ofBase := slices.ContainsFunc(base, func(b prepare.Stage) bool { return b.Name == list[i].Name })
		later := append(list[i+1:len(list):len(list)], s.Follow...)
		named := slices.ContainsFunc(s.folders(), func(f *string) bool { return prepare.Folder(*f).Stage() == name }) ||
			slices.ContainsFunc(later, func(st prepare.Stage) bool { return slices.Contains(prepare.Reads(st.Config), name) })
		if ofBase && !named {
			list = slices.Delete(list, i, i+1)
		}
	}
	return list
}
