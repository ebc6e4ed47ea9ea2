package cleanup

import (
	"errors"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/stats"
)

// Config holds the parameters of the game.
type Config struct {
	Size        int     `yaml:"size" doc:"cells along each side of the board" range:"2..64"`
	Agents      int     `yaml:"agents" doc:"number of agents" range:"2..64"`
	Horizon     int     `yaml:"horizon" doc:"steps of an episode; a rule of the game, and time is observed" unit:"steps" range:"1..1000"`
	View        int     `yaml:"view" doc:"rows and columns around itself that an agent sees; 0: the whole board" unit:"cells" range:"0..63"`
	Pooled      bool    `yaml:"pooled" doc:"co-players are seen on one plane that counts them, not on one each, and their last actions are not: for many agents"`
	River       int     `yaml:"river" doc:"columns of river, at the left" unit:"cells" range:"1..63"`
	Orchard     int     `yaml:"orchard" doc:"columns of orchard, at the right" unit:"cells" range:"1..63"`
	Pollution   float64 `yaml:"pollution" doc:"probability that a clean river cell fills with waste, each step" range:"0..1"`
	Growth      float64 `yaml:"growth" doc:"probability each step that a bare cell grows an apple, in a clean river's orchard" range:"0..1"`
	Restoration float64 `yaml:"restoration" doc:"share of the river filled with waste up to which apples grow at the full rate" range:"0..1"`
	Depletion   float64 `yaml:"depletion" doc:"share of the river filled with waste from which no apple grows" range:"0..1"`
	Start       float64 `yaml:"start" doc:"share of the river filled with waste at the start" range:"0..1"`
	Reach       int     `yaml:"reach" doc:"clean empties river cells up to this many moves away" unit:"cells" range:"0..8"`
	Pays        float64 `yaml:"pays" doc:"reward for an apple, split equally among those who harvest it in one step" range:"0.."`
}

// Default returns an 8x8 board with four agents and the rates of Hughes et al.
// (2018), whose river starts too dirty for any apple to grow.
func Default() Config {
	return Config{
		Size: 8, Agents: 4, Horizon: 100, River: 2, Orchard: 3,
		Pollution: 0.5, Growth: 0.05, Restoration: 0, Depletion: 0.4, Start: 0.5, Reach: 1, Pays: 1,
	}
}

// Validate returns everything that is wrong with the parameters, joined.
func (c Config) Validate() error {
	return errors.Join(config.Check(c),
		config.Need(c.River+c.Orchard <= c.Size, "size", c.Size, "a board with room for the river and the orchard"),
		config.Need(c.View == 0 || c.View >= c.Reach, "view", c.View, "0 or at least reach, because one may clean what one sees"),
		config.Need(c.View == 0 || !c.Pooled, "pooled", c.Pooled, "false where view is above 0"),
		config.Need(!(c.Restoration >= c.Depletion), "restoration", c.Restoration, "less than depletion"))
}

// The actions after the moves and Stay.
const (
	Clean = grid.Stay + 1 + iota
	Harvest
	actions
)

// things is how many planes follow the agents'.
const things = 4

// The goals.
const (
	GoalClean = iota
	GoalHarvest
)

// Game is Cleanup with fixed parameters.
type Game struct {
	c       Config
	spec    game.Spec
	board   *grid.Board // open, never written
	river   []int16     // its cells
	orchard []int16     // its cells
	near    [][]int16   // [cells] the river cells within reach
	planes  []float32   // an observation of river and orchard alone
}

var _ game.Game = (*Game)(nil)

// New returns the game, or everything that is wrong with its parameters.
func New(c Config) (*Game, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	obs := grid.Layout(c.Size, c.Agents, actions, "river", "waste", "orchard", "apple")
	if c.Pooled {
		obs = grid.Pool(obs)
	}
	g := &Game{c: c, board: grid.New(c.Size, c.Size), spec: game.Spec{
		Name: "cleanup", Kind: game.GeneralSum, Seats: c.Agents,
		Actions:   grid.Actions("clean", "harvest"),
		Goals:     []string{"clean", "harvest"},
		Horizon:   c.Horizon,
		Obs:       obs,
		View:      c.View,
		Symmetric: true,
	}}
	g.lay()
	return g, nil
}

// lay fills the tables of the ground.
func (g *Game) lay() {
	c := &g.c
	cells := int16(g.board.Cells())
	g.planes = make([]float32, g.spec.Obs.Len())
	g.near = make([][]int16, cells)
	dist := make([]int16, cells)
	for cell := range cells {
		at := (int(cell)+1)*len(g.spec.Obs.Planes) - things
		switch {
		case g.inRiver(cell):
			g.river = append(g.river, cell)
			g.planes[at] = 1
		case g.inOrchard(cell):
			g.orchard = append(g.orchard, cell)
			g.planes[at+2] = 1
		}
		g.board.Distances(dist, cell)
		for to, d := range dist {
			if int(d) <= c.Reach && g.inRiver(int16(to)) {
				g.near[cell] = append(g.near[cell], int16(to))
			}
		}
	}
}

func (g *Game) inRiver(cell int16) bool { return int(cell)%g.c.Size < g.c.River }

func (g *Game) inOrchard(cell int16) bool { return int(cell)%g.c.Size >= g.c.Size-g.c.Orchard }

// Spec describes the game.
func (g *Game) Spec() game.Spec { return g.spec }

// New returns a state that must be Reset before use.
func (g *Game) New() game.State {
	return &State{g: g, play: g.newPlay(), full: make([]bool, g.board.Cells())}
}

// Bots lists the scripted agents.
func (g *Game) Bots() []game.BotInfo {
	return []game.BotInfo{
		game.RandomBot(actions),
		game.ScriptAfter("cleaner", "cleans the nearest waste and never harvests: the altruist", (*State).cleanMask,
			func(*State, game.Seat) int { return GoalClean }),
		game.ScriptAfter("harvester", "harvests the nearest apple and never cleans: the free rider", (*State).harvestMask,
			func(*State, game.Seat) int { return GoalHarvest }),
		game.Script("fair", "cleans four times, harvests four times, and so on; cleans while there is no apple", (*State).fairMask),
	}
}

// Bounds is what an agent's return cannot leave: an apple a step.
func Bounds(c Config) stats.Interval { return stats.Interval{0, float64(c.Horizon) * c.Pays} }
