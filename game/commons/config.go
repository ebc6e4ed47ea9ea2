package commons

import (
	"errors"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/stats"
)

// Config holds the parameters of the game.
type Config struct {
	Size    int     `yaml:"size" doc:"cells along each side of the board" range:"2..64"`
	Agents  int     `yaml:"agents" doc:"number of agents" range:"2..64"`
	Horizon int     `yaml:"horizon" doc:"steps of an episode; a rule of the game, and time is observed" unit:"steps" range:"1..1000"`
	View    int     `yaml:"view" doc:"rows and columns around itself that an agent sees; 0: the whole board" unit:"cells" range:"0..63"`
	Pooled  bool    `yaml:"pooled" doc:"co-players are seen on one plane that counts them, not on one each, and their last actions are not: for many agents"`
	Apart   int     `yaml:"apart" doc:"rows and columns from the centre of one patch of apples to that of the next" unit:"cells" range:"1..64"`
	Growth  float64 `yaml:"growth" doc:"probability each step that a bare cell grows an apple, for each apple within reach of it" range:"0..1"`
	Reach   int     `yaml:"reach" doc:"apples help a bare cell to grow one, and each other to be spared, up to this many moves away" unit:"cells" range:"0..8"`
	Keep    int     `yaml:"keep" doc:"who harvests an apple with at least so many others within reach spares, with fewer strips" range:"0..144"`
	Pays    float64 `yaml:"pays" doc:"reward for an apple, split equally among those who harvest it in one step" range:"0.."`
}

// Default returns an 8x8 board with four patches and four agents. Four who spare earn half as much
// again as four who strip, yet whoever strips earns more than by sparing, however many others do.
func Default() Config {
	return Config{Size: 8, Agents: 4, Horizon: 100, Apart: 4, Growth: 0.01, Reach: 2, Keep: 2, Pays: 1}
}

// Validate returns everything that is wrong with the parameters, joined.
func (c Config) Validate() error {
	return errors.Join(config.Check(c),
		config.Need(c.View == 0 || !c.Pooled, "pooled", c.Pooled, "false where view is above 0"))
}

// The actions after the moves and Stay.
const (
	Harvest = grid.Stay + 1 + iota
	actions
)

// things is how many planes follow the agents'.
const things = 2

// The goals.
const (
	GoalSpare = iota
	GoalStrip
)

// Game is Commons Harvest with fixed parameters.
type Game struct {
	c       Config
	spec    game.Spec
	board   *grid.Board // open, never written
	orchard []int16     // the cells of the patches
	planted []bool      // [cells] in a patch
	near    [][]int16   // [cells] the other orchard cells within reach
	planes  []float32   // an observation of the orchard alone
}

var _ game.Game = (*Game)(nil)

// New returns the game, or everything that is wrong with its parameters.
func New(c Config) (*Game, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	obs := grid.Layout(c.Size, c.Agents, actions, "orchard", "apple")
	if c.Pooled {
		obs = grid.Pool(obs)
	}
	g := &Game{c: c, board: grid.New(c.Size, c.Size), spec: game.Spec{
		Name: "commons", Kind: game.GeneralSum, Seats: c.Agents,
		Actions:   grid.Actions("harvest"),
		Goals:     []string{"spare", "strip"},
		Horizon:   c.Horizon,
		Obs:       obs,
		View:      c.View,
		Symmetric: true,
	}}
	g.plant()
	return g, nil
}

// plant fills the tables of the ground. The first patch has its centre in row 1, column 1, so
// that it lies whole in its corner; what of the last ones would be off the board is left out.
func (g *Game) plant() {
	c := &g.c
	cells := int16(g.board.Cells())
	g.planted = make([]bool, cells)
	for y := 1; y < c.Size; y += c.Apart {
		for x := 1; x < c.Size; x += c.Apart {
			centre := int16(y*c.Size + x)
			for move := range grid.Stay + 1 {
				g.planted[g.board.After(centre, move)] = true
			}
		}
	}
	g.planes = make([]float32, g.spec.Obs.Len())
	for cell, in := range g.planted {
		if in {
			g.orchard = append(g.orchard, int16(cell))
			g.planes[(cell+1)*len(g.spec.Obs.Planes)-things] = 1
		}
	}
	g.near = make([][]int16, cells)
	for _, from := range g.orchard {
		for _, to := range g.orchard {
			if from != to && int(g.board.Manhattan(from, to)) <= c.Reach {
				g.near[from] = append(g.near[from], to)
			}
		}
	}
}

// Spec describes the game.
func (g *Game) Spec() game.Spec { return g.spec }

// New returns a state that must be Reset before use.
func (g *Game) New() game.State {
	return &State{g: g, play: g.newPlay(), apple: make([]bool, g.board.Cells()), grown: make([]int16, 0, len(g.orchard))}
}

// Bots lists the scripted agents.
func (g *Game) Bots() []game.BotInfo {
	return []game.BotInfo{
		game.RandomBot(actions),
		game.ScriptAfter("greedy", "harvests the nearest apple, whatever is left of its patch", (*State).greedyMask,
			func(*State, game.Seat) int { return GoalStrip }),
		game.ScriptAfter("sparing", "harvests the nearest apple that has enough others within reach, and waits while there is none",
			(*State).sparingMask, func(*State, game.Seat) int { return GoalSpare }),
	}
}

// Bounds is what an agent's return cannot leave: an apple a step.
func Bounds(c Config) stats.Interval { return stats.Interval{0, float64(c.Horizon) * c.Pays} }
