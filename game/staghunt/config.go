package staghunt

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/stats"
)

// Config holds the parameters of the game. Default returns the 4x4 board with
// four hares and one stag.
type Config struct {
	Size     int       `yaml:"size" doc:"cells along each side of the board" range:"2..64"`
	Agents   int       `yaml:"agents" doc:"number of hunters" range:"2..64"`
	Blocks   int       `yaml:"blocks" doc:"block pieces drawn on the board (HOP: 5 on 8x8, 4 on 6x6)" range:"0..64"`
	Stags    int       `yaml:"stags" doc:"number of stags" range:"0..16"`
	Hares    int       `yaml:"hares" doc:"number of hares" range:"0..32"`
	Horizon  int       `yaml:"horizon" doc:"steps of an episode; a rule of the game, and time is observed" unit:"steps" range:"1..1000"`
	View     int       `yaml:"view" doc:"rows and columns around itself that an agent sees; 0: the whole board" unit:"cells" range:"0..63"`
	StagPays float64   `yaml:"stag_pays" doc:"reward for a stag, split among its hunters" range:"0.."`
	HarePays float64   `yaml:"hare_pays" doc:"reward for a hare, split equally among its hunters" range:"0.."`
	EndAfter int       `yaml:"end_after_first_catch" doc:"end this many steps after the first catch; 0 plays on" unit:"steps" range:"0..1000"`
	Strength []float64 `yaml:"player_strength" doc:"one number a seat: a stag is split in proportion to it; empty splits equally" range:"0<.."`
}

// Default returns the users' quick setting: 4x4, four agents, four hares, one stag.
func Default() Config {
	return Config{Size: 4, Agents: 4, Stags: 1, Hares: 4, Horizon: 35, StagPays: 10, HarePays: 1}
}

// Validate returns everything that is wrong with the parameters, joined.
func (c Config) Validate() error {
	return errors.Join(config.Check(c),
		config.Need(c.Stags+c.Hares < c.Size*c.Size, "size", c.Size, "a board with more cells than prey"),
		config.Need(len(c.Strength) == 0 || len(c.Strength) == c.Agents, "player_strength", c.Strength,
			"one number for each of the agents, or none"))
}

// The actions.
const (
	HuntStag = grid.Stay + 1 + iota
	HuntHare
	actions
)

// The goals, and the planes after the agents'.
const (
	GoalStag = iota
	GoalHare
)

// maxPrey bounds what a state holds.
const maxPrey = 48

// Game is Markov Stag-Hunt with fixed parameters.
type Game struct {
	c        Config
	spec     game.Spec
	strength []float64 // [seats]
}

var _ game.Game = (*Game)(nil)

// New returns the game, or everything that is wrong with its parameters.
func New(c Config) (*Game, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	g := &Game{c: c, strength: make([]float64, c.Agents), spec: game.Spec{
		Name: "staghunt", Kind: game.GeneralSum, Seats: c.Agents,
		Actions:   grid.Actions("hunt stag", "hunt hare"),
		Goals:     []string{"stag", "hare"},
		Horizon:   c.Horizon,
		Obs:       grid.Layout(c.Size, c.Agents, actions, "block", "stag", "hare"),
		View:      c.View,
		Symmetric: true, Deterministic: true,
	}}
	for s := range g.strength {
		g.strength[s] = 1
		if s < len(c.Strength) {
			g.strength[s] = c.Strength[s]
			g.spec.Symmetric = g.spec.Symmetric && c.Strength[s] == c.Strength[0]
		}
	}
	return g, nil
}

// Spec describes the game.
func (g *Game) Spec() game.Spec { return g.spec }

// Config returns the game's parameters.
func (g *Game) Config() Config { return g.c }

// New returns a state that must be Reset before use.
func (g *Game) New() game.State {
	return &State{g: g, play: g.newPlay(), board: grid.NewGround(g.c.Size, g.c.Stags+g.c.Hares), preyAt: make([]int8, g.c.Size*g.c.Size)}
}

// Bots lists the scripted hunters.
func (g *Game) Bots() []game.BotInfo {
	return []game.BotInfo{
		game.RandomBot(actions),
		game.ScriptAfter("ns", "nearest stag, the cooperator; no stag left: as nh", (*State).ns, (*State).nsAfter).Timeless(),
		game.ScriptAfter("nh", "nearest hare, the defector; no hare left: random", (*State).nh, (*State).nhAfter).Timeless(),
		{Name: "switcher", Doc: "ns if a partner's last episode ended in a stag, else nh; starts as ns",
			New: func() game.Bot { return &switcher{stag: true} }},
		game.ScriptAfter("deadline", "ns until the last step from which a hare is still in reach, then nh", (*State).deadline,
			(*State).deadlineAfter),
	}
}

// Label is the setting in the users' words, such as "4h1s 8x8 5 blocks".
func (g *Game) Label() string {
	s := fmt.Sprintf("%dh%ds %dx%d", g.c.Hares, g.c.Stags, g.c.Size, g.c.Size)
	if g.c.Blocks > 0 {
		s += fmt.Sprintf(" %d blocks", g.c.Blocks)
	}
	if g.c.View > 0 {
		s += fmt.Sprintf(" view %d", g.c.View)
	}
	return s
}

// Returns is what is known of four hunters of four hares. Optima follow from the rules; random
// play was simulated with 200,000 episodes; the selfish equilibrium was measured.
func Returns(c Config) []game.Return {
	if c.Agents != 4 || c.Hares != 4 || c.StagPays != 10 || c.HarePays != 1 || len(c.Strength) > 0 {
		return nil
	}
	open := c.Blocks == 0 && c.Horizon == 35 && c.EndAfter == 0
	switch {
	case c.Stags == 2:
		return []game.Return{{Name: "optimum", Value: 5}, {Name: "hares only", Value: 1}}
	case c.Stags != 1:
		return nil
	}
	list := []game.Return{{Name: "optimum", Value: 3}, {Name: "hares only", Value: 1}}
	switch {
	case open && c.Size == 4:
		list = append(list, game.Return{Name: "selfish equilibrium", Value: 2.89}, game.Return{Name: "random", Value: 0.66})
	case open && c.Size == 8:
		list = append(list, game.Return{Name: "random", Value: 0.26})
	}
	return list
}

// Bounds is what a hunter's return cannot leave: it leaves with its first catch, a hare of its own or
// its share of a stag, which takes another hunter.
func Bounds(c Config) stats.Interval {
	share := 0.5
	if len(c.Strength) > 0 {
		weakest, strongest := slices.Min(c.Strength), slices.Max(c.Strength)
		share = strongest / (strongest + weakest)
	}
	return stats.Interval{0, max(c.HarePays, share*c.StagPays)}
}
