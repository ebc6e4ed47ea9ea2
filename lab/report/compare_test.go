package report

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/train/registry"
)

// rivals lays runs of variants by hand: the final mean of each seed.
func rivals(t *testing.T, means map[string][]float64, order ...string) []Variant {
	t.Helper()
	var out []Variant
	root := t.TempDir()
	for _, name := range order {
		v := Variant{Name: name}
		for i, m := range means[name] {
			dir := filepath.Join(root, name, fmt.Sprintf("seed-%d", i+1))
			lay(t, dir, tiny{seed: i + 1, status: "done", windows: 10, mean: m})
			v.Dirs = append(v.Dirs, dir)
		}
		out = append(out, v)
	}
	return out
}

// compared compares them, the first in the order with the others.
func compared(t *testing.T, threshold float64, means map[string][]float64, order ...string) *Comparison {
	t.Helper()
	c, err := Compare(registry.New(), rivals(t, means, order...), threshold)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestComparisonIsOfSeeds(t *testing.T) {
	a, b := []float64{1, 1.2, 1.1, 0.9, 1.3}, []float64{2, 2.2, 2.1, 1.05, 2.3}
	c := compared(t, math.NaN(), map[string][]float64{"a": a, "b": b}, "a", "b")
	mean, ci := stats.MeanCI(b, 0.95)
	diff, dci := stats.DiffCI(b, a, 0.95)
	p, pci := stats.WinCI(b, a, 0.95)
	x := c.Variants[1]
	for _, q := range []struct {
		name      string
		got, want float64
	}{
		{"mean", x.Mean, mean}, {"low", x.CI[0], ci[0]}, {"high", x.CI[1], ci[1]}, {"IQM", x.IQM, stats.IQM(b)},
		{"difference", x.Diff, diff}, {"its low", x.DiffCI[0], dci[0]}, {"its high", x.DiffCI[1], dci[1]},
		{"wins", c.Improve[1][0].P, p}, {"their low", c.Improve[1][0].CI[0], pci[0]}, {"losses", c.Improve[0][1].P, 1 - p},
		{"seed 4", x.Of(4), 1.05}, {"no seed 9", x.Of(9), math.NaN()},
	} {
		if !(math.Abs(q.got-q.want) < 1e-9) && !(math.IsNaN(q.got) && math.IsNaN(q.want)) {
			t.Errorf("%s: got %v, want %v", q.name, q.got, q.want)
		}
	}
	if v := c.Verdict(x); v != "better" {
		t.Errorf("verdict %q, want better", v)
	}
	for i, tau := range c.tau { // the profile is the share of seeds above
		n := 0.
		for _, m := range b {
			if m > tau {
				n++
			}
		}
		if x.profile[i] != n/5 {
			t.Fatalf("profile at %v: got %v, want %v", tau, x.profile[i], n/5)
		}
	}
}

// The curves of these runs are 1 + 0.2 w after window w of 1,000 steps.
func TestPaceIsWhenTheCurvePassesTheThreshold(t *testing.T) {
	for _, c := range []struct {
		threshold, steps float64
		reached          int
	}{
		{1.55, 4000, 2}, // window 3, which ends at 4,000, is the first above it
		{2.9, math.NaN(), 0},
	} {
		res := compared(t, c.threshold, map[string][]float64{"a": {2, 2}}, "a")
		x, steps := res.Variants[0], math.NaN()
		if x.Steps != nil {
			steps = *x.Steps
		}
		if x.Reached != c.reached || !(math.Abs(steps-c.steps) <= 500) && !(math.IsNaN(steps) && math.IsNaN(c.steps)) {
			t.Errorf("threshold %v: %d seeds after %v steps, want %d after about %v", c.threshold, x.Reached, steps, c.reached, c.steps)
		}
	}
}

func TestOneSeedShowsNoDifference(t *testing.T) {
	c := compared(t, math.NaN(), map[string][]float64{"a": {1}, "b": {2}}, "a", "b")
	if v := c.Verdict(c.Variants[1]); v != "too few seeds to tell" {
		t.Errorf("one seed each: %q", v)
	}
	if ci := c.Improve[1][0].CI; ci[0] > 0.3 {
		t.Errorf("one seed each: the probability of improvement is between %v and %v, which claims too much", ci[0], ci[1])
	}
}

func TestComparisonPageIsWholeAndOffline(t *testing.T) {
	dir := t.TempDir()
	c := compared(t, math.NaN(), map[string][]float64{"first": {1, 1.2}, "second <one>": {2, 2.2}}, "first", "second <one>")
	c.Command = "hop compare first second"
	if err := WriteCompare(dir, c); err != nil {
		t.Fatal(err)
	}
	page := load(t, dir, "compare.html")
	if m := regexp.MustCompile(`(?i)(src|href)="?https?:|url\(|<script|@import`).FindString(page); m != "" {
		t.Errorf("the page fetches something: %s", m)
	}
	says(t, "the page", page, "second &lt;one&gt;", "prefers-color-scheme: dark", "Probability of improvement", "the reference",
		"<svg", "1.200", "hop compare first second")
	text := load(t, dir, "compare.md")
	for _, link := range regexp.MustCompile(`\]\((\S+\.png)\)`).FindAllStringSubmatch(text, -1) {
		pictures(t, filepath.Join(dir, link[1]))
	}
	if n := strings.Count(text, ".png)"); n != 6 {
		t.Errorf("the text shows %d figures, want 6", n)
	}
}

// Two seeds of which one got 0 and the other 3 have an interval from far below 0; no return of the stag hunt is.
func TestIntervalsStayWithinWhatIsPossible(t *testing.T) {
	c := compared(t, math.NaN(), map[string][]float64{"a": {0, 3}, "b": {2.5, 2.6}}, "a", "b")
	b, ok := c.Variants[0].group.Spec.Game.Bounds()
	if ci := c.Variants[0].CI; !ok || ci != b || c.Variants[0].group.Final().CI != b {
		t.Errorf("an interval of returns is %v, want all that is possible, %v", ci, b)
	}
}

func TestRunsThatWereNotScoredAreRefused(t *testing.T) {
	_, err := Compare(registry.New(), rivals(t, map[string][]float64{"a": {1, math.NaN()}}, "a"), math.NaN())
	if err == nil || !strings.Contains(err.Error(), "seed 2 of a") {
		t.Errorf("got %v, want an error that names seed 2 of a", err)
	}
}

// A headline says no order that the seeds do not carry.
func TestHeadlinesSayNoMoreThanTheSeeds(t *testing.T) {
	low, high := []float64{1, 1.1, 1.05}, []float64{2, 2.1, 2.05}
	wild := []float64{1.05, 2.8, 1.13} // the highest mean of three, by one seed
	for _, c := range []struct {
		name  string
		means map[string][]float64
		order []string
		want  string
		not   string
	}{
		{"two apart", map[string][]float64{"a": low, "b": high}, []string{"a", "b"},
			"b gets more than a on staghunt 4h1s 4x4 with 3 seeds each: 2.050 against 1.050, difference 1.000 (0.887 to 1.113).", ""},
		{"two alike", map[string][]float64{"a": low, "b": wild}, []string{"a", "b"}, "b and a cannot be told apart", "highest"},
		{"one seed", map[string][]float64{"a": {1}, "b": {2}}, []string{"a", "b"}, "One seed cannot tell variants apart", "gets more"},
		{"three, one ahead", map[string][]float64{"a": low, "b": high, "c": low}, []string{"a", "b", "c"}, "b gets more than the 2 others", ""},
		{"three, one wild", map[string][]float64{"a": low, "b": wild, "c": low}, []string{"a", "b", "c"},
			"that of b, cannot be told from any other with 3 seeds each", "gets more"},
		{"three, two wild", map[string][]float64{"a": low, "b": wild, "c": {1.6, 1.61, 1.62}}, []string{"a", "b", "c"},
			"that of b, cannot be told from any other with 3 seeds each", ""},
		{"three, the last behind", map[string][]float64{"a": low, "b": high, "c": {1.9, 2.3, 1.9}}, []string{"a", "b", "c"},
			"it gets more than a by 1.000 (0.838 to 1.162), but cannot be told apart from c by 0.017", ""},
	} {
		got := compared(t, math.NaN(), c.means, c.order...).Headline()
		if !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: %q, want %q in it and not %q", c.name, got, c.want, c.not)
		}
	}
}

// A comparison at another threshold is that of the same runs read anew, and the first one
// stays as it is.
func TestAComparisonAtAnotherThresholdIsReadOnce(t *testing.T) {
	list := rivals(t, map[string][]float64{"a": {1, 2, 3}, "b": {2, 3, 4}}, "a", "b")
	base, err := Compare(registry.New(), list, -1) // which all come to
	if err != nil {
		t.Fatal(err)
	}
	was := base.Variants[0].Reached
	for _, threshold := range []float64{-1, 1.5, 2, 99, math.NaN()} {
		want, err := Compare(registry.New(), list, threshold)
		if err != nil {
			t.Fatal(err)
		}
		got := base.At(threshold)
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if string(a) != string(b) || got.Headline() != want.Headline() {
			t.Errorf("at %v: %s\nwant %s", threshold, b, a)
		}
	}
	if base.Variants[0].Reached != was {
		t.Error("the first comparison has changed")
	}
}

// A threshold is come to from below: a curve that begins above it says nothing of how fast that was.
func TestHowFastIsSaidOnlyOfCurvesThatRise(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	xs := []float64{10, 20, 30, 40}
	for _, c := range []struct {
		name  string
		curve []float64
		want  float64
	}{
		{"rises", []float64{0, 1, 2, 3}, 30},
		{"stays below", []float64{0, 1, 1, 1}, inf},
		{"falls through", []float64{3, 2, 1, 0}, nan},
		{"falls and rises again", []float64{3, 1, 2, 3}, nan},
		{"is not known at first", []float64{nan, 1, 2, 3}, 30},
	} {
		if got := rise(xs, c.curve, 2); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("a curve that %s comes to 2 at %v, want %v", c.name, got, c.want)
		}
	}
	c := compared(t, -9, map[string][]float64{"a": {1, 2}}, "a")
	if x := c.Variants[0]; x.Reached != 0 || x.Above != 2 || x.Steps != nil ||
		!strings.Contains(strings.Join(c.Notes, " "), "a begins above a return of -9.000 in 2 of its 2 seeds") {
		t.Errorf("curves above a threshold: %d reached it, %d above, steps %v, notes %q", x.Reached, x.Above, x.Steps, c.Notes)
	}
	if again := c.At(99); len(again.Notes) > 0 {
		t.Errorf("at another threshold the notes of the first one are still there: %q", again.Notes)
	}
}

func TestUnequalSeedsAreNamed(t *testing.T) {
	c := compared(t, math.NaN(), map[string][]float64{"a": {1, 2, 1}, "b": {2}}, "a", "b")
	if len(c.Notes) == 0 || c.Notes[0] != "Variants have different seeds: a has 1-3; b has 1." {
		t.Errorf("notes: %q", c.Notes)
	}
}

func TestRunsOfDifferentGamesAreNotCompared(t *testing.T) {
	list := rivals(t, map[string][]float64{"a": {1}, "b": {2}}, "a", "b")
	name := filepath.Join(list[1].Dirs[0], "spec.yaml")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), "stags: 1,", "stags: 1, stag_pays: 20,", 1))
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = Compare(registry.New(), list, math.NaN())
	if err == nil || !strings.Contains(err.Error(), "a and b play different games: game.stag_pays (10 and 20)") {
		t.Errorf("payoffs differ: %v", err)
	}
}
