package stats

import (
	"math"

	"github.com/hop-marl/hop/num/rng"
)

// Test is the outcome of a permutation test.
type Test struct {
	P     float64 // p-value; NaN if the data hold NaN or an infinity
	Stat  float64 // the statistic that the test's comment defines
	N     int     // independent units behind it: episodes, pairs, seeds
	Draws int     // arrangements compared: all of them if Exact, else the random ones
	Exact bool
}

// Every test below enumerates when that is no more than maxExact arrangements.
// Otherwise it draws reps of them and returns (1 + hits) / (1 + reps), which is
// valid for any reps (Phipson and Smyth 2010); the smallest possible p-value is
// then 1 / (1 + reps). A hit is an arrangement at least as extreme as the data;
// sums that differ by rounding only are ties, and ties are hits.
const (
	maxExact = 1 << 17
	rounding = 1e-12 // relative to the largest value that the statistic could take
)

// result completes a test of which hits of draws arrangements were hits.
func result(stat float64, n, hits, draws int, exact bool) Test {
	t := Test{Stat: stat, N: n, Draws: draws, Exact: exact, P: float64(hits) / float64(draws)}
	if !exact {
		t.P = float64(1+hits) / float64(1+draws)
	}
	return t
}

func checkReps(reps int) {
	if reps < 1 {
		panic("stats: a permutation test needs at least one draw")
	}
}

// notFinite is the outcome for data without a usable statistic.
func notFinite(n int) Test { return Test{P: math.NaN(), Stat: math.NaN(), N: n} }

// PermTestMeans asks whether k seats differ in their mean. x[seat][episode]
// holds what each seat got in the same episodes. If seats are alike, whatever
// they share in an episode, then the k numbers of an episode could as well have
// been dealt to the seats in any order: those orders are the arrangements. Stat
// is the variance of the seats' means, sum over seats of (mean of seat - mean
// of all)^2 / (k-1); given the data it orders arrangements as the F of
// repeated measures does.
//
// It speaks about the agents that played, not about other seeds. The time is
// about 10 ns * k * episodes * reps. It panics with fewer than two seats or unequal lengths.
func PermTestMeans(x [][]float64, reps int, r *rng.Rand) Test {
	checkReps(reps)
	if len(x) < 2 {
		panic("stats: a comparison needs two groups or more")
	}
	k, n := len(x), len(x[0])
	rows := make([]float64, n*k) // [n][k], each row's mean taken off
	scale := 0.
	for e := range n {
		row := rows[e*k : (e+1)*k]
		for s := range x {
			if len(x[s]) != n {
				panic("stats: slice lengths do not match")
			}
			row[s] = x[s][e]
		}
		m, top := mean(row), 0.
		for s := range row {
			row[s] -= m
			top = max(top, math.Abs(row[s]))
		}
		scale += top
	}
	if math.IsNaN(scale) || math.IsInf(scale, 0) {
		return notFinite(n)
	}
	if n == 0 {
		return Test{P: 1, Draws: 1, Exact: true}
	}
	sums := make([]float64, k)
	deal := func(dst, row []float64) {
		for s, v := range row {
			dst[s] += v
		}
	}
	for e := range n {
		deal(sums, rows[e*k:(e+1)*k])
	}
	got := sumSquares(sums)
	stat := got / float64(n*n) / float64(k-1)
	least := got - rounding*float64(k)*scale*scale

	// Renaming all seats alike changes nothing, so the first row may stay.
	perms, ok := 1, true
	for range n - 1 {
		for f := 2; f <= k && ok; f++ {
			perms *= f
			ok = perms <= maxExact
		}
	}
	hits := 0
	if ok {
		orders := permutations(k)
		partial := make([]float64, n*k) // [n][k], sums of the rows so far
		copy(partial, rows[:k])
		var visit func(e int)
		visit = func(e int) {
			before := partial[(e-1)*k : e*k]
			if e == n {
				if sumSquares(before) >= least {
					hits++
				}
				return
			}
			after, row := partial[e*k:(e+1)*k], rows[e*k:(e+1)*k]
			for _, p := range orders {
				for s, from := range p {
					after[s] = before[s] + row[from]
				}
				visit(e + 1)
			}
		}
		visit(1)
		return result(stat, n, hits, perms, true)
	}
	for range reps {
		clear(sums)
		for e := range n {
			row := rows[e*k : (e+1)*k]
			rng.Shuffle(row, r) // shuffling what is shuffled already is as good
			deal(sums, row)
		}
		if sumSquares(sums) >= least {
			hits++
		}
	}
	return result(stat, n, hits, reps, false)
}

func sumSquares(xs []float64) float64 {
	sum := 0.
	for _, x := range xs {
		sum += x * x
	}
	return sum
}

// permutations returns all orders of 0..k-1.
func permutations(k int) [][]int {
	if k == 0 {
		return [][]int{{}}
	}
	var all [][]int
	for _, p := range permutations(k - 1) {
		for at := range k {
			q := make([]int, 0, k)
			q = append(append(append(q, p[:at]...), k-1), p[at:]...)
			all = append(all, q)
		}
	}
	return all
}
