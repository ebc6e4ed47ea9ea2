package exp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hop/belief"
	"hop/field"
	"hop/game"
	"hop/model/actor"
	"hop/model/moa"
	"hop/plan"
	"hop/ppo"
	"hop/stage"
	"hop/train"
)

// Spec is what a run is. Seeds are not part of it: the same spec is run with
// several.
type Spec struct {
	Name    string          `yaml:"name" doc:"what the run is called; its folder starts with it"`
	Game    Game            `yaml:"-"`
	Actor   actor.Config    `yaml:"actor"`
	PPO     ppo.Config      `yaml:"ppo"`
	Train   train.Config    `yaml:"train"`
	Imagine train.Imagining `yaml:"imagine"`
	Plan    train.Planning  `yaml:"plan"`
	Search  plan.Config     `yaml:"search"`
	Belief  belief.Config   `yaml:"belief"`
	MOA     MOA             `yaml:"moa"`
	Models  Models          `yaml:"models"`
	Eval    Eval            `yaml:"eval"`
	Prepare []stage.Stage   `yaml:"prepare" doc:"commands that hop train runs first, each {name: NAME, run: COMMAND} and each once as long as its inputs are the same; {NAME} stands for the folder of an earlier one, {game} for the flags of the game"`
	Follow  []stage.Stage   `yaml:"follow" doc:"commands that hop train runs with the trained agents, each {name: NAME, run: COMMAND}; {run} stands for their folder; what they find is part of the report"`

	// Learners for the zoo: minds around PPO.
	LOLA      train.Awareness   `yaml:"lola"`
	Influence train.Influencing `yaml:"influence"`

	reg   *Registry
	file  string
	lines field.Lines
}

// MOA is the model of others: its network and how it learns.
type MOA struct {
	moa.Config   `yaml:",inline"`
	moa.Learning `yaml:",inline"`
}

// Eval says how the final agents are judged.
type Eval struct {
	Episodes int `yaml:"episodes" doc:"fresh episodes of the true game that the final agents play, sampled, and as many greedily" range:"1.."`
}

// Default returns the spec that files are written over: PPO on 4x4 stag hunt.
func (r *Registry) Default() Spec {
	g, err := r.NewGame("staghunt")
	if err != nil {
		panic("exp: the default game is not registered")
	}
	return Spec{
		Name: "run", reg: r, Game: g, Actor: actor.Default(), PPO: ppo.Default(), Train: train.Default(), Imagine: train.DefaultImagining(), Plan: train.DefaultPlanning(),
		Search: plan.Default(), Belief: belief.Default(), MOA: MOA{moa.Default(), moa.DefaultLearning()}, Eval: Eval{Episodes: 10_000},
		LOLA: train.DefaultAwareness(), Influence: train.DefaultInfluencing(),
	}
}

// Presets returns the names of the embedded specs, sorted.
func (r *Registry) PresetNames() []string {
	entries, err := fs.ReadDir(r.Presets, ".")
	if err != nil {
		panic("exp: the presets are not embedded")
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// PresetDoc returns a preset's first comment: what it is for.
func (r *Registry) PresetDoc(name string) string {
	b, err := fs.ReadFile(r.Presets, name+".yaml")
	if err != nil {
		return ""
	}
	var doc []string
	for _, line := range strings.Split(string(b), "\n") {
		text, comment := strings.CutPrefix(line, "#")
		if !comment {
			break
		}
		doc = append(doc, strings.TrimSpace(text))
	}
	return strings.Join(doc, " ")
}

// Load returns a spec: a preset by name, or a file, over the defaults, with the
// sets ("ppo.lr=1e-3") on top. The error lists every fault.
func (r *Registry) Load(what string, sets []string) (Spec, error) {
	var text []byte
	var err error
	file := what
	if slices.Contains(r.PresetNames(), what) {
		text, err = fs.ReadFile(r.Presets, what+".yaml")
		file = "preset " + what
	} else if text, err = os.ReadFile(what); errors.Is(err, fs.ErrNotExist) {
		return Spec{}, fmt.Errorf("there is no preset and no file %q; presets are %s", what, strings.Join(r.PresetNames(), ", "))
	}
	if err != nil {
		return Spec{}, fmt.Errorf("exp: reading a spec: %w", err)
	}
	name := strings.TrimSuffix(filepath.Base(what), filepath.Ext(what))
	if slices.Contains(r.PresetNames(), what) {
		name = what
	}
	return r.Parse(text, file, name, sets)
}

// Parse reads a spec from text. file and name are for messages and for specs
// that do not name themselves.
func (r *Registry) Parse(text []byte, file, name string, sets []string) (Spec, error) {
	s := r.Default()
	s.Name, s.file = name, file
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return Spec{}, fmt.Errorf("%s is not YAML: %w", file, err)
	}
	var errs []error
	if len(doc.Content) > 0 {
		errs = append(errs, s.decode(doc.Content[0]))
	}
	for _, set := range sets {
		if err := s.Set(set); err != nil {
			errs = append(errs, fmt.Errorf("--set %s: %w", set, err))
		}
	}
	errs = append(errs, s.Validate())
	if err := errors.Join(errs...); err != nil {
		return Spec{}, field.Summary(file, err)
	}
	return s, nil
}

// decode reads the top of a spec; the game's block needs to know which game.
func (s *Spec) decode(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return &field.Fault{Path: "the spec", Value: n.Value, Want: "a block of fields", Line: n.Line}
	}
	rest := &yaml.Node{Kind: yaml.MappingNode, Line: n.Line}
	var errs []error
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "game" {
			errs = append(errs, s.Game.decode(n.Content[i+1]))
			continue
		}
		rest.Content = append(rest.Content, n.Content[i], n.Content[i+1])
	}
	lines, faults := field.Decode(rest, s, "")
	s.lines = lines
	return errors.Join(append(errs, join(faults))...)
}

// Set writes one field from "path=value".
func (s *Spec) Set(set string) error {
	path, value, ok := strings.Cut(set, "=")
	if !ok {
		return errors.New("want PATH=VALUE, such as ppo.lr=1e-3")
	}
	if path == "game.name" {
		g, err := s.reg.NewGame(value)
		if err != nil {
			return err
		}
		s.Game = g
		return nil
	}
	if rest, isGame := strings.CutPrefix(path, "game."); isGame {
		return s.Game.Set(rest, value)
	}
	return field.Set(s, path, value)
}

// Validate returns everything that is wrong, joined, each with its line.
func (s *Spec) Validate() error {
	g, err := s.Game.Build()
	errs := []error{err}
	part := func(err error, prefix string) { errs = append(errs, field.At(err, prefix, s.lines)) }
	part(s.Actor.Validate(), "actor")
	part(s.PPO.Validate(), "ppo")
	part(field.Check(s.Eval), "eval")
	part(s.Imagine.Validate(), "imagine")
	part(s.Plan.Validate(), "plan")
	part(s.Search.Validate(), "search")
	part(s.Belief.Validate(), "belief")
	part(errors.Join(s.MOA.Config.Validate(), s.MOA.Learning.Validate()), "moa")
	part(stage.Validate(s.Prepare, "game"), "prepare")
	part(stage.Validate(s.Follow, "game", "run"), "follow")
	s.checkSocial(part)
	if g == nil { // the rest of the spec is checked all the same
		if plain, err := s.reg.NewGame(s.Game.Name); err == nil {
			g, _ = plain.Build()
		}
	}
	if g != nil {
		part(s.Train.Validate(g.Spec().Seats, g.Spec().Goals), "train")
		if l := g.Spec().Obs; len(l.Planes) == 0 && (s.Actor.Frame != "board" || s.Actor.Net == "conv") {
			part(field.Bad("frame", s.Actor.Frame, "board and a dense net, because "+s.Game.Name+" has no board"), "actor")
		}
		for i, st := range s.Train.Stages {
			if errs[0] != nil {
				break // a stage of a wrong game would repeat its faults
			}
			if _, err := s.stage(st.Set); err != nil {
				part(field.At(err, fmt.Sprintf("stages[%d]", i), nil), "train")
			}
		}
	}
	part(s.Models.check(s.Plan), "models")
	if s.Train.Warm.Windows > 0 && (!s.Plan.On || s.Plan.Own != "search") {
		part(field.Bad("warm.windows", s.Train.Warm.Windows, "0, because only agents that learn from a search (plan.on, plan.own search) can learn by watching"), "train")
	}
	if want := s.hypotheses(g); s.Plan.On && s.Plan.Casts() && (len(s.Plan.Bots) == 0 || s.Plan.Goals != "none" && len(s.Plan.Bots) != len(want)) {
		part(field.Bad("bots", s.Plan.Bots, fmt.Sprintf("a bot for each of %v, because plan.leaf is %s", want, s.Plan.Leaf)), "plan")
	}
	if s.Plan.On && s.Actor.LSTM > 0 {
		part(field.Bad("lstm", s.Actor.LSTM, "0, because plan.on is true and a search judges single states"), "actor")
	}
	if why := s.unimaginable(); s.Imagine.On && why != "" {
		part(field.Bad("on", true, "false, because imagination is self-play of networks on the true game and "+why), "imagine")
	}
	if s.Actor.LSTM > 0 && slices.Contains(s.Train.Standins.Who, "past") {
		part(field.Bad("standins.who", s.Train.Standins.Who, "no past selves, because actor.lstm is above 0"), "train")
	}
	return errors.Join(errs...)
}

// unimaginable says which other field rules imagination out; "" if none does.
func (s *Spec) unimaginable() string {
	t := &s.Train
	switch {
	case s.Actor.LSTM > 0:
		return "actor.lstm is above 0"
	case s.Plan.On:
		return "plan.on is true"
	case len(t.Team)+len(t.Switch) > 0:
		return "train.team or train.switch is set"
	case len(t.Standins.Who) > 0:
		return "train.standins is set"
	case len(t.Stages) > 0:
		return "train.stages changes the rules"
	case len(t.GoalWeight) > 0:
		return "train.goal_weight needs goals, which the world model does not tell"
	}
	return ""
}

// hypotheses names what a co-player may be after.
func (s *Spec) hypotheses(g game.Game) []string {
	if g == nil || s.Plan.Goals == "none" {
		return []string{"anything"}
	}
	names := slices.Clone(g.Spec().Goals)
	if s.Plan.Doubt {
		names = append(names, "acting at random")
	}
	return names
}

// Fields describes every field of the spec, the game's parameters among them.
func (s *Spec) Fields() []field.Info {
	list := []field.Info{{Path: "game.name", Type: "text", Default: s.Game.Name, Doc: "which game", Want: "one of " + strings.Join(s.reg.GameNames(), ", ")}}
	list = append(list, s.Game.Fields()...)
	return append(list, field.List(s)...)
}

// YAML returns the resolved spec, every field written out.
func (s *Spec) YAML() ([]byte, error) {
	var body, g yaml.Node
	if err := body.Encode(s); err != nil {
		return nil, fmt.Errorf("exp: writing the spec: %w", err)
	}
	if err := g.Encode(s.Game); err != nil {
		return nil, fmt.Errorf("exp: writing the spec: %w", err)
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Value: "game"}
	body.Content = slices.Insert(body.Content, 2, key, &g) // after name
	return yaml.Marshal(&body)
}
