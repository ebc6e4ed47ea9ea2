package learner_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/matrix"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
)

// speaker expects the other to cooperate with 3/4 at even slots and cannot tell at odd
// ones, and says so in words.
type speaker struct {
	rollout.Player
	slot int
}

func (s *speaker) Act(v *rollout.View, envs []int32) {
	s.Player.Act(v, envs)
	s.slot++
}

func (s *speaker) Others() []agent.ID { return []agent.ID{1} }

func (s *speaker) p() float64 { return []float64{0.5, 0.75}[s.slot%2] }

func (s *speaker) Read(dst []float64, _, _ int) []float64 {
	dst[0], dst[1] = s.p(), 1-s.p()
	return nil
}

func (s *speaker) InWords(int, int) ([]string, []float64) {
	return []string{"cooperate", "defect", "random"}, []float64{s.p(), 1 - s.p(), 0}
}

// doubter watches beside it and holds everybody for a defector.
type doubter struct{ seen int }

func (d *doubter) See(*rollout.View, int)            { d.seen++ }
func (d *doubter) Predict(dst []float64, _ int)      { dst[0], dst[1] = 0, 1 }
func (d *doubter) InWords(int) ([]string, []float64) { return []string{"defect"}, []float64{1} }

// Against one who cooperates first and then does what we did, which is to defect, looks
// hold what was expected against what was done, slot by slot, and what was reached next;
// of a tie each half. What was done after an episode's last look is not known.
func TestLooksHoldWhatWasHeldAgainstWhatCame(t *testing.T) {
	const rounds, episodes = 3, 2
	c := matrix.Default()
	c.Rounds = rounds
	g := gametest.New(t, matrix.New, c)
	e, err := rollout.New(rollout.Config{Game: g, Envs: 1, Key: rng.New(1), Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	alld, _ := rollout.NewBots(g, "alld", 1)
	tft, _ := rollout.NewBots(g, "tft", 1)
	beside := &doubter{}
	reads := &learner.Predictions{
		Pursues: func(st game.State, _ game.Seat, episode, j int) string { return fmt.Sprint(episode, j) },
		Beside:  func(int, []agent.ID) []learner.Witness { return []learner.Witness{beside} },
	}
	players := reads.Take([]rollout.Player{&speaker{Player: alld}, tft}, 1)
	e.Collect(batch.New(e.Shape(episodes*(rounds+1), 0)), [][]rollout.Player{players})
	if beside.seen != rounds*episodes {
		t.Errorf("who watches beside saw %d slots, want %d", beside.seen, rounds*episodes)
	}
	// cooperates, defects, defects; 0.75, 0.5, 0.75, then 0.5, 0.75, 0.5 for cooperating
	want := []string{
		"0/0 0 next 0: true 1 0.288, 0 20.723",
		"0/1 0 next 1: true 0.5 0.693, 1 -0.000",
		"0/2 0 next 1: false",
		"1/0 0 next 0: true 0.5 0.693, 0 20.723",
		"1/1 0 next 1: true 0 1.386, 1 -0.000",
		"1/2 0 next 1: false",
	}
	i := 0
	reads.Each(func(l *learner.Prediction) {
		if i >= len(want) { // an episode that has just begun
			return
		}
		got := fmt.Sprintf("%d/%d %d next %d: %v", l.Episode, l.Step, l.Other, l.Next, l.Acted)
		var parts []string
		for _, h := range l.Held {
			parts = append(parts, fmt.Sprintf("%v %.3f", h.Top1, h.CE))
		}
		if l.Acted {
			got += " " + strings.Join(parts, ", ")
		}
		if got != want[i] {
			t.Errorf("look %d: %s, want %s", i, got, want[i])
		}
		if l.Pursues != fmt.Sprint(l.Episode, l.Other) {
			t.Errorf("look %d pursues %q", i, l.Pursues)
		}
		own, p := &l.Held[0], []float64{0.75, 0.5}[i%2]
		if math.Abs(own.Of("cooperate")-p) > 1e-12 || own.Right("defect") != []float64{0, 0.5}[i%2] || own.Right("random") != 0 {
			t.Errorf("look %d: %v %v in words", i, own.Names, own.Probs)
		}
		if b := &l.Held[1]; b.Right("defect") != 1 || b.Of("cooperate") != 0 {
			t.Errorf("look %d: beside it %v %v", i, b.Names, b.Probs)
		}
		i++
	})
	if i != len(want) {
		t.Errorf("%d looks, want %d", i, len(want))
	}
}
