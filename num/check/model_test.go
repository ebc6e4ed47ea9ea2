package check

import (
	"math"
	"testing"
)

// Numbers of the snowdrift game, where the exact observer is above the floor; of
// the stag hunt; and of models that a second softmax holds at the floor.
func TestDoubleSoftmaxNeedsMoreThanAHighLoss(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Predictor
		want Status
	}{
		{"snowdrift, at 99.7 % of the limit", Predictor{CE: 1.14, Floor: .859, Classes: 6, Right: .418, Sure: .41, Exact: 1.134}, NotAsked},
		{"stag hunt", Predictor{CE: .27, Floor: .9, Classes: 7, Right: .85, Sure: .85, Exact: .266}, Pass},
		{"twice", Predictor{CE: .95, Floor: .9, Classes: 7, Right: .85, Sure: .4, Exact: .266}, Fault},
		{"twice, nothing else known", Predictor{CE: 1.17, Floor: 1.165, Classes: 7, Right: .85}, Fault},
		{"learnt little", Predictor{CE: 1.5, Floor: .9, Classes: 7, Right: .3, Sure: .3, Exact: .266}, Pass},
		{"not logged", Predictor{CE: 1.5, Floor: math.NaN(), Classes: 7, Right: .9, Sure: .4}, Pass},
		{"not logged how sure", Predictor{CE: 1.5, Floor: .9, Classes: 7, Right: .9, Sure: math.NaN()}, Pass},
		{"random play, nothing else known", Predictor{CE: 1.9, Floor: 1.165, Classes: 7, Right: .16}, Pass},
	} {
		if got := c.p.DoubleSoftmax(); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	if f := SoftmaxFloor(7); math.Abs(f-1.1654) > 1e-4 {
		t.Errorf("the floor is %.4f, want 1.1654", f)
	}
}

// Seat 1 of four sees itself, then seats 2, 3 and 0; who has left says nothing.
func TestOrdersAreDistinguished(t *testing.T) {
	did := []int32{4, 5, -1, 6}
	for _, c := range []struct {
		name          string
		shown         []int32
		wrong         int
		global, mixed bool
	}{
		{"ego-first", []int32{5, 0, 6, 4}, 0, false, false},
		{"by seat", []int32{4, 5, 0, 6}, 3, true, false},
		{"neither", []int32{6, 4, 5, 5}, 3, false, true},
	} {
		known, wrong, global := Joint(1, c.shown, did)
		var o Orders
		o.Add(wrong == 0, global)
		if known != 3 || wrong != c.wrong || global != c.global || (o.Name() == "") != c.mixed {
			t.Errorf("%s: %d of %d wrong, global %v, %q", c.name, wrong, known, global, o.Name())
		}
	}
}
