package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hop-marl/hop/agent/imagine"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/pybot"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/game/stranger"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/prepare"
)

// Spec is what a run is. Seeds are not part of it: the same spec is run with
// several.
type Spec struct {
	Name    string         `yaml:"name" doc:"what the run is called; its folder starts with it"`
	Game    Game           `yaml:"-"`
	Mind    Mind           `yaml:"-"` // its settings are blocks beside these
	Actor   actor.Config   `yaml:"actor"`
	PPO     ppo.Config     `yaml:"ppo"`
	Train   train.Config   `yaml:"train"`
	Imagine imagine.Config `yaml:"imagine"`
	Eval    Eval           `yaml:"eval"`
	Prepare prepare.List   `yaml:"prepare" doc:"what hop train does first, in this game, each {name: NAME, COMMAND: FIELDS} and each once as long as its inputs are the same; {NAME} stands for the folder of an earlier one"`
	Kinds   []Kind         `yaml:"-"` // the block minds: agents that learn otherwise
	Follow  prepare.List   `yaml:"follow" doc:"what hop train does with the trained agents, each {name: NAME, COMMAND: FIELDS}; {run} stands for their folder; what it finds is part of the report"`

	reg    *Registry
	from   *origin // nil: the user named it
	file   string
	sets   []string // that the user typed
	lines  config.Lines
	framed bool // actor.frame was written: a game without a board does not choose it
	chosen bool // the game has chosen it else
	held   bool // a folder holds it
}

// plainName is what a spec may be called: folders are called after it, on any system.
var plainName = regexp.MustCompile(`^[^\x00-\x20./\\<>:"|?*]([^\x00-\x1f/\\<>:"|?*]{0,78}[^\x00-\x20./\\<>:"|?*])?$`)

// Eval says how the final agents are scored.
type Eval struct {
	Episodes int `yaml:"episodes" doc:"fresh episodes of the true game that the final agents play, sampled, and as many greedily" range:"1.."`
}

// Default returns the spec that files are written over: the registry's usual mind on its usual
// game, ours PPO on 4x4 stag hunt.
func (r *Registry) Default() Spec {
	s := Spec{
		Name: "run", Actor: actor.Default(), PPO: ppo.Default(), Train: train.Default(), Imagine: imagine.Default(),
		Eval: Eval{Episodes: 10_000}, reg: r,
	}
	var err, none error
	s.Game, err = r.NewGame(r.UsualGame())
	if s.Mind, none = r.NewMind(r.Mind); none != nil {
		s.Mind, none = r.NewMind(r.MindNames()[0])
	}
	if err = errors.Join(err, none); err != nil {
		panic("spec: a registry needs a game and a mind")
	}
	return s
}

// Load returns a spec: a preset by name, or a file, over the defaults, with the
// sets ("ppo.lr=1e-3") on top. The error lists every fault.
func (r *Registry) Load(what string, sets []string) (Spec, error) {
	text, file, name, err := r.read(what)
	if err != nil {
		return Spec{}, err
	}
	_, none := os.Stat(filepath.Join(filepath.Dir(what), "env.json")) // of a run, whose spec is data
	return r.parse(text, file, name, sets, file == what && none == nil)
}

// read returns the text of a preset or a file, and what it is called.
func (r *Registry) read(what string) (text []byte, file, name string, err error) {
	if slices.Contains(r.PresetNames(), what) {
		text, err = fs.ReadFile(r.Presets, what+".yaml")
		return text, "preset " + what, what, err
	}
	if text, err = disk.Read(what, maxText); errors.Is(err, fs.ErrNotExist) {
		return nil, "", "", unknown("preset and no file", what, r.PresetNames())
	}
	if err != nil {
		return nil, "", "", fmt.Errorf("spec: reading a spec: %w", err)
	}
	return text, what, strings.TrimSuffix(filepath.Base(what), filepath.Ext(what)), nil
}

// Parse reads the spec that a file of a folder holds, such as a run's, with the sets on
// top. What it names to run must be trusted, and it reads no other file. file and name are
// also for messages and for specs that do not name themselves.
//
// Reading starts no program: what only a game knows that would need one is chosen and
// checked when it is built (Resolve).
func (r *Registry) Parse(text []byte, file, name string, sets []string) (Spec, error) {
	return r.parse(text, file, name, sets, true)
}

// parse reads a spec that the user named, or one that a folder holds.
func (r *Registry) parse(text []byte, file, name string, sets []string, held bool) (Spec, error) {
	s := r.Default()
	s.sets, s.held = sets, held
	errs := []error{s.overlay(text, file, name, nil)}
	if held {
		s.of(file)
	}
	for _, set := range sets {
		if err := s.Set(set); err != nil {
			errs = append(errs, fmt.Errorf("--set %s: %w", set, err))
		}
	}
	g, err := s.Game.Peek()
	s.frame(g)
	if err := s.said(append(errs, s.validate(g, err))...); err != nil {
		return Spec{}, err
	}
	return s, nil
}

// said is what is wrong with a spec, each fault with the set that the user typed, or else
// the file that it is in.
func (s *Spec) said(errs ...error) error {
	typed, list := 0, config.Split(errors.Join(errs...))
	for i, err := range list {
		named := strings.HasPrefix(err.Error(), "--set ")
		if set := setBy(s.sets, err); !named && set != "" {
			list[i], named = fmt.Errorf("--set %s: %w", set, err), true
		}
		if named {
			typed++
		}
	}
	err := errors.Join(list...)
	if typed < len(list) { // else all of it was typed, and nothing is wrong with the file
		err = config.Summary(s.file, err)
	}
	return err
}

// Resolve builds the game. Of one that runs a program it chooses and checks what could not
// be when the spec was read.
func (s *Spec) Resolve() (game.Game, error) {
	g, err := s.Game.Build()
	var no *Untrusted
	switch {
	case errors.As(err, &no) || len(s.Game.Executes()) == 0:
		return g, err
	case err == nil:
		s.frame(g)
	}
	return g, s.said(s.validate(g, err))
}

// frame chooses the frame where none was written, which a game without a board does, and
// the network of pictures.
func (s *Spec) frame(g game.Game) {
	if g == nil {
		return
	}
	if len(g.Spec().Obs.Planes) == 0 {
		s.Kinds = slices.Clone(s.Kinds)
		s.unframe()
	}
	if g.Spec().Obs.Picture[0] > 0 {
		s.Actor = s.Actor.Pictured()
		for i := range s.Kinds {
			s.Kinds[i].spec.Actor = s.Kinds[i].spec.Actor.Pictured()
		}
	}
	s.chosen = true
}

// unframe chooses the frame of games without a board where none was written.
func (s *Spec) unframe() {
	if !s.framed {
		s.Actor.Frame = "board"
	}
	for i := range s.Kinds {
		s.Kinds[i].spec.unframe()
	}
}

// setBy returns which of the sets has written the field that err finds fault with; ""
// if none has. The fault then has no line: what stands there is not what is wrong.
func setBy(sets []string, err error) string {
	var f *config.Fault
	if !errors.As(err, &f) {
		return ""
	}
	for _, set := range slices.Backward(sets) {
		path, _, _ := strings.Cut(set, "=")
		if f.Path == path || strings.HasPrefix(f.Path, path+".") || strings.HasPrefix(f.Path, path+"[") {
			f.Line = 0
			return set
		}
	}
	return ""
}

// Set writes one field from "path=value".
func (s *Spec) Set(set string) error {
	path, value, ok := strings.Cut(set, "=")
	if !ok {
		return errors.New("want PATH=VALUE, such as ppo.lr=1e-3")
	}
	s.framed = s.framed || path == "actor.frame"
	switch block, rest, _ := strings.Cut(path, "."); {
	case path == "game.name":
		g, err := s.reg.NewGame(value)
		if err != nil {
			return err
		}
		s.Game = g
		return nil
	case path == "mind":
		m, err := s.reg.NewMind(value)
		if err != nil {
			return err
		}
		s.Mind = m
		return nil
	case block == "game":
		return s.Game.Set(rest, value)
	case block == "minds":
		return s.setKind(rest, value)
	case rest != "" && block == "prepare":
		return setStage(&s.Prepare, path, value)
	case rest != "" && block == "follow":
		return setStage(&s.Follow, path, value)
	case slices.Contains(s.Mind.blocks(), block):
		s.Mind = s.Mind.clone()
		return config.Set(s.Mind.params, path, value)
	case !slices.Contains(s.blocks(), block):
		if owner := s.reg.owner(block); owner != "" {
			return fmt.Errorf("%s is of mind %s, and mind is %s; set mind=%s first", block, owner, s.Mind.Name, owner)
		}
		return noField(path, s.Fields())
	}
	return config.Set(s, path, value)
}

// setStage sets a field of a stage, at PART.STAGE.FIELD.
func setStage(list *prepare.List, path, value string) error {
	words := strings.SplitN(path, ".", 3)
	own := slices.Clone(*list)
	st := own.Find(words[1])
	if st == nil || len(words) < 3 {
		var names []string
		for _, st := range own {
			names = append(names, st.Name)
		}
		return fmt.Errorf("want %s.STAGE.FIELD=VALUE, with one of the stages %s", words[0], strings.Join(names, ", "))
	}
	with, err := prepare.With(st.Config, words[2]+"="+value)
	if err != nil {
		return config.At(err, words[0]+"."+words[1], nil)
	}
	st.Config, *list = with, own
	return nil
}

// noField says that there is no such field, and which may have been meant.
func noField(path string, list []config.Info) error {
	var names []string
	for _, f := range list {
		names = append(names, f.Path)
	}
	return fmt.Errorf("%s is not a field, want one of `hop list fields`%s", path, config.Meant(path, names))
}

// blocks names the spec's own blocks.
func (s *Spec) blocks() []string {
	names := []string{"name", "game", "mind", "base", "minds"}
	for _, f := range config.ListAll(s) {
		if name, _, _ := strings.Cut(f.Path, "."); names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return names
}

// Validate returns everything that is wrong as far as reading can tell, joined, each with
// its line.
func (s *Spec) Validate() error {
	g, err := s.Game.Peek()
	return s.validate(g, err)
}

// validate is Validate with the game as far as it could be built.
func (s *Spec) validate(g game.Game, err error) error {
	if len(s.Game.Executes()) > 0 && !s.chosen { // the game still chooses the frame: none is wrong yet
		own := *s
		own.Kinds = slices.Clone(s.Kinds)
		own.unframe()
		s = &own
	}
	errs := []error{err}
	part := func(err error, prefix string) { errs = append(errs, config.At(err, prefix, s.lines)) }
	if !plainName.MatchString(s.Name) {
		part(config.Bad("name", s.Name,
			"a name that folders can have: at most 80 letters, none of them / \\ < > : \" | ? *, no dot or space at either end"), "")
	}
	part(config.Check(s.Eval), "eval")
	part(s.Imagine.Validate(), "imagine")
	part(s.doable(s.Prepare).Validate("prepare"), "")
	part(s.doable(s.Follow).Validate("follow", "run"), "")
	if g == nil { // the rest of the spec is checked all the same
		if plain, err := s.reg.NewGame(s.Game.Name); err == nil {
			g, _ = plain.Peek()
		}
	}
	if g != nil {
		part(s.Train.Validate(g.Spec().Seats, g.Spec().Goals), "train")
		part(s.unknownBots(g), "train")
		for i, st := range s.Train.Stages {
			if errs[0] != nil {
				break // a stage of a wrong game would repeat its faults
			}
			path := fmt.Sprintf("stages[%d]", i)
			if other, err := s.stage(st.Set); err != nil {
				part(config.At(err, path, nil), "train")
			} else if got, want := other.Spec().Obs.Len(), g.Spec().Obs.Len(); got != want {
				keep := fmt.Sprintf("parameters that leave the %d numbers of an observation as they are; it would have %d", want, got)
				part(config.Bad(path+".set", st.Set, keep), "train")
			}
		}
	}
	own := s.Learns(-1)
	errs = append(append(errs, own.settings(g)...), s.Mind.validate(own, g)...)
	errs = append(errs, s.validateKinds(g)...)
	if why := s.unimaginable(); s.Imagine.On && why != "" {
		part(config.Bad("on", true, "false, because imagination is self-play on the true game and "+why), "imagine")
	}
	if s.Imagine.On {
		part(s.imaginesOthers(), "")
	}
	if s.Train.Standins.Shown && (!s.Plain() || s.Imagine.On) {
		part(config.Bad("standins.shown", true, "false, because only mind ppo reads it, and nobody tells in what is imagined"), "train")
	}
	if s.Train.Behind && (!s.Plain() || s.Imagine.On || s.Actor.LSTM > 0) {
		part(config.Bad("behind", true, "false, because only mind ppo, without an LSTM and without imagination, learns while its agents play"),
			"train")
	}
	if g != nil && s.Imagine.On && (len(g.Spec().Obs.Planes) == 0 || g.Spec().Obs.Features > 0) {
		part(config.Bad("on", true, "false, because imagination needs a game on a board that observes nothing but it"), "imagine")
	}
	if g != nil && s.Imagine.On && g.Spec().Obs.Pooled {
		part(config.Bad("on", true, "false, because game.pooled tells co-players apart no more"), "imagine")
	}
	if g != nil && s.Imagine.On && g.Spec().View > 0 {
		part(config.Bad("on", true, "false, because game.view hides a part of the board, and from what is seen nobody can tell what follows; "+
			"or game.view 0"), "imagine")
	}
	return errors.Join(errs...)
}

// doable returns stages without those that a program of before did and this one cannot, if a folder
// holds the spec: what is done can still be read.
func (s *Spec) doable(list prepare.List) prepare.List {
	return slices.DeleteFunc(slices.Clone(list), func(st prepare.Stage) bool {
		_, old := st.Config.(*prepare.Words)
		return old && s.held
	})
}

// settings returns what is wrong with how the agents of a kind act and learn.
func (s *Spec) settings(g game.Game) (errs []error) {
	part := func(err error, prefix string) { errs = append(errs, config.At(err, prefix, s.lines)) }
	part(s.Actor.Validate(), "actor")
	part(s.PPO.Validate(), "ppo")
	if g != nil && len(g.Spec().Obs.Planes) == 0 && s.Actor.Net == "conv" {
		part(config.Bad("net", s.Actor.Net, "dense, because "+s.Game.Name+" has no board"), "actor")
	}
	if g != nil && g.Spec().Obs.Pooled && !s.Mind.entry().plain {
		if pools, ok := s.Mind.params.(interface{ Pools() error }); ok {
			part(pools.Pools(), "")
		} else {
			part(config.Bad("pooled", true, "false, because mind "+s.Mind.Name+" reads what each co-player does"), "game")
		}
	}
	if g != nil && !s.Mind.entry().plain {
		if err := g.Spec().Discrete("mind " + s.Mind.Name); err != nil {
			part(config.Bad("mind", s.Mind.Name, "ppo: "+err.Error()), "")
		}
	}
	if s.Actor.LSTM > 0 && slices.Contains(s.Train.Standins.Who, "past") {
		part(config.Bad("standins.who", s.Train.Standins.Who, "no past selves, because actor.lstm is above 0"), "train")
	}
	return errs
}

// unknownBots says which of those who are to play the game does not know.
func (s *Spec) unknownBots(g game.Game) error {
	var errs []error
	var known []string
	for _, b := range game.AllBots(g) {
		known = append(known, b.Name)
	}
	bots := fmt.Sprintf("bots of %s (%s)", s.Game.Name, strings.Join(known, ", "))
	check := func(path string, who []string, want string, also ...string) {
		for _, name := range who {
			if slices.Contains(also, name) || strings.Contains(name, "#") || len(also) > 0 && pybot.Is(name) {
				continue
			}
			var fault *script.Fault
			switch _, err := game.NewBot(g, name); {
			case errors.As(err, &fault):
				errs = append(errs, config.Bad(path, who, want+"; "+fault.Error()))
				return
			case err != nil:
				errs = append(errs, config.Bad(path, who, want+"; there is no "+name))
				return
			}
		}
	}
	check("team", s.Train.Team, "learn, "+bots+", or RUN#AGENT", "learn")
	for i, sw := range s.Train.Switch {
		check(fmt.Sprintf("switch[%d].to", i), []string{sw.To}, "learn, "+bots+", or RUN#AGENT", "learn")
	}
	if who, err := stranger.Population(g, s.Train.Standins.Who); err != nil {
		errs = append(errs, config.Bad("standins.who", s.Train.Standins.Who, err.Error()))
	} else {
		check("standins.who", who, bots+", RUN#AGENT, past, or a split of the strangers such as train@1", "past")
	}
	check("warm.who", s.Train.Warm.Who, bots)
	return errors.Join(errs...)
}

// CheckPlayers makes sure that the frozen agents of other runs and the policies in Python who are to
// play can.
func (s *Spec) CheckPlayers() error {
	g, err := s.Game.Build()
	if err != nil {
		return err
	}
	t := &s.Train
	who := append(slices.Clone(t.Team), t.Standins.Who...)
	for _, sw := range t.Switch {
		who = append(who, sw.To)
	}
	slices.Sort(who)
	for _, name := range slices.Compact(who) {
		switch {
		case pybot.Is(name):
			err = s.checkPolicy(g, name)
		case strings.Contains(name, "#"):
			_, err = s.reg.players(g, name)
		}
		if err != nil {
			return fmt.Errorf("%s of train.team, train.switch or train.standins: %w", name, err)
		}
	}
	return nil
}

// checkPolicy makes sure that a policy in Python can be trained with.
func (s *Spec) checkPolicy(g game.Game, name string) error {
	if err := s.Allowed(); err != nil {
		return err
	}
	p, err := pybot.Open(g, name)
	if err == nil && p.Remembers() {
		err = pybot.Unsaved(name)
	}
	return err
}

// imaginer is the settings of minds that model others and may imagine.
type imaginer interface {
	// Imagines says which of them rules imagination out; nil: none does.
	Imagines() error
}

func (s *Spec) modelsOthers() bool {
	_, ok := s.Mind.params.(imaginer)
	return ok
}

// imaginesOthers says what is wrong about how others are imagined.
func (s *Spec) imaginesOthers() error {
	c, p := s.Imagine, s.PPO
	m, models := s.Mind.params.(imaginer)
	switch {
	case c.Others == "model" && !models:
		return config.Bad("imagine.others", c.Others, "brains, because mind "+s.Mind.Name+" has no model of others")
	case c.Others == "model" && (p.Prosocial != 0 || p.ProsocEnd > 0):
		return config.Bad("imagine.others", c.Others, "brains, because ppo.prosocial pays what others earn after one has left, and what an "+
			"agent imagines for itself ends there")
	case c.Others == "model" && p.Align > 0:
		return config.Bad("imagine.others", c.Others, "brains, because ppo.align reads what others expect, and a model of them expects nothing")
	case models && c.From != "starts":
		return config.Bad("imagine.from", c.From, "starts, because mind "+s.Mind.Name+" infers goals from the whole of an episode")
	case models:
		return m.Imagines()
	}
	return nil
}

// unimaginable says which other field rules imagination out; "" if none does.
func (s *Spec) unimaginable() string {
	t := &s.Train
	switch {
	case len(s.Kinds) > 0:
		return "minds is set"
	case !s.Mind.entry().imagining && !s.modelsOthers():
		return "mind is " + s.Mind.Name
	case s.Actor.LSTM > 0:
		return "actor.lstm is above 0"
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

// Fields describes every field of the spec that there is, the parameters of the
// game and the settings of the mind among them.
func (s *Spec) Fields() []config.Info {
	list := []config.Info{{
		Path: "game.name", Type: "text", Default: s.Game.Name, Doc: "which game", Want: "one of " + strings.Join(s.reg.GameNames(), ", "),
	}}
	list = append(list, s.Game.Fields()...)
	list = append(list, config.Info{
		Path: "mind", Type: "text", Default: s.Mind.Name, Doc: "what learns", Want: "one of " + strings.Join(s.reg.MindNames(), ", "),
	})
	list = append(list, config.List(s)...)
	list = append(list, config.List(s.Mind.params)...)
	return append(list, s.kindFields()...)
}

// AllFields describes every field that some spec of the registry could have: those
// of this one's game, and of every mind and kind.
func (s *Spec) AllFields() []config.Info {
	list := s.Learns(-1).Fields()
	own := len(list) - len(config.List(s.Mind.params)) - len(config.List(s))
	list = append(list[:own:own], config.ListAll(s)...)
	list = append(list, prepare.Fields()...)
	for _, name := range s.reg.MindNames() {
		for _, f := range config.ListAll(s.reg.Minds[name].params()) {
			f.Doc += " (mind " + name + ")"
			list = append(list, f)
		}
	}
	return list
}

// Diff lists the fields in which two specs differ.
func (s *Spec) Diff(o *Spec) []config.Change { return config.Diff(s.byStage(), o.byStage()) }

// byStage is Fields with a field for each stage.
func (s *Spec) byStage() []config.Info {
	list := slices.DeleteFunc(s.Fields(), func(f config.Info) bool { return f.Path == "prepare" || f.Path == "follow" })
	for _, part := range []struct {
		name   string
		stages prepare.List
	}{{"prepare", s.Prepare}, {"follow", s.Follow}} {
		for _, st := range part.stages {
			list = append(list, config.Info{Path: part.name + "." + st.Name, Default: st.String()})
		}
	}
	return list
}

// YAML returns the resolved spec, every field that there is written out.
func (s *Spec) YAML() ([]byte, error) {
	body, err := config.Encode(s)
	if err != nil {
		return nil, fmt.Errorf("spec: writing the spec: %w", err)
	}
	s.unchosen(body, s.framed)
	own, err := config.Encode(s.Mind.params)
	if err != nil {
		return nil, fmt.Errorf("spec: writing the spec: %w", err)
	}
	var g yaml.Node
	if err := g.Encode(s.Game); err != nil {
		return nil, fmt.Errorf("spec: writing the spec: %w", err)
	}
	text := func(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }
	body.Content = slices.Insert(body.Content, 2, text("game"), &g, text("mind"), text(s.Mind.Name)) // after name
	body.Content = append(body.Content, own.Content...)
	if len(s.Kinds) > 0 {
		kinds, err := s.encodeKinds()
		if err != nil {
			return nil, fmt.Errorf("spec: writing the spec: %w", err)
		}
		body.Content = append(body.Content, text("minds"), kinds)
	}
	return yaml.Marshal(body)
}

// unchosen leaves out the frame that the game is still to choose, once it runs.
func (s *Spec) unchosen(body *yaml.Node, framed bool) {
	if framed || s.chosen || len(s.Game.Executes()) == 0 {
		return
	}
	a := value(body, "actor")
	for i := 0; i+1 < len(a.Content); i += 2 {
		if a.Content[i].Value == "frame" {
			a.Content = slices.Delete(a.Content, i, i+2)
		}
	}
}

// Fill puts the folders of prepared stages in place of their names, {NAME}, in
// every field that names a folder.
func (s *Spec) Fill(fill func(string) string) {
	s.Mind = s.Mind.clone()
	s.Kinds = slices.Clone(s.Kinds)
	for i := range s.Kinds {
		s.Kinds[i].spec.Mind = s.Kinds[i].spec.Mind.clone()
	}
	for _, f := range s.folders() {
		*f = fill(*f)
	}
}

// folders returns the fields that name folders.
func (s *Spec) folders() []*string {
	list := []*string{&s.Imagine.World}
	if m, ok := s.Mind.params.(interface{ FolderFields() []*string }); ok {
		list = append(list, m.FolderFields()...)
	}
	for i := range s.Kinds {
		list = append(list, s.Kinds[i].spec.folders()[1:]...) // without imagination's, which kinds have none of
	}
	return list
}
