// Package oracle knows the truth about small settings: exact best responses to
// scripted co-players, and what a perfect predictor of them could know.
//
// Best responses are values of states and actions, so they are what any agent is
// measured against: regret is V of the start less the return, on the same starts.
// Nothing here learns, and nothing is drawn.
package oracle

import (
	"context"
	"fmt"

	"github.com/hop-marl/hop/game"
)

// Solver finds exact best responses in a game. A registry's entry of a game names one.
type Solver interface {
	// Solvable returns an error that says why no best response can be computed
	// against these bots in this game, or nil.
	Solvable(g game.Game, others []string) error
	// Solve returns best responses at a discount per step, from 0 to 1.
	Solve(g game.Game, discount float64) (BR, error)
}

// BR is the exact best response to fixed scripted co-players. Answers may be kept for as long as
// the board and the team stay the same. For one goroutine.
type BR interface {
	// Value returns the expected discounted return of the best response of the
	// focal seat, at st and from there on, against the named bots, one a seat; the
	// focal seat's own name is not read.
	Value(st game.State, focal game.Seat, bots []string) (float64, error)
	// Q writes the best response's value after each action of the focal seat, and
	// returns a bit for each legal one; an illegal action's value is 0.
	Q(dst []float64, st game.State, focal game.Seat, bots []string) (legal uint, err error)
	// Until lets ctx end it, and a number of states of a board and a team that it meets, 0: any:
	// Value and Q then return an error, now and from there on. A start against several who play
	// at random may take hours; a number of states ends it by its inputs alone, where a clock
	// would not.
	Until(ctx context.Context, states int)
	// States returns how many states were met since the board or the team last changed.
	States() int
}

// Solvable returns an error that says why no best response can be computed
// against these bots in this game, or nil.
func Solvable(g game.Game, others []string) error {
	s, err := solver(g)
	if err != nil {
		return err
	}
	return s.Solvable(g, others)
}

// NewBR returns best responses with the given discount per step. It refuses games
// of which none are known.
func NewBR(g game.Game, discount float64) (BR, error) {
	s, err := solver(g)
	if err != nil {
		return nil, err
	}
	return s.Solve(g, discount)
}

func solver(g game.Game) (Solver, error) {
	s, ok := game.As[Solver](g)
	if !ok {
		return nil, fmt.Errorf("oracle: no exact best responses are known of %s", g.Spec().Name)
	}
	return s, nil
}
