package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/registry"
)

// warmed is a run whose first seven windows of ten are of the warm-up.
func warmed() tiny {
	return tiny{train: ", warm: {windows: 7, who: [ns, nh]}", more: "goal/explained loose moa/ce"}
}

// What bots get in the warm-up is in no curve and in no number about the agents,
// and is said to be theirs; what agents learn then is.
func TestWarmUpIsNotTheAgents(t *testing.T) {
	g := gathered(t, warmed(), warmed())
	d := g.grid()
	for _, k := range []key{meanReturn, {"return", 0}, {"goal/stag", 3}} {
		b := g.bundle(d, k)
		for i, x := range d.xs() {
			if v := b.mean[i]; math.IsNaN(v) != (x < 8000) {
				t.Errorf("%s is %v at step %.0f", k.name, v, x)
			}
		}
	}
	if b := g.bundle(d, key{"moa/ce", 0}); math.IsNaN(b.mean[1]) {
		t.Error("what is learnt in the warm-up is left out")
	}
	// Curves are 1 + 0.2 w; the last fifth begins in window 8.
	if got := g.Runs[0].Last(); math.Abs(got-2.7) > 1e-9 {
		t.Errorf("the last fifth is %v, want 2.7", got)
	}
	page, text := rendered(t, g.Dir, Options{})
	for _, doc := range []string{page, text} {
		says(t, "the report", doc, "For the first 7 k env steps, shaded, bots (ns and nh) play all places and the agents learn by watching",
			"what the bots get there, 1.600 on average, is not theirs and is left out")
	}
	if n := strings.Count(page, train.WarmUp); n < 5 {
		t.Errorf("the warm-up is named %d times, want it in the legend of every figure over time", n)
	}
}

// A run that has not come out of its warm-up has no return of its own, wherever its
// last fifth begins.
func TestRunsStillInTheWarmUpHaveNoReturn(t *testing.T) {
	r := warmed()
	r.train = ", warm: {windows: 9, who: [ns, nh]}"
	if got := gathered(t, r).Runs[0].Last(); math.Abs(got-2.8) > 1e-9 { // of window 9 alone
		t.Errorf("the last fifth is %v, want 2.8", got)
	}
	r.train = ", warm: {windows: 10, who: [ns, nh]}"
	g := gathered(t, r)
	if got := g.Runs[0].Last(); !math.IsNaN(got) || g.order().Class() != "open" {
		t.Errorf("the last fifth is %v, the order %q", got, g.order().Verdict())
	}
	if !slices.ContainsFunc(g.Notes, func(s string) bool { return strings.Contains(s, "still in its "+train.WarmUp) }) {
		t.Errorf("the notes do not say so: %q", g.Notes)
	}
}

// An agent's curve is of who its title names, and the mean is over those that learn.
func TestCurvesAreOfWhoTheyName(t *testing.T) {
	g := gathered(t, tiny{bonus: []float64{0, 0, 3, 9},
		train: ", team: [learn, learn, nh, ns], switch: [{at: 4000, agent: 2, to: learn}]"})
	d := g.grid()
	for i, x := range d.xs() {
		w := math.Floor(x / 1000) // windows that end at 1,000, 2,000, ... are 0, 1, ...
		if v := g.bundle(d, key{"return", 2}).mean[i]; math.IsNaN(v) != (x < 4900) {
			t.Errorf("agent 2 learns from step 4,000 on and gets %v at %.0f", v, x)
		}
		extra := 0.
		if w > 4 {
			extra = 1 // agent 2's 3, of three
		}
		if v := g.bundle(d, meanReturn).mean[i]; x > 2000 && x < 9000 && math.Abs(v-(1+0.2*(w-1)+extra)) > 0.21 {
			t.Errorf("the learners' mean is %v at step %.0f, want about %v", v, x, 1+0.2*(w-1)+extra)
		}
	}
}

// Goals are the game's; what else is told about goals, and numbers without a module,
// are in figures of their own.
func TestFiguresShowWhatTheirTitlesSay(t *testing.T) {
	g := gathered(t, warmed())
	if want := []string{"stag", "hare", "none"}; !slices.Equal(g.Goals, want) {
		t.Errorf("goals %q, want %q", g.Goals, want)
	}
	figs := figures(g.figures())
	goals := figs.Figure("goals")
	if slices.ContainsFunc(goals.Legend, func(k plot.Key) bool { return k.Name == "explained" }) {
		t.Error("goal/explained is drawn as a goal that was reached")
	}
	for name, want := range map[string]string{"goal": "goal/explained", "other": "loose"} {
		if f := figs.Figure(name); f == nil || len(f.Panels) != 1 || f.Panels[0].Title != want {
			t.Errorf("%s is not in the figure %s: %+v", want, name, f)
		}
	}
	if f := figs.Figure("lengths"); f != nil {
		t.Errorf("%s holds %s, which is no length", f.Title, f.Panels[0].Title)
	}
	g = &group{reg: registry.New()} // the game is not known
	if got := g.goalsOf([]string{"return", "goal/stag", "goal/hare", "goal/none", "goal/explained"}); len(got) != 2 {
		t.Errorf("goals %q, want those before none", got)
	}
}
