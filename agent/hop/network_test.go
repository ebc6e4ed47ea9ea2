package hop

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/safetensors"
)

// alone makes an agent play by its network alone, with goals of a kind.
func alone(kind string) func(*Config) {
	return func(c *Config) { c.Own, c.Search.Kind, c.Leaf.Kind, c.Goals.Kind = "ppo", "none", "net", kind }
}

// A network that plays alone acts by the very goals that it will learn from, with any
// kind of goals and none; in a window that holds no goals it plays the same; and once
// warm it allocates nothing.
func TestTheNetworkAloneActsByWhatItLearnsFrom(t *testing.T) {
	g := hunt(t, 35)
	for _, kind := range []string{"none", "hand", "latent", "classes"} {
		t.Run(kind, func(t *testing.T) {
			m, _ := makeMind(t, g, 1, 8, alone(kind))
			play := func(goalLen int) *batch.Rollout {
				m.Remember(8, 40)
				shape := batch.Shape{Envs: 8, Steps: 40, GoalLen: goalLen}
				return collect(t, rollout.Config{Game: g}, shape, []string{"ns", "", "nh", "ns"}, m.networkPlayer(8))
			}
			ro := play(m.goalLen)
			ws, cat, rows, goals := m.own.brain.Model.Work(1), nn.NewCategorical(7, 1), 0, 0
			for s := range ro.Steps {
				for n := range ro.Envs {
					slot, step := ro.Slot(1, s, n), ro.Step(1, s, n)
					if !ro.Alive[slot] {
						continue
					}
					ws.Reset()
					ws.Add(ro.ObsAt(slot), ro.GoalAt(slot))
					ws.Forward(m.own.brain.Params)
					cat.Set(ws.Logits, ro.LegalAt(slot), 1)
					if off := math.Abs(float64(cat.LogProb(0, ro.Action[step]) - ro.LogProb[step])); off > 1e-4 || !ro.Own[step] {
						t.Fatalf("slot %d of env %d: the probability is off by %v from what the goals of the window give", s, n, off)
					}
					if slices.ContainsFunc(ro.GoalAt(slot), func(x float32) bool { return x != 0 }) {
						goals++
					}
					rows++
				}
			}
			if rows < 50 || kind != "none" && goals < 50 {
				t.Errorf("%d rows, %d with goals: too few", rows, goals)
			}
			if !slices.Equal(play(0).Action, ro.Action) {
				t.Error("it plays otherwise where the window holds no goals")
			}
			e, err := rollout.New(rollout.Config{Game: g, Envs: 8, Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			mine := []rollout.Player{bot(t, g, "ns", 8), m.networkPlayer(8), bot(t, g, "nh", 8), bot(t, g, "ns", 8)}
			for range 4 { // what is encoded finds its size
				e.Collect(ro, [][]rollout.Player{mine})
			}
			if n := testing.AllocsPerRun(2, func() { e.Collect(ro, [][]rollout.Player{mine}) }); n > 1 {
				t.Errorf("a window allocates %v times, want no more than the test", n)
			}
		})
	}
}

// What is imagined leaves no trace in what is remembered of real play, and begins with
// what is known of the co-players there.
func TestImaginationIsApart(t *testing.T) {
	g := hunt(t, 35)
	for _, kind := range []string{"hand", "latent", "classes"} {
		m, _ := makeMind(t, g, 1, 4, alone(kind))
		there, recall := m.InImagination(6)
		play := func(m *Mind, envs int) {
			shape := batch.Shape{Envs: envs, Steps: 40, GoalLen: m.goalLen}
			collect(t, rollout.Config{Game: g}, shape, []string{"nh", "", "nh", "nh"}, m.networkPlayer(envs))
		}
		d := there.(*Mind)
		play(m, 4)
		recall()
		for n, b := range d.beliefs.held {
			for j := range m.sees.others {
				if got, want := b.Counts(j), m.beliefs.held[n%4].Counts(j); !slices.Equal(got, want) || slices.Equal(want, m.beliefs.prior) {
					t.Fatalf("%s: of co-player %d copy %d recalls %v, in play it is %v", kind, j, n, got, want)
				}
			}
		}
		saved := probeSave(t, m)
		play(d, 6)
		if probeSave(t, m) != saved {
			t.Errorf("%s: imagination writes to what is remembered of play", kind)
		}
	}
}

// After the first round of imagination a window teaches nothing more about the others.
func TestOthersAreLearntAboutOnce(t *testing.T) {
	g := hunt(t, 35)
	for again, moves := range map[bool]bool{false: true, true: false} {
		m, _ := makeMind(t, g, 1, 8, alone("hand"))
		shape := batch.Shape{Envs: 8, Steps: 40, GoalLen: m.goalLen}
		ro := collect(t, rollout.Config{Game: g}, shape, []string{"ns", "", "nh", "ns"}, m.networkPlayer(8))
		others, own := slices.Clone(m.others.model.Params.W), slices.Clone(m.own.brain.Params.W)
		w := &learner.Window{Rollout: ro, Rewards: learner.Rewards{Scale: 1}}
		w.Imagined = &learner.Imagined{Rollout: ro, RealRatio: 0.5, Again: again}
		if _, err := m.Learn(w); err != nil {
			t.Fatal(err)
		}
		if slices.Equal(m.others.model.Params.W, others) == moves || slices.Equal(m.own.brain.Params.W, own) {
			t.Errorf("again is %v: the model of others moved is not %v, or the own network did not", again, moves)
		}
	}
}

// probeSave returns everything that a mind saves.
func probeSave(t testing.TB, m *Mind) string {
	t.Helper()
	f := &safetensors.File{}
	if err := m.Save(f, ""); err != nil {
		t.Fatal(err)
	}
	b, err := f.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
