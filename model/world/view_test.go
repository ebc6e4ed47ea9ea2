package world

import (
	"testing"

	"github.com/hop-marl/hop/num/rng"
)

// What came of a step counts as far as it was seen: nine of sixteen places, oneself and a co-player
// who would have been seen wherever it went, one's own reward; and nothing but the own step and
// reward once oneself has left.
func TestOnlyWhatWasSeenIsLearnt(t *testing.T) {
	in := Input{Height: 4, Width: 4, Planes: 3, Agents: 2, Actions: 5, Horizon: 9, Legal: 5, Time: 1, Rewards: []float32{0, 1}}
	m, p, err := New(Config{Variant: Heads, Hidden: []int{4}, Dense: []int{4}, Fault: NoFault}, in, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name                       string
		view, other, to            int // where the co-player is before, and oneself after
		things, move, reward, over int
	}{
		{"it may have gone out of view", 1, 6, 5, 9, 1, 1, 1},
		{"it must have left", 1, 5, 5, 9, 2, 1, 1},
		{"a view of two", 2, 6, 5, 16, 2, 1, 1},
		{"oneself has left", 1, 6, -1, 0, 1, 1, 0},
		{"everything is in view", 0, 6, 5, 16, 2, 2, 1},
	} {
		b := NewBatch(in, 1)
		b.View, b.Obs[5*3], b.Obs[c.other*3+1] = c.view, 1, 1
		if c.to >= 0 {
			b.Next[c.to*3] = 1
		}
		l := m.Work().Loss(p, &b)
		if got, want := [4]int{l.Things.Rows, l.Move.Rows, l.Reward.Rows, l.Over.Rows}, [4]int{c.things, c.move, c.reward, c.over}; got != want {
			t.Errorf("%s: %v places, agents, rewards and ends are learnt from, want %v", c.name, got, want)
		}
	}
}
