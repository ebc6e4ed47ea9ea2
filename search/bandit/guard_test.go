package bandit

import (
	"fmt"
	"math"
	"slices"
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
	for life := range 90 {
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

// adversary pays answers but the safe one, knowing the guard, so that it earns little.
type adversary struct {
	name string
	pays func(g *Guard, episode, row int, r *rng.Rand) float64 // row: for how many episodes the answer has been the same
}

// adversaries pay so much and nothing by turns: by the clock, until they are liked, while they are
// not, for the first episodes of a row, or by lot.
func adversaries() (list []adversary) {
	add := func(name string, most float64, good func(g *Guard, episode, row int, r *rng.Rand) bool) {
		list = append(list, adversary{fmt.Sprintf("%s, %v", name, most), func(g *Guard, episode, row int, r *rng.Rand) float64 {
			if good(g, episode, row, r) {
				return most
			}
			return 0
		}})
	}
	for _, most := range []float64{0.9, 1.1, 2, 5} {
		for _, k := range []int{1, 2, 3, 5, 8, 13, 21, 40, 80, 160} {
			add(fmt.Sprintf("%d by turns", k), most, func(_ *Guard, episode, _ int, _ *rng.Rand) bool { return episode/k%2 == 0 })
			add(fmt.Sprintf("the first %d of a life", k), most, func(_ *Guard, episode, _ int, _ *rng.Rand) bool { return episode < k })
			add(fmt.Sprintf("the first %d of a row", k), most, func(_ *Guard, _, row int, _ *rng.Rand) bool { return row < k })
			add(fmt.Sprintf("all but the first %d of a row", k), most, func(_ *Guard, _, row int, _ *rng.Rand) bool { return row >= k })
			add(fmt.Sprintf("one of %d by lot", k), most, func(_ *Guard, _, _ int, r *rng.Rand) bool { return r.Float64()*float64(k) < 1 })
		}
		for _, x := range []float64{0.2, 0.5, 0.8, 0.95, 1, 1.05, 1.5, 2.5} {
			add(fmt.Sprintf("while its mean is below %v", x), most, func(g *Guard, _, _ int, _ *rng.Rand) bool {
				return g.arms[g.Answer()].mean < x
			})
			add(fmt.Sprintf("while the best mean is below %v", x), most, func(g *Guard, _, _ int, _ *rng.Rand) bool {
				return !slices.ContainsFunc(g.arms, func(a arm) bool { return a.mean >= x })
			})
		}
		add("while it is not refuted", most, func(g *Guard, _, _ int, _ *rng.Rand) bool { return !g.Refuted() })
		add("once it is refuted", most, func(g *Guard, _, _ int, _ *rng.Rand) bool { return g.Refuted() })
	}
	return list
}

// Never much worse than safe: one answer is sure of 1 in every episode, and all others pay what an
// adversary likes. Most take less than a quarter; worst is who pays five times as much once in ten
// episodes, which for long may be bad luck.
func TestAdversariesTakeLittle(t *testing.T) {
	const episodes = 200
	worst, by, much, all := math.Inf(1), "", 0, 0
	for _, a := range adversaries() {
		for _, expects := range []float64{1, 1.5, 3, 5} {
			r, g := rng.New(3).Rand(), NewGuard(4)
			earned, row, last := 0., 0, -1
			for i := range episodes {
				if g.Answer() != last {
					row, last = 0, g.Answer()
				}
				g.Foresee(expects)
				x := 1.
				if g.Answer() != 2 {
					x = a.pays(g, i, row, &r)
				}
				earned += x
				row++
				g.Earned(x)
			}
			share := earned / episodes
			if all++; share < 0.75 {
				much++
			}
			if share < worst {
				worst, by = share, fmt.Sprintf("%s, where %v is expected", a.name, expects)
			}
		}
	}
	t.Logf("at least %.3f of the safe value: %s; %d of %d adversaries take more than a quarter", worst, by, much, all)
	if worst < 0.5 || much > all/50 {
		t.Errorf("%.3f of the safe value, among who pays %s; %d of %d adversaries take more than a quarter", worst, by, much, all)
	}
}
