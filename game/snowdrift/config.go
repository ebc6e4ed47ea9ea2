package snowdrift

import (
	"errors"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/stats"
)

// Config holds the parameters of the game. Default returns HOP's 8x8 board.
type Config struct {
	Size    int     `yaml:"size" doc:"cells along each side of the board" range:"2..64"`
	Agents  int     `yaml:"agents" doc:"number of agents" range:"2..64"`
	Blocks  int     `yaml:"blocks" doc:"block pieces drawn on the board" range:"0..64"`
	Drifts  int     `yaml:"drifts" doc:"number of snowdrifts" range:"1..32"`
	Horizon int     `yaml:"horizon" doc:"steps of an episode; a rule of the game, and time is observed" unit:"steps" range:"1..1000"`
	View    int     `yaml:"view" doc:"rows and columns around itself that an agent sees; 0: the whole board" unit:"cells" range:"0..63"`
	Pays    float64 `yaml:"pays" doc:"reward of every agent when a drift is removed" range:"0.."`
	Cost    float64 `yaml:"cost" doc:"cost of a removal, split among the removers of that step" range:"0.."`
}

// Default returns HOP's setting: 8x8, four agents, six drifts, 50 steps.
func Default() Config {
	return Config{Size: 8, Agents: 4, Drifts: 6, Horizon: 50, Pays: 6, Cost: 4}
}

// Validate returns everything that is wrong with the parameters, joined.
func (c Config) Validate() error {
	return errors.Join(config.Check(c),
		config.Need(c.Drifts <= c.Size*c.Size, "size", c.Size, "a board with a cell for each drift"))
}

// Remove is the action after the moves and Stay.
const (
	Remove  = grid.Stay + 1
	actions = Remove + 1
)

// maxDrifts bounds what a state holds.
const maxDrifts = 32

// Game is Markov Snowdrift with fixed parameters.
type Game struct {
	c    Config
	spec game.Spec
}

var _ game.Game = (*Game)(nil)

// New returns the game, or everything that is wrong with its parameters.
func New(c Config) (*Game, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Game{c: c, spec: game.Spec{
		Name: "snowdrift", Kind: game.GeneralSum, Seats: c.Agents,
		Actions:   grid.Actions("remove"),
		Goals:     grid.Numbered("drift", c.Drifts),
		Horizon:   c.Horizon,
		Obs:       grid.Layout(c.Size, c.Agents, actions, "block", "drift"),
		View:      c.View,
		Symmetric: true, Deterministic: true,
	}}, nil
}

// Spec describes the game.
func (g *Game) Spec() game.Spec { return g.spec }

// newPlay returns a play in which nobody is anywhere.
func (g *Game) newPlay() play { return play{Players: grid.NewPlayers(g.c.Agents, g.c.View, 0)} }

// New returns a state that must be Reset before use.
func (g *Game) New() game.State {
	return &State{g: g, play: g.newPlay(), board: grid.NewGround(g.c.Size, g.c.Drifts), driftAt: make([]int8, g.c.Size*g.c.Size)}
}

// Bots lists the scripted agents.
func (g *Game) Bots() []game.BotInfo {
	return []game.BotInfo{
		game.RandomBot(actions),
		game.Script("nd", "nearest drift, ties random, and removes it: the cooperator", (*State).nearest).Timeless(),
		game.Script("fix", "wanders and never removes: the free rider", (*State).wander).Timeless(),
	}
}

// Returns is what is known of four agents and six drifts. The optimum follows from the rules;
// random play was simulated with 200,000 episodes.
func Returns(c Config) []game.Return {
	if c.Agents != 4 || c.Drifts != 6 || c.Pays != 6 || c.Cost != 4 || c.Blocks != 0 {
		return nil
	}
	list := []game.Return{{Name: "optimum", Value: 30}}
	if c.Size == 8 && c.Horizon == 50 {
		list = append(list, game.Return{Name: "random", Value: 11.04})
	}
	return list
}

// Bounds is what an agent's return cannot leave: who removes every drift alone, and who none.
func Bounds(c Config) stats.Interval {
	drifts := float64(c.Drifts)
	return stats.Interval{drifts * min(0, c.Pays-c.Cost), drifts * c.Pays}
}
