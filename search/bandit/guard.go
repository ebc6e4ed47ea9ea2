package bandit

import "math"

// Guard chooses between answers for an episode at a time, and trusts the first until what it earns
// refutes what was expected of it: after a handful of episodes in which it earned less on average,
// by more than chance and by more than a tenth, what each answer has really earned decides.
//
// From then on it is UCB with the spread of each answer's returns in place of their range. Against
// others who do not change an answer that is worse by a gap gets about (spread / gap)^2 ln n of n
// episodes. Against anybody, one who knows all this included: an answer gets an episode only while
// what it earned lately, on average, and its spread times the root of ln n over its episodes, are
// at least what the safe answer earned; so in so many episodes it has cost no more than that
// against safe play. Old episodes count for less, because others change.
type Guard struct {
	arms    []arm
	short   arm     // what the first answer earned less what was expected, in its episodes
	expects float64 // mean of what was expected of it, like short
	now     int     // the answer of this episode
	hoped   float64 // what is expected of the first in this episode
	said    bool    // that something is
	doubts  bool    // the first has been refuted
}

// arm is what is known of an answer: episodes, their mean and the sum of squares about it, where
// old ones count for less.
type arm struct{ n, mean, squares float64 }

const (
	memory  = 0.995 // weight that is left of an episode with the next one
	recent  = 0.98  // and of those of the first answer, which may read the others better by now
	enough  = 5     // episodes before anything is refuted
	chance  = 3     // standard errors that are no longer chance
	matters = 0.1   // share of what was expected that is worth a search for something else
)

// NewGuard returns a choice between so many answers.
func NewGuard(answers int) *Guard { return &Guard{arms: make([]arm, answers)} }

// Answer returns the answer of this episode.
func (g *Guard) Answer() int { return g.now }

// Refuted reports whether the first answer's expectations have been refuted.
func (g *Guard) Refuted() bool { return g.doubts }

// Foresee notes, at the start of an episode, what is expected of the first answer.
func (g *Guard) Foresee(x float64) { g.hoped, g.said = x, true }

// Earned notes what this episode's answer earned, and chooses the next one's.
func (g *Guard) Earned(x float64) {
	for i := range g.arms {
		g.arms[i].fade(memory)
	}
	g.arms[0].fade(recent / memory)
	g.arms[g.now].add(x)
	if g.now == 0 && g.said {
		g.short.fade(recent)
		g.short.add(x - g.hoped)
		g.expects += (g.hoped - g.expects) / g.short.n
		g.doubts = g.refuted()
	}
	g.said = false
	g.now = g.pick()
}

// refuted reports whether the first answer earns less than was expected of it, by more than chance
// and by as much as matters. Once it has been, it must do better than that to be trusted again.
func (g *Guard) refuted() bool {
	s := &g.short
	if s.n < enough {
		return g.doubts
	}
	least := matters * math.Abs(g.expects)
	chanceOf := max(math.Sqrt(s.squares/s.n), least/2) / math.Sqrt(s.n)
	if g.doubts {
		return s.mean < -least/2
	}
	return s.mean < -max(chance*chanceOf, least)
}

// pick returns the answer that may be best.
func (g *Guard) pick() int {
	if !g.doubts {
		return 0
	}
	all, least := 0., matters*math.Abs(g.expects)
	for _, a := range g.arms {
		all += a.n
	}
	best, at := math.Inf(-1), 0
	for i, a := range g.arms {
		if a.n == 0 {
			return i
		}
		spread := max(math.Sqrt(a.squares/a.n), least)
		if v := a.mean + spread*math.Sqrt(math.Log(all)/a.n); v > best {
			best, at = v, i
		}
	}
	return at
}

// fade makes what is known count for less.
func (a *arm) fade(by float64) { a.n, a.squares = a.n*by, a.squares*by }

// add takes in one more.
func (a *arm) add(x float64) {
	a.n++
	d := x - a.mean
	a.mean += d / a.n
	a.squares += d * (x - a.mean)
}
