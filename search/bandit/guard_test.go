package bandit

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/num/rng"
)

// Who expects 2.7 and gets nothing stops believing what made it expect that, finds the answer that
// pays, and loses no more than the bound says.
func TestAnAnswerThatIsRefutedLosesItsTurn(t *testing.T) {
	g, pays := NewGuard(4), []float64{0, 1, 0.5, 0}
	earned, wrong := 0., 0
	for i := range 100 {
		g.Foresee(2.7)
		x := pays[g.Answer()]
		if i >= 30 && g.Answer() != 1 {
			wrong++
		}
		earned += x
		g.Earned(x)
		if i < enough-1 && g.Refuted() {
			t.Fatalf("refuted after %d episodes", i+1)
		}
	}
	if !g.Refuted() || wrong > 10 || earned < 80 {
		t.Errorf("earned %v in 100 episodes of which the best answer gives 100, %d of the last 70 by another answer", earned, wrong)
	}
}

// Whose expectations hold is left alone: in a hundred lives of 300 episodes with returns as noisy as
// they can be, few ever doubt it, and what that costs is small.
func TestChanceRefutesSeldom(t *testing.T) {
	const lives = 100
	alarms, lost := 0, 0.
	for life := range lives {
		r, g, alarm := rng.New(uint64(life)).Rand(), NewGuard(4), false
		for range 300 {
			g.Foresee(2.5)
			x := 0. // the others never pay
			if g.Answer() == 0 && r.Float64() < 0.5 {
				x = 5
			}
			if g.Answer() != 0 {
				lost += 2.5
			}
			g.Earned(x)
			alarm = alarm || g.Refuted()
		}
		if alarm {
			alarms++
		}
	}
	if share := lost / (lives * 300 * 2.5); alarms > lives/10 || share > 0.01 {
		t.Errorf("%d of %d lives were alarmed, and %.3f of the returns lost", alarms, lives, share)
	}
}

// Others who change are answered anew: the first answer comes back when it pays again.
func TestTheRefutedComesBack(t *testing.T) {
	g := NewGuard(2)
	for range 60 {
		g.Foresee(3)
		g.Earned([]float64{0, 1}[g.Answer()])
	}
	first := 0
	for i := range 200 {
		g.Foresee(3)
		if i >= 120 && g.Answer() == 0 {
			first++
		}
		g.Earned([]float64{3, 1}[g.Answer()])
	}
	if first < 70 {
		t.Errorf("of the last 80 episodes %d were by the first answer, which pays again", first)
	}
}

// Whatever they do, adversaries that pay an answer until it is liked and then stop included, no
// return is made up: an answer's mean lies between what it was paid.
func TestMeansAreOfWhatWasPaid(t *testing.T) {
	r, g := rng.New(5).Rand(), NewGuard(3)
	for range 500 {
		g.Foresee(4 * r.Float64())
		x := 5 * r.Float64()
		if g.Answer() == g.pick() { // it is liked
			x = 0
		}
		g.Earned(x)
		for i, a := range g.arms {
			if a.n > 0 && (a.mean < 0 || a.mean > 5 || a.squares < -1e-9 || math.IsNaN(a.mean)) {
				t.Fatalf("answer %d: %+v", i, a)
			}
		}
	}
}

// What is chosen is what the definition makes of the whole record: lives with noisy returns that
// change half-way, and with episodes of which nothing was expected.
func TestAGuardChoosesAsDefined(t *testing.T) {
	changes := 0
	for life := range 60 {
		r, answers := rng.New(uint64(life)).Child("twin").Rand(), 2+life%3
		g, twin := NewGuard(answers), reference.Guard{Answers: answers}
		for i := range 120 {
			p := reference.Played{Answer: g.Answer(), Expected: 2 + r.Norm()/4, Foreseen: r.Float64() < 0.9}
			p.Earned = float64((p.Answer+i/60*life)%3) + r.Norm()*float64(life%4)/4
			if p.Foreseen {
				g.Foresee(p.Expected)
			}
			g.Earned(p.Earned)
			if want := twin.Add(p); g.Answer() != want {
				t.Fatalf("life %d: after episode %d it answers by %d, by its definition by %d", life, i, g.Answer(), want)
			}
			if g.Answer() != p.Answer {
				changes++
			}
		}
	}
	if changes < 300 {
		t.Errorf("the answer changed %d times: hardly anything was asked", changes)
	}
}
