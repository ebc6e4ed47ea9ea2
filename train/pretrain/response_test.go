package pretrain_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/matrix"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/pretrain"
	"github.com/hop-marl/hop/train/pretrain/score"
)

// learnResponse trains, in a new folder, and stops after so many windows, 0: never.
func learnResponse(t *testing.T, c pretrain.ResponseConfig, g game.Game, workers, stop int) (*pretrain.Response, string) {
	t.Helper()
	return learnAmong(t, c, g, workers, stop, nil)
}

func learnAmong(t *testing.T, c pretrain.ResponseConfig, g game.Game, workers, stop int, members pretrain.Members) (*pretrain.Response,
	string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "response")
	run, err := runlog.Create(dir, []byte("{}\n"), runlog.Info{})
	must(t, err)
	defer run.Close()
	r, err := pretrain.NewResponse(c, g, 3, workers, members)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	windows := 0
	err = r.Run(ctx, run, func(pretrain.ResponseProgress) {
		if windows++; windows == stop {
			cancel()
		}
	})
	if err != nil && (stop == 0 || !errors.Is(err, context.Canceled)) {
		t.Fatal(err)
	}
	return r, dir
}

// Who knows what the other plays wins every round of rock-paper-scissors.
func TestResponseAnswersWhomItKnows(t *testing.T) {
	g := gametest.New(t, matrix.New, matrix.Config{Matrix: "rps", Rounds: 1})
	c := pretrain.DefaultResponse().For(g)
	c.Who, c.Net.Frame, c.Net.Hidden, c.Net.Separate = []string{"rock", "paper", "scissors"}, "board", []int{16}, true
	c.PPO.RewardScale, c.Envs, c.Window, c.Steps, c.PPO.LR = 1, 64, 8, 40_000, 5e-3
	r, _ := learnResponse(t, c, g, 1, 0)
	s, _, err := score.Response(t.Context(), r, 200, 0)
	must(t, err)
	if len(s.Teams) != 3 {
		t.Fatalf("%d teams, want rock, paper and scissors", len(s.Teams))
	}
	for _, team := range s.Teams {
		if team.Return < 0.95 || math.Abs(team.Says-1) > 0.1 || math.Abs(float64(team.Was)-team.Return) > 1e-6 {
			t.Errorf("against %s: return %.3f, value %.3f, discounted return %.3f; want 1 each", team.Team, team.Return, team.Says, team.Was)
		}
	}
}

func smallResponse(t *testing.T) (pretrain.ResponseConfig, game.Game) {
	t.Helper()
	h := staghunt.Default()
	h.Size, h.Horizon = 3, 12
	g := gametest.New(t, staghunt.New, h)
	c := pretrain.DefaultResponse().For(g)
	c.Envs, c.Window, c.Steps, c.Save, c.Net.Hidden = 6, 7, 12*6*7, 4, []int{8}
	return c, g
}

// counter is a member that plays its legal actions in turn. What it remembers is how
// many steps it has played in each env.
type counter struct{ steps []byte }

func (c *counter) Act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		var can []int32
		for k, ok := range v.LegalAt(v.SlotOf(int(n))) {
			if ok {
				can = append(can, int32(k))
			}
		}
		i := v.StepOf(int(n))
		v.Action[i], v.LogProb[i], v.Own[i] = can[int(c.steps[n])%len(can)], 0, false
		c.steps[n]++
	}
}

func (c *counter) Evaluate(*rollout.View, []int32) {}

func (c *counter) AppendBinary(b []byte) ([]byte, error) { return append(b, c.steps...), nil }

func (c *counter) UnmarshalBinary(b []byte) error {
	copy(c.steps, b)
	return nil
}

// counters makes such members; workers share what they remember.
func counters(kind string, _ agent.ID, workers, envs int) ([]rollout.Player, error) {
	if kind != "member" {
		return nil, fmt.Errorf("%s is asked for as a member", kind)
	}
	return slices.Repeat([]rollout.Player{&counter{make([]byte, envs)}}, workers), nil
}

// Members, bots and copies play beside each other, and the network is the same for any
// number of workers and after a stop in the middle of episodes, whatever they remember.
func TestMembersPlayAndRemember(t *testing.T) {
	c, g := smallResponse(t)
	c.Who = []string{"member", "ns", pretrain.Self}
	whole, _ := learnAmong(t, c, g, 1, 0, counters)
	three, _ := learnAmong(t, c, g, 3, 0, counters)
	if !slices.Equal(whole.Brain.Params.W, three.Brain.Params.W) {
		t.Error("one and three workers end in different weights")
	}
	_, dir := learnAmong(t, c, g, 1, 5, counters)
	r := goOnWith(t, c, g, dir, counters)
	if !slices.Equal(whole.Brain.Params.W, r.Brain.Params.W) {
		t.Error("a run that was stopped after 5 of 12 windows and resumed ends in other weights")
	}
	if _, err := pretrain.NewResponse(c, g, 3, 1, nil); err == nil || !strings.Contains(err.Error(), "member") {
		t.Errorf("a kind that nobody can make: error %v", err)
	}
}

// A run ends in the same bytes for any number of workers, and stopped in the middle of
// episodes and resumed; among bots alone, and with copies of the network.
func TestResumedResponseEqualsUninterrupted(t *testing.T) {
	c, g := smallResponse(t)
	for _, who := range [][]string{{"ns", "nh", "random"}, c.Who, {"nh", pretrain.Self}} {
		c.Who = who
		_, whole := learnResponse(t, c, g, 1, 0)
		_, three := learnResponse(t, c, g, 3, 0)
		_, dir := learnResponse(t, c, g, 2, 5)
		run, err := runlog.Open(dir)
		must(t, err)
		defer run.Close()
		body, step, _, err := run.Resume()
		must(t, err)
		r, err := pretrain.NewResponse(c, g, 3, 1, nil)
		if err == nil {
			err = r.Resume(body, step)
		}
		if err == nil {
			err = r.Run(context.Background(), run, nil)
		}
		must(t, err)
		want, _, err := runlog.Last(whole)
		must(t, err)
		for name, dir := range map[string]string{"with three workers": three, "stopped after 5 of 12 windows and resumed": dir} {
			if got, _, err := runlog.Last(dir); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%v: a run %s ends in another checkpoint (%v)", who, name, err)
			}
		}
		_, p, in, err := pretrain.LoadResponse(nil, dir)
		must(t, err)
		if !slices.Equal(p.W, r.Brain.Params.W) || !slices.Equal(in.Who, c.Who) || in.Share != c.Share {
			t.Errorf("the folder holds other weights, or of the population %v, want %v", in.Who, c.Who)
		}
	}
}

// goOnWith resumes a run and lets it learn to its end.
func goOnWith(t *testing.T, c pretrain.ResponseConfig, g game.Game, dir string, members pretrain.Members) *pretrain.Response {
	t.Helper()
	run, err := runlog.Open(dir)
	must(t, err)
	defer run.Close()
	body, step, _, err := run.Resume()
	must(t, err)
	r, err := pretrain.NewResponse(c, g, 3, 1, members)
	if err == nil {
		err = r.Resume(body, step)
	}
	if err == nil {
		err = r.Run(context.Background(), run, nil)
	}
	must(t, err)
	return r
}
