package assign

import "math"

// Best returns the joint assignment of hunters to prey, by seat, that is worth most:
//
//	10 for each stag with two hunters or more + 1 for each hare with one
//	+ sum over hunters of  heed ln b(hunter is after its prey) - Cost its way
//
// Hunters that cannot be there in time, or have left, are given nothing, -1. It is exact: a
// table over hunters and, of each stag, whether it has none, one or more, of each hare,
// whether it has any.
func Best(s *scene, belief [][]float64, heed float64) []int {
	n, prey := len(s.Hunters), len(s.Prey)
	radix := make([]int, prey+1) // a state is a number with a digit for each prey
	radix[0] = 1
	for p := range prey {
		radix[p+1] = radix[p] * 2
		if p < s.Stags {
			radix[p+1] = radix[p] * 3
		}
	}
	states := radix[prey]
	value := make([]float64, states)
	for c := range value {
		value[c] = pays(s, c, radix)
	}
	choice := make([][]int16, n)
	for j := n - 1; j >= 0; j-- {
		value, choice[j] = decide(s, value, radix, func(p int) float64 { return fits(s, belief, heed, j, p) })
	}
	out := make([]int, n)
	for j, c := 0, 0; j < n; j++ {
		if out[j] = int(choice[j][c]); out[j] >= 0 {
			c = joined(s, c, out[j], radix)
		}
	}
	return out
}

// decide returns, for each state before a hunter is given a prey, what the best is worth and
// which it is.
func decide(s *scene, next []float64, radix []int, fits func(p int) float64) ([]float64, []int16) {
	value, choice := make([]float64, len(next)), make([]int16, len(next))
	worth := make([]float64, len(s.Prey))
	for p := range worth {
		worth[p] = fits(p)
	}
	for c := range next {
		value[c], choice[c] = math.Inf(-1), -1
		for p, w := range worth {
			if v := w + next[joined(s, c, p, radix)]; v > value[c] {
				value[c], choice[c] = v, int16(p)
			}
		}
		if choice[c] < 0 {
			value[c] = next[c]
		}
	}
	return value, choice
}

// fits is what it is worth that hunter j goes to prey p, but for what it pays.
func fits(s *scene, belief [][]float64, heed float64, j, p int) float64 {
	if s.Hunters[j] < 0 || s.Dist[p][s.Hunters[j]] >= s.Left {
		return math.Inf(-1)
	}
	v := -Cost * float64(s.Dist[p][s.Hunters[j]])
	if heed > 0 {
		v += heed * math.Log(max(belief[j][p], 1e-9))
	}
	return v
}

// digit is how many hunters a prey has, as far as it matters.
func digit(c, p int, radix []int) int { return c % radix[p+1] / radix[p] }

// joined is the state once one more goes to a prey.
func joined(s *scene, c, p int, radix []int) int {
	most := 1
	if p < s.Stags {
		most = 2
	}
	if digit(c, p, radix) < most {
		return c + radix[p]
	}
	return c
}

// pays is what all prey pay in a state.
func pays(s *scene, c int, radix []int) float64 {
	sum := 0.
	for p := range s.Prey {
		switch k := digit(c, p, radix); {
		case p < s.Stags && k == 2:
			sum += 10
		case p >= s.Stags && k == 1:
			sum++
		}
	}
	return sum
}
