package check

import (
	"strings"
	"testing"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/search/belief"
)

// among is a made-up run of agent 0 among two others, which an honest mind, or one
// with a slip, looks at: two episodes of one env.
type among struct {
	spec  game.Spec
	cfg   hop.Config
	ro    *batch.Rollout
	model *moa.Learner
	rand  rng.Rand
}

func newWorld(t *testing.T) *among {
	t.Helper()
	w := &among{spec: game.Spec{
		Name: "made up", Seats: 3, Actions: []string{"left", "right", "stay"}, Goals: []string{"stag", "hare"},
		Obs: game.Layout{Features: 4, Legal: 3, Last: 3},
	}, cfg: hop.Default(), rand: rng.New(1).Child("learn").Rand()}
	w.cfg.MOA.Frame, w.cfg.MOA.Hidden, w.cfg.MOA.Batch = "board", []int{8, 8}, 4
	w.cfg.Goals.DoubtStart = 0.2
	r := rng.New(2).Rand()
	w.ro = batch.New(batch.Shape{Agents: 3, Steps: 12, Envs: 1, ObsLen: w.spec.Obs.Len(), Actions: 3, GoalLen: 6})
	ro := w.ro
	for t := range ro.Steps + 1 {
		ro.Start[t] = t == 0 || t == 6
		for a := range agent.ID(3) {
			slot := ro.Slot(a, t, 0)
			ro.Seat[slot], ro.Alive[slot] = int8((int(a)+1+t/6)%3), t%6 != 5
			for i := range 4 {
				ro.ObsAt(slot)[i] = float32(r.Float64())
			}
			for k := range 3 {
				ro.LegalAt(slot)[k] = k < 2 || a != 1
				if ro.LegalAt(slot)[k] {
					ro.ObsAt(slot)[4+k] = 1
				}
			}
			if t == ro.Steps {
				continue
			}
			step := ro.Step(a, t, 0)
			ro.Action[step], ro.Reached[step] = game.NoAction, int8(game.NoGoal)
			if ro.Alive[slot] {
				ro.Action[step] = game.Uniform(ro.LegalAt(slot), &r)
			}
			if t%6 == 4 {
				ro.End[step] = batch.Exited
			}
		}
	}
	ro.Reached[ro.Step(1, 1, 0)], ro.Reached[ro.Step(1, 4, 0)], ro.Reached[ro.Step(2, 3, 0)] = 0, 1, 1
	in := moa.NewInput(frame.Layout(w.spec.Obs), 3, w.spec.Actions, 3+2)
	var err error
	w.model, err = moa.NewLearner(w.cfg.MOA.Config, w.cfg.MOA.Learning, in, rng.New(3))
	must(t, err)
	for _, part := range w.model.Params.Parts {
		for i := range part.Len {
			if part.Name == "head/w" {
				w.model.Params.W[part.Off+i] *= 100 // it has opinions
			}
		}
	}
	return w
}

// saved is a mind's file.
func (w *among) saved(t *testing.T, b *belief.Beliefs) *safetensors.File {
	f := &safetensors.File{}
	w.model.Save(f, "moa/")
	body, err := b.AppendBinary(nil)
	must(t, err)
	f.PutBytes("beliefs", body)
	stream, err := w.rand.MarshalBinary()
	must(t, err)
	f.PutBytes("moa_stream", stream)
	return f
}

// labels are what the window tells: 1 reached a stag, then a hare; 2 a hare.
func (w *among) labels() []hop.Label {
	var out []hop.Label
	for _, l := range []struct {
		a    agent.ID
		t, g int
	}{{1, 0, 0}, {1, 1, 0}, {1, 2, 1}, {1, 3, 1}, {1, 4, 1}, {2, 0, 1}, {2, 1, 1}, {2, 2, 1}, {2, 3, 1}} {
		goal := []float32{0, 0}
		goal[l.g] = 1
		out = append(out, hop.Label{Other: int(l.a) - 1, Agent: l.a, T: l.t, Goal: goal})
	}
	return out
}

// learn lets the model of others learn from labels; edit slips.
func (w *among) learn(t *testing.T, lr float64, edit func(l *hop.Label)) {
	rows := w.model.Model.NewRows()
	for _, l := range w.labels() {
		action := w.ro.Action[w.ro.Step(l.Agent, l.T, 0)]
		edit(&l)
		rows.Begin()
		features := append(append([]float32{}, l.Goal...), 0, 0, 0)
		features[3+l.Other] = 1
		rows.Add(w.ro.ObsAt(w.ro.Slot(l.Agent, l.T, 0)), features, action)
	}
	var seqs []int32
	for i := range rows.Seqs {
		seqs = append(seqs, int32(i))
	}
	r := w.rand
	for range w.cfg.MOA.Passes {
		_, err := w.model.Epoch(rows, seqs, lr, &r, nil)
		must(t, err)
	}
}

func TestTheModelOfOthersLearnsAsDefined(t *testing.T) {
	for _, c := range []struct {
		name  string
		share float64 // of the learning rate
		edit  func(l *hop.Label)
		says  string // "": nothing is wrong
	}{
		{"right", 1, func(*hop.Label) {}, ""},
		{"a tenth of the step", 0.1, func(*hop.Label) {}, "a learning rate of 0.0003 in place of 0.003"},
		{"another goal", 1, func(l *hop.Label) { l.Goal[0], l.Goal[1] = l.Goal[1], l.Goal[0] }, "another direction"},
		{"the agent's own view", 1, func(l *hop.Label) { l.Agent = 0 }, "own observations"},
		{"the step after", 1, func(l *hop.Label) { l.T++ }, "the step after"},
	} {
		w := newWorld(t)
		s := NewStudy(w.cfg, w.spec, 0, rng.New(1), false)
		b := belief.New(w.cfg.Belief, 1, 2, 3)
		start := w.saved(t, b)
		w.learn(t, w.cfg.MOA.LR*c.share, c.edit)
		must(t, s.Update(&learner.Window{Rollout: w.ro}, start, w.saved(t, b), w.labels(), nil))
		if c.says == "" && s.model.bad > 0 || c.says != "" && !strings.Contains(s.model.says, c.says) || s.labels.bad > 0 {
			t.Errorf("%s: got %q and %q, want %q", c.name, s.model.says, s.labels.says, c.says)
		}
	}
}

func TestLabelsAreThoseOfTheWindow(t *testing.T) {
	w := newWorld(t)
	start := w.saved(t, belief.New(w.cfg.Belief, 1, 2, 3))
	for _, c := range []struct {
		name string
		edit func(l []hop.Label) []hop.Label
		says string
	}{
		{"a step after the last goal", func(l []hop.Label) []hop.Label {
			return append(l, hop.Label{Other: 1, Agent: 2, T: 4, Goal: []float32{0, 1}})
		}, "1 of 10 labelled steps may not be"},
		{"its own step", func(l []hop.Label) []hop.Label { l[3].Agent = 0; return l }, "which is its own"},
		{"a step too few", func(l []hop.Label) []hop.Label { return l[:8] }, "1 of 9 steps of co-players whose goals are known"},
		{"the last goal, not the next", func(l []hop.Label) []hop.Label { l[0].Goal = []float32{0, 1}; return l }, "hare, it is stag"},
	} {
		s := NewStudy(w.cfg, w.spec, 0, rng.New(1), false)
		must(t, s.Update(&learner.Window{Rollout: w.ro}, start, start, c.edit(w.labels()), nil))
		if !strings.Contains(s.labels.says, c.says) || s.model.rows > 0 {
			t.Errorf("%s: got %q, want %q", c.name, s.labels.says, c.says)
		}
	}
}

// believer holds beliefs by package belief, with a slip at its own choice.
type believer struct {
	learner.Believing
	held []learner.Belief
}

func (b *believer) Believes(_, j int) learner.Belief { return b.held[j] }

func TestBeliefsFollowBayes(t *testing.T) {
	for _, slip := range []struct{ name, says string }{
		{"", ""},
		{"no reset", "does not start anew"},
		{"other's action", "It agrees with what agent 2 did in its place"},
		{"other's likelihood", "It agrees with what agent 2 was expected to do in its place"},
		{"not normalised", "does not even sum to 1"},
		{"no doubt", "the doubt that it should start with is forgotten"},
		{"next view", "It agrees with what agent 2 saw"},
		{"no reached goal", "does not start anew"},
		{"no count", "the counts of agent 1's goals in env 0"},
		{"wrong place", "the own network is given"},
	} {
		w := newWorld(t)
		ro := w.ro
		b := belief.New(w.cfg.Belief, 1, 2, 3)
		if slip.name != "no doubt" {
			b.Meet([]float64{0.4, 0.4, 0.2})
		}
		s := NewStudy(w.cfg, w.spec, 0, rng.New(1), false)
		must(t, s.Before(w.saved(t, b), 1))
		work := w.model.Model.Work(1)
		begin := func(j int) { b.Prior(j, b.At(0, j)) }
		me := &believer{held: make([]learner.Belief, 2)}
		for step := range ro.Steps {
			if !ro.Alive[ro.Slot(0, step, 0)] {
				continue
			}
			for j := range 2 {
				a := agent.ID(j + 1)
				if ro.Start[step] && (step == 0 || slip.name != "no reset") {
					begin(j)
				} else if !ro.Start[step] {
					from, likely := a, me.held[j].Expected
					if slip.name == "other's action" && j == 0 {
						from = 2
					}
					if slip.name == "other's likelihood" && j == 0 {
						likely = me.held[1].Expected
					}
					legal := []bool{true, true, likely[2] > 0 || likely[5] > 0 || likely[8] > 0}
					b.Update(0, j, likely, legal, ro.Action[ro.Step(from, step-1, 0)])
					if g := int(ro.Reached[ro.Step(a, step-1, 0)]); g != game.NoGoal && slip.name != "no reached goal" {
						b.Over(0, j, g)
						begin(j)
					}
				}
			}
			if slip.name == "not normalised" {
				b.At(0, 0)[0] *= 0.9
			}
			var next []learner.Belief
			for j := range 2 {
				a := agent.ID(j + 1)
				h := learner.Belief{Posterior: b.At(0, j), Expected: make([]float32, 9)}
				for g := range 2 {
					features := make([]float32, 5)
					features[g], features[3+j] = 1, 1
					view := a
					if slip.name == "next view" && j == 0 {
						view = 2
					}
					work.Predict(w.model.Params, ro.ObsAt(ro.Slot(view, step, 0)), features, h.Expected[3*g:3*g+3])
				}
				game.Spread(h.Expected[6:], ro.LegalAt(ro.Slot(a, step, 0)))
				next = append(next, h)
				place := (int(ro.Seat[ro.Slot(a, step, 0)])-int(ro.Seat[ro.Slot(0, step, 0)])+3)%3 - 1
				if slip.name == "wrong place" {
					place = 1 - place
				}
				for g, p := range h.Posterior {
					ro.GoalAt(ro.Slot(0, step, 0))[3*place+g] = float32(p)
				}
			}
			me.held = next
			s.Acted(me, &rollout.View{Rollout: ro, T: step}, []int32{0})
			if step%6 == 4 {
				for j := range 2 {
					if g := int(ro.Reached[ro.Step(agent.ID(j+1), step, 0)]); slip.name != "no count" {
						b.Over(0, j, g)
					}
				}
				s.Over(step, 0)
			}
		}
		must(t, s.Played(&learner.Window{Rollout: ro}, w.saved(t, b)))
		found := s.bayes.says + s.predict.says + s.counts.says + s.written.says
		if slip.says == "" && found != "" || !strings.Contains(found, slip.says) {
			t.Errorf("%s: got %q, want %q", slip.name, found, slip.says)
		}
	}
}
