package train_test

import (
	"context"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// meddler is a mind with a fault planted around its learning.
type meddler struct {
	learner.Mind
	learn func(w *learner.Window) ([]agent.Stat, error)
}

func (m meddler) Unwrap() learner.Mind                          { return m.Mind }
func (m meddler) Learn(w *learner.Window) ([]agent.Stat, error) { return m.learn(w) }

// planted runs a spec with its parts changed and returns what the guards found.
func planted(t *testing.T, text string, change func(p *train.Parts)) ([]check.Finding, error) {
	t.Helper()
	run, ran := spectest.Try(t, text, 1, 1, change)
	found, err := runlog.ReadFindings(run.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range run.Seen {
		for _, f := range p.Findings {
			if !slices.ContainsFunc(found, func(g check.Finding) bool { return reflect.DeepEqual(f, g) }) {
				t.Errorf("a watcher saw %v, findings.json does not hold it", f)
			}
		}
	}
	return found, ran
}

// around puts a fault around agent 2's learning: after is called when it has
// learnt, with the statistics that it will report.
func around(p *train.Parts, after func(net *nn.Params, update int, stats []agent.Stat) []agent.Stat) {
	inner, update := p.Minds[2], 0
	p.Minds[2] = meddler{inner, func(w *learner.Window) ([]agent.Stat, error) {
		stats, err := inner.Learn(w)
		update++
		return after(network(p), update, stats), err
	}}
}

// network returns agent 2's.
func network(p *train.Parts) *nn.Params {
	a, _ := learner.As[learner.Acting](p.Minds[2])
	_, net := a.Actor()
	return net
}

// head calls f with every weight of the head, of which the last output is the value.
func head(net *nn.Params, f func(action bool, w *float32)) {
	for _, part := range net.Parts {
		out := part.Shape[len(part.Shape)-1]
		for i := range part.Len {
			if strings.HasPrefix(part.Name, "head/") {
				f(i%out != out-1, &net.W[part.Off+i])
			}
		}
	}
}

func set(stats []agent.Stat, name string, v float64) []agent.Stat {
	for i := range stats {
		if stats[i].Name == name {
			stats[i].Value = v
		}
	}
	return stats
}

// Every fault is found, at the agent that has it, under the right name, once.
func TestGuardsFindPlantedFaults(t *testing.T) {
	hare := "game: {stags: 0}\n" // so that few windows show a return
	for _, c := range []struct {
		name, spec string
		plant      func(p *train.Parts)
		check      string
		module     string
		agent      int // -2: any
		says       string
	}{
		{"a loss that is no number", spectest.Small(""), func(p *train.Parts) {
			around(p, func(_ *nn.Params, _ int, stats []agent.Stat) []agent.Stat {
				return set(stats, "ppo/value_loss", math.NaN())
			})
		}, "not finite", "ppo", 2, "ppo/value_loss of agent 2 is NaN"},
		{"a weight that is no number", spectest.Small(""), func(p *train.Parts) {
			around(p, func(net *nn.Params, u int, stats []agent.Stat) []agent.Stat {
				if u == 3 {
					net.W[net.Parts[0].Off] = float32(math.Inf(1))
				}
				return stats
			})
		}, "not finite", "ppo", 2, "weights that are not numbers"},
		{"a reward that is no number", spectest.Small(""), func(p *train.Parts) {
			p.Watch = func(ro *batch.Rollout, _ bool) { ro.Reward[ro.Step(1, 3, 5)] = float32(math.NaN()) }
		}, "reward not finite", "game", 1, "at step 3 of env 5's window"},
		{"joint actions in seat order", spectest.Small(""), func(p *train.Parts) {
			l := p.Game.Spec().Obs
			p.Watch = func(ro *batch.Rollout, _ bool) { // of agent 2 alone, so that one is named
				was := make([]float32, l.Last*l.Legal)
				for t := range ro.Steps + 1 {
					for n := range ro.Envs {
						slot := ro.Slot(2, t, n)
						last := ro.ObsAt(slot)[l.LastAt():]
						copy(was, last)
						for seat := range l.Last {
							from := (seat - int(ro.Seat[slot]) + l.Last) % l.Last
							copy(last[seat*l.Legal:(seat+1)*l.Legal], was[from*l.Legal:])
						}
					}
				}
			}
		}, "joint actions out of order", "game", 2, "where another's belongs"},
		{"value targets of two scales", spectest.Small(""), func(p *train.Parts) {
			inner := p.Minds[2]
			p.Minds[2] = meddler{inner, func(w *learner.Window) ([]agent.Stat, error) {
				big := *w
				big.Rewards.Scale *= 30
				return inner.Learn(&big)
			}}
		}, "exploding loss", "ppo", 2, "a value of 0 everywhere would lose at most"},
		{"a model of others that learnt from the dead", spectest.Small(""), func(p *train.Parts) {
			around(p, func(_ *nn.Params, _ int, stats []agent.Stat) []agent.Stat {
				return append(stats, agent.Stat{Name: "moa/ce", Value: 12, N: 100}, agent.Stat{Name: "moa/top1", Value: 0.15, N: 100})
			})
		}, "exploding loss", "moa", 2, "guessing has 1.95"},
		{"a policy with one action left", spectest.Small("") + hare, func(p *train.Parts) {
			around(p, func(net *nn.Params, _ int, stats []agent.Stat) []agent.Stat {
				for _, part := range net.Parts {
					if strings.HasPrefix(part.Name, "head") && len(part.Shape) == 1 {
						net.W[part.Off+4] = 50 // stay
					}
				}
				return stats
			})
		}, "entropy collapse", "ppo", 2, "no more than the"},
		{"an optimiser that holds no weights", spectest.Small(""), func(p *train.Parts) {
			kept := slices.Clone(network(p).W)
			around(p, func(net *nn.Params, _ int, stats []agent.Stat) []agent.Stat {
				copy(net.W, kept)
				return stats
			})
		}, "dead gradients", "ppo", 2, "no weight changed"},
		{"an optimiser that misses a part", spectest.Small(""), func(p *train.Parts) {
			last := network(p).Parts[len(network(p).Parts)-1]
			kept := slices.Clone(network(p).W)
			around(p, func(net *nn.Params, _ int, stats []agent.Stat) []agent.Stat {
				copy(net.W[last.Off:last.Off+last.Len], kept[last.Off:])
				return stats
			})
		}, "dead gradients", "ppo", 2, "has never changed"},
		{"gradients of nothing", spectest.Small(""), func(p *train.Parts) {
			around(p, func(_ *nn.Params, _ int, stats []agent.Stat) []agent.Stat { return set(stats, "ppo/grad_norm", 0) })
		}, "dead gradients", "ppo", 2, "has had norm 0"},
		{"a ratio that is always 1", spectest.Small(""), func(p *train.Parts) {
			around(p, func(_ *nn.Params, _ int, stats []agent.Stat) []agent.Stat { return set(stats, "ppo/kl", 0) })
		}, "ratio of 1", "ppo", 2, "exactly 1 in all"},
		{"a clip that holds nothing", spectest.Small(""), func(p *train.Parts) {
			around(p, func(_ *nn.Params, _ int, stats []agent.Stat) []agent.Stat {
				return set(set(stats, "ppo/kl", 0.06), "ppo/clipped", 0)
			})
		}, "nothing clipped", "ppo", 2, "no ratio has met ppo.clip"},
		{"a policy head that is never read", spectest.Small(""), func(p *train.Parts) {
			around(p, func(net *nn.Params, _ int, stats []agent.Stat) []agent.Stat {
				head(net, func(action bool, w *float32) {
					if action {
						*w = 0
					}
				})
				return stats
			})
		}, "silent policy", "ppo", 2, "exactly uniform"},
		{"a value head that is never read", spectest.Small(""), func(p *train.Parts) {
			around(p, func(net *nn.Params, _ int, stats []agent.Stat) []agent.Stat {
				head(net, func(action bool, w *float32) {
					if !action {
						*w = 0
					}
				})
				return stats
			})
		}, "silent value", "ppo", 2, "the value of agent 2 is 0 in all"},
		{"a network that has died", spectest.Small(""), func(p *train.Parts) {
			around(p, func(net *nn.Params, _ int, stats []agent.Stat) []agent.Stat {
				head(net, func(action bool, w *float32) {
					if action {
						*w += 0.1 // what is left is a bias
					}
				})
				for _, part := range net.Parts {
					if strings.HasPrefix(part.Name, "trunk/0/") {
						clear(net.W[part.Off:][:part.Len])
					}
				}
				return stats
			})
		}, "dead network", "ppo", 2, "says the same of whatever it sees"},
		{"one agent that learns nothing", spectest.With(t, spectest.Small("")+hare, "train.steps=20000", "ppo.lr=0.003"), func(p *train.Parts) {
			kept := slices.Clone(network(p).W)
			around(p, func(net *nn.Params, _ int, stats []agent.Stat) []agent.Stat {
				copy(net.W, kept)
				net.W[0] += float32(len(stats)) // it changes, to no avail
				kept[0] = net.W[0]
				return stats
			})
		}, "one agent behind", "", 2, "every other agent at least"},
		{"learning frozen after some updates", spectest.Small(""), func(p *train.Parts) {
			inner, u := p.Minds[2], 0
			p.Minds[2] = meddler{inner, func(w *learner.Window) ([]agent.Stat, error) {
				if u++; u > 4 {
					return nil, nil
				}
				return inner.Learn(w)
			}}
		}, "agent without updates", "ppo", 2, "has not been updated for 5 windows"},
		{"softmax applied twice", spectest.Small(""), func(p *train.Parts) {
			model := newTwice(true)
			around(p, func(_ *nn.Params, _ int, stats []agent.Stat) []agent.Stat { return append(stats, model.window()...) })
		}, "double softmax", "moa", 2, "ln(1+(K-1)/e) = 1.165"},
		{"imagined rows where none are allowed", spectest.Small(""), func(p *train.Parts) {
			around(p, func(_ *nn.Params, _ int, stats []agent.Stat) []agent.Stat {
				return append(stats, agent.Stat{Name: "ppo/imagined_share", Value: 0.3, N: 100})
			})
		}, "imagined share", "world", 2, "the spec allows 0 %"},
		{"imagined rewards that are returns", spectest.With(t, spectest.Imagining, "train.steps=4000"), func(p *train.Parts) {
			p.Watch = func(ro *batch.Rollout, imagined bool) {
				if !imagined {
					return
				}
				for i := range ro.Reward {
					if ro.Own[i] {
						ro.Reward[i] += 5
					}
				}
			}
		}, "imagined targets", "world", -2, "imagined rewards do not fit the returns"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, _ := planted(t, c.spec, c.plant)
			hits := 0
			for _, f := range found {
				if f.Check == c.check && f.Module == c.module && (f.Agent() == c.agent || c.agent == -2) {
					hits++
					if !strings.Contains(f.Says, c.says) {
						t.Errorf("it says %q, want something with %q", f.Says, c.says)
					}
					if f.Next == "" {
						t.Error("it does not say what to do")
					}
				} else if f.Agent() != c.agent && f.Agent() != -1 && c.agent != -2 {
					t.Errorf("another agent is named: %+v", f)
				}
			}
			if hits == 0 || c.agent >= 0 && hits > 1 {
				t.Errorf("%q of agent %d was found %d times, want once; found %+v", c.check, c.agent, hits, found)
			}
		})
	}
}

// Healthy runs are left alone.
func TestGuardsAreSilentOnHealthyRuns(t *testing.T) {
	for _, c := range []struct{ preset, steps string }{
		{"ppo-4x4", "40000"}, {"ppo-cartpole", "8000"}, {"ppo-matrix", "40000"}, {"hop-4x4", "6000"},
	} {
		t.Run(c.preset, func(t *testing.T) {
			s, err := registry.New().Load(c.preset, []string{"train.steps=" + c.steps})
			if err != nil {
				t.Fatal(err)
			}
			text, err := s.YAML()
			if err != nil {
				t.Fatal(err)
			}
			found, err := planted(t, string(text), func(*train.Parts) {})
			if err != nil || len(found) > 0 {
				t.Errorf("got %+v, %v, want nothing", found, err)
			}
		})
	}
}

// Value targets of imagined rows that add returns to imagined rewards are named;
// those of a world model that is right are not.
func TestMixedReturnsAreNamed(t *testing.T) {
	const text = `
imagine: {on: true, length: 20, steps: 100, batch: 128, trust: 0.9}
train: {envs: 64, window: 32, steps: 13000}
`
	for _, mixed := range []bool{false, true} {
		imaginations := 0
		found, err := planted(t, text, func(p *train.Parts) {
			p.Watch = func(ro *batch.Rollout, imagined bool) {
				if imagined {
					imaginations++
				}
				for a := range agent.ID(ro.Agents) {
					for n := range ro.Envs {
						sum := float32(0)
						for s := ro.Steps - 1; imagined && mixed && s >= 0; s-- {
							sum += ro.Reward[ro.Step(a, s, n)]
							ro.Reward[ro.Step(a, s, n)] += sum
						}
					}
				}
			}
		})
		named := slices.ContainsFunc(found, func(f check.Finding) bool { return f.Check == "imagined targets" })
		if err != nil || imaginations < 2 || named != mixed || !mixed && len(found) > 0 {
			t.Errorf("mixed is %v in %d imagined windows: found %+v, %v", mixed, imaginations, found, err)
		}
	}
}

// A model that is fine is not said to apply softmax twice, however uncertain
// what it predicts is.
func TestHonestModelsAreNotSaidToApplySoftmaxTwice(t *testing.T) {
	model := newTwice(false)
	found, err := planted(t, spectest.Small(""), func(p *train.Parts) {
		around(p, func(_ *nn.Params, _ int, stats []agent.Stat) []agent.Stat { return append(stats, model.window()...) })
	})
	if err != nil || len(found) > 0 {
		t.Errorf("got %+v, %v, want nothing", found, err)
	}
}

// What was said before a checkpoint is not said again after it.
func TestGuardsRememberWhatTheySaid(t *testing.T) {
	s := spectest.Parse(t, spectest.Small(""))
	dir := filepath.Join(t.TempDir(), "run")
	run, err := runlog.Create(dir, nil, runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	build := func(steps int) *train.SelfPlay {
		s.Train.Steps = steps
		parts, err := s.Parts(1, spec.Machine{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		parts.Minds[2] = meddler{parts.Minds[2], func(*learner.Window) ([]agent.Stat, error) { return nil, nil }}
		loop, err := train.NewSelfPlay(s.Train, s.Rewards(), parts)
		if err != nil {
			t.Fatal(err)
		}
		return loop
	}
	first := build(4000)
	if err := first.Run(context.Background(), run, nil); err != nil {
		t.Fatal(err)
	}
	body, err := first.Save()
	if err != nil {
		t.Fatal(err)
	}
	second := build(8000)
	if err := second.Load(body); err != nil {
		t.Fatal(err)
	}
	if err := second.Run(context.Background(), run, nil); err != nil {
		t.Fatal(err)
	}
	found, err := runlog.ReadFindings(dir)
	if err != nil || len(found) != 1 {
		t.Errorf("got %+v, %v, want one finding", found, err)
	}
}

// twice is a small model of others: softmax regression of 7 actions on 12
// situations, most of which have one right action, learnt by gradient descent.
// With double set its loss is of softmax(softmax(logits)).
type twice struct {
	double bool
	w      [12][7]float64
	rand   rng.Rand
}

func newTwice(double bool) *twice { return &twice{double: double, rand: rng.New(4).Rand()} }

// window learns from some hundred samples and reports as a HOP's model does.
func (m *twice) window() []agent.Stat {
	const n = 400
	hits, nll := 0, 0.
	for range n {
		x := m.rand.IntN(12)
		y := x % 7
		if m.rand.Float32() < 0.15 {
			y = m.rand.IntN(7)
		}
		p := softmax(m.w[x])
		q := p
		if m.double {
			q = softmax(p)
		}
		best := 0
		for k := range q {
			if q[k] > q[best] {
				best = k
			}
		}
		if best == y {
			hits++
		}
		nll -= math.Log(q[y])
		var dp [7]float64
		dq := q // of the loss by what went into the last softmax
		dq[y]--
		if !m.double {
			dp = dq
		} else {
			sum := 0.
			for k := range p {
				sum += dq[k] * p[k]
			}
			for k := range p {
				dp[k] = p[k] * (dq[k] - sum)
			}
		}
		for k := range dp {
			m.w[x][k] -= 0.3 * dp[k]
		}
	}
	return []agent.Stat{{Name: "moa/ce", Value: nll / n, N: n}, {Name: "moa/top1", Value: float64(hits) / n, N: n}}
}

func softmax(x [7]float64) (p [7]float64) {
	sum := 0.
	for k := range x {
		p[k] = math.Exp(x[k])
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}
