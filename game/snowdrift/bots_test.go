package snowdrift_test

import (
	"slices"
	"testing"

	"hop/game/gametest"
)

func TestBotsActByTheirRules(t *testing.T) {
	for _, tc := range []struct {
		name, bot, pos string
		want           []float32
	}{
		{"nd removes on a drift", "nd", "t=0\n 0* . .\n . 1 .\n . 2 *", []float32{0, 0, 0, 0, 0, 1}},
		{"nd takes the shortest path", "nd", "t=0\n 0 . *\n . 1 .\n . 2 *", []float32{0, 0, 0, 1, 0, 0}},
		{"nd breaks ties at random", "nd", "t=0\n 0 . *\n . 1 .\n * 2 .", []float32{0, .5, 0, .5, 0, 0}},
		{"nd walks around blocks", "nd", "t=0\n 0 # *\n . 1 .\n x 2 .", []float32{0, 1, 0, 0, 0, 0}},
		{"nd ignores where a drift was", "nd", "t=0\n 0 x .\n . 1 .\n * 2 .", []float32{0, 1, 0, 0, 0, 0}},
		{"nd stays where no path leads", "nd", "t=0\n 0 # *\n # 1 .\n x 2 .", []float32{0, 0, 0, 0, 1, 0}},
		{"fix never removes", "fix", "t=0\n 0* . .\n . 1 .\n . 2 *", []float32{0, 1. / 3, 0, 1. / 3, 1. / 3, 0}},
		{"random is uniform", "random", "t=0\n 0* . .\n . 1 .\n . 2 *", []float32{0, .25, 0, .25, .25, .25}},
	} {
		if got := gametest.Probs(t, threeSeats(t), tc.bot, tc.pos, 0); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}
