package belief

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) < 1e-9 })
}

var all = []bool{true, true, true, true}

// like is the likelihood table [2][4] of two goals.
var like = []float32{.5, .5, 0, 0, 0, .25, .25, .5}

func TestUpdateIsBayesRule(t *testing.T) {
	for _, tc := range []struct {
		name   string
		eps    float64
		action int32
		from   []float64
		want   []float64
	}{
		{"both possible", 0, 1, []float64{.5, .5}, []float64{2. / 3, 1. / 3}},
		{"from a prior", 0, 1, []float64{.2, .8}, []float64{.1 / .3, .2 / .3}},
		{"one impossible", 0, 3, []float64{.5, .5}, []float64{0, 1}},
		{"smoothed", .2, 3, []float64{.5, .5}, []float64{.05 / (.05 + .45), .45 / (.05 + .45)}},
		{"all zero: those still possible get equal weight", 0, 2, []float64{1, 0}, []float64{1, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := New(Config{Within: true, Smooth: tc.eps}, 2, 3, 2)
			copy(b.At(1, 2), tc.from)
			b.Update(1, 2, like, all, tc.action)
			if got := b.At(1, 2); !near(got, tc.want) {
				t.Errorf("belief is %v, want %v", got, tc.want)
			}
			if !near(b.At(1, 1), []float64{.5, .5}) || !near(b.At(0, 2), []float64{.5, .5}) {
				t.Error("an update of one co-player in one env changed another's")
			}
		})
	}
}

func TestAllZeroResetsOnlyWhatIsPossible(t *testing.T) {
	b := New(Config{Within: true}, 1, 1, 3)
	copy(b.At(0, 0), []float64{.9, .1, 0})
	b.Update(0, 0, []float32{0, 1, 0, 1, 1, 0}, []bool{true, true}, 0)
	if got := b.At(0, 0); !near(got, []float64{.5, .5, 0}) {
		t.Errorf("belief is %v, want [.5 .5 0]", got)
	}
}

// Lives of beliefs, of which some are masked, ablated or count evidence, are those of the
// reference, which keeps one env.
func TestBeliefsFollowTheDefinition(t *testing.T) {
	const others, goals, actions = 2, 3, 4
	for _, c := range []Config{
		{Within: true, Across: true, Decay: .9, Count: "goal", Smooth: .2},
		{Within: true, Across: true, Decay: .98, Count: "evidence", Smooth: .01},
		{Within: true, Across: true, Decay: .98, Count: "goal"},
		{Across: true, Decay: .9, Count: "goal", Smooth: .2},
		{Within: true, Decay: .9, Count: "evidence", Smooth: .2},
	} {
		settings := reference.BeliefSettings{Within: c.Within, Across: c.Across, Decay: c.Decay, Smooth: c.Smooth, Count: c.Count}
		prior := []float64{.5, .3, .2}
		want := &reference.Beliefs{BeliefSettings: settings, New: prior}
		b := New(c, 1, others, goals)
		b.Meet(prior)
		for range others {
			want.B = append(want.B, slices.Clone(prior))
			first := make([]float64, goals)
			for g, p := range prior {
				first[g] = p * goals * .5 / (1 - c.Decay)
			}
			want.C = append(want.C, first)
		}
		r := rng.New(4).Rand()
		for episode := range 30 {
			b.Start(0)
			for j := range others {
				want.Begin(j)
				for range 5 {
					probs, legal, action := draw(&r, goals, actions)
					b.Update(0, j, probs, legal, action)
					want.Did(j, probs, action)
					if !near(b.At(0, j), want.B[j]) {
						t.Fatalf("%+v, episode %d: the belief is %v, want %v", c, episode, b.At(0, j), want.B[j])
					}
				}
				goal := r.IntN(goals+1) - 1
				if goal < 0 {
					goal = game.NoGoal
				}
				b.Over(0, j, goal)
				want.Over(j, goal)
				if !near(b.Counts(j), want.C[j]) {
					t.Fatalf("%+v, episode %d: the counts are %v, want %v", c, episode, b.Counts(j), want.C[j])
				}
			}
		}
	}
}

// draw draws likelihoods over legal actions, of which the last goal excludes none, and what is done.
func draw(r *rng.Rand, goals, actions int) (probs []float32, legal []bool, action int32) {
	probs, legal = make([]float32, goals*actions), make([]bool, actions)
	action = int32(r.IntN(actions))
	for k := range legal {
		legal[k] = k == int(action) || r.IntN(3) > 0
	}
	for g := range goals {
		sum := float32(0)
		for k, ok := range legal {
			if ok && (g == goals-1 || r.IntN(2) == 0) {
				probs[g*actions+k] = .1 + float32(r.Float64())
				sum += probs[g*actions+k]
			}
		}
		for k := range legal {
			probs[g*actions+k] /= max(sum, 1e-9)
		}
	}
	return probs, legal, action
}

func TestAgentsThatLeftTeachNothing(t *testing.T) {
	b := New(Default(), 1, 1, 2)
	b.Update(0, 0, like, make([]bool, 4), game.NoAction)
	b.Update(0, 0, like, []bool{true, true, true, false}, 3)
	if got := b.At(0, 0); !near(got, []float64{.5, .5}) {
		t.Errorf("belief is %v, want equal", got)
	}
}

// HOP's counters move the prior from .5 to about .65 in 70 episodes.
func TestPriorMovesAsHOPs(t *testing.T) {
	b := New(Default(), 1, 1, 2)
	for range 70 {
		b.Seen(0, 0)
	}
	b.Start(0)
	if got := b.At(0, 0)[0]; math.Abs(got-.648) > .001 {
		t.Errorf("after 70 stags the prior is %v, want .648", got)
	}
}

func TestDrawFollowsTheBelief(t *testing.T) {
	b := New(Default(), 1, 2, 3)
	copy(b.At(0, 0), []float64{0, .25, .75})
	copy(b.At(0, 1), []float64{1, 0, 0})
	r := rng.New(1).Rand()
	dst, n := make([]int32, 2), [3]int{}
	const draws = 10000 // the share's deviation is .0043; 5 of them: one false alarm in 2 million
	for range draws {
		b.Draw(dst, 0, &r)
		n[dst[0]]++
		if dst[1] != 0 {
			t.Fatalf("a goal of probability 0 was drawn: %d", dst[1])
		}
	}
	if n[0] != 0 || math.Abs(float64(n[2])/draws-.75) > .022 {
		t.Errorf("drew %v of 10000, want 0, 2500, 7500", n)
	}
}

func TestBinaryFormRestoresEverything(t *testing.T) {
	a, b := New(Default(), 2, 3, 2), New(Default(), 2, 3, 2)
	a.Update(1, 2, like, all, 1)
	a.Seen(0, 1)
	body, err := a.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.UnmarshalBinary(body); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.b, b.b) || !slices.Equal(a.c, b.c) {
		t.Error("what was loaded is not what was saved")
	}
	if err := New(Default(), 3, 2, 2).UnmarshalBinary(body); err == nil ||
		!strings.Contains(err.Error(), "sizes") && !strings.Contains(err.Error(), "bytes") {
		t.Errorf("beliefs of another size were loaded: %v", err)
	}
	body[len(body)-1] = 0xff
	if err := b.UnmarshalBinary(body); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a negative count was loaded: %v", err)
	}
	if !slices.Equal(a.b, b.b) {
		t.Error("a failed load changed something")
	}
}

func TestNothingAllocates(t *testing.T) {
	b := New(Default(), 2, 3, 2)
	r := rng.New(1).Rand()
	dst := make([]int32, 3)
	if n := testing.AllocsPerRun(10, func() {
		b.Start(0)
		b.Update(0, 1, like, all, 1)
		b.Draw(dst, 0, &r)
		b.Seen(1, 0)
	}); n != 0 {
		t.Errorf("a step allocates %v times, want 0", n)
	}
}

// Counting evidence, somebody who acts at random is remembered as such although it
// reached a goal; counting goals it is forgotten. And evidence is of the episode
// alone: one in which nothing was seen adds equal weights, whatever was believed.
func TestCountingEvidenceRemembersThoseWithoutPurpose(t *testing.T) {
	legal := []bool{true, true, true, true}
	probs := []float32{1, 0, 0, 0, 0, 1, 0, 0, 0.25, 0.25, 0.25, 0.25} // for the first, the second, at random
	for _, c := range []struct {
		count string
		want  float64 // prior of acting at random after ten episodes
	}{{"goal", 0.04}, {"evidence", 0.87}} {
		cfg := Default()
		cfg.Decay, cfg.Count = 0.8, c.count
		b := New(cfg, 1, 1, 3)
		for range 10 {
			b.Start(0)
			for _, action := range []int32{1, 2} { // towards the second, then for nothing
				b.Update(0, 0, probs, legal, action)
			}
			b.Over(0, 0, 1)
		}
		var prior [3]float64
		b.Prior(0, prior[:])
		if math.Abs(prior[2]-c.want) > 0.04 {
			t.Errorf("counting by %s, the prior of acting at random is %.3f, want about %.2f", c.count, prior[2], c.want)
		}
		if c.count == "goal" {
			continue
		}
		before := b.Counts(0)[0]
		b.Start(0)
		b.Over(0, 0, game.NoGoal)
		if got, want := b.Counts(0)[0], 0.8*before+1./3; math.Abs(got-want) > 1e-9 {
			t.Errorf("an episode in which nothing was seen brought a count from %.4f to %.4f, want %.4f", before, got, want)
		}
	}
}
