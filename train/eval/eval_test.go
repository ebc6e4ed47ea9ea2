package eval_test

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train/eval"
)

func team(t *testing.T, names ...string) (game.Game, []eval.Member) {
	t.Helper()
	g := gametest.New(t, staghunt.New, staghunt.Default())
	var members []eval.Member
	for _, n := range names {
		members = append(members, eval.Bot(g, n))
	}
	return g, members
}

// Every lane plays its quota and no more: lanes with short episodes do not weigh
// more than the others.
func TestLanesPlayEquallyMany(t *testing.T) {
	g, members := team(t, "ns", "nh", "nh", "random")
	played := map[int]int{}
	res, err := eval.Run(context.Background(), eval.Config{
		Game: g, Team: members, Episodes: 103, Lanes: 10, Key: rng.New(1),
		Each: func(ep rollout.Episode) { played[ep.Env]++ },
	})
	must(t, err)
	for lane := range 10 {
		want := 10
		if lane < 3 {
			want = 11
		}
		if played[lane] != want {
			t.Errorf("lane %d counted %d episodes, want %d", lane, played[lane], want)
		}
	}
	if res.Mean.N() != 103 || res.Return[2].N() != 103 {
		t.Errorf("%d and %d episodes were counted, want 103", res.Mean.N(), res.Return[2].N())
	}
}

// Progress goes on within a window, from one goroutine, and changes no number.
func TestProgressIsSeenWithinAWindow(t *testing.T) {
	g, members := team(t, "ns", "nh", "nh", "random")
	c := eval.Config{Game: g, Team: members, Episodes: 40, Lanes: 40, Key: rng.New(1), Workers: 2} // all of them in one window
	silent, err := eval.Run(t.Context(), c)
	must(t, err)
	var done []int
	c.Progress = func(n, total int) {
		if total != 40 {
			t.Errorf("%d of %d episodes, want 40", n, total)
		}
		done = append(done, n)
	}
	res, err := eval.Run(t.Context(), c)
	must(t, err)
	if len(done) < 5 || !slices.IsSorted(done) || done[len(done)-1] != 40 {
		t.Errorf("told %v, want several numbers up to 40", done)
	}
	if res.Mean != silent.Mean {
		t.Errorf("the mean is %v with progress, %v without", res.Mean.Mean(), silent.Mean.Mean())
	}
}

// Only the episodes that end in the last steps of a life are scored, and a life
// ends when its steps are played.
func TestAdaptationScoresTheLastSteps(t *testing.T) {
	g, members := team(t, "nh", "nh", "nh", "nh")
	c := eval.Adaptation{Game: g, Team: members, Lives: 3, Steps: 300, Last: 100, Key: rng.New(2)}
	res, err := c.Run(context.Background())
	must(t, err)
	if res.Score.N() != 3 || res.First.N() != 3 || res.Curve[0].N() != 3 {
		t.Errorf("%d scores, %d first episodes, want one a life", res.Score.N(), res.First.N())
	}
	sum := 0
	for _, x := range res.Curve {
		sum += x.N()
	}
	if sum != res.Played || math.Abs(res.Score.Mean()-0.86) > 0.15 {
		t.Errorf("%d of %d episodes on the curve, score %.3f, want about .86", sum, res.Played, res.Score.Mean())
	}
	c.Last = 301
	if _, err := c.Run(context.Background()); err == nil {
		t.Error("more last steps than steps were accepted")
	}
}

// counted counts at how many rows a player acts.
type counted struct {
	rollout.Player
	rows *atomic.Int64
}

func (c counted) Act(v *rollout.View, envs []int32) {
	c.rows.Add(int64(len(envs)))
	c.Player.Act(v, envs)
}

func counting(m eval.Member, rows *atomic.Int64) eval.Member {
	players := m.Players
	m.Players = func(workers, lanes int) ([]rollout.Player, error) {
		list, err := players(workers, lanes)
		for i := range list {
			list[i] = counted{list[i], rows}
		}
		return list, err
	}
	return m
}

// Nobody plays beyond the episodes that are wanted: searches take long.
func TestCopiesRestWhenTheirEpisodesArePlayed(t *testing.T) {
	for _, workers := range []int{1, 3} {
		g, members := team(t, "ns", "nh", "nh", "random")
		var rows atomic.Int64
		members[0] = counting(members[0], &rows)
		res, err := eval.Run(t.Context(), eval.Config{Game: g, Team: members, Episodes: 50, Lanes: 40, Key: rng.New(1), Workers: workers})
		must(t, err)
		if want := res.Life[0].Mean() * 50; math.Abs(want-float64(rows.Load())) > 1e-6 {
			t.Errorf("%d workers: member 0 acted %d times, in its episodes %v times", workers, rows.Load(), want)
		}
		rows.Store(0)
		life := eval.Adaptation{Game: g, Team: members, Lives: 5, Steps: 90, Last: 30, Key: rng.New(2), Workers: workers}
		lived, err := life.Run(t.Context())
		must(t, err)
		steps := 0
		for _, e := range lived.Episodes {
			steps += e.Steps
		}
		if int(rows.Load()) > steps {
			t.Errorf("%d workers: member 0 acted %d times in lives of %d steps", workers, rows.Load(), steps)
		}
	}
}
