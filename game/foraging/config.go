package foraging

import (
	"errors"
	"fmt"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/stats"
)

// Config holds the parameters of the game. Default returns an 8x8 board with
// two agents and two food items.
type Config struct {
	Size     int  `yaml:"size" doc:"cells along each side of the board" range:"5..32"`
	Agents   int  `yaml:"agents" doc:"number of foragers" range:"2..64"`
	Food     int  `yaml:"food" doc:"food items at the start; fewer if the board has no room for more" range:"1..8"`
	MinLevel int  `yaml:"min_level" doc:"lowest level of an agent" range:"1..8"`
	MaxLevel int  `yaml:"max_level" doc:"highest level of an agent" range:"1..8"`
	Coop     bool `yaml:"coop" doc:"every food item needs the three weakest agents together; with two or three agents, everyone"`
	Shared   bool `yaml:"shared" doc:"pay every seat the whole of each item taken; if not, split it among its takers by level"`
	Horizon  int  `yaml:"horizon" doc:"steps of an episode; a rule of the game, and time is observed" unit:"steps" range:"1..1000"`
	View     int  `yaml:"view" doc:"rows and columns around itself that an agent sees; 0: the whole board" unit:"cells" range:"0..63"`
}

// Default returns lbforaging's 8x8 board with two agents, levels 1 and 2, and
// two food items, paid to the team.
func Default() Config {
	return Config{Size: 8, Agents: 2, Food: 2, MinLevel: 1, MaxLevel: 2, Shared: true, Horizon: 50}
}

// Validate returns everything that is wrong with the parameters, joined.
func (c Config) Validate() error {
	return errors.Join(config.Check(c),
		config.Need(c.MinLevel <= c.MaxLevel, "min_level", c.MinLevel, fmt.Sprintf("at most max_level, %d", c.MaxLevel)))
}

// Load is the action after the moves: take the food beside you.
const (
	Load = grid.Stay + 1 + iota
	actions
)

// maxFood bounds what a state holds; weakest is how many agents a food item can
// need.
const (
	maxFood = 8
	weakest = 3
)

// Game is level-based foraging with fixed parameters.
type Game struct {
	c       Config
	spec    game.Spec
	board   *grid.Board // open; nobody writes it
	topFood int         // no item has a higher level
}

var _ game.Game = (*Game)(nil)

// New returns the game, or everything that is wrong with its parameters.
func New(c Config) (*Game, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	goals := grid.Numbered("food", c.Food)
	obs := grid.Layout(c.Size, c.Agents, actions, goals...)
	obs.Features = c.Agents + c.Food
	kind := game.GeneralSum
	if c.Shared {
		kind = game.Cooperative
	}
	return &Game{
		c: c, board: grid.New(c.Size, c.Size), topFood: min(weakest, c.Agents) * c.MaxLevel,
		spec: game.Spec{
			Name: "foraging", Kind: kind, Seats: c.Agents,
			Actions:   grid.Actions("load"),
			Goals:     goals,
			Horizon:   c.Horizon,
			Obs:       obs,
			View:      c.View,
			Symmetric: true, Deterministic: true,
		},
	}, nil
}

// Spec describes the game.
func (g *Game) Spec() game.Spec { return g.spec }

// New returns a state that must be Reset before use.
func (g *Game) New() game.State {
	cells := g.board.Cells()
	return &State{g: g, play: g.newPlay(), want: make([]int16, g.c.Agents), stays: make([]bool, g.c.Agents),
		near: make([]int8, cells), dist: make([]int16, cells), queue: make([]int16, 0, cells)}
}

// Bots lists the scripted foragers.
func (g *Game) Bots() []game.BotInfo {
	return []game.BotInfo{
		game.RandomBot(actions),
		{Name: "nearest", Doc: "nearest food, whatever its level", New: func() game.Bot { return walker{"nearest", anyFood} }},
		{Name: "solo", Doc: "nearest food that it can take alone; none left: as nearest",
			New: func() game.Bot { return walker{"solo", soloFood} }},
		{Name: "team", Doc: "the food on the lowest cell, the same for everyone", New: func() game.Bot { return walker{"team", teamFood} }},
	}
}

// Bounds is what a forager's return cannot leave: what all food of an episode pays is 1.
func Bounds(Config) stats.Interval { return stats.Interval{0, 1} }
