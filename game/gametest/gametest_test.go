package gametest

import (
	"math"
	"testing"
)

// faults lists for each check the faults that it must find in the toy.
var faults = map[string][]string{
	"spec":        {"two actions of one name", "a Goaler without goals", "a mask too short", "a bot under another name"},
	"horizon":     {"plays on after the horizon"},
	"determinism": {"Reset counts", "Reset leaves things about", "states share the board"},
	"arguments":   {"keeps the actions", "changes the actions", "rewards left as they were", "draws in Step"},
	"legal": {
		"a wall that gives way", "refuses a legal action", "refuses with an error", "the living may pass",
		"who has left may act", "plays on when over", "no legal action", "part of the mask not written", "a mask for who has left",
	},
	"leaving":     {"comes back", "paid after leaving", "alive once over"},
	"finite":      {"an infinite reward", "an infinite feature"},
	"kind":        {"claims to be cooperative", "claims to be zero-sum"},
	"goals":       {"a goal beyond the list", "reached for ever"},
	"layout":      {"part of the observation not written", "a plane of 2", "observes another's mask", "observes the next time", "last actions in the order of seats", "who has left still stays"},
	"ego-first":   {"planes in the order of seats"},
	"copy":        {"copies share memory", "a copy forgets the last actions", "a copy adds to what was there"},
	"text":        {"a text without the last actions", "a text adds to what was there", "cannot read its own text", "what was read is taken for the same episode"},
	"allocations": {"Step allocates", "allocates when first needed", "a bot allocates"},
	"bots": {
		"a bot acts illegally", "a bot acts otherwise than it says", "a bot changes the state",
		"a bot's probabilities sum to two", "a bot gives chances to illegal actions",
	},
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
				err := c.Try(&toy{fault: fault})
				if err == nil {
					t.Errorf("check %q found nothing wrong with a game that has the fault %q", c.Name, fault)
				}
				t.Log(err)
			})
		}
	}
}

// Values of R's pchisq(x, df, lower.tail = FALSE).
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
