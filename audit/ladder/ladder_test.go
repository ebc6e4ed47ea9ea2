package ladder

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// trained trains a preset for a moment and returns the run's folder.
func trained(t *testing.T, preset string, sets ...string) string {
	t.Helper()
	return spectest.Play(t, spectest.With(t, "base: "+preset, sets...), 1, 1).Dir
}

// The ladder's differences add up, its top is the best response, and knowing the
// truth takes a planner whose models have learnt nothing most of the way there.
func TestLadderAddsUp(t *testing.T) {
	run := trained(t, "hop-4x4", "train.steps=200", "train.envs=8", "train.warm.windows=1", "search.trees=2", "search.sims=10",
		"actor.hidden=[16]", "moa.hidden=[16, 16]")
	ppo := trained(t, "ppo-4x4", "train.steps=200", "train.envs=8", "actor.hidden=[16]")
	c := Config{
		Reg: registry.New(), Runs: []string{run}, PPO: []string{ppo}, Vs: [][]string{{"nh", "nh", "nh"}, {"ns", "nh", "nh"}},
		Episodes: 10, Key: rng.New(5), Workers: 1,
	}
	var reached []int
	c.Progress = func(done, total int) { reached = append(reached, 1000*done/total) }
	res, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.
	for _, d := range res.Deltas {
		sum += d.Delta
		if d.CI[0] > d.Delta || d.CI[1] < d.Delta {
			t.Errorf("%s: %.3f lies outside of its interval %v", d.To, d.Delta, d.CI)
		}
	}
	if math.Abs(sum-res.Gap.Delta) > 1e-9 {
		t.Errorf("differences add up to %v, the gap is %v", sum, res.Gap.Delta)
	}
	by := map[string]Step{}
	for _, s := range res.Rungs {
		by[s.Name] = s
	}
	best := by["best response"].Mean.Mean
	for _, s := range res.Rungs {
		if s.Mean.Mean > best+0.15 {
			t.Errorf("%s gets %.3f, more than the best response, %.3f", s.Name, s.Mean.Mean, best)
		}
	}
	if got := by["+ true policies"].Mean.Mean; got < 0.9*best {
		t.Errorf("a planner that knows everything gets %.3f, the best response %.3f", got, best)
	}
	if got := by["its network alone"].Mean.Mean; got > 0.8*best {
		t.Errorf("an untrained network gets %.3f of %.3f: is it the network that plays?", got, best)
	}
	one, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	c.Workers = 3
	res, err = Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if three, err := json.Marshal(res); err != nil || string(three) != string(one) {
		t.Errorf("three workers: %s, %v\nwant %s", three, err, one)
	}
	half := len(reached) / 2
	for i, list := range [][]int{reached[:half], reached[half:]} {
		if len(list) < 20 || list[0] > 100 || !slices.IsSorted(list) || list[len(list)-1] != 1000 {
			t.Errorf("time %d: progress went %v", i, list)
		}
	}
	c.Vs = [][]string{{"nh", "nh", "nh"}, {"ns", "nobody", "nh"}, {"noone", "ns", "ns"}} // the first in order is said
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("a ladder that is stopped ends with %v", err)
	}
	if _, err := Run(context.Background(), c); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("co-players that there are not: %v", err)
	}
}

// Every module is a rung of the agents that have it, and only of those.
func TestRungsFollowTheSpec(t *testing.T) {
	load := func(preset string, sets ...string) spec.Spec {
		s, err := registry.New().Load(preset, sets)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	names := func(s spec.Spec) (names []string) {
		list, err := Rungs(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			names = append(names, r.Name)
		}
		return names
	}
	for _, c := range []struct {
		sets      []string
		has, lack []string
	}{
		{nil, []string{
			"its network alone", "model of others, no inference", "as trained", "+ true goals", "+ true policies", "best response",
		}, []string{"+ true rules", "+ scripted leaves"}},
		{[]string{"goals.kind=none"}, []string{"planner, others at random", "+ true policies"},
			[]string{"model of others, no inference", "+ true goals"}},
		{[]string{"leaf.kind=net"}, []string{"+ scripted leaves"}, nil},
		{[]string{"search.others=uniform"}, []string{"its network alone"}, []string{"planner, others at random"}},
	} {
		got := names(load("hop-4x4", c.sets...))
		for _, want := range c.has {
			if !slices.Contains(got, want) {
				t.Errorf("%v: there is no rung %q in %q", c.sets, want, got)
			}
		}
		for _, not := range c.lack {
			if slices.Contains(got, not) {
				t.Errorf("%v: there is a rung %q", c.sets, not)
			}
		}
	}
	plus := load("hop-4x4")
	planner, ok := spec.SettingsAs[*hop.Config](&plus)
	if !ok {
		t.Fatal("hop-4x4 does not plan")
	}
	planner.Goals.Kind, planner.Search.Dynamics = "latent", "world" // as a run with models has it
	for _, c := range []struct {
		leaf     string
		partners []string
	}{{"net", planner.Leaf.Partners}, {"response", nil}, {"response", planner.Leaf.Partners}} {
		planner.Leaf.Kind, planner.Leaf.Partners = c.leaf, c.partners
		want := []string{
			"PPO agent", "its network alone", "planner, others at random", "model of others, no inference", "as trained",
			"+ true rules", "+ true policies", "+ scripted leaves", "+ 8 times the search", "best response",
		}
		if c.leaf == "net" || c.partners == nil { // scripts would be other hypotheses
			want = slices.Delete(want, 7, 8)
		}
		if got := names(plus); !slices.Equal(got, want) {
			t.Errorf("HOP+ on a world model with leaves by %s and partners %v has rungs %q, want %q", c.leaf, c.partners, got, want)
		}
	}
	if _, err := Rungs(load("ppo-4x4")); err == nil || !strings.Contains(err.Error(), "do not plan") {
		t.Errorf("PPO agents: got %v, want an error that they do not plan", err)
	}
}

// The single replacement that is named is the best of those beyond chance.
func TestBestSingleIsNamed(t *testing.T) {
	rungs := []Rung{{Name: "PPO agent"}, {Name: "as trained"}, {Name: "best response", Oracle: true}}
	alone := []Rung{{Name: "small", Module: "a"}, {Name: "large", Module: "b"}, {Name: "noisy", Module: "c"}}
	at := func(mean, noise float64) [][][]float64 {
		x := make([]float64, 40)
		for e := range x {
			x[e] = mean + noise*float64(e%2*2-1)
		}
		return [][][]float64{{x}}
	}
	c := Config{Reg: registry.New(), Runs: []string{"x"}, Vs: [][]string{{"ns"}}}
	climbed := [][][][]float64{at(1, 0), at(2, 0), at(3, 0)}
	res := sum(c, rungs, climbed, alone, [][][][]float64{at(2.1, 0.1), at(2.6, 0.1), at(2.9, 9)}, 1)
	if res.Best != "large" || math.Abs(res.Singles[1].Share-0.6) > 1e-9 {
		t.Errorf("best is %q with shares %v, want large with 0.6", res.Best, res.Singles)
	}
	if !strings.Contains(res.Says, "It cannot be told apart from noisy (0.900)") || strings.Contains(res.Says, "Work on") {
		t.Errorf("it says %q, though noisy may well bring more", res.Says)
	}
	res = sum(c, rungs, climbed, alone[:2], [][][][]float64{at(2.1, 0.1), at(2.6, 0.1)}, 1)
	if !strings.Contains(res.Says, "Work on the b first") {
		t.Errorf("it says %q", res.Says)
	}
	climbed = [][][][]float64{at(1, 0), at(3, 0.5), at(3, 0)}
	res = sum(c, rungs, climbed, alone, [][][][]float64{at(3, 0.1), at(3, 0.1), at(3, 9)}, 1)
	if res.Best != "" || !strings.Contains(res.Says, "within what chance allows") {
		t.Errorf("without a gap best is %q: %s", res.Best, res.Says)
	}
}
