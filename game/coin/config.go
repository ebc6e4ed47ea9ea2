package coin

import (
	"errors"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/stats"
)

// Config holds the parameters of the game. LOLA's own rules are Take "walk",
// Pause 0 and Wrap; those of Melting Pot's coins are the preset ppo-coins.
type Config struct {
	Size    int     `yaml:"size" doc:"cells along each side of the board" range:"2..64"`
	Agents  int     `yaml:"agents" doc:"number of agents, each with a colour" range:"2..64"`
	Horizon int     `yaml:"horizon" doc:"steps of an episode; a rule of the game, and time is observed, unless it is hidden" unit:"steps" range:"1..10000"`
	View    int     `yaml:"view" doc:"rows and columns around itself that an agent sees; 0: the whole board" unit:"cells" range:"0..63"`
	Pays    float64 `yaml:"pays" doc:"reward for taking a coin of any colour" range:"0.."`
	Harm    float64 `yaml:"harm" doc:"what a coin's owner loses when another takes it" range:"0.."`
	Take    string  `yaml:"take" doc:"a coin is taken by an action of its own, or by walking onto it as in LOLA" oneof:"action|walk"`
	Pause   int     `yaml:"pause" doc:"steps played without a coin after one is taken" unit:"steps" range:"0..100"`
	Wrap    bool    `yaml:"wrap" doc:"the board's edges meet: who leaves on one side comes in on the other, as in LOLA; a view does not reach across them"`
	Hidden  bool    `yaml:"hidden" doc:"the horizon is a limit from outside that nobody sees: time is not observed and values bootstrap there"`
	Grow    float64 `yaml:"grow" doc:"many coins: probability each step that a free cell grows one, of an owner drawn evenly; 0: one coin at a time" range:"0..1"`
	From    int     `yaml:"from" doc:"rows and columns are drawn from this to size for each episode, and walls fill the rest; 0: size" unit:"cells" range:"0..64"`
	Solid   bool    `yaml:"solid" doc:"nobody moves to where somebody stands; who moves first is drawn in each step"`
	Least   int     `yaml:"least" doc:"steps of the shortest episode that ends by chance" unit:"steps" range:"0..1000000"`
	Stop    float64 `yaml:"stop" doc:"probability with which each hundredth step from least on ends an episode; nobody foresees it" range:"0..1"`
	Memory  bool    `yaml:"memory" doc:"observe the last joint action, by which who took the last coin is seen for a step; if not, only where all are"`
}

// Default returns the 5x5 board with two agents and 100 steps.
func Default() Config {
	return Config{Size: 5, Agents: 2, Horizon: 100, Pays: 1, Harm: 2, Take: "action", Pause: 1, Memory: true}
}

// Validate returns everything that is wrong with the parameters, joined.
func (c Config) Validate() error {
	least := c.least()
	return errors.Join(config.Check(c),
		config.Need(least*least > c.Agents, "size", c.Size, "a board with more cells than agents"),
		config.Need(c.From == 0 || c.From > 1 && c.From <= c.Size && !c.Wrap, "from", c.From, "0, or 2 to size on a board that does not wrap"),
		config.Need(c.Grow == 0 || c.Pause == 0, "pause", c.Pause, "0 where coins grow, which is when there is room"))
}

// interval is how many steps are between two chances to end.
const interval = 100

// least is the smallest side of a board.
func (c Config) least() int {
	if c.From > 0 {
		return c.From
	}
	return c.Size
}

// Take is the action after the moves and Stay, where coins are taken by action.
const (
	Take       = grid.Stay + 1
	maxActions = Take + 1
)

// The goals.
const (
	GoalOwn = iota
	GoalOther
)

// Game is the Coin Game with fixed parameters.
type Game struct {
	c       Config
	spec    game.Spec
	boards  []*grid.Board // by rows, then columns, from the least on; never written
	actions int           // Take included where coins are taken by action
}

var _ game.Game = (*Game)(nil)

// New returns the game, or everything that is wrong with its parameters.
func New(c Config) (*Game, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	acts := grid.Actions()
	if c.Take == "action" {
		acts = append(acts, "take")
	}
	obs := grid.Layout(c.Size, c.Agents, len(acts), grid.Numbered("coin", c.Agents)...) // coin0 is the observer's own
	obs.Owned = c.Agents
	if c.Hidden {
		obs.Time = 0
	}
	if !c.Memory {
		obs.Last = 0
	}
	if c.From > 0 {
		obs.Planes = append(obs.Planes, "block")
	}
	return &Game{c: c, boards: boards(c), actions: len(acts), spec: game.Spec{
		Name: "coin", Kind: game.GeneralSum, Seats: c.Agents,
		Actions:   acts,
		Goals:     []string{"own", "other"},
		Horizon:   c.Horizon,
		Obs:       obs,
		View:      c.View,
		Symmetric: true,
	}}, nil
}

// boards are those that an episode may be played on.
func boards(c Config) (list []*grid.Board) {
	if c.Wrap {
		return []*grid.Board{grid.Torus(c.Size, c.Size)}
	}
	for rows := c.least(); rows <= c.Size; rows++ {
		for columns := c.least(); columns <= c.Size; columns++ {
			b := grid.New(c.Size, c.Size)
			for at := range b.Blocked {
				b.Blocked[at] = at/c.Size >= rows || at%c.Size >= columns
			}
			b.Link()
			list = append(list, b)
		}
	}
	return list
}

// Spec describes the game.
func (g *Game) Spec() game.Spec { return g.spec }

// New returns a state that must be Reset before use.
func (g *Game) New() game.State {
	return &State{g: g, play: g.newPlay(), lies: make([]int8, g.c.Size*g.c.Size), order: make([]int, g.c.Agents)}
}

// Bots lists the scripted agents.
func (g *Game) Bots() []game.BotInfo {
	return []game.BotInfo{
		game.RandomBot(g.actions),
		game.ScriptAfter("own", "takes only its own coins and stays while there is none: the cooperator",
			func(st *State, s game.Seat) game.Mask { return st.seek(s, false) }, func(*State, game.Seat) int { return GoalOwn }),
		game.Script("any", "takes every coin: the defector",
			func(st *State, s game.Seat) game.Mask { return st.seek(s, true) }),
		game.Script("grudge", "takes only its own coins until one of them is stolen, and every coin from then on", (*State).grudge),
	}
}

// Returns is what is known of two agents on the 5x5 board and on LOLA's, which wraps.
func Returns(c Config) []game.Return {
	lola := c.Size == 3 && c.Wrap && c.Take == "walk" && c.Pause == 0
	switch {
	case c.Agents != 2 || c.Horizon != 100 || c.Pays != 1 || c.Harm != 2 || c.Grow > 0 || c.From > 0 || c.Solid || c.Stop > 0:
		return nil
	case lola:
		return []game.Return{{Name: "own coins only", Value: 33.28}}
	case c.Size == 5:
		return []game.Return{{Name: "own coins only", Value: 9}}
	}
	return nil
}

// Bounds is what an agent's return cannot leave: everybody takes at most one coin in a step.
func Bounds(c Config) stats.Interval {
	steps := float64(c.Horizon)
	return stats.Interval{-steps * c.Harm * float64(c.Agents-1), steps * c.Pays}
}
