package tag

import (
	"errors"
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/config"
)

// Config holds the parameters of the game. Default returns three predators
// after one prey on an open 6x6 board.
type Config struct {
	Size      int `yaml:"size" doc:"cells along each side of the board" range:"2..64"`
	Blocks    int `yaml:"blocks" doc:"block pieces drawn on the board" range:"0..64"`
	Predators int `yaml:"predators" doc:"number of predators" range:"1..63"`
	Prey      int `yaml:"prey" doc:"number of prey" range:"1..63"`
	Start     int `yaml:"start" doc:"prey appears at least this far from every predator, or as far as it can" unit:"moves" range:"0..64"`
	Horizon   int `yaml:"horizon" doc:"steps of an episode; a rule of the game, and time is observed" unit:"steps" range:"1..1000"`
	View      int `yaml:"view" doc:"rows and columns around itself that an agent sees; 0: the whole board" unit:"cells" range:"0..63"`
}

// Default returns three predators after one prey on an open 6x6 board.
func Default() Config {
	return Config{Size: 6, Predators: 3, Prey: 1, Start: 3, Horizon: 50}
}

// Validate returns everything that is wrong with the parameters, joined.
func (c Config) Validate() error {
	return errors.Join(config.Check(c),
		config.Need(c.Predators+c.Prey <= grid.MaxSeats, "predators", c.Predators, "at most 64 together with prey"))
}

const actions = grid.Stay + 1

// Game is tag with fixed parameters.
type Game struct {
	c     Config
	seats int
	spec  game.Spec
	share float32 // what a predator gets for a catch
	fine  float32 // what the caught prey pays: exactly a share for each predator
}

var _ game.Game = (*Game)(nil)

// New returns the game, or everything that is wrong with its parameters.
func New(c Config) (*Game, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	n := c.Predators + c.Prey
	obs := grid.Layout(c.Size, n, actions, "block", "prey")
	obs.Features = n
	// A share is 1/Predators rounded to a multiple of 2^-20, of 2^-18 where there is more
	// prey, so that all rewards are such multiples and sum to zero exactly in float32, in any order.
	parts := 1 << 20
	if c.Prey > 7 {
		parts = 1 << 18
	}
	share := math.Round(float64(parts)/float64(c.Predators)) / float64(parts)
	return &Game{
		c: c, seats: n, share: float32(share), fine: float32(share * float64(c.Predators)),
		spec: game.Spec{
			Name: "tag", Kind: game.ZeroSum, Seats: n,
			Actions:   grid.Actions(),
			Horizon:   c.Horizon,
			Obs:       obs,
			View:      c.View,
			Symmetric: true,
		},
	}, nil
}

// Spec describes the game.
func (g *Game) Spec() game.Spec { return g.spec }

// New returns a state that must be Reset before use.
func (g *Game) New() game.State {
	st := &State{g: g, play: g.newPlay(), board: grid.NewGround(g.c.Size, 0), dist: make([][]int16, g.seats),
		from: make([]int16, g.seats), before: make([]int16, g.seats), hit: make([]bool, g.seats)}
	for s := range st.dist {
		st.dist[s] = make([]int16, g.c.Size*g.c.Size)
	}
	st.forget()
	return st
}

// Bots lists the scripted players.
func (g *Game) Bots() []game.BotInfo {
	return []game.BotInfo{
		game.RandomBot(actions),
		game.Script("chase", "plays its role: a predator goes to the nearest prey, prey flees", (*State).chase),
		game.Script("flee", "keeps away from the other side, also as a predator", (*State).flee),
	}
}
