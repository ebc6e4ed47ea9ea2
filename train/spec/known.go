package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/stranger"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/pretrain"
)

// Acquaintance is how the agents of a run know somebody.
type Acquaintance struct {
	Team     []string // where they met while the agents learnt: in which of the training's parts
	Recorded bool     // models of theirs learnt from how it played in recorded data
	Partner  bool     // it is a partner in their search: a script, or whom the response network learnt to answer
}

// Known returns whom the run's agents know: bots by their name in one form (game.Called),
// members of a zoo by name, frozen agents as RUN#AGENT.
// Of the data behind a model that stands in a folder only what is still there counts;
// what is there must be as it was written.
func (s *Spec) Known() (map[string]Acquaintance, error) {
	known := map[string]Acquaintance{}
	g, err := s.Game.Peek()
	if err != nil {
		return nil, err
	}
	note := func(names []string, add func(*Acquaintance)) {
		for _, name := range names {
			if name != "learn" && name != "past" {
				if g != nil {
					name = game.Called(g, name)
				}
				a := known[name]
				add(&a)
				known[name] = a
			}
		}
	}
	met := func(part string, names ...string) {
		note(names, func(a *Acquaintance) {
			if !slices.Contains(a.Team, part) {
				a.Team = append(a.Team, part)
			}
		})
	}
	if s.Train.Warm.Windows > 0 {
		met("warm-up", s.Train.Warm.Who...)
	}
	if st := s.Train.Standins; st.Share > 0 || st.ShareEnd > 0 || st.Teams > 0 || st.Alike > 0 {
		met("stand-ins", st.Who...)
	}
	met("its team", s.Train.Team...)
	for _, sw := range s.Train.Switch {
		met("its team", sw.To)
	}
	recorded, answered, err := s.modelled(g)
	if err != nil {
		return nil, err
	}
	note(recorded, func(a *Acquaintance) { a.Recorded = true })
	note(answered, func(a *Acquaintance) { a.Partner = true })
	for kind := -1; kind < len(s.Kinds); kind++ {
		if m, ok := s.Learns(kind).Mind.params.(interface{ Met() []string }); ok {
			note(m.Met(), func(a *Acquaintance) { a.Partner = true })
		}
	}
	return s.spelled(known)
}

// spelled returns acquaintances with those of a split in place of its name.
func (s *Spec) spelled(known map[string]Acquaintance) (map[string]Acquaintance, error) {
	g, err := s.Game.Peek()
	if err != nil || g == nil {
		return known, err
	}
	out := map[string]Acquaintance{}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		a := known[name]
		list, err := stranger.Population(g, []string{name})
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			b := out[one]
			b.Team, b.Recorded, b.Partner = append(b.Team, a.Team...), b.Recorded || a.Recorded, b.Partner || a.Partner
			out[one] = b
		}
	}
	return out, nil
}

// modelled returns who played in the data that the run's models learnt from, in the
// stages before the training and behind models that stand in folders, and whom the
// response network learnt to answer.
func (s *Spec) modelled(g game.Game) (names, answered []string, err error) {
	for _, st := range s.Prepare {
		switch c := st.Config.(type) {
		case *prepare.Collect:
			names = append(names, c.Met()...)
			if from := s.Prepare.Find(c.Population.Stage()); from != nil {
				names = append(names, answers(from.Config, g)...)
			}
		case *prepare.Response:
			answered = append(answered, answers(c, g)...)
		}
	}
	for _, f := range s.folders() {
		data, who, err := modelSpec(*f)
		if err != nil {
			return nil, nil, err
		}
		names, answered = append(names, data...), append(answered, who...)
	}
	return names, answered, nil
}

// answers returns whom a stage that makes a response network names to be answered, or who is
// usual in the game; members of a zoo are known once it is there.
func answers(c prepare.Config, g game.Game) (names []string) {
	r, ok := c.(*prepare.Response)
	if !ok {
		return nil
	}
	if names = r.Met(); len(names) == 0 && r.Zoo == "" && g != nil {
		names = r.For(g).Who
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == pretrain.Self })
}

// modelSpec returns who played in the data of a model's folder, as far as it can be
// found, and whom it learnt to answer.
func modelSpec(folder string) (names, answered []string, err error) {
	if folder == "" || prepare.Folder(folder).Stage() != "" {
		return nil, nil, nil
	}
	text, err := runlog.ReadSpec(folder)
	if errors.Is(err, runlog.ErrNoRun) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var own struct {
		Data     []struct{ Bots []string }
		Response struct{ Who []string }
	}
	if yaml.Unmarshal(text, &own) == nil {
		for _, d := range own.Data {
			names = append(names, d.Bots...)
		}
		return names, own.Response.Who, nil
	}
	var m struct{ Data yaml.Node } // of a program that named data by their path
	if yaml.Unmarshal(text, &m) != nil {
		return nil, nil, nil // it learnt from no data
	}
	data := []*yaml.Node{&m.Data}
	if m.Data.Kind == yaml.SequenceNode {
		data = m.Data.Content
	}
	for _, d := range data {
		path := filepath.Join(d.Value, "manifest.json")
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var manifest struct{ Bots []string }
		if err == nil {
			err = json.Unmarshal(b, &manifest)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("spec: who played in the data of %s: reading %s: %w", folder, path, err)
		}
		names = append(names, manifest.Bots...)
	}
	return names, nil, nil
}
