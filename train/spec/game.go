package spec

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/rules"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/stats"
)

// Game is the part of a spec that names a game and holds its parameters. Make
// it with NewGame.
type Game struct {
	reg    *Registry
	Name   string
	params any
	lines  config.Lines
	from   *origin // nil: the user named it
}

// NewGame returns the game of that name at its default parameters.
func (r *Registry) NewGame(name string) (Game, error) {
	e, ok := r.Games[name]
	if !ok {
		return Game{}, unknown("game", name, r.GameNames())
	}
	return Game{reg: r, Name: name, params: e.params()}, nil
}

// Set writes one parameter, such as "size", from text.
func (g Game) Set(path, value string) error {
	err := config.Set(g.params, path, value)
	if list := g.Fields(); err != nil && !slices.ContainsFunc(list, func(f config.Info) bool { return f.Path == "game."+path }) {
		return noField("game."+path, list)
	}
	return config.At(err, "game", nil)
}

// clone returns a copy whose parameters can be set apart.
func (g Game) clone() (Game, error) {
	c, err := g.reg.NewGame(g.Name)
	if err != nil {
		return c, err
	}
	text, err := yaml.Marshal(g.params)
	if err != nil {
		return c, fmt.Errorf("spec: copying the game: %w", err)
	}
	c.from = g.from
	return c, yaml.Unmarshal(text, c.params)
}

// Build returns the game, or everything that is wrong with its parameters. It is the one
// place that starts a game's programs; one that a folder names must be trusted.
func (g Game) Build() (game.Game, error) {
	if what := g.Executes(); len(what) > 0 {
		if err := g.from.allows(g.reg, what); err != nil {
			return nil, err
		}
	}
	e := g.reg.Games[g.Name]
	built, err := e.build(g.params)
	if err != nil {
		return nil, config.At(err, "game", g.lines)
	}
	var known []any // travels with the game: game.As finds it
	if e.fast != nil {
		known = append(known, e.fast)
	}
	if e.draws != nil {
		block, err := g.Map()
		if err != nil {
			return nil, err
		}
		known = append(known, rules.ChanceOf(built.Spec(), block, e.draws))
	}
	if e.joined != nil {
		known = append(known, game.Joined(e.joined(built)))
	}
	return game.With(built, known...), nil
}

// Peek returns the game for whoever only reads: nil if building it would start a program,
// and then its parameters are checked as far as they can be without.
func (g Game) Peek() (game.Game, error) {
	if len(g.Executes()) == 0 {
		return g.Build()
	}
	if v, ok := g.params.(interface{ Validate() error }); ok {
		return nil, config.At(v.Validate(), "game", g.lines)
	}
	return nil, nil
}

// Label says which game it is, for people.
func (g Game) Label() string {
	type labelled interface{ Label() string }
	about, ok := g.params.(labelled)
	if built, err := g.Peek(); err == nil && built != nil {
		about, ok = game.As[labelled](built)
	}
	if ok {
		return g.Name + " " + about.Label()
	}
	return g.Name
}

// Rules opens the rules of the game, written down a second time, with the parameters of
// the spec; built is what the game that was built says of itself.
func (g Game) Rules(built game.Spec) (*rules.Book, error) {
	block, err := g.Map()
	if err != nil {
		return nil, err
	}
	return rules.Open(built, g.Name, block, g.reg.Games[g.Name].rules)
}

// Returns is what is known of mean returns with these parameters.
func (g Game) Returns() []game.Return {
	if of := g.reg.Games[g.Name].returns; of != nil {
		return of(g.params)
	}
	return nil
}

// Bounds is what the return of a seat in an episode cannot leave; false: that is not known.
func (g Game) Bounds() (stats.Interval, bool) {
	if of := g.reg.Games[g.Name].bounds; of != nil {
		return of(g.params), true
	}
	return stats.Interval{}, false
}

// Preset names the preset whose settings suit PPO on the game with these parameters; there may
// be none of that name.
func (g Game) Preset() string {
	if of := g.reg.Games[g.Name].preset; of != nil {
		return of(g.params)
	}
	return "ppo-" + g.Name
}

// Measured returns the game at each of the settings at which its speed is measured.
func (g Game) Measured() ([]Game, error) {
	at := g.reg.Games[g.Name].measured
	if len(at) == 0 {
		return []Game{g}, nil
	}
	var list []Game
	for _, sets := range at {
		x, err := g.clone()
		for _, set := range sets {
			path, value, _ := strings.Cut(set, "=")
			err = errors.Join(err, x.Set(path, value))
		}
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

// Fields describes the parameters.
func (g Game) Fields() []config.Info {
	list := config.List(g.params)
	for i := range list {
		list[i].Path = "game." + list[i].Path
	}
	return list
}

// Map returns the name and all parameters as plain values, for manifests.
func (g Game) Map() (map[string]any, error) {
	text, err := yaml.Marshal(g)
	if err != nil {
		return nil, fmt.Errorf("spec: writing the game: %w", err)
	}
	m := map[string]any{}
	return m, yaml.Unmarshal(text, &m)
}

// Flags returns the command-line flags that name the game with its parameters,
// as far as they are not the defaults.
func (g Game) Flags() ([]string, error) {
	plain, err := g.reg.NewGame(g.Name)
	if err != nil {
		return nil, err
	}
	was := plain.Fields()
	flags := []string{"--game", g.Name}
	for i, f := range g.Fields() {
		if f.Default != was[i].Default {
			flags = append(flags, "--set", f.Path+"="+f.Default)
		}
	}
	return flags, nil
}

// MarshalYAML writes the name and all parameters.
func (g Game) MarshalYAML() (any, error) {
	var params yaml.Node
	if err := params.Encode(g.params); err != nil {
		return nil, fmt.Errorf("spec: writing the game: %w", err)
	}
	head := []*yaml.Node{{Kind: yaml.ScalarNode, Value: "name"}, {Kind: yaml.ScalarNode, Value: g.Name}}
	params.Content = append(head, params.Content...)
	return &params, nil
}

// decode reads the game block of a spec over the defaults of the game it names.
func (g *Game) decode(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return &config.Fault{Path: "game", Value: n.Value, Want: "a block with name and parameters", Line: n.Line}
	}
	rest := &yaml.Node{Kind: yaml.MappingNode, Line: n.Line}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != "name" {
			rest.Content = append(rest.Content, n.Content[i], n.Content[i+1])
			continue
		}
		if name := n.Content[i+1].Value; name != g.Name {
			fresh, err := g.reg.NewGame(name)
			if err != nil {
				return &config.Fault{Path: "game.name", Value: name, Want: among(name, g.reg.GameNames()), Line: n.Content[i+1].Line}
			}
			*g = fresh
		}
	}
	lines, faults := config.Decode(rest, g.params, "game")
	g.lines = lines
	return join(faults)
}

// GameDiffers says in what the games of two specs differ, such as "game.size (4 and 8)"; "" if in
// nothing: only then do their returns mean the same.
func (s *Spec) GameDiffers(t *Spec) (string, error) {
	x, err := s.Game.Map()
	y, none := t.Game.Map()
	if err := errors.Join(err, none); err != nil {
		return "", err
	}
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(y)) {
		if fmt.Sprint(x[name]) != fmt.Sprint(y[name]) {
			differ = append(differ, fmt.Sprintf("game.%s (%v and %v)", name, x[name], y[name]))
		}
	}
	return strings.Join(differ, ", "), nil
}
