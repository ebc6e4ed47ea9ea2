package learner_test

import (
	"errors"
	"math"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/matrix"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
)

// plain is a mind that counts.
type plain struct{ learner.Mind }

func (plain) Counts() learner.Counts { return learner.Counts{Updates: 7} }
func (plain) Sure() bool             { return false }
func (plain) Freeze(bool)            {}

// front stands before another mind and replaces one of its abilities.
type front struct{ learner.Mind }

func (f front) Unwrap() learner.Mind { return f.Mind }
func (front) Sure() bool             { return true }
func (front) Freeze(bool)            {}

// wall stands before another mind and hides it.
type wall struct{ learner.Mind }

// A mind that stands before another hides nothing that it does not replace.
func TestAbilitiesAreFoundThroughMindsThatUnwrap(t *testing.T) {
	for _, c := range []struct {
		name                  string
		m                     learner.Mind
		counts, freezes, sure bool
	}{
		{"the mind itself", plain{}, true, true, false},
		{"one before it", front{plain{}}, true, true, true},
		{"two before it", front{front{plain{}}}, true, true, true},
		{"one that hides it", wall{plain{}}, false, false, false},
		{"one before one that hides it", front{wall{plain{}}}, false, true, true},
	} {
		counting, ok := learner.As[learner.Counting](c.m)
		if ok != c.counts || ok && counting.Counts().Updates != 7 || !ok && counting != nil {
			t.Errorf("%s: that it counts is %v, want %v", c.name, ok, c.counts)
		}
		freezer, ok := learner.As[learner.Freezer](c.m)
		if ok != c.freezes || ok && freezer.Sure() != c.sure {
			t.Errorf("%s: that it freezes is %v, want %v, and the first that can must be asked", c.name, ok, c.freezes)
		}
		if _, ok := learner.As[learner.Saver](c.m); ok {
			t.Errorf("%s: it is said to save, and none can", c.name)
		}
	}
}

// reader always defects and expects the other to play tit for tat, of which it is
// the surer the longer an episode lasts: 0, 1/4, 1/2, 3/4.
type reader struct {
	rollout.Player
	mine int32 // what it played last
	step int
	over int
	b    [2]float64
}

func (r *reader) Act(v *rollout.View, envs []int32) {
	r.Player.Act(v, envs)
	if v.Start[v.Moment(v.T, 0)] {
		r.step, r.mine = 0, 0 // tit for tat begins by cooperating
	}
	r.b = [2]float64{1 - float64(r.step)/4, float64(r.step) / 4}
	r.step++
}

func (r *reader) Others() []agent.ID { return []agent.ID{1} }

func (r *reader) Read(dst []float64, _, _ int) []float64 {
	clear(dst)
	dst[r.mine] = 1
	r.mine = 1
	return r.b[:]
}

func (r *reader) EpisodeOver(*rollout.View, int) { r.over++ }

// Against tit for tat every expectation is right; against one that always defects
// the first of each episode is wrong. Beliefs are those in the truth, by step and
// by episode, and what was expected in the last step is not held against anything.
func TestReadingsAreWhatWasExpectedAgainstWhatWasDone(t *testing.T) {
	const rounds, episodes = 4, 3
	c := matrix.Default()
	c.Rounds = rounds
	g := gametest.New(t, matrix.New, c)
	for _, who := range []struct {
		bot  string
		hits float64
	}{{"tft", 1}, {"alld", 2. / 3}} {
		e, err := rollout.New(rollout.Config{Game: g, Envs: 1, Key: rng.New(1), Workers: 1, FixSeat: true})
		if err != nil {
			t.Fatal(err)
		}
		alld, errA := rollout.NewBots(g, "alld", 1)
		other, errB := rollout.NewBots(g, who.bot, 1)
		if err := errors.Join(errA, errB); err != nil {
			t.Fatal(err)
		}
		mine := &reader{Player: alld}
		reads := &learner.Predictions{Truth: func(episode, _ int) int {
			if episode == 2 {
				return game.NoGoal // nothing is true, so nothing is counted
			}
			return 1
		}}
		players := reads.Take([]rollout.Player{mine, other}, 1)
		if players[1] != rollout.Player(other) {
			t.Error("a player that reads nobody is not returned as it is")
		}
		e.Collect(batch.New(e.Shape(episodes*(rounds+1), 0)), [][]rollout.Player{players})
		action, belief := reads.ByEpisode()
		check := func(what string, got []stats.Acc, n int, want ...float64) {
			t.Helper()
			if len(got) != len(want) {
				t.Fatalf("%s, %s: %d entries, want %d", who.bot, what, len(got), len(want))
			}
			for i, x := range want {
				if got[i].N() != n || math.Abs(got[i].Mean()-x) > 1e-12 {
					t.Errorf("%s, %s %d: %v over %d, want %v over %d", who.bot, what, i, got[i].Mean(), got[i].N(), x, n)
				}
			}
		}
		check("actions of episode", action, rounds-1, who.hits, who.hits, who.hits)
		check("belief of episode", belief, rounds, 0.375, 0.375)
		check("belief of step", reads.ByStep(), 2, 0, 0.25, 0.5, 0.75)
		if mine.over != episodes {
			t.Errorf("%s: the player heard of %d ends of episodes, want %d", who.bot, mine.over, episodes)
		}
	}
}
