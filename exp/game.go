package exp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hop/field"
	"hop/game"
	"hop/game/cartpole"
	"hop/game/cleanup"
	"hop/game/coin"
	"hop/game/foraging"
	"hop/game/matrix"
	"hop/game/snowdrift"
	"hop/game/staghunt"
	"hop/game/tag"
)

// games is the list of games, the only one.
var games = map[string]gameEntry{
	"staghunt":  entry("hunt the stag together, or the hare alone", staghunt.Default, staghunt.New),
	"snowdrift": entry("clear the drifts, or let the others do it", snowdrift.Default, snowdrift.New),
	"coin":      entry("take your own coins, or everybody's", coin.Default, coin.New),
	"cleanup":   entry("clean the river, or eat the apples it makes grow", cleanup.Default, cleanup.New),
	"foraging":  entry("gather food that takes several to lift", foraging.Default, foraging.New),
	"tag":       entry("predators chase, prey flees", tag.Default, tag.New),
	"matrix":    entry("prisoner's dilemma, stag hunt, chicken and rock-paper-scissors, once or repeated", matrix.Default, matrix.New),
	"cartpole":  entry("balance a pole; one seat, to check learners against the literature", cartpole.Default, cartpole.New),
}

type gameEntry struct {
	doc    string
	params func() any // a pointer to the game's Config, at its defaults
	build  func(params any) (game.Game, error)
}

func entry[C any, G game.Game](doc string, def func() C, build func(C) (G, error)) gameEntry {
	return gameEntry{
		doc:    doc,
		params: func() any { c := def(); return &c },
		build:  func(p any) (game.Game, error) { return build(*p.(*C)) },
	}
}

// Games returns the names of all games, sorted.
func Games() []string { return slices.Sorted(maps.Keys(games)) }

// GameDoc says in a few words what the game is about.
func GameDoc(name string) string { return games[name].doc }

// Game is the part of a spec that names a game and holds its parameters. Make
// it with NewGame.
type Game struct {
	Name   string
	params any
	lines  field.Lines
}

// NewGame returns the game of that name at its default parameters.
func NewGame(name string) (Game, error) {
	e, ok := games[name]
	if !ok {
		return Game{}, fmt.Errorf("there is no game %q; there are %s", name, strings.Join(Games(), ", "))
	}
	return Game{Name: name, params: e.params()}, nil
}

// Set writes one parameter, such as "size", from text.
func (g Game) Set(path, value string) error {
	return field.At(field.Set(g.params, path, value), "game", nil)
}

// clone returns a copy whose parameters can be set apart.
func (g Game) clone() (Game, error) {
	c, err := NewGame(g.Name)
	if err != nil {
		return c, err
	}
	text, err := yaml.Marshal(g.params)
	if err != nil {
		return c, fmt.Errorf("exp: copying the game: %w", err)
	}
	return c, yaml.Unmarshal(text, c.params)
}

// Build returns the game, or everything that is wrong with its parameters.
func (g Game) Build() (game.Game, error) {
	built, err := games[g.Name].build(g.params)
	if err != nil {
		return nil, field.At(err, "game", g.lines)
	}
	return built, nil
}

// Fields describes the parameters.
func (g Game) Fields() []field.Info {
	list := field.List(g.params)
	for i := range list {
		list[i].Path = "game." + list[i].Path
	}
	return list
}

// Map returns the name and all parameters as plain values, for manifests.
func (g Game) Map() (map[string]any, error) {
	text, err := yaml.Marshal(g)
	if err != nil {
		return nil, fmt.Errorf("exp: writing the game: %w", err)
	}
	m := map[string]any{}
	return m, yaml.Unmarshal(text, &m)
}

// Flags returns the command-line flags that name the game with its parameters,
// as far as they are not the defaults.
func (g Game) Flags() ([]string, error) {
	plain, err := NewGame(g.Name)
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
		return nil, fmt.Errorf("exp: writing the game: %w", err)
	}
	head := []*yaml.Node{{Kind: yaml.ScalarNode, Value: "name"}, {Kind: yaml.ScalarNode, Value: g.Name}}
	params.Content = append(head, params.Content...)
	return &params, nil
}

// decode reads the game block of a spec over the defaults of the game it names.
func (g *Game) decode(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return &field.Fault{Path: "game", Value: n.Value, Want: "a block with name and parameters", Line: n.Line}
	}
	rest := &yaml.Node{Kind: yaml.MappingNode, Line: n.Line}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != "name" {
			rest.Content = append(rest.Content, n.Content[i], n.Content[i+1])
			continue
		}
		if name := n.Content[i+1].Value; name != g.Name {
			fresh, err := NewGame(name)
			if err != nil {
				return &field.Fault{Path: "game.name", Value: name, Want: "one of " + strings.Join(Games(), ", "), Line: n.Content[i+1].Line}
			}
			*g = fresh
		}
	}
	lines, faults := field.Decode(rest, g.params, "game")
	g.lines = lines
	return join(faults)
}
