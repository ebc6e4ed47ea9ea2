package gametest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
)

// faults lists for each check the faults that it must find in the toy.
var faults = map[string][]string{
	"spec":        {"two actions of one name", "a Goaler without goals", "a mask too short", "a bot under another name"},
	"horizon":     {"plays on after the horizon", "cut and not over"},
	"determinism": {"Reset counts", "Reset leaves things about", "states share the board"},
	"arguments":   {"keeps the actions", "changes the actions", "rewards left as they were", "draws in Step"},
	"legal": {
		"a wall that gives way", "refuses a legal action", "refuses with an error", "the living may pass",
		"who has left may act", "plays on when over", "no legal action", "part of the mask not written", "a mask for who has left",
	},
	"leaving": {"comes back", "paid after leaving", "alive once over"},
	"finite":  {"an infinite reward", "an infinite feature"},
	"kind":    {"claims to be cooperative", "claims to be zero-sum"},
	"goals":   {"a goal beyond the list", "reached for ever"},
	"layout": {"part of the observation not written", "a plane of 2", "observes another's mask", "observes the next time",
		"last actions in the order of seats", "who has left still stays"},
	"view":      {"sees beyond its view", "does not see what is in view", "hears who acts far away", "counts what is far away"},
	"ego-first": {"planes in the order of seats"},
	"copy": {"copies share memory", "a copy forgets the last actions", "a copy adds to what was there",
		"a copy forgets what nobody sees"},
	"text": {"a text without the last actions", "a text adds to what was there", "cannot read its own text",
		"what was read is taken for the same episode"},
	"allocations": {"Step allocates", "allocates when first needed", "a bot allocates"},
	"bots": {
		"a bot acts illegally", "a bot acts otherwise than it says", "a bot changes the state",
		"a bot's probabilities sum to two", "a bot gives chances to illegal actions",
	},
	"reads":       {"a bot acts by what it does not say"},
	"permutation": {"the lowest seat takes it all"},
	"seats":       {"the lowest seat takes it all", "seat 0 starts on a berry"},
	"goroutines":  {"one goroutine at a time"},
}

func TestHonestGamePasses(t *testing.T) { Run(t, &toy{}) }

func TestEveryCheckObjectsToItsFaults(t *testing.T) {
	for _, c := range Checks {
		if len(faults[c.Name]) == 0 {
			t.Errorf("check %s has no fault that proves it", c.Name)
		}
		for _, fault := range faults[c.Name] {
			t.Run(c.Name+"/"+fault, func(t *testing.T) {
				var g game.Game = &toy{fault: fault}
				if c.Name == "view" {
					g = partial{&toy{fault: fault}}
				}
				err := c.Try(g)
				if _, skipped := err.(DoesNotApply); err == nil || skipped {
					t.Errorf("check %q found nothing wrong with a game that has the fault %q", c.Name, fault)
				}
				t.Log(err)
			})
		}
	}
}

// misdeclared is the honest toy under a false Spec.
type misdeclared struct {
	*toy
	change func(s *game.Spec)
}

func (g misdeclared) Spec() game.Spec {
	s := g.toy.Spec()
	g.change(&s)
	return s
}

func TestFalseSpecsAreNamed(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(s *game.Spec)
	}{
		{"has no name", func(s *game.Spec) { s.Name = "" }},
		{"kind is 3", func(s *game.Spec) { s.Kind = 3 }},
		{"0 seats", func(s *game.Spec) { s.Seats = 0 }},
		{"horizon is 0", func(s *game.Spec) { s.Horizon = 0 }},
		{"0 actions", func(s *game.Spec) { s.Actions = nil }},
		{"17 actions", func(s *game.Spec) { s.Actions = make([]string, 17) }},
		{"one of the actions has no name", func(s *game.Spec) { s.Actions[2] = "" }},
		{"negative size", func(s *game.Spec) { s.Obs.Features = -1 }},
		{"1x0 with 4 planes", func(s *game.Spec) { s.Obs.Width = 0 }},
		{"two planes", func(s *game.Spec) { s.Obs.Planes = []string{"a", "b", "c", "a"} }},
		{"2 times", func(s *game.Spec) { s.Obs.Time = 2 }},
		{"2 last actions", func(s *game.Spec) { s.Obs.Last = 2 }},
		{"last actions of no width", func(s *game.Spec) { s.Obs.Legal = 0 }},
		{"observation is empty", func(s *game.Spec) { s.Obs = game.Layout{} }},
		{"two goals", func(s *game.Spec) { s.Goals = []string{"berry", "berry"} }},
		{"an empty list", func(s *game.Spec) { s.Goals = []string{} }},
	} {
		if err := checkSpec(misdeclared{&toy{}, c.change}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want an error that says %q", err, c.want)
		}
	}
}

// Steps that draw nothing are held to exact symmetry in games of chance too.
func TestGamesOfChanceArePermuted(t *testing.T) {
	chance := func(s *game.Spec) { s.Deterministic = false }
	for fault, want := range map[string]string{
		"": "<nil>", "the lowest seat takes it all": "is paid", "draws in Step": "every step draws", "seat 0 draws": "the step draws",
	} {
		if err := checkPermutation(misdeclared{&toy{fault: fault}, chance}); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("fault %q: got %v, want %s", fault, err, want)
		}
	}
}

func TestFirstDifferenceIsShown(t *testing.T) {
	for _, c := range []struct{ name, got, want, line string }{
		{"equal", "a\nb\n", "a\nb\n", ""},
		{"changed", "a\nb\n", "a\nc\n", "line 2:\ngot  b\nwant c"},
		{"longer", "a\nb", "a", "line 2:\ngot  b\nwant (end)"},
		{"shorter", "a", "a\nb", "line 2:\ngot  (end)\nwant b"},
	} {
		got := ""
		if err := firstDifference([]byte(c.got), []byte(c.want)); err != nil {
			got = err.Error()
		}
		if got != c.line {
			t.Errorf("%s: got %q, want %q", c.name, got, c.line)
		}
	}
}

func TestRecordRefusesATeamThatCannotPlay(t *testing.T) {
	for _, team := range [][]string{{"random"}, {"random", "random", "wolf"}} {
		if _, err := Record(&toy{}, team, 1); err == nil {
			t.Errorf("team %v was recorded", team)
		}
	}
	a, err := Record(&toy{}, []string{"random", "lefty", "lefty"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := Record(&toy{}, []string{"random", "lefty", "lefty"}, 2)
	if err := firstDifference(a, b); err == nil || !strings.Contains(err.Error(), "line 1:") {
		t.Errorf("two seeds differ in %v, want the first line", err)
	}
}

// A sound game is refused with the stated probability and not more: over many
// seeds the p-values of the honest toy are uniform. 400 of them below 0.1 are 40
// with a standard error of 6; 15 to 65 is 4 of them either way. The
// doubling of the smaller of two p-values that are not independent costs some.
func TestSeatsPValuesAreHonest(t *testing.T) {
	low := 0
	for seed := range uint64(400) {
		if p, _ := CompareSeats(&toy{}, (&toy{}).Bots()[0], 100, seed); p < 0.1 {
			low++
		}
	}
	t.Logf("%d of 400 p-values below 0.1", low)
	if low < 15 || low > 65 {
		t.Errorf("%d of 400 p-values below 0.1, want 15 to 65", low)
	}
}

// Critical values from the usual tables of the chi-square law.
func TestChiSquareTail(t *testing.T) {
	for _, c := range []struct {
		x    float64
		df   int
		want float64
	}{
		{3.841459, 1, 0.05}, {5.991465, 2, 0.05}, {7.814728, 3, 0.05}, {9.487729, 4, 0.05},
		{16.266236, 3, 0.001}, {20.515006, 5, 0.001}, {24.321886, 7, 0.001}, {0, 3, 1},
	} {
		if got := chiSquareTail(c.x, c.df); math.Abs(got-c.want) > 1e-6*math.Max(1, c.want) {
			t.Errorf("chiSquareTail(%v, %d) = %.7f, want %v", c.x, c.df, got, c.want)
		}
	}
}
