package train_test

import (
	"math"
	"strings"
	"testing"

	"hop/agent"
	"hop/game"
	"hop/registry"
	"hop/rng"
)

// What planners learnt about each other is in their run's folder: it says what
// every other one would do for a goal, from its own place, and nothing of oneself.
func TestWhatPlannersKnowOfEachOtherIsLoaded(t *testing.T) {
	_, dir := play(t, planner, 3, 1)
	about, err := registry.New().LoadAbout(dir)
	if err != nil {
		t.Fatal(err)
	}
	agents, err := registry.New().LoadAgents(dir)
	if err != nil {
		t.Fatal(err)
	}
	spec, r := agents.Game.Spec(), rng.New(1).Rand()
	st := agents.Game.New()
	st.Reset(&r)
	obs, probs, legal := make([]float32, spec.Obs.Len()), make([]float32, len(spec.Actions)), make([]bool, len(spec.Actions))
	st.Observe(1, obs)
	st.Legal(1, legal)
	if len(about) != spec.Seats {
		t.Fatalf("%d agents know something, want %d", len(about), spec.Seats)
	}
	var stag []float32
	for goal := range spec.Goals {
		if !about[0](probs, obs, 1, goal) {
			t.Fatalf("agent 0 says nothing of agent 1 with goal %d", goal)
		}
		sum := 0.
		for k, p := range probs {
			if sum += float64(p); p > 0 && !legal[k] {
				t.Errorf("action %d is not legal but has probability %v", k, p)
			}
		}
		if math.Abs(sum-1) > 1e-5 {
			t.Errorf("goal %d: probabilities add up to %v", goal, sum)
		}
		if goal == 0 {
			stag = append(stag, probs...)
		}
	}
	same := true
	for k := range probs {
		same = same && probs[k] == stag[k]
	}
	if same {
		t.Error("both goals lead to the same prediction: the model is not told them")
	}
	if about[0](probs, obs, 0, 0) || about[0](probs, obs, agent.ID(1), game.NoGoal) {
		t.Error("agent 0 claims to know itself, or someone without a goal")
	}
	_, plain := play(t, small(""), 3, 1)
	if _, err := registry.New().LoadAbout(plain); err == nil || !strings.Contains(err.Error(), "do not plan") {
		t.Errorf("a run without planners gave %v, want what is missing", err)
	}
}
