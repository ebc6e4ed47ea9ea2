package stats

import (
	"math"
	"slices"

	"github.com/hop-marl/hop/num/rng"
)

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
