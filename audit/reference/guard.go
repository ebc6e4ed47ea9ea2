package reference

import "math"

// Guard is the choice between answers to co-players by what they earn (docs/hop.md), from
// the whole record of a life: the first answer is trusted until it has earned less than was
// expected of it, on average over its own episodes, by three standard errors and a tenth of that;
// from then on, until it earns no more than a twentieth less, each episode's answer is the one of
// the highest mean plus its own spread times sqrt(ln n / n of it), one that was never tried
// first. With every episode what answers earned before counts 0.5 % less, what the first earned
// 2 %; and with every episode of the first, what was expected of it before 2 %.
type Guard struct {
	Answers int

	past   []Played
	doubts bool
}

// Played is an episode: what answered in it, what was expected of the first answer, if anything
// was, and what was earned.
type Played struct {
	Answer   int
	Expected float64
	Foreseen bool
	Earned   float64
}

// weighed is a weighted sample: its weight, its mean, and the sum of squares about it.
func weighed(x []float64, weight []float64) (n, mean, squares float64) {
	for i, v := range x {
		n += weight[i]
		mean += weight[i] * v
	}
	mean /= max(n, math.SmallestNonzeroFloat64)
	for i, v := range x {
		squares += weight[i] * (v - mean) * (v - mean)
	}
	return n, mean, squares
}

// Add takes in an episode, and returns the answer of the next.
func (g *Guard) Add(e Played) int {
	const less, first = 0.995, 0.98
	g.past = append(g.past, e)
	var short, hoped, weight []float64
	for _, p := range g.past {
		if p.Answer == 0 && p.Foreseen {
			for i := range weight {
				weight[i] *= first
			}
			short, hoped, weight = append(short, p.Earned-p.Expected), append(hoped, p.Expected), append(weight, 1)
		}
	}
	n, mean, squares := weighed(short, weight)
	_, expects, _ := weighed(hoped, weight)
	matters := 0.1 * math.Abs(expects)
	if e.Answer == 0 && e.Foreseen && n >= 5 {
		if g.doubts {
			g.doubts = mean < -matters/2
		} else {
			g.doubts = mean < -max(3*max(math.Sqrt(squares/n), matters/2)/math.Sqrt(n), matters)
		}
	}
	if !g.doubts {
		return 0
	}
	all, by := 0., first
	counts, means, spreads := make([]float64, g.Answers), make([]float64, g.Answers), make([]float64, g.Answers)
	for k := range g.Answers {
		var x, w []float64
		for i, p := range g.past {
			if p.Answer == k {
				x, w = append(x, p.Earned), append(w, math.Pow(by, float64(len(g.past)-1-i)))
			}
		}
		by = less
		if len(x) == 0 {
			return k
		}
		var squares float64
		counts[k], means[k], squares = weighed(x, w)
		all += counts[k]
		spreads[k] = max(math.Sqrt(squares/counts[k]), matters)
	}
	best, at := math.Inf(-1), 0
	for k := range counts {
		if v := means[k] + spreads[k]*math.Sqrt(math.Log(all)/counts[k]); v > best {
			best, at = v, k
		}
	}
	return at
}
