package stats_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"

	"pgregory.net/rapid"
)

func wantTest(t *testing.T, where string, got stats.Test, p, stat float64, draws int) {
	t.Helper()
	if !near(got.P, p) || !near(got.Stat, stat) || got.Draws != draws || !got.Exact {
		t.Errorf("%s: got %+v, want p %v, statistic %v, exact from %d", where, got, p, stat, draws)
	}
}

func TestExactPValuesAreScipys(t *testing.T) {
	var r rng.Rand
	seats := [][]float64{{5, 3, 6, 4}, {1, 2, 0, 3}, {2, 2.5, 4, 1}}
	wantTest(t, "seats", stats.PermTestMeans(seats, 1, &r), 0.07407407407407407, 2.380208333333333, 216)
	seeds := [][]float64{{4, 3, 2, 1}, {4, 2, 3, 1}, {3, 4, 1, 2}, {4, 3, 1, 2}, {2, 4, 3, 1}}
	for n, w := range map[int][2]float64{
		1: {30, 1. / 24}, // scipy wants two; only the predicted order gives 30
		2: {59, 1.2152777777777776e-02},
		3: {87, 7.016782407407407e-03},
		4: {116, 1.7421392746913577e-03},
		5: {143, 2.007378472222222e-03},
	} {
		wantTest(t, fmt.Sprint(n, " seeds"), stats.TrendTest(seeds[:n], 1, &r), w[1], w[0], int(math.Pow(24, float64(n))))
	}
}

func TestLongTrendIsScipys(t *testing.T) {
	var r rng.Rand
	var x [][]float64
	for range 12 {
		x = append(x, []float64{5, 4, 3, 2, 1, 0})
	}
	x = append(x, [][]float64{
		{4, 0, 1, 5, 2, 3}, {0, 3, 1, 5, 4, 2}, {5, 2, 3, 0, 4, 1}, {3, 1, 0, 4, 5, 2}, {1, 0, 4, 2, 5, 3}, {3, 2, 1, 0, 4, 5},
		{1, 5, 4, 3, 2, 0}, {1, 2, 5, 4, 0, 3}, {3, 5, 1, 0, 2, 4}, {4, 1, 2, 0, 3, 5}, {1, 4, 2, 3, 5, 0}, {1, 0, 3, 5, 4, 2},
		{2, 0, 4, 5, 3, 1}, {4, 0, 5, 2, 3, 1}, {1, 3, 4, 2, 5, 0}, {5, 3, 0, 1, 4, 2}, {0, 4, 3, 2, 5, 1}, {3, 5, 1, 4, 0, 2},
	}...)
	got := stats.TrendTest(x, 1, &r)
	if math.Abs(got.P/2.9347908318117313e-06-1) > 1e-9 || got.Stat != 2396 || got.Draws != math.MaxInt {
		t.Errorf("got %+v, want p 2.9347908318117313e-06, statistic 2396, more arrangements than an int holds", got)
	}
}

// orders returns every way to order each row on its own: the dumb enumeration.
func orders(rows [][]float64) [][][]float64 {
	if len(rows) == 0 {
		return [][][]float64{{}}
	}
	var all [][][]float64
	for _, rest := range orders(rows[1:]) {
		for _, first := range permute(rows[0]) {
			all = append(all, append([][]float64{first}, rest...))
		}
	}
	return all
}

func permute(xs []float64) [][]float64 {
	if len(xs) == 0 {
		return [][]float64{{}}
	}
	var all [][]float64
	for i := range xs {
		rest := append(append([]float64{}, xs[:i]...), xs[i+1:]...)
		for _, p := range permute(rest) {
			all = append(all, append([]float64{xs[i]}, p...))
		}
	}
	return all
}

// hits returns the fraction of all whose statistic is at least that of data.
func hits[T any](data T, all []T, stat func(T) float64) float64 {
	n := 0
	for _, x := range all {
		if stat(x) >= stat(data)-1e-9 {
			n++
		}
	}
	return float64(n) / float64(len(all))
}

func columns(rows [][]float64) [][]float64 {
	cols := make([][]float64, len(rows[0]))
	for _, row := range rows {
		for s, v := range row {
			cols[s] = append(cols[s], v)
		}
	}
	return cols
}

func meanOf(xs []float64) float64 {
	sum := 0.
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// rowsOf draws small whole numbers, so that there are ties.
func rowsOf(t *rapid.T, n, k int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		for _, v := range rapid.SliceOfN(rapid.IntRange(0, 4), k, k).Draw(t, "row") {
			rows[i] = append(rows[i], float64(v))
		}
	}
	return rows
}

// times multiplies rows by a unit, so that sums round and ties are not bit for bit.
func times(rows [][]float64, unit float64) [][]float64 {
	out := make([][]float64, len(rows))
	for i, row := range rows {
		for _, x := range row {
			out[i] = append(out[i], x*unit)
		}
	}
	return out
}

func TestExactTestsEqualTheirDefinition(t *testing.T) {
	var r rng.Rand
	check := func(t *rapid.T, where string, got stats.Test, want float64) {
		if !got.Exact || !near(got.P, want) {
			t.Fatalf("%s: got %+v, want p %v, exact", where, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(2, 3).Draw(t, "k")
		n := rapid.IntRange(1, 6-k).Draw(t, "n")
		unit := rapid.SampledFrom([]float64{1, 0.1, 1e-6, 1e6 / 3}).Draw(t, "unit")
		rows := rowsOf(t, n, k)
		scaled := times(rows, unit)
		check(t, "PermTestMeans", stats.PermTestMeans(columns(scaled), 1, &r), hits(rows, orders(rows), func(rows [][]float64) float64 {
			var a stats.Acc
			for _, col := range columns(rows) {
				a.Add(meanOf(col))
			}
			return a.Var()
		}))
		check(t, "TrendTest", stats.TrendTest(scaled, 1, &r), hits(rows, orders(rows), func(rows [][]float64) float64 {
			l := 0.
			for _, row := range rows {
				for a, x := range row {
					rank := 0.5
					for _, y := range row {
						if y < x {
							rank++
						} else if y == x {
							rank += 0.5
						}
					}
					l += float64(k-a) * rank
				}
			}
			return l
		}))
	})
}

// tests are the tests as functions of n units of noise, to which the first
// group's advantage is added. The noise of PermTestMeans has a part that all
// seats of an episode share, and heavy tails.
var tests = []struct {
	name string
	run  func(n int, advantage float64, reps int, r *rng.Rand) stats.Test
}{
	{"PermTestMeans", func(n int, advantage float64, reps int, r *rng.Rand) stats.Test {
		x := make([][]float64, 3)
		for s := range x {
			x[s] = make([]float64, n)
		}
		for e := range n {
			shared := math.Exp(2 * r.Norm())
			for s := range x {
				x[s][e] = shared * (3 + r.Norm())
			}
			x[0][e] += advantage * shared
		}
		return stats.PermTestMeans(x, reps, r)
	}},
	{"TrendTest", func(n int, advantage float64, reps int, r *rng.Rand) stats.Test {
		x := make([][]float64, n)
		for i := range x {
			x[i] = normals(make([]float64, 4), r)
			for a := range x[i] {
				x[i][a] -= advantage * float64(a)
			}
		}
		return stats.TrendTest(x, reps, r)
	}},
}

// Under chance alone a p-value is at most alpha in at most a fraction alpha of
// experiments; the bound is 5 standard errors above (a false alarm in about 3 of
// ten million, and the seed is fixed, so never). Not much less often either,
// where arrangements are many: the lower bound is 5 standard errors below.
func TestFalseAlarmsAreAsRareAsPromised(t *testing.T) {
	const n = 2000
	r := rng.New(11).Rand()
	for _, c := range tests {
		for _, size := range []struct {
			n     int
			exact bool
		}{{4, true}, {110, false}} {
			ps := make([]float64, n)
			for i := range ps {
				got := c.run(size.n, 0, 99, &r)
				if got.Exact != size.exact {
					t.Fatalf("%s, n %d: exact %v, want %v", c.name, size.n, got.Exact, size.exact)
				}
				ps[i] = got.P
			}
			for _, alpha := range []float64{0.01, 0.05, 0.2} {
				alarms := 0.
				for _, p := range ps {
					if p <= alpha {
						alarms++
					}
				}
				tol := 5 * math.Sqrt(alpha*(1-alpha)/n)
				if rate := alarms / n; rate > alpha+tol || !size.exact && rate < alpha-tol {
					t.Errorf("%s, n %d: %.4f of %d p-values are at most %v, want ± %.4f", c.name, size.n, rate, n, alpha, tol)
				}
			}
		}
	}
}

func TestDifferencesAreFound(t *testing.T) {
	r := rng.New(12).Rand()
	for _, c := range tests {
		for _, size := range []int{8, 110} {
			found := 0
			for range 100 {
				if c.run(size, 3, 99, &r).P <= 0.05 {
					found++
				}
			}
			if found < 90 {
				t.Errorf("%s, n %d: a difference of 3 standard deviations was found %d times of 100, want 90", c.name, size, found)
			}
		}
	}
}

func TestNothingToSeeIsNotSignificant(t *testing.T) {
	var r rng.Rand
	nan, inf := []float64{1, math.NaN(), 3}, []float64{1, math.Inf(1), 3}
	same, long := []float64{0.1, 0.2, 0.3}, make([]float64, 200)
	for name, c := range map[string]struct {
		got  stats.Test
		want float64
	}{
		"seats alike":         {stats.PermTestMeans([][]float64{same, same, same}, 9, &r), 1},
		"many episodes alike": {stats.PermTestMeans([][]float64{long, long}, 9, &r), 1},
		"no episodes":         {stats.PermTestMeans([][]float64{{}, {}}, 9, &r), 1},
		"seat with a NaN":     {stats.PermTestMeans([][]float64{same, nan}, 9, &r), math.NaN()},
		"seat with infinity":  {stats.PermTestMeans([][]float64{inf, same}, 9, &r), math.NaN()},
		"no seeds":            {stats.TrendTest(nil, 9, &r), 1},
		"all tied":            {stats.TrendTest([][]float64{{1, 1, 1}, {2, 2, 2}}, 9, &r), 1},
		"seed with a NaN":     {stats.TrendTest([][]float64{nan, same}, 9, &r), math.NaN()},
	} {
		want(t, name, c.got.P, c.want)
	}
}

// 18 episodes of two seats are the most that are enumerated; a hundred without a
// difference more make the same test random.
func TestRandomDrawsAgreeWithEnumeration(t *testing.T) {
	const reps = 40_000
	r := rng.New(13).Rand()
	x, y := make([]float64, 118), make([]float64, 118)
	for i, v := range normals(x[100:], &r) {
		x[100+i] = v + 0.4
	}
	few := stats.PermTestMeans([][]float64{x[100:], y[100:]}, reps, &r)
	for _, c := range []struct {
		name string
		got  stats.Test
		p    float64
	}{
		{"seats", stats.PermTestMeans([][]float64{x, y}, reps, &r), few.P},
		{"trend with ties", stats.TrendTest([][]float64{{1, 0, 0, 0, 0, 0, 0, 0, 0}}, reps, &r), 1. / 9},
	} {
		if tol := 5 * math.Sqrt(c.p*(1-c.p)/reps); !few.Exact || c.got.Exact || math.Abs(c.got.P-c.p) > tol {
			t.Errorf("%s: got %+v, want a random p of %v ± %v", c.name, c.got, c.p, tol)
		}
	}
}

func TestSmallDifferencesAreNotRounding(t *testing.T) {
	var r rng.Rand
	x, y := []float64{1, 1, 1e-6}, []float64{0, 0, 0}
	want(t, "seats", stats.PermTestMeans([][]float64{x, y}, 1, &r).P, 0.25)
}

func TestSmallestPValueIsStated(t *testing.T) {
	var r rng.Rand
	x, y := make([]float64, 100), make([]float64, 100)
	for i := range x {
		x[i] = 1
	}
	want(t, "seats", stats.PermTestMeans([][]float64{x, y}, 99, &r).P, 0.01)
}

func TestWrongUsePanics(t *testing.T) {
	var r rng.Rand
	for name, f := range map[string]func(){
		"level 0":          func() { stats.MeanCI(nil, 0) },
		"level 95":         func() { stats.MeanCI(nil, 95) },
		"hits over trials": func() { stats.Wilson(3, 2, 0.95) },
		"quantile 25":      func() { stats.Quantile([]float64{1}, 25) },
		"one seat":         func() { stats.PermTestMeans([][]float64{{1}}, 9, &r) },
		"unequal seats":    func() { stats.PermTestMeans([][]float64{{1}, {1, 2}}, 9, &r) },
		"no draws":         func() { stats.PermTestMeans([][]float64{{1}, {1}}, 0, &r) },
		"one agent":        func() { stats.TrendTest([][]float64{{1}}, 9, &r) },
		"unequal seeds":    func() { stats.TrendTest([][]float64{{1, 2}, {1}}, 9, &r) },
		"no resamples":     func() { stats.Bootstrap(nil, stats.Scores.IQM, 0, 0.9, &r) },
		"unequal profile":  func() { stats.Scores{{1}}.Profile(nil, []float64{1}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func BenchmarkPermTestMeans(b *testing.B) {
	r := rng.New(1).Rand()
	x := make([][]float64, 4)
	for s := range x {
		x[s] = normals(make([]float64, 1000), &r)
	}
	for b.Loop() {
		stats.PermTestMeans(x, 100, &r)
	}
}

// One run of 64 agents has nothing to deal anew; all orders of 64 would fill any memory.
func TestOneRunOfManyAgentsIsNoWork(t *testing.T) {
	x := make([][]float64, 64) // [agent][run]
	for a := range x {
		x[a] = []float64{float64(a * a % 7)}
	}
	r := rng.New(1).Rand()
	if got := stats.PermTestMeans(x, 100, &r); got.P != 1 {
		t.Errorf("got %+v, want p 1", got)
	}
}
