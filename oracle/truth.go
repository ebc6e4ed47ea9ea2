package oracle

import "hop/game"

// Truth records which goal every seat reached and when, in one episode of a game
// with goals. Call Start, then Watch after each step.
type Truth struct {
	seats   int
	reached [][]int // [seat][step] the goal reached in that step, or game.NoGoal
}

// NewTruth returns a record for a game with that many seats.
func NewTruth(seats int) *Truth {
	return &Truth{seats: seats, reached: make([][]int, seats)}
}

// Start forgets the last episode.
func (t *Truth) Start() {
	for s := range t.reached {
		t.reached[s] = t.reached[s][:0]
	}
}

// Watch notes what the last step brought. A state without goals brings none.
func (t *Truth) Watch(st game.State) {
	g, ok := st.(game.Goaler)
	for s := range t.reached {
		goal := game.NoGoal
		if ok {
			goal = g.Reached(game.Seat(s))
		}
		t.reached[s] = append(t.reached[s], goal)
	}
}

// At returns what the seat pursued at a step, in hindsight: the goal it reached
// then or next, game.NoGoal if it reached none any more.
func (t *Truth) At(s game.Seat, step int) int {
	for _, g := range t.reached[s][min(step, len(t.reached[s])):] {
		if g != game.NoGoal {
			return g
		}
	}
	return game.NoGoal
}

// Final returns the goal that the seat reached last, or game.NoGoal.
func (t *Truth) Final(s game.Seat) int {
	for i := len(t.reached[s]) - 1; i >= 0; i-- {
		if g := t.reached[s][i]; g != game.NoGoal {
			return g
		}
	}
	return game.NoGoal
}
