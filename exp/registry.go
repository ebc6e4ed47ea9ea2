package exp

import (
	"io/fs"
	"maps"
	"slices"

	"hop/game"
)

// Registry is what specs can name. It is a value that a program is handed: whoever
// adds a game of their own adds a line to a copy of the map.
type Registry struct {
	Games   map[string]GameEntry
	Presets fs.FS // NAME.yaml
}

// GameEntry is one game of a registry. Make it with AddGame.
type GameEntry struct {
	doc    string
	params func() any // a pointer to the game's Config, at its defaults
	build  func(params any) (game.Game, error)
}

// AddGame returns the entry of a game: a few words on what it is about, its
// default parameters, and how it is built from some.
func AddGame[C any, G game.Game](doc string, def func() C, build func(C) (G, error)) GameEntry {
	return GameEntry{
		doc:    doc,
		params: func() any { c := def(); return &c },
		build:  func(p any) (game.Game, error) { return build(*p.(*C)) },
	}
}

// GameNames returns the names of all games, sorted.
func (r *Registry) GameNames() []string { return slices.Sorted(maps.Keys(r.Games)) }

// GameDoc says in a few words what the game is about.
func (r *Registry) GameDoc(name string) string { return r.Games[name].doc }
