package train_test

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// aliveRows calls do with every row at which somebody is alive.
func aliveRows(ro *batch.Rollout, do func(step, slot int)) {
	for a := range agent.ID(ro.Agents) {
		for t := range ro.Steps {
			for n := range ro.Envs {
				if slot := ro.Slot(a, t, n); ro.Alive[slot] {
					do(ro.Step(a, t, n), slot)
				}
			}
		}
	}
}

// While bots show the game, what they play is what agents learn from: the player
// itself marks the row as the agent's own and writes what it did as the policy to
// learn. Later the search writes one, and rows of stand-ins are nobody's.
func TestWhoeverPlaysWritesItsRows(t *testing.T) {
	window, shown, searched, foreign := 0, 0, 0, 0
	run, err := spectest.Try(t, spectest.Planner, 3, 1, func(p *train.Parts) {
		p.Watch = func(ro *batch.Rollout, _ bool) {
			window++
			aliveRows(ro, func(step, _ int) {
				target := ro.TargetAt(step)
				switch sure := target[ro.Action[step]] == 1; {
				case window <= 2:
					if shown++; !ro.Own[step] || !sure {
						t.Fatalf("window %d: a bot's row is own %v, its target %v, its action %d", window, ro.Own[step], target, ro.Action[step])
					}
				case !ro.Own[step]:
					foreign++
				case !sure:
					searched++
				}
			})
		}
	})
	if err != nil || shown < 500 || searched < 50 || foreign < 50 {
		t.Errorf("%d rows were shown, %d searched, %d foreign, %v: the test saw too little", shown, searched, foreign, err)
	}
	var logged []runlog.Row
	for i, p := range run.Seen {
		if logged = append(logged, p.Rows...); p.Warm != (i < 2) {
			t.Errorf("window %d is said to be of the warm-up: %v", i, p.Warm)
		}
		if got, want := (train.Warm{Windows: 2}).Until(logged), run.Seen[min(i, 1)].Step; got != int64(want) {
			t.Errorf("after %d windows the warm-up lasts until step %d, want %d", i+1, got, want)
		}
	}
	if got := (train.Warm{}).Until(logged); got != 0 {
		t.Errorf("without a warm-up it lasts until step %d", got)
	}
}

// A search plays on the rules of the stage: it hopes for a thousand as soon as a
// hare pays that much, and never before.
func TestPlannersPlanOnTheRulesOfTheStage(t *testing.T) {
	text := spectest.With(t, spectest.Planner, "leaf.kind=scripts", "train.warm.windows=0", "ppo.reward_scale=1",
		"train.standins.share=0", "train.standins.teams=0",
		"train.stages=[{at: 500, set: [game.hare_pays=1000]}]")
	var value, paid []float32 // the highest of each window
	run, err := spectest.Try(t, text, 3, 1, func(p *train.Parts) {
		p.Watch = func(ro *batch.Rollout, _ bool) {
			high := float32(0)
			aliveRows(ro, func(_, slot int) { high = max(high, ro.Value[slot]) })
			value, paid = append(value, high), append(paid, slices.Max(ro.Reward))
		}
	})
	late := 0
	for i, p := range run.Seen[1:] {
		begun := run.Seen[i].Step >= 500 // when the window was played
		if value, paid := value[i+1], paid[i+1]; begun != (paid > 5) || begun != (value > 100) || !begun && value > 5 {
			t.Errorf("up to step %d: the highest value is %v and the highest reward %v; the stage has begun: %v", p.Step, value, paid, begun)
		}
		if begun {
			late++
		}
	}
	if err != nil || late < 2 || late > len(value)-2 {
		t.Errorf("%d of %d windows are in the stage, %v", late, len(value), err)
	}
}
