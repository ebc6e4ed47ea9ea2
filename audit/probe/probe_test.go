package probe

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/safetensors"
)

// reader is a mind whose network is a sum over what it reads.
type reader struct {
	learner.Mind
	agent  agent.ID
	params *nn.Params
	net    func(ro *batch.Rollout) float32
	reads  learner.Reads
	forget bool // Load does not restore
}

func (r *reader) Reads(*learner.Window) learner.Reads { return r.reads }

func (r *reader) Agents() []agent.ID { return []agent.ID{r.agent} }

func (r *reader) Learn(w *learner.Window) ([]agent.Stat, error) {
	r.params.W[0] += r.net(w.Rollout)
	return nil, nil
}

func (r *reader) Save(f *safetensors.File, prefix string) error {
	f.PutFloat32(prefix+"net/w", r.params.W, len(r.params.W))
	return nil
}

func (r *reader) Load(f *safetensors.File, prefix string) error {
	if r.forget {
		return nil
	}
	return f.Float32(r.params.W, prefix+"net/w", len(r.params.W))
}

// played is a window of 2 agents: agent 1 leaves after step 1 of 4.
func played() *batch.Rollout {
	ro := batch.New(batch.Shape{Agents: 2, Steps: 4, Envs: 1, ObsLen: 2, Actions: 3})
	for i := range ro.Legal {
		ro.Legal[i] = i%3 < 2 // the third action is illegal
	}
	for a := range agent.ID(2) {
		record.Each(ro, a, func(t, _, step, slot int) {
			ro.Alive[slot], ro.Own[step] = true, true
			if a == 1 && t > 1 {
				ro.Alive[slot], ro.Own[step], ro.Action[step] = false, false, game.NoAction
			}
		})
	}
	ro.End[ro.Step(1, 1, 0)], ro.End[ro.Step(0, 3, 0)] = batch.Exited, batch.Cut
	ro.Value[ro.Slot(0, 0, 0)] = 1
	return ro
}

// rowsOf sums rewards, actions and values of an agent's rows that are picked.
func rowsOf(a agent.ID, pick func(ro *batch.Rollout, step, slot int) bool) func(*batch.Rollout) float32 {
	return func(ro *batch.Rollout) float32 {
		sum := float32(1)
		record.Each(ro, a, func(t, _, step, slot int) {
			if pick(ro, step, slot) {
				sum += float32(step+1) * (ro.Reward[step] + 3*float32(ro.Action[step]) + 7*ro.Value[slot])
				for k, ok := range ro.LegalAt(slot) {
					if ok {
						sum += float32(k)
					}
				}
				for _, v := range ro.ObsAt(slot) {
					sum += v
				}
			}
		})
		return sum
	}
}

func alive(ro *batch.Rollout, _, slot int) bool { return ro.Alive[slot] }
func gone(ro *batch.Rollout, _, slot int) bool  { return !ro.Alive[slot] }

func probed(t *testing.T, a agent.ID, r *reader) *Sources {
	t.Helper()
	r.agent, r.params = a, &nn.Params{W: make([]float32, 2)}
	src, err := Ask(r, r.params, &learner.Window{Rollout: played(), Rewards: learner.Rewards{Scale: 1}},
		game.Spec{Obs: game.Layout{Height: 1, Width: 1, Planes: []string{"a", "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestExperimentsFindWhatAMindReads(t *testing.T) {
	right := &reader{net: rowsOf(1, alive)}
	src := probed(t, 1, right)
	if src.Share[1] != 1 || src.Share[0] != 0 || !src.Mask.Is || !src.Obs.Is ||
		src.Dead != (Yes{true, false}) || src.Exits != (Yes{true, false}) {
		t.Errorf("a right mind: %+v", src)
	}
	src = probed(t, 1, &reader{net: rowsOf(0, alive)})
	if src.Share[1] != 0 || src.Share[0] != 1 || src.Mask.Is || src.Obs.Is {
		t.Errorf("a mind that reads agent 0's rows: %+v", src)
	}
	if src := probed(t, 1, &reader{net: rowsOf(1, gone)}); !src.Dead.Is || !src.Exits.Is || src.Share[1] != 0 {
		t.Errorf("a mind that reads rows after its exit: %+v", src)
	}
	if src := probed(t, 0, &reader{net: rowsOf(0, alive)}); src.Cuts.Is || !src.Cuts.Asked {
		t.Errorf("a mind that does not read the value after a cut: %+v", src.Cuts)
	}
}

func TestAMindThatIsNotRestoredIsFound(t *testing.T) {
	src := probed(t, 1, &reader{net: rowsOf(1, alive), forget: true})
	if len(src.Restored) == 0 {
		t.Error("Load does nothing, and nothing was missed")
	}
}

// What a mind declares to read of others is found to count, and what it does not
// declare is found out.
func TestReadingOthersIsDeclared(t *testing.T) {
	own := rowsOf(1, alive)
	reads := func(edit func(ro *batch.Rollout, step, slot int) float32) func(*batch.Rollout) float32 {
		return func(ro *batch.Rollout) float32 {
			sum := own(ro)
			record.Each(ro, 0, func(_, _, step, slot int) {
				if ro.Alive[slot] {
					sum += edit(ro, step, slot)
				}
			})
			return sum
		}
	}
	actions := reads(func(ro *batch.Rollout, step, _ int) float32 { return float32(ro.Action[step] * int32(step+1)) })
	both := reads(func(ro *batch.Rollout, step, _ int) float32 {
		return float32(ro.Action[step]*int32(step+1)) + 10*ro.Reward[step]
	})
	declared := learner.Reads{Why: "what they do", Action: true}
	if src := probed(t, 1, &reader{net: actions, reads: declared}); src.Share[0] != 0 || !slices.Equal(src.Done, []string{"actions"}) {
		t.Errorf("a mind that reads what it declares is accused: %+v", src)
	}
	if src := probed(t, 1, &reader{net: actions}); src.Share[0] != 1 || !slices.Equal(src.Hidden, []string{"actions"}) {
		t.Errorf("a mind that reads actions in secret is not found out: %+v", src)
	}
	if src := probed(t, 1, &reader{net: both, reads: declared}); src.Share[0] != 1 || !slices.Equal(src.Hidden, []string{"rewards"}) {
		t.Errorf("a mind that declares actions and reads rewards too is not found out: %+v", src)
	}
	if src := probed(t, 1, &reader{net: own, reads: declared}); !slices.Equal(src.Undone, []string{"actions"}) {
		t.Errorf("a mind that declares what it does not read is not found out: %+v", src)
	}
}

// A mind that is made anew has nothing of the one that was saved but what it loads.
func TestWhatIsNotLoadedIsMissedByAFreshMind(t *testing.T) {
	m := &reader{params: &nn.Params{W: []float32{3}}}
	for forgets, want := range map[bool][]string{false: nil, true: {"net/w"}} {
		fresh := &reader{params: &nn.Params{W: []float32{0}}, forget: forgets}
		if got := Anew(m, fresh); !slices.Equal(got, want) {
			t.Errorf("forgets %v: %v differ, want %v", forgets, got, want)
		}
	}
	m.forget = true
	if got := RoundTrip(m); len(got) > 0 {
		t.Errorf("loaded into itself, %v differ", got)
	}
}
