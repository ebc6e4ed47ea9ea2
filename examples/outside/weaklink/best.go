package weaklink

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/oracle"
)

// Returns is what is known of mean returns, for reports to draw.
func Returns(c Config) []game.Return {
	return []game.Return{
		{Name: "optimum", Value: float64(c.Rounds) * float64(c.Levels-1) * (1 - c.Cost)},
		{Name: "nobody works", Value: 0},
	}
}

// Solver knows exact best responses to the game's bots, so that hop can say how far an agent is
// from the best there is.
type Solver struct{}

var _ oracle.Solver = Solver{}

// Solvable refuses bots that the game does not have.
func (Solver) Solvable(g game.Game, others []string) error {
	own, ok := game.As[*Game](g)
	if !ok {
		return fmt.Errorf("%s is no weaklink", g.Spec().Name)
	}
	var errs []error
	for _, name := range others {
		if _, ok := own.level(name); !ok {
			errs = append(errs, fmt.Errorf("weaklink has no bot %q", name))
		}
	}
	return errors.Join(errs...)
}

// Solve returns best responses at a discount.
func (v Solver) Solve(g game.Game, discount float64) (oracle.BR, error) {
	own, ok := game.As[*Game](g)
	if !ok || !(discount >= 0 && discount <= 1) {
		return nil, fmt.Errorf("weaklink: a discount of %v in %s, want one from 0 to 1 in weaklink", discount, g.Spec().Name)
	}
	return &response{g: own, discount: discount}, nil
}

// response needs no search: bots do not look at what was played, so every round is like the last.
type response struct {
	g        *Game
	discount float64
}

// round writes what each effort earns in one round, on average.
func (b *response) round(dst []float64, focal game.Seat, bots []string) error {
	atLeast := make([]float64, b.g.cfg.Levels) // [effort] how likely all others do that much
	for e := range atLeast {
		atLeast[e] = 1
		for s, name := range bots {
			level, ok := b.g.level(name)
			switch {
			case game.Seat(s) == focal:
			case !ok:
				return fmt.Errorf("weaklink has no bot %q", name)
			case level == anyEffort:
				atLeast[e] *= 1 - float64(e)/float64(b.g.cfg.Levels)
			case int(level) < e:
				atLeast[e] = 0
			}
		}
	}
	clear(dst)
	lowest := 0. // the mean of the lowest effort is a sum of how likely it is at least so much
	for e := range atLeast {
		if e > 0 {
			lowest += atLeast[e]
		}
		dst[e] = lowest - b.g.cfg.Cost*float64(e)
	}
	return nil
}

// Value returns the best of a round, as often as rounds are left.
func (b *response) Value(st game.State, focal game.Seat, bots []string) (float64, error) {
	q := make([]float64, b.g.cfg.Levels)
	if _, err := b.Q(q, st, focal, bots); err != nil || st.Over() {
		return 0, err
	}
	best := math.Inf(-1)
	for _, x := range q {
		best = max(best, x)
	}
	return best, nil
}

// Q writes what each effort earns now, with the best ones later.
func (b *response) Q(dst []float64, st game.State, focal game.Seat, bots []string) (legal uint, err error) {
	if err := b.round(dst, focal, bots); err != nil || st.Over() {
		clear(dst)
		return 0, err
	}
	best := math.Inf(-1)
	for _, x := range dst[:b.g.cfg.Levels] {
		best = max(best, x)
	}
	later, weight := 0., b.discount
	for range b.g.cfg.Rounds - st.(*State).t - 1 {
		later += weight * best
		weight *= b.discount
	}
	for e := range b.g.cfg.Levels {
		dst[e] += later
	}
	return 1<<b.g.cfg.Levels - 1, nil
}

// Until has nothing to end.
func (b *response) Until(context.Context, int) {}

// States returns that only one was looked at.
func (b *response) States() int { return 1 }
