package truth_test

import (
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/truth"
)

// Under common random numbers every rollout of a script would meet the same
// future, and the best script on it is what somebody who knows the future does.
// Repeats must meet others, and the same ones when asked again.
func TestRepeatsMeetOtherFutures(t *testing.T) {
	srch := truth.Default().Plan
	srch.Trees = 1
	b := newBench(t, nil, srch, "random")
	g, w, f, bots := hunting(t, nil), b.w, b.f, b.bots
	st := g.New()
	r := rng.New(5).Rand()
	differ, same := 0, 0
	for range 40 {
		st.Reset(&r)
		w.Set(0, st, []game.Seat{0, 1, 2, 3})
		key := r
		value := func(repeat int) float32 {
			s := truth.NewScripts(bots, srch.Discount, 4)
			s.Repeat = repeat
			draw, rs := key, make([]rng.Rand, 1)
			search.Fork(rs, &draw)
			f.Search(w, s, bots, rs)
			return f.Value[0]
		}
		one, many := value(1), value(8)
		if one != many {
			differ++
		}
		if many == value(8) {
			same++
		}
	}
	if differ < 20 || same != 40 {
		t.Errorf("of 40 starts, 8 futures give another value than 1 on %d (want most), the same again on %d (want all)", differ, same)
	}
}
