package eval_test

import (
	"context"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train/eval"
)

// Those who come later play from their episode on, in every life, whatever the
// number of workers and where windows end.
func TestCoPlayersChangeAtTheirEpisode(t *testing.T) {
	g, before := team(t, "nh", "nh", "nh", "nh")
	_, after := team(t, "nh", "ns", "ns", "ns")
	var first *eval.Adapted
	for _, workers := range []int{1, 3} {
		stags := map[bool]int{} // by whether the change should have come
		c := eval.Adaptation{
			Game: g, Team: before, Then: after, At: 4, Lives: 6, Steps: 400, Last: 100, Key: rng.New(3), Workers: workers,
		}
		episode := make([]int, c.Lives)
		c.After = func(ro *batch.Rollout) error {
			for n := range ro.Envs {
				for s := range ro.Steps {
					if int(ro.Reached[ro.Step(1, s, n)]) == 0 {
						stags[episode[n] >= c.At]++
					}
					if ro.Start[ro.Moment(s+1, n)] {
						episode[n]++
					}
				}
			}
			return nil
		}
		res, err := c.Run(context.Background())
		must(t, err)
		if stags[false] != 0 || stags[true] < 10 {
			t.Errorf("%d workers: agent 1 reached %s %d times before the change and %d after, want 0 and many",
				workers, g.Spec().Goals[0], stags[false], stags[true])
		}
		if first == nil {
			first = res
		}
		if res.Score != first.Score || len(res.Episodes) != len(first.Episodes) {
			t.Errorf("%d workers: score %v, with one %v", workers, res.Score.Mean(), first.Score.Mean())
		}
	}
	for i, e := range first.Episodes[1:] {
		p := first.Episodes[i]
		if e.Life < p.Life || e.Life == p.Life && e.Index != p.Index+1 {
			t.Fatalf("episode %d of life %d follows %d of %d", e.Index, e.Life, p.Index, p.Life)
		}
	}
	if g.Spec().Goals[0] != "stag" || game.NoGoal == 0 {
		t.Fatal("the test counts the wrong goal")
	}
	if _, err := (eval.Adaptation{Game: g, Team: before, Then: after[:2], At: 4, Lives: 1, Steps: 10,
		Last: 10}).Run(context.Background()); err == nil {
		t.Error("too few successors were accepted")
	}
}

// Who lives the episodes of others' lives meets their starts, and no more of each life than was asked for.
func TestLivesOfSoManyEpisodes(t *testing.T) {
	g, members := team(t, "nh", "random", "ns", "random")
	run := func(episodes ...int) map[[2]int]eval.Lived {
		c := eval.Adaptation{Game: g, Team: members, Lives: len(episodes), Episodes: episodes, Key: rng.New(3), Workers: 2}
		res, err := c.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lived := map[[2]int]eval.Lived{}
		for _, e := range res.Episodes {
			lived[[2]int{e.Life, e.Index}] = e
		}
		return lived
	}
	all, some := run(9, 9, 9), run(9, 2, 5)
	if len(all) != 27 || len(some) != 16 {
		t.Fatalf("%d and %d episodes, want 27 and 16", len(all), len(some))
	}
	for at, e := range some {
		if all[at] != e {
			t.Errorf("life %d, episode %d: %v, among longer lives %v", at[0], at[1], e, all[at])
		}
	}
	if _, err := (eval.Adaptation{Game: g, Team: members, Lives: 2, Episodes: []int{3}, Key: rng.New(3)}).Run(t.Context()); err == nil {
		t.Error("one life of two has no end, and nobody says so")
	}
}
