package stats

import (
	"math"
	"slices"

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
		var orders [][]int
		if n > 1 {
			orders = permutations(k)
		}
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

// TrendTest asks whether x[seed][agent] falls from agent 0 to the last one,
// systematically over seeds (Page 1963). Ranks are given within each seed, ties
// the mean of their ranks, so one seed with large rewards counts no more than
// another. Stat is Page's L, the sum over agents of (agent's predicted rank) *
// (sum of its ranks), largest when every seed shows the predicted order. If
// order were chance, the ranks of a seed could have been dealt in any order.
//
// It is one-sided, and the order must be predicted before looking: an order
// read off the data always looks systematic. For "falls or rises" double the
// smaller p-value of x and of x with its agents reversed. The p-value is exact
// up to 8 agents and 100 seeds. One seed of 4 agents cannot give less than
// 1/24, two can give 1/576. It panics with fewer than two agents or with rows
// of unequal length.
func TrendTest(x [][]float64, reps int, r *rng.Rand) Test {
	checkReps(reps)
	n := len(x)
	if n == 0 {
		return Test{P: 1, Draws: 1, Exact: true}
	}
	k := len(x[0])
	if k < 2 {
		panic("stats: a comparison needs two groups or more")
	}
	ranks := make([]int, n*k) // [n][k], twice the rank, so that ties are whole numbers
	got := 0
	for i, row := range x {
		if len(row) != k {
			panic("stats: slice lengths do not match")
		}
		if slices.ContainsFunc(row, math.IsNaN) {
			return notFinite(n)
		}
		rankRow(ranks[i*k:(i+1)*k], row)
		got += page(ranks[i*k : (i+1)*k])
	}
	stat := float64(got) / 2
	if k <= 8 && n <= 100 {
		p, draws := trendExact(ranks, n, k, got)
		return Test{P: p, Stat: stat, N: n, Draws: draws, Exact: true}
	}
	hits := 0
	for range reps {
		sum := 0
		for i := range n {
			row := ranks[i*k : (i+1)*k]
			for a := k - 1; a > 0; a-- {
				b := r.IntN(a + 1)
				row[a], row[b] = row[b], row[a]
			}
			sum += page(row)
		}
		if sum >= got {
			hits++
		}
	}
	return result(stat, n, hits, reps, false)
}

// rankRow writes twice the rank of each value, 2 for the smallest.
func rankRow(dst []int, row []float64) {
	for a, x := range row {
		dst[a] = 1
		for _, y := range row {
			switch {
			case y < x:
				dst[a] += 2
			case y == x: // itself included
				dst[a]++
			}
		}
	}
}

// page returns twice one seed's share of L: agent 0 is predicted to have rank k.
func page(ranks []int) int {
	sum := 0
	for a, rank := range ranks {
		sum += (len(ranks) - a) * rank
	}
	return sum
}

// trendExact returns the chance that ranks dealt anew give at least got, from
// the distribution of each row's share, added row by row. draws is the number
// of arrangements that this stands for, capped at the largest int.
func trendExact(ranks []int, n, k, got int) (p float64, draws int) {
	orders := permutations(k)
	top := 0 // no row's share is larger
	for a := range k {
		top += 2 * (k - a) * (k - a)
	}
	shares := map[string][]float64{} // by the row's sorted ranks
	total := []float64{1}            // total[l]: chance of the sum l
	row, dealt, key := make([]int, k), make([]int, k), make([]byte, k)
	draws = 1
	for i := range n {
		copy(row, ranks[i*k:(i+1)*k])
		slices.Sort(row)
		for a, rank := range row {
			key[a] = byte(rank)
		}
		share, ok := shares[string(key)]
		if !ok {
			share = make([]float64, top+1)
			for _, p := range orders {
				for a, from := range p {
					dealt[a] = row[from]
				}
				share[page(dealt)] += 1 / float64(len(orders))
			}
			shares[string(key)] = share
		}
		next := make([]float64, len(total)+top)
		for l, u := range total {
			if u == 0 {
				continue
			}
			for m, v := range share {
				if v != 0 {
					next[l+m] += u * v
				}
			}
		}
		total = next
		if draws > math.MaxInt/len(orders) {
			draws = math.MaxInt
		} else {
			draws *= len(orders)
		}
	}
	for _, u := range slices.Backward(total[got:]) { // small ones first
		p += u
	}
	return min(p, 1), draws
}
