package eval

import (
	"context"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
)

// Cross is cross-play: a newcomer takes one place of a team after the other,
// from the same starts each time. So every seat counts alike, and results for
// other newcomers and other teams can be compared start by start.
type Cross struct {
	Game     game.Game
	Starts   int
	Key      rng.Key               // names the starts and all other streams
	Workers  int                   // 0: one a core
	Lanes    int                   // 0: 64; copies of the game that play side by side
	Progress func(done, total int) // may be nil; counts episodes
}

// Crossed is what newcomer and team got. Accumulators count starts; the value
// of a start is a mean over the newcomer's places.
type Crossed struct {
	Own    stats.Acc   // the newcomer's return
	Others stats.Acc   // the mean return of the team's other members
	Start  []float64   // [Starts] the newcomer's return by start
	Seats  []stats.Acc // [seats] the newcomer's return by where it sat
}

// Sum sums up what Play returned for the newcomer's seats, one team each in seat order, or for a single team whose members
// all count as newcomers: the team among itself, which need not be played once for each seat.
func (c Cross) Sum(played [][]float64) *Crossed {
	seats := c.Game.Spec().Seats
	own, others := make([]float64, c.Starts), make([]float64, c.Starts)
	out := &Crossed{Start: own, Seats: make([]stats.Acc, seats)}
	for seat, returns := range played {
		for i, x := range returns {
			start, a := i/seats, i%seats
			if a == seat || len(played) == 1 {
				own[start] += x / float64(seats)
				out.Seats[a].Add(x)
			}
			if a != seat || len(played) == 1 {
				others[start] += x / float64(seats*max(1, len(played)-1))
			}
		}
	}
	for i := range own {
		out.Own.Add(own[i])
		out.Others.Add(others[i])
	}
	return out
}

// Play plays every start once and returns everyone's returns, [Starts][seats]. Where a step draws
// from the same stream as the starts, only the first episode of a stream is sure to start alike, so
// each copy plays one; otherwise copies go on.
func (c Cross) Play(ctx context.Context, team []Member) ([]float64, error) {
	seats := c.Game.Spec().Seats
	if c.Lanes == 0 {
		c.Lanes = 64
	}
	out := make([]float64, c.Starts*seats)
	part := c.Starts
	if !c.Game.Spec().Deterministic {
		part = min(c.Lanes, c.Starts)
	}
	for first := 0; first < c.Starts; first += part {
		n := min(part, c.Starts-first)
		lanes := min(c.Lanes, n)
		_, err := Run(ctx, Config{
			Game: c.Game, Team: team, Episodes: n, Key: c.Key.Child("cross", first), Workers: c.Workers, Lanes: lanes, FixSeat: true,
			Each: func(ep rollout.Episode) { copy(out[(first+ep.Index*lanes+ep.Env)*seats:], ep.Return) },
			Progress: func(done, _ int) {
				if c.Progress != nil {
					c.Progress(first+done, c.Starts)
				}
			},
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
