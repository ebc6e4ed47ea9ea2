package hop

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/search"
)

// percentile is numpy's of a list: the value at q (n-1) / 100, on the line between neighbours.
func percentile(list []float32, q float64) float64 {
	s := slices.Sorted(slices.Values(list))
	at := q / 100 * float64(len(s)-1)
	lo, hi := float64(s[int(math.Floor(at))]), float64(s[int(math.Ceil(at))])
	return lo + (at-math.Floor(at))*(hi-lo)
}

func TestRewardsAreRankedAmongTheLastThousand(t *testing.T) {
	r, x := rng.New(5).Rand(), []float32{0, 1, 2.5, 10. / 3, 5}
	for _, q := range []float64{1, 50, 75, 99.5, 100} {
		ranked, all := ranks{percentile: q}, []float32(nil)
		for i := range 2500 {
			last := x[int(r.Float64()*float64(min(len(x), 1+i/400)))]
			ranked.add(last)
			if all = append(all, last); len(all) > 1000 {
				all = all[1:]
			}
			want := float32(-1)
			if float64(last) >= percentile(all, q) {
				want = 1
			}
			if got := ranked.of(last); got != want {
				t.Fatalf("percentile %v, episode %d: %v counts %v, want %v", q, i, last, got, want)
			}
		}
	}
}

// A window of one env: an episode with 1 along the way and 5 in the end, one that ends with
// 2, one that a stand-in plays to its end, and one that the window cuts.
func TestOnlyOwnLastRewardsCount(t *testing.T) {
	g := hunt(t, 12)
	m, _ := makeMind(t, g, 0, 1, func(c *Config) { c.Rank = 75 })
	ro := batch.New(batch.Shape{Agents: 4, Steps: 6, Envs: 1, ObsLen: g.Spec().Obs.Len(), Actions: 7})
	copy(ro.Reward, []float32{1, 5, 2, 9, 0, 3})
	copy(ro.End, []batch.End{batch.Going, batch.Exited, batch.Exited, batch.Exited, batch.Going, batch.Cut})
	copy(ro.Own, []bool{true, true, true, false, true, true})
	w := &learner.Window{Rollout: ro, Rewards: learner.Rewards{Scale: 0.5}}
	plus := m.own.ranks.more(&update{window: w}, m.sees, 0.5)
	got := make([]float32, 6)
	w.Rewards.Apply(got, ro, 0)
	for i := range got {
		got[i] += plus[i]
	}
	// Of {5} the percentile is 5; of {5, 2} it is 4.25.
	if want := []float32{0, 0.5, -0.5, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("ranked rewards are %v, want %v", got, want)
	}
}

// twoSteps pays 3 along the way and 4 in the end.
type twoSteps struct{ search.Dynamics }

func (twoSteps) Expand(leaves []search.Leaf, _ []int32, _ []rng.Rand) {
	for i := range leaves {
		leaves[i].Reward, leaves[i].Over = float32(3+i), i == 1
	}
}

func TestASearchEarnsRankedRewards(t *testing.T) {
	for _, c := range []struct{ seen, want float32 }{{4, 1}, {5, -1}} {
		r := ranks{percentile: 100}
		r.add(c.seen)
		leaves := make([]search.Leaf, 2)
		rankedRules{twoSteps{}, &r}.Expand(leaves, nil, nil)
		if leaves[0].Reward != 0 || leaves[1].Reward != c.want {
			t.Errorf("after %v: rewards %v and %v, want 0 and %v", c.seen, leaves[0].Reward, leaves[1].Reward, c.want)
		}
	}
}

func TestRankedRewardsComeBack(t *testing.T) {
	r, back, f := ranks{percentile: 75}, ranks{percentile: 75}, &safetensors.File{}
	for i := range 1200 {
		r.add(float32(i % 7))
	}
	r.save(f, "x/")
	if err := back.load(f, "x/"); err != nil || !slices.Equal(back.recent, r.recent) || !slices.Equal(back.sorted, r.sorted) {
		t.Errorf("%d of %d rewards come back, %v", len(back.recent), len(r.recent), err)
	}
}
