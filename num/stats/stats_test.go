package stats_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"

	"pgregory.net/rapid"
)

// Reference values come from testdata/reference.py.

// near says whether two numbers agree to a relative 1e-10, or absolute below 1.
func near(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-10*max(1, math.Abs(a), math.Abs(b)) || math.IsNaN(a) && math.IsNaN(b)
}

func want(t *testing.T, where string, got, want float64) {
	t.Helper()
	if !near(got, want) {
		t.Errorf("%s: got %.15g, want %.15g", where, got, want)
	}
}

func acc(xs ...float64) stats.Acc {
	var a stats.Acc
	for _, x := range xs {
		a.Add(x)
	}
	return a
}

func TestStudentQuantilesAreScipys(t *testing.T) {
	quantiles := map[float64][]float64{ // for 1, 2, 4, 9, 29, 999 degrees of freedom
		0.9:  {6.313751514675037, 2.9199855803537242, 2.1318467863266495, 1.833112932656237, 1.6991270265334972, 1.646380345427535},
		0.95: {12.706204736174694, 4.302652729749462, 2.7764451051977934, 2.262157162798205, 2.045229642132703, 1.9623414611334493},
		0.99: {63.656741162871526, 9.924843200918287, 4.604094871349992, 3.249835541592126, 2.756385903670605, 2.5807596372676365},
	}
	for level, qs := range quantiles {
		for i, nu := range []int{1, 2, 4, 9, 29, 999} {
			var a stats.Acc
			for k := range nu + 1 {
				a.Add(float64(k % 7))
			}
			ci := a.CI(level)
			want(t, fmt.Sprintf("level %v, %d values, low", level, nu+1), (a.Mean()-ci[0])/a.SE(), qs[i])
			want(t, fmt.Sprintf("level %v, %d values, high", level, nu+1), (ci[1]-a.Mean())/a.SE(), qs[i])
		}
	}
}

func TestMeanCIIsScipys(t *testing.T) {
	runs := []float64{3.1, 2.4, 5.9, 4.2, 0.7}
	mean, ci := stats.MeanCI(runs, 0.95)
	want(t, "mean", mean, 3.26)
	want(t, "low", ci[0], 0.8417816611266651)
	want(t, "high", ci[1], 5.678218338873336)
	a := acc(runs...)
	want(t, "SE", a.SE(), 0.8709764635166671)
	want(t, "Var", a.Var(), 0.8709764635166671*0.8709764635166671*5)
	if a.N() != 5 {
		t.Errorf("N: got %d, want 5", a.N())
	}
}

func TestTooFewValuesBoundNothing(t *testing.T) {
	none, one := acc(), acc(3)
	want(t, "mean of none", none.Mean(), math.NaN())
	want(t, "variance of one", one.Var(), math.NaN())
	want(t, "SE of one", one.SE(), math.NaN())
	for _, a := range []stats.Acc{none, one} {
		if got, want := a.CI(0.95), (stats.Interval{math.Inf(-1), math.Inf(1)}); got != want {
			t.Errorf("interval of %d values: got %v, want %v", a.N(), got, want)
		}
	}
	b, err := json.Marshal([]stats.Interval{one.CI(0.95), {1, 2.5}})
	if got, want := string(b), "[[null,null],[1,2.5]]"; got != want || err != nil {
		t.Errorf("JSON: got %s, %v; want %s", got, err, want)
	}
}

// An offset of 1e9 would leave no digit of the variance to a sum of squares.
func TestAccKeepsDigitsFarFromZero(t *testing.T) {
	a := acc(1e9+4, 1e9+7, 1e9+13, 1e9+16)
	want(t, "mean", a.Mean(), 1e9+10)
	want(t, "variance", a.Var(), 30)
}

func TestMergeEqualsAddingAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(-100, 100), 0, 30).Draw(t, "xs")
		i := rapid.IntRange(0, len(xs)).Draw(t, "i")
		j := rapid.IntRange(i, len(xs)).Draw(t, "j")
		all, got := acc(xs...), acc(xs[:i]...)
		got.Merge(acc(xs[i:j]...))
		got.Merge(acc(xs[j:]...))
		if got.N() != all.N() || !near(got.Mean(), all.Mean()) || len(xs) > 1 && math.Abs(got.Var()-all.Var()) > 1e-8 {
			t.Fatalf("got %v, want %v", got, all)
		}
	})
}

func TestAccDoesNotAllocate(t *testing.T) {
	var a stats.Acc
	if n := testing.AllocsPerRun(100, func() {
		a.Add(1)
		a.Add(2)
		b := a
		a.Merge(b)
		a.SE()
		a.CI(0.95)
	}); n != 0 {
		t.Errorf("Acc allocates %v times, want 0", n)
	}
}

func TestWilsonIsScipys(t *testing.T) {
	for _, c := range []struct {
		k, n   int
		lo, hi float64
	}{
		{0, 10, 0, 0.27753279986288926},
		{3, 10, 0.10779126740630102, 0.6032218525388546},
		{10, 10, 0.7224672001371109, 1},
		{517, 1000, 0.48602235996108767, 0.5478475302504034},
		{0, 0, 0, 1},
	} {
		ci := stats.Wilson(c.k, c.n, 0.95)
		want(t, fmt.Sprintf("%d of %d, low", c.k, c.n), ci[0], c.lo)
		want(t, fmt.Sprintf("%d of %d, high", c.k, c.n), ci[1], c.hi)
	}
	for n := 1; n < 300; n++ {
		if none, all := stats.Wilson(0, n, 0.95), stats.Wilson(n, n, 0.95); none[0] != 0 || all[1] != 1 {
			t.Errorf("%d trials: got %v without hits and %v without misses, want 0 and 1 exactly", n, none, all)
		}
	}
}

func TestQuantilesAreNumpys(t *testing.T) {
	odd := []float64{9, 1, 4, 7, 2, 30, -5}
	for i, q := range []float64{0, 0.1, 0.25, 0.5, 0.75, 0.9, 1} {
		want(t, fmt.Sprintf("quantile %v", q), stats.Quantile(odd, q), []float64{-5, -1.4, 1.5, 4, 8, 17.4, 30}[i])
	}
	if got, want := stats.BoxOf(odd), (stats.Box{N: 7, Min: -5, Q1: 1.5, Median: 4, Q3: 8, Max: 30}); got != want {
		t.Errorf("box: got %+v, want %+v", got, want)
	}
	if odd[0] != 9 || odd[6] != -5 {
		t.Errorf("the argument was reordered: %v", odd)
	}
	want(t, "quantile of none", stats.Quantile(nil, 0.5), math.NaN())
	want(t, "quantile with a NaN", stats.Quantile([]float64{1, math.NaN(), 2}, 1), math.NaN())
	want(t, "quantile between infinities", stats.Quantile([]float64{math.Inf(1), math.Inf(1)}, 0.5), math.Inf(1))
}

func TestIQMIsScipysTrimMean(t *testing.T) {
	odd := []float64{9, 1, 4, 7, 2, 30, -5}
	for n, w := range []float64{math.NaN(), 9, 5, 4.666666666666667, 5.5, 4.333333333333333, 5.5, 4.6} {
		want(t, fmt.Sprintf("IQM of %d", n), stats.IQM(odd[:n]), w)
	}
	if odd[0] != 9 || odd[6] != -5 {
		t.Errorf("the argument was reordered: %v", odd)
	}
	want(t, "IQM with a NaN", stats.IQM([]float64{math.NaN(), 1, 2, 3, 4}), math.NaN())
}

// coverage counts how often draw's interval holds truth.
func coverage(experiments int, truth float64, draw func() stats.Interval) float64 {
	hits := 0
	for range experiments {
		if ci := draw(); ci[0] <= truth && truth <= ci[1] {
			hits++
		}
	}
	return float64(hits) / float64(experiments)
}

// within fails unless rate is want to 5 standard errors of n experiments: a
// false alarm in about 1 of a million, and the seed is fixed, so never.
func within(t *testing.T, where string, rate, want float64, n int) {
	t.Helper()
	if tol := 5 * math.Sqrt(want*(1-want)/float64(n)); math.Abs(rate-want) > tol {
		t.Errorf("%s: rate %.4f in %d experiments, want %.4f ± %.4f", where, rate, n, want, tol)
	}
}

func normals(dst []float64, r *rng.Rand) []float64 {
	for i := range dst {
		dst[i] = r.Norm()
	}
	return dst
}

func TestIntervalsCoverAsOftenAsTheySay(t *testing.T) {
	const n = 20_000
	r := rng.New(1).Rand()
	for _, size := range []int{2, 3, 5, 10} {
		xs := make([]float64, size)
		within(t, fmt.Sprintf("MeanCI of %d", size), coverage(n, 0, func() stats.Interval {
			_, ci := stats.MeanCI(normals(xs, &r), 0.95)
			return ci
		}), 0.95, n)
	}
	// Wilson's interval holds its level only on average over rates.
	within(t, "Wilson", coverage(n, 0, func() stats.Interval {
		p, k := r.Float64(), 0
		for range 40 {
			if r.Float64() < p {
				k++
			}
		}
		ci := stats.Wilson(k, 40, 0.95)
		return stats.Interval{ci[0] - p, ci[1] - p}
	}), 0.95, n)
}

func TestUnknownNumbersAreNull(t *testing.T) {
	got, err := json.Marshal([]stats.Number{0.5, stats.Number(math.NaN()), stats.Number(math.Inf(1))})
	if err != nil || string(got) != "[0.5,null,null]" {
		t.Errorf("got %s, %v, want [0.5,null,null]", got, err)
	}
	var back []stats.Number
	if err := json.Unmarshal(got, &back); err != nil || back[0] != 0.5 || !math.IsNaN(float64(back[1])) {
		t.Errorf("read back as %v, %v", back, err)
	}
	var ci stats.Interval
	if err := json.Unmarshal([]byte("[null,null]"), &ci); err != nil || !math.IsInf(ci[0], -1) || !math.IsInf(ci[1], 1) {
		t.Errorf("an interval without bounds is read back as %v, %v", ci, err)
	}
}
