package spec_test

import (
	"testing"

	"github.com/hop-marl/hop/train/spec/spectest"
)

// Who is drawn for an episode stays the same when a run is stopped in the midst of it and resumed, and for any number
// of workers: episodes of seven rounds in windows of ten.
func TestRunsAmongDrawnCoPlayersKeepTheirPromises(t *testing.T) {
	spectest.Promises(t, `
game: {name: matrix, rounds: 7, hidden: true}
actor: {frame: board, hidden: [8], lstm: 8}
ppo: {seq_len: 10, minibatch: 80}
train: {envs: 8, window: 10, steps: 1200, save: 400, standins: {alike: 0.5, who: [memory1]}}
`, 3)
}
