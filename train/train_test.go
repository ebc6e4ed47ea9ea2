package train_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// rows returns how many rows a brain learnt from in an update.
func rows(p train.Progress, brain int) int {
	if len(p.Stats[brain]) == 0 {
		return 0
	}
	return p.Stats[brain][0].N
}

func TestSwitchedAgentsStopAndStartLearning(t *testing.T) {
	seen := spectest.Play(t, spectest.Small(`
  team: [learn, learn, nh, learn]
  switch: [{at: 4000, agent: 2, to: learn}, {at: 4000, agent: 1, to: ns}]
`), 1, 1).Seen
	for i, p := range seen[1:] {
		before := seen[i].Step < 4000 // where the update's window began
		if got := rows(p, 1) > 0; got != before {
			t.Errorf("step %d: agent 1 learns %v, want %v", p.Step, got, before)
		}
		if got := rows(p, 2) > 0; got == before {
			t.Errorf("step %d: agent 2 learns %v, want %v", p.Step, got, !before)
		}
		if rows(p, 0) == 0 || rows(p, 3) == 0 {
			t.Errorf("step %d: an agent that always learns did not", p.Step)
		}
	}
}

// With stand-ins at probability p, a learner's own rows fall to 1-p and the
// reported episodes are those without any: (1-p)^4.
func TestStandinsTakeTheirShare(t *testing.T) {
	plain := spectest.Play(t, spectest.Small(""), 3, 1).Seen
	mixed := spectest.Play(t, spectest.Small("  standins: {share: 0.5, who: [ns, nh]}\n"), 3, 1).Seen
	own := func(seen []train.Progress) (sum, episodes float64) {
		for _, p := range seen {
			sum += float64(rows(p, 0))
			episodes += float64(p.Episodes)
		}
		return sum / float64(len(seen)), episodes
	}
	a, all := own(plain)
	b, pure := own(mixed)
	if b > 0.75*a || b < 0.2*a {
		t.Errorf("own rows fell from %.0f to %.0f an update, want about half", a, b)
	}
	if pure == 0 || pure > 0.3*all {
		t.Errorf("%.0f of about %.0f episodes are reported, want about a sixteenth or, as bots end sooner, some more", pure, all)
	}
}

func TestStandinsFadeOut(t *testing.T) {
	seen := spectest.Play(t, spectest.Small("  standins: {share: 1, share_end: 0, over: 4000, who: [nh]}\n"), 3, 1).Seen
	if rows(seen[0], 0) != 0 {
		t.Errorf("at share 1 the learner still has %d rows of its own", rows(seen[0], 0))
	}
	last := seen[len(seen)-1]
	if rows(last, 0) == 0 || last.Episodes == 0 {
		t.Errorf("after the fade: %d own rows, %d pure episodes", rows(last, 0), last.Episodes)
	}
}

// Past selves appear once there is a checkpoint to take them from.
func TestPastSelvesPlay(t *testing.T) {
	seen := spectest.Play(t, spectest.Small("  standins: {share: 1, who: [past]}\n"), 5, 1).Seen
	if rows(seen[0], 0) == 0 {
		t.Error("before the first checkpoint there is no past self, so the learner plays")
	}
	if last := seen[len(seen)-1]; rows(last, 0) != 0 {
		t.Errorf("at share 1 a past self should play always, but the learner has %d rows", rows(last, 0))
	}
}

// A stage changes the game that is trained on: without hares nobody reaches one.
func TestStagesChangeTheGame(t *testing.T) {
	seen := spectest.Play(t, spectest.Small("  stages: [{at: 0, set: [game.hares=0]}, {at: 4000, set: [game.hares=4]}]\n"), 5, 1).Seen
	hare := func(p train.Progress) float64 {
		sum := 0.
		for a := range p.Goals {
			sum += p.Goals[a][1]
		}
		return sum
	}
	for i, p := range seen[1:] {
		if p.Episodes == 0 {
			continue
		}
		if early := seen[i].Step < 4000; early && hare(p) != 0 {
			t.Errorf("step %d: hares were caught in a stage without hares", p.Step)
		}
	}
	if hare(seen[len(seen)-1]) == 0 {
		t.Error("no hare was caught in the stage with hares")
	}
}

// A goal's weight changes what is learnt from, not what is reported: with the
// first window's play alike, its reported return is alike too.
func TestGoalWeightIsNotReported(t *testing.T) {
	long := func(text string) string { return strings.Replace(text, "window: 16", "window: 40", 1) }
	plain := spectest.Play(t, long(spectest.Small("")), 8, 1).Seen
	faded := spectest.Play(t, long(spectest.Small("  goal_weight: [{goal: hare, from: 0, to: 0, over: 1}]\n")), 8, 1).Seen
	if plain[0].Episodes == 0 {
		t.Fatal("no episode ended in the first window")
	}
	for a := range plain[0].Return {
		if x, y := plain[0].Return[a].Mean(), faded[0].Return[a].Mean(); x != y {
			t.Errorf("agent %d: reported return %.3f with a weight, %.3f without", a, y, x)
		}
	}
	value := func(p train.Progress) float64 { return p.Stats[0][1].Value }
	if value(plain[0]) == value(faded[0]) {
		t.Error("the weight does not reach the learner")
	}
}

// Everything that is logged is finite and has a count behind it.
func TestEveryNumberHasRowsBehindIt(t *testing.T) {
	rows, err := runlog.ReadMetrics(spectest.Play(t, spectest.Small(""), 2, 1).Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 100 {
		t.Fatalf("only %d rows of metrics", len(rows))
	}
	for _, r := range rows {
		if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) || r.N <= 0 {
			t.Errorf("step %d: %s of agent %d is %v over %d rows", r.Step, r.Name, r.Agent, r.Value, r.N)
		}
	}
}

// The same bytes for any number of workers and when resumed, shared and independent
// brains, stand-ins and past selves included.
func TestWorkersAndStopsChangeNothing(t *testing.T) {
	for name, more := range map[string]string{
		"independent": "",
		"shared":      "  brains: [0, 0, 0, 0]\n",
		"mixed":       "  brains: [0, 0, 1, 1]\n  standins: {share: 0.3, who: [switcher, past]}\n",
		"behind":      "  behind: true\n  brains: [0, 0, 1, 1]\n  standins: {share: 0.3, who: [switcher, past]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			spectest.Promises(t, spectest.With(t, spectest.Small(more), "train.steps=4000"), 4)
		})
	}
}

// Who is shown stand-ins reads whether a stand-in plays from the first step of the episode on, from whichever place, also where
// it is only asked what it expects.
func TestLearnersAreShownStandins(t *testing.T) {
	text := spectest.With(t, "base: icl", "train.envs=8", "train.window=60", "train.steps=2400", "train.standins.shown=true")
	seen := [2]int{}
	_, err := spectest.Try(t, text, 1, 3, func(p *train.Parts) {
		p.Watch = func(ro *batch.Rollout, _ bool) {
			for a := range agent.ID(2) {
				for n := range ro.Envs {
					for i := range ro.Steps {
						if !ro.Alive[ro.Slot(a, i, n)] || !ro.Own[ro.Step(a, i, n)] {
							continue
						}
						met := 0
						if !ro.Own[ro.Step(1-a, i, n)] {
							met = 1
						}
						seen[met]++
						if shown := ro.GoalAt(ro.Slot(a, i, n)); len(shown) != 1 || shown[0] != float32(met) {
							t.Fatalf("agent %d is shown %v at step %d of env %d, where %d stand-ins play", a, shown, i, n, met)
						}
					}
				}
			}
		}
	})
	if err != nil || seen[0] == 0 || seen[1] == 0 {
		t.Errorf("%d steps with each other and %d with stand-ins, %v", seen[0], seen[1], err)
	}
	for _, wrong := range []string{"mind=lola", "train.standins.share=0.1", "imagine.on=true"} {
		spectest.Refused(t, "standins.shown", "base: icl", "train.standins.shown=true", wrong)
	}
}

// One window behind, a window is played by the weights of before the last one was learnt from, whatever frame the
// network reads: the first two by those at the start, as if nothing was learnt. All windows are learnt from.
func TestAWindowBehind(t *testing.T) {
	for _, frame := range []string{"egof", "ego"} {
		windows := func(sets ...string) (seen [][]float32, updates int) {
			text := spectest.With(t, spectest.Small(""), append(sets, "train.steps=2000", "actor.frame="+frame)...)
			run, err := spectest.Try(t, text, 3, 2, func(p *train.Parts) {
				p.Watch = func(ro *batch.Rollout, _ bool) { seen = append(seen, slices.Clone(ro.LogProb)) }
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range run.Seen {
				if rows(p, 0) > 0 {
					updates++
				}
			}
			return seen, updates
		}
		still, _ := windows("ppo.lr=1e-30", "ppo.lr_end=1e-30")
		at, _ := windows()
		late, updates := windows("train.behind=true")
		if len(late) < 4 || updates != len(late) {
			t.Fatalf("%s: %d windows, learnt from %d times", frame, len(late), updates)
		}
		for i, want := range []bool{true, true, false} {
			if got := slices.Equal(late[i], still[i]); got != want {
				t.Errorf("%s: window %d was played as at the start: %v", frame, i, got)
			}
		}
		if slices.Equal(at[1], still[1]) {
			t.Errorf("%s: without, window 1 was played as at the start", frame)
		}
	}
	for _, wrong := range []string{"actor.lstm=8", "mind=lola", "imagine.on=true"} {
		spectest.Refused(t, "train.behind", spectest.Small(""), "train.behind=true", wrong)
	}
}
