package check_test

import (
	"strings"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	checks "github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/spec"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// imagines is a run whose model is used from its third window on.
const imagines = `
actor: {hidden: [16]}
imagine: {on: true, trust: 0, refresh: 1, length: 8, steps: 4, batch: 16, rows: 600, model: {hidden: [6]}}
train: {envs: 6, window: 11, save: 100000, steps: 260}
`

// bent is an imagination that a fault stands before.
type bent struct {
	train.Imagination
	learn   func(ro *batch.Rollout)    // changes a copy of the window before the model learns from it
	imagine func(ro *batch.Rollout)    // changes what was imagined
	before  func()                     // runs before minds play
	hand    func(im *learner.Imagined) //
	rounds  func(n int) int            //
	save    func(f *safetensors.File)  //
	stats   func(s []agent.Stat)       //
	weights func(p *nn.Params, up int) // changes the model's weights after it learnt
}

func (b *bent) Learn(ro *batch.Rollout, update int) (int, error) {
	if b.learn != nil {
		c := batch.New(ro.Shape)
		c.CopyFrom(ro)
		b.learn(c)
		ro = c
	}
	n, err := b.Imagination.Learn(ro, update)
	if b.rounds != nil {
		n = b.rounds(n)
	}
	if _, p := b.Model(); b.weights != nil && p != nil {
		b.weights(p, update)
	}
	return n, err
}

func (b *bent) Imagine(update, round int) *learner.Imagined {
	if b.before != nil {
		b.before()
	}
	im := b.Imagination.Imagine(update, round)
	if b.imagine != nil {
		b.imagine(im.Rollout)
	}
	if b.hand != nil {
		b.hand(im)
	}
	return im
}

func (b *bent) Stats() []agent.Stat {
	list := b.Imagination.Stats()
	if b.stats != nil {
		b.stats(list)
	}
	return list
}

func (b *bent) Save(f *safetensors.File, prefix string) error {
	err := b.Imagination.Save(f, prefix)
	if b.save != nil {
		b.save(f)
	}
	return err
}

func (b *bent) Model() (*world.Model, *nn.Params) {
	return b.Imagination.(interface {
		Model() (*world.Model, *nn.Params)
	}).Model()
}

// imagined runs six windows and returns what the watch found. spec changes what the
// watch is told; bend is the fault.
func imagined(t *testing.T, text string, bend func(*bent), sp func(*spec.Spec)) []check.Finding {
	t.Helper()
	s := spectest.Parse(t, text)
	var w *checks.Imagination
	_, err := spectest.Try(t, text, 1, 1, func(parts *train.Parts) { watch(t, &w, s, parts, bend, sp) })
	if err != nil {
		t.Fatal(err)
	}
	return w.Findings()
}

// watch puts a fault and a watch before the imagination of a run.
func watch(t *testing.T, w **checks.Imagination, s *spec.Spec, parts *train.Parts, bend func(*bent), sp func(*spec.Spec)) {
	window, right := 0, parts.Imagine
	parts.Imagine = func(played batch.Shape, minds []learner.Mind, workers int) (train.Imagination, error) {
		of, err := right(played, minds, workers)
		b := &bent{Imagination: of}
		if bend != nil {
			bend(b)
		}
		said := *s
		if sp != nil {
			sp(&said)
		}
		*w = checks.WatchImagination(b, checks.ImaginationRun{
			Game: parts.Game.Spec(), Imagine: said.Imagine, Played: played, Key: parts.Key,
			Window: func() (int, int) { return window, 6 },
			Nets: func() []reference.Net {
				var nets []reference.Net
				for _, m := range minds {
					f := &safetensors.File{}
					saver, _ := learner.As[learner.Saver](m)
					if err := saver.Save(f, ""); err != nil {
						t.Fatal(err)
					}
					net, err := reference.LoadNet(f, "net/")
					if err != nil {
						t.Fatal(err)
					}
					nets = append(nets, net)
				}
				return nets
			},
			Actor: func(a agent.ID) reference.Actor {
				m, _ := learner.As[learner.Acting](minds[a])
				model, _ := m.Actor()
				return checks.ActorOf(s.Actor, model.Input)
			},
		})
		return *w, err
	}
	parts.Watch = func(ro *batch.Rollout, imagined bool) {
		if imagined {
			(*w).See(ro)
		} else {
			window++
		}
	}
}

// A healthy model passes every question, whatever its kind.
func TestHealthyModelsPass(t *testing.T) {
	for name, sets := range map[string][]string{
		"heads": nil, "planes": {"imagine.model.variant=planes", "imagine.model.dense=[8]"},
		"weights":       {"imagine.model.weights=[2,2,2,2,1,0.5,1]"},
		"slots, layers": {"imagine.from=slots", "imagine.model.hidden=[6,5]", "imagine.rows=256", "imagine.real_ratio=0.3"},
		"another game":  {"game.name=snowdrift"},
	} {
		asked := 0
		for _, f := range imagined(t, spectest.With(t, imagines, sets...), nil, nil) {
			if f.Status != check.Pass {
				t.Errorf("%s: %v of %s: %s", name, f.Status, f.Check, f.Says)
			}
			if f.Rows > 0 {
				asked++
			}
		}
		if asked < 5 { // where new rewards are met in most windows, little can be held
			t.Errorf("%s: only %d questions were asked", name, asked)
		}
	}
}

// rows calls f for every living row.
func rows(ro *batch.Rollout, f func(a agent.ID, t, n, step, slot int)) {
	for a := range agent.ID(ro.Agents) {
		for t := range ro.Steps {
			for n := range ro.Envs {
				if slot := ro.Slot(a, t, n); ro.Alive[slot] {
					f(a, t, n, ro.Step(a, t, n), slot)
				}
			}
		}
	}
}

// Every fault is found, by the question that it belongs to, in words that name it.
func TestFaultsAreNamed(t *testing.T) {
	said := func(f func(s *spec.Spec)) func(*spec.Spec) { return f }
	for _, c := range []struct {
		name, check, says string
		bend              func(*bent)
		spec              func(*spec.Spec)
	}{
		{"a next board of the same step", "learns from what was played", "next board", func(b *bent) {
			b.learn = func(ro *batch.Rollout) {
				for t := ro.Steps; t > 0; t-- { // the model sees the slot before twice
					for a := range agent.ID(ro.Agents) {
						for n := range ro.Envs {
							if ro.Alive[ro.Slot(a, t-1, n)] {
								copy(ro.ObsAt(ro.Slot(a, t, n)), ro.ObsAt(ro.Slot(a, t-1, n)))
							}
						}
					}
				}
			}
		}, nil},
		{"returns for rewards", "learns from what was played", "returns or values stand where rewards belong", func(b *bent) {
			b.learn = func(ro *batch.Rollout) {
				rows(ro, func(a agent.ID, t, n, step, _ int) {
					if t+1 < ro.Steps && ro.Alive[ro.Slot(a, t+1, n)] {
						ro.Reward[step] += 0.5 * ro.Reward[ro.Step(a, t+1, n)]
					}
				})
			}
		}, nil},
		{"actions of another agent", "learns from what was played", "joint action", func(b *bent) {
			b.learn = func(ro *batch.Rollout) {
				rows(ro, func(a agent.ID, t, n, step, _ int) {
					if a == 1 && ro.Alive[ro.Slot(0, t, n)] {
						ro.Action[step] = ro.Action[ro.Step(0, t, n)]
					}
				})
			}
		}, nil},
		{"a tenth of the rate", "an update of the world model", "a tenth of the learning rate", nil,
			said(func(s *spec.Spec) { s.Imagine.LR *= 10 })},
		{"weights that are forgotten", "an update of the world model", "factors of planes that are forgotten", nil,
			said(func(s *spec.Spec) { s.Imagine.Model.Weights = []float64{2, 2, 2, 2, 1, 0.5, 1} })},
		{"a head that stays", "an update of the world model", "of the episode's end", func(b *bent) {
			var first []float32
			b.weights = func(p *nn.Params, _ int) {
				for _, part := range p.Parts {
					if part.Name != "over/head/w" && part.Name != "over/head/b" && part.Name != "over/0/w" && part.Name != "over/0/b" {
						continue
					}
					if len(first) < part.Off+part.Len {
						first = append(first, p.W[len(first):part.Off+part.Len]...)
					}
					copy(p.W[part.Off:part.Off+part.Len], first[part.Off:])
				}
			}
		}, nil},
		{"another score", "as far as it can be trusted", "is said to have foreseen", func(b *bent) {
			b.stats = func(list []agent.Stat) {
				for i := range list {
					list[i].Value = 0.99
				}
			}
		}, nil},
		{"no trust needed", "as far as it can be trusted", "trust is 95.0 %", nil, said(func(s *spec.Spec) { s.Imagine.Trust = 0.95 })},
		{"starts anywhere", "start from real states", "not from an episode's start", nil, nil},
		{"exits for everyone", "imagined ends", "Imagined agents leave in", func(b *bent) {
			b.imagine = func(ro *batch.Rollout) {
				rows(ro, func(a agent.ID, t, n, step, _ int) { ro.End[step] = batch.Exited })
			}
		}, nil},
		{"masks of ones", "imagined masks", "call every action legal", func(b *bent) {
			b.imagine = func(ro *batch.Rollout) {
				for i := range ro.Legal {
					ro.Legal[i] = true
				}
			}
		}, nil},
		{"summed rewards", "imagined rewards", "returns or values", func(b *bent) {
			b.imagine = func(ro *batch.Rollout) {
				rows(ro, func(_ agent.ID, _, _, step, _ int) { ro.Reward[step] += 0.3 })
			}
		}, nil},
		{"boards of another seat", "imagined observations", "is not what the model predicts", func(b *bent) {
			b.imagine = func(ro *batch.Rollout) {
				rows(ro, func(a agent.ID, t, n, _, slot int) {
					if a == 2 && !ro.Start[ro.Moment(t, n)] {
						o := ro.ObsAt(slot)
						o[0], o[1] = 1-o[0], 1-o[1]
					}
				})
			}
		}, nil},
		{"another share", "handed over as the spec says", "share of played rows", nil, said(func(s *spec.Spec) { s.Imagine.RealRatio = 0.6 })},
		{"a tensor that is lost", "saved imagination equals loaded", "is not what was saved", func(b *bent) {
			n := byte(0)
			b.save = func(f *safetensors.File) {
				if small, ok := f.Get("small"); ok {
					n++
					small.Data[0] = n
				}
			}
		}, nil},
	} {
		if c.name == "starts anywhere" {
			c.spec = said(func(s *spec.Spec) { s.Imagine.From = "starts" })
		}
		text := imagines
		if c.name == "starts anywhere" {
			text = spectest.With(t, imagines, "imagine.from=slots")
		}
		found := false
		for _, f := range imagined(t, text, c.bend, c.spec) {
			if f.Status == check.Fault && strings.Contains(f.Check, c.check) {
				if found = true; !strings.Contains(f.Says, c.says) {
					t.Errorf("%s: says %q, want %q", c.name, f.Says, c.says)
				}
			}
		}
		if !found {
			t.Errorf("%s: nobody objects", c.name)
		}
	}
}

// Agents that play by yesterday's networks in imagination are found, and whose they
// are is said.
func TestStalePlayersAreFound(t *testing.T) {
	text := spectest.With(t, imagines, "train.steps=420")
	s := spectest.Parse(t, text)
	var w *checks.Imagination
	_, err := spectest.Try(t, text, 1, 1, func(parts *train.Parts) {
		minds := parts.Minds
		var past [][]float32
		watch(t, &w, s, parts, func(b *bent) {
			b.before = func() {
				var now [][]float32
				for i, m := range minds {
					a, _ := learner.As[learner.Acting](m)
					_, p := a.Actor()
					now = append(now, append([]float32(nil), p.W...))
					if past != nil {
						copy(p.W, past[i])
					}
				}
				b.imagine = func(*batch.Rollout) {
					for i, m := range minds {
						a, _ := learner.As[learner.Acting](m)
						_, p := a.Actor()
						copy(p.W, now[i])
					}
				}
				if past == nil {
					past = now
				}
			}
		}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range w.Findings() {
		if strings.HasPrefix(f.Check, "imagination is played") {
			if f.Status != check.Fault || !strings.Contains(f.Says, "earlier") {
				t.Errorf("%v: %s", f.Status, f.Says)
			}
			return
		}
	}
	t.Error("it was not asked")
}
