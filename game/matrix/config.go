// Package matrix is two seats that choose at once, one round or many: the
// prisoner's dilemma, the stag hunt, chicken, and rock-paper-scissors.
//
// The payoffs and the Nash equilibria of the stage games are data (Stages,
// Equilibria), so that learners can be checked against what is known. All four
// games are symmetric: a seat's pay depends on its own action and the other's,
// not on which seat it has.
//
// The number of rounds is a rule or, if it is hidden, a limit from outside that
// nobody sees. A seat sees the last joint action, own action first, and the time,
// each unless the config turns it off. The rules draw no random numbers, neither
// in Step nor in Reset.
package matrix

import (
	"math"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/stats"
)

// Config holds the parameters of the game. Default returns ten rounds of the
// prisoner's dilemma.
type Config struct {
	Matrix string `yaml:"matrix" doc:"prisoner's dilemma, stag hunt, chicken or rock-paper-scissors" oneof:"pd|staghunt|chicken|rps"`
	Rounds int    `yaml:"rounds" doc:"an episode has this many rounds; 1 is the one-shot game" unit:"rounds" range:"1..100000"`
	Memory bool   `yaml:"memory" doc:"observe the last joint action; if not, a constant 1 stands in its place"`
	Time   bool   `yaml:"time" doc:"observe the time"`
	Hidden bool   `yaml:"hidden" doc:"the last round is a limit from outside that nobody sees: values bootstrap there, so that not even who counts rounds has a last one to defect in; time is then not observed either"`
}

// Default returns ten rounds of the prisoner's dilemma, all of it observed.
func Default() Config { return Config{Matrix: "pd", Rounds: 10, Memory: true, Time: true} }

// Validate returns everything that is wrong with the parameters, joined.
func (c Config) Validate() error { return config.Check(c) }

// Game is one of the stage games, played for a fixed number of rounds.
type Game struct {
	c     Config
	stage Stage
	spec  game.Spec
}

var _ game.Game = (*Game)(nil)

// New returns the game, or everything that is wrong with its parameters.
func New(c Config) (*Game, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	g := &Game{c: c}
	for _, s := range Stages() {
		if s.Name == c.Matrix {
			g.stage = s
		}
	}
	n := len(g.stage.Actions)
	obs := game.Layout{Features: 1}
	if c.Memory {
		obs.Features = 1 + n*n
	}
	if c.Time && !c.Hidden {
		obs.Time = 1
	}
	g.spec = game.Spec{
		Name: "matrix", Kind: g.stage.Kind, Seats: 2,
		Actions: g.stage.Actions,
		Goals:   g.stage.Actions,
		Horizon: c.Rounds,
		Obs:     obs,

		Symmetric: true, Deterministic: true,
	}
	return g, nil
}

// Spec describes the game.
func (g *Game) Spec() game.Spec { return g.spec }

// Stage returns the stage game.
func (g *Game) Stage() Stage { return g.stage }

// New returns a state that must be Reset before use.
func (g *Game) New() game.State { return &State{g: g} }

// Bounds is what a player's return cannot leave: its worst payoff each round, and its best.
func Bounds(c Config) stats.Interval {
	for _, s := range Stages() {
		if s.Name == c.Matrix {
			all := slices.Concat(s.Pays...)
			return stats.Interval{float64(c.Rounds * slices.Min(all)), float64(c.Rounds * slices.Max(all))}
		}
	}
	return stats.Interval{math.Inf(-1), math.Inf(1)}
}
