package ppo_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// lifetimes draws a rollout with exits, cuts and dead rows, as rollout makes them.
func lifetimes(r *rng.Rand) *batch.Rollout {
	ro := batch.New(batch.Shape{Agents: 2, Steps: 30, Envs: 7, ObsLen: 1, Actions: 2})
	for a := range agent.ID(2) {
		for n := range ro.Envs {
			alive := true
			for t := range ro.Steps {
				i, slot := ro.Step(a, t, n), ro.Slot(a, t, n)
				ro.Alive[slot] = alive
				bootstrap := t > 0 && ro.End[ro.Step(a, t-1, n)] == batch.Cut
				if alive {
					ro.Value[slot] = float32(r.Norm())
				}
				ro.Reward[i], ro.End[i], ro.Action[i] = float32(r.Norm()), batch.Going, game.NoAction
				if !alive {
					if ro.Reward[i] = float32(math.NaN()); !bootstrap {
						ro.Value[slot] = ro.Reward[i]
					}
					alive = r.IntN(3) == 0
					ro.Start[ro.Moment(t+1, n)] = alive
					continue
				}
				ro.Own[i], ro.Action[i] = true, 0
				switch r.IntN(8) {
				case 0:
					ro.End[i], alive = batch.Exited, false
				case 1:
					ro.End[i], alive = batch.Cut, false
				}
				if t == ro.Steps-1 && alive {
					ro.End[i] = batch.Cut
				}
				ro.Value[ro.Slot(a, t+1, n)] = float32(r.Norm())
			}
		}
	}
	return ro
}

// Dead rows hold NaN here: if one reached an advantage, it would show.
func TestAdvantagesFollowTheDefinition(t *testing.T) {
	r := rng.New(1).Rand()
	for range 20 {
		ro := lifetimes(&r)
		size := ro.Steps * ro.Envs
		rewards, adv, ret := make([]float32, size), make([]float32, size), make([]float32, size)
		for a := range agent.ID(2) {
			learner.Rewards{Scale: 1}.Apply(rewards, ro, a)
			ppo.Advantages(adv, ret, ro, a, rewards, 0.97, 0.9)
			w := &reference.Window{Rollout: ro, Rewards: reference.Rewards{Scale: 1}}
			want, _ := w.Advantages(a, reference.PPO{Gamma: 0.97, Lambda: 0.9})
			for tt := range ro.Steps {
				for n := range ro.Envs {
					i := tt*ro.Envs + n
					if !ro.Alive[ro.Slot(a, tt, n)] {
						if adv[i] != 0 || ret[i] != 0 {
							t.Fatalf("a dead row has advantage %v and return %v", adv[i], ret[i])
						}
						continue
					}
					if !(math.Abs(float64(adv[i])-want[i]) < 1e-4) {
						t.Fatalf("%v step %d env %d: advantage %v, want %v", a, tt, n, adv[i], want[i])
					}
					if v := ro.Value[ro.Slot(a, tt, n)]; ret[i] != adv[i]+v {
						t.Fatalf("return %v, want advantage %v plus value %v", ret[i], adv[i], v)
					}
				}
			}
		}
	}
}

// An agent that has left is still paid its share of what the team earns later.
func TestTeamShareReachesThoseWhoLeft(t *testing.T) {
	ro := batch.New(batch.Shape{Agents: 2, Steps: 4, Envs: 1, ObsLen: 1, Actions: 2})
	set := func(a agent.ID, t int, reward float32, alive bool) {
		ro.Alive[ro.Slot(a, t, 0)] = alive
		ro.Reward[ro.Step(a, t, 0)] = reward
		ro.Reached[ro.Step(a, t, 0)] = game.NoGoal
	}
	for tt := range 4 {
		set(0, tt, 0, tt < 2)
		set(1, tt, 0, tt < 4)
	}
	set(0, 1, 2, true) // agent 0 earns 2 and leaves; agent 1 earns 8 two steps later
	set(1, 3, 8, true)
	dst := make([]float32, 4)
	learner.Rewards{Scale: 1, Prosocial: 0.5, Gamma: 0.5}.Apply(dst, ro, 0)
	// own 0.5*2 + share 0.5*(2+0)/2 + 0.5^2 * 0.5*8/2
	if want := []float32{0, 1 + 0.5 + 0.5, 0, 0}; !slices.Equal(dst, want) {
		t.Errorf("agent 0 learns from %v, want %v", dst, want)
	}
	learner.Rewards{Scale: 1, Prosocial: 0.5, Gamma: 0.5}.Apply(dst, ro, 1)
	if want := []float32{0, 0.5, 0, 4 + 2}; !slices.Equal(dst, want) {
		t.Errorf("agent 1 learns from %v, want %v", dst, want)
	}
	learner.Rewards{Scale: 1, Prosocial: -1, Gamma: 0.5}.Apply(dst, ro, 0)
	// own 2*2 less the mean of 2 and 0, less 0.5^2 times the mean of 0 and 8
	if want := []float32{0, 4 - 1 - 1, 0, 0}; !slices.Equal(dst, want) {
		t.Errorf("an aggressive agent 0 learns from %v, want %v", dst, want)
	}
}

func TestGoalWeightTouchesOnlyThatGoal(t *testing.T) {
	ro := batch.New(batch.Shape{Agents: 1, Steps: 3, Envs: 1, ObsLen: 1, Actions: 2})
	copy(ro.Reward, []float32{1, 5, 3})
	copy(ro.Reached, []int8{1, 0, game.NoGoal})
	dst := make([]float32, 3)
	learner.Rewards{Scale: 2, Goal: []float64{1, 0.25}}.Apply(dst, ro, 0)
	if want := []float32{0.5, 10, 6}; !slices.Equal(dst, want) {
		t.Errorf("got %v, want %v", dst, want)
	}
	if !slices.Equal(ro.Reward, []float32{1, 5, 3}) {
		t.Error("the true rewards changed")
	}
}

// world is four brains on stag hunt and a window they have played.
type world struct {
	ro     *batch.Rollout
	brains []*ppo.Brain
	envs   *rollout.Envs
	play   [][]rollout.Player
}

func newWorld(t testing.TB, net actor.Config, cfg ppo.Config) *world {
	t.Helper()
	g, err := staghunt.New(staghunt.Default())
	if err != nil {
		t.Fatal(err)
	}
	const envs, steps = 16, 40
	w := &world{play: [][]rollout.Player{nil}}
	key := rng.New(7)
	if w.envs, err = rollout.New(rollout.Config{Game: g, Envs: envs, Key: key, Workers: 1}); err != nil {
		t.Fatal(err)
	}
	l := g.Spec().Obs
	in := actor.Input{Input: frame.Input{Height: l.Height, Width: l.Width, Planes: len(l.Planes), Rest: l.Len() - l.PlanesLen()}, Actions: 7}
	for a := range agent.ID(4) {
		b, err := ppo.New(cfg, net, in, []agent.ID{a}, 1, key.Child("brain", int(a)))
		if err != nil {
			t.Fatal(err)
		}
		b.Remember(envs, steps)
		w.brains = append(w.brains, b)
		w.play[0] = append(w.play[0], b.Player(a, envs))
	}
	w.ro = batch.New(w.envs.Shape(steps, 0))
	w.envs.Collect(w.ro, w.play)
	return w
}

// window is what a brain learns from: the rewards are the agent's own, and the
// run is at its start.
func (w *world) window() *learner.Window {
	return &learner.Window{Rollout: w.ro, Rewards: learner.Rewards{Scale: 0.2}}
}

func (w *world) learn(t testing.TB, order ...int) {
	t.Helper()
	for _, i := range order {
		if _, err := w.brains[i].Learn(w.window()); err != nil {
			t.Fatal(err)
		}
	}
}

// A brain learns the same
// whatever the other agents' rows hold, and differently if its own change.
func TestABrainLearnsFromItsOwnRowsOnly(t *testing.T) {
	for a := range agent.ID(4) {
		fresh := func() *world { return newWorld(t, actor.Default(), ppo.Default()) }
		base, others, own := fresh(), fresh(), fresh()
		spoil := func(w *world, b agent.ID) {
			for tt := range w.ro.Steps {
				for n := range w.ro.Envs {
					w.ro.Reward[w.ro.Step(b, tt, n)] = 9
					w.ro.LogProb[w.ro.Step(b, tt, n)] = -3
					w.ro.Obs[w.ro.Slot(b, tt, n)*w.ro.ObsLen] = 7
				}
			}
		}
		for b := range agent.ID(4) {
			if b != a {
				spoil(others, b)
			}
		}
		spoil(own, a)
		for _, w := range []*world{base, others, own} {
			w.learn(t, int(a))
		}
		if !slices.Equal(base.brains[a].Params.W, others.brains[a].Params.W) {
			t.Errorf("%v learns from others' rows", a)
		}
		if slices.Equal(base.brains[a].Params.W, own.brains[a].Params.W) {
			t.Errorf("%v does not learn from its own rows", a)
		}
	}
}

// Rows of agents that have left are nobody's. Poison every dead row with NaN.
func TestDeadRowsReachNoLoss(t *testing.T) {
	for _, net := range []actor.Config{actor.Default(), {Net: "dense", Frame: "egof", Hidden: []int{16}, Act: "tanh", LSTM: 8}} {
		base, poisoned := newWorld(t, net, ppo.Default()), newWorld(t, net, ppo.Default())
		nan := float32(math.NaN())
		dead := 0
		for a := range agent.ID(4) {
			for tt := range poisoned.ro.Steps {
				for n := range poisoned.ro.Envs {
					slot, step := poisoned.ro.Slot(a, tt, n), poisoned.ro.Step(a, tt, n)
					if poisoned.ro.Alive[slot] {
						continue
					}
					dead++
					poisoned.ro.LogProb[step], poisoned.ro.Reward[step], poisoned.ro.Value[slot] = nan, nan, nan
					poisoned.ro.ObsAt(slot)[0], poisoned.ro.Own[step] = nan, true
				}
			}
		}
		if dead == 0 {
			t.Fatal("the window has no dead rows")
		}
		base.learn(t, 0, 1, 2, 3)
		poisoned.learn(t, 0, 1, 2, 3)
		for a := range base.brains {
			if !slices.Equal(base.brains[a].Params.W, poisoned.brains[a].Params.W) {
				t.Errorf("LSTM %d, agent %d: a dead row reached the weights", net.LSTM, a)
			}
		}
	}
}

// A stand-in's rows are not the learner's.
func TestStandInsRowsAreNotLearntFrom(t *testing.T) {
	w := newWorld(t, actor.Default(), ppo.Default())
	clear(w.ro.Own)
	before := slices.Clone(w.brains[2].Params.W)
	w.learn(t, 2)
	if !slices.Equal(before, w.brains[2].Params.W) || w.brains[2].Counts().Rows != 0 {
		t.Error("a brain learnt from rows that were not its own")
	}
}

// The order in which agents learn changes nothing, and
// every one of them learns.
func TestOrderOfLearningChangesNothing(t *testing.T) {
	a, b := newWorld(t, actor.Default(), ppo.Default()), newWorld(t, actor.Default(), ppo.Default())
	start := newWorld(t, actor.Default(), ppo.Default())
	a.learn(t, 0, 1, 2, 3)
	b.learn(t, 3, 1, 0, 2)
	for i := range a.brains {
		if !slices.Equal(a.brains[i].Params.W, b.brains[i].Params.W) {
			t.Errorf("brain %d depends on the order", i)
		}
		if slices.Equal(a.brains[i].Params.W, start.brains[i].Params.W) {
			t.Errorf("brain %d did not learn", i)
		}
		if c := a.brains[i].Counts(); c.Updates != 1 || c.Rows == 0 || c.Steps == 0 {
			t.Errorf("brain %d counts %+v", i, c)
		}
	}
}

// Saved and loaded equals never interrupted, optimiser, stream and memory included.
func TestSavedBrainGoesOnAlike(t *testing.T) {
	for _, net := range []actor.Config{actor.Default(), {Net: "dense", Frame: "egof", Hidden: []int{16}, Act: "tanh", LSTM: 8}} {
		a, b := newWorld(t, net, ppo.Default()), newWorld(t, net, ppo.Default())
		a.learn(t, 0, 1, 2, 3)
		f := &safetensors.File{}
		for i, br := range a.brains {
			if err := br.Save(f, fmt.Sprintf("%d/", i)); err != nil {
				t.Fatal(err)
			}
		}
		bytes, err := f.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if f, err = safetensors.Parse(bytes); err != nil {
			t.Fatal(err)
		}
		for i, br := range b.brains {
			if err := br.Load(f, fmt.Sprintf("%d/", i)); err != nil {
				t.Fatal(err)
			}
		}
		for _, w := range []*world{a, b} {
			w.envs.Collect(w.ro, w.play)
			w.learn(t, 0, 1, 2, 3)
		}
		for i := range a.brains {
			if !slices.Equal(a.brains[i].Params.W, b.brains[i].Params.W) || a.brains[i].Counts() != b.brains[i].Counts() {
				t.Errorf("LSTM %d: brain %d goes on differently after loading", net.LSTM, i)
			}
		}
	}
}

// An LSTM trained through its sequences sees the states that it acted with: with
// unchanged weights every ratio is 1.
func TestFirstPassFindsTheOldPolicy(t *testing.T) {
	for _, net := range []actor.Config{
		actor.Default(),
		{Net: "conv", Frame: "board", Act: "relu"},
		{Net: "dense", Frame: "egof", Hidden: []int{16}, Act: "tanh", LSTM: 8},
	} {
		cfg := ppo.Default()
		cfg.LR, cfg.Epochs, cfg.SeqLen = 1e-30, 1, 20
		w := newWorld(t, net, cfg)
		w.envs.Collect(w.ro, w.play) // a second window starts mid-episode
		stats, err := w.brains[1].Learn(w.window())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range stats {
			if (s.Name == "ppo/kl" || s.Name == "ppo/clipped") && math.Abs(s.Value) > 1e-9 {
				t.Errorf("%s, LSTM %d: %s is %v before anything was learnt, want 0", net.Net, net.LSTM, s.Name, s.Value)
			}
			if s.N == 0 {
				t.Errorf("%s has no rows behind it", s.Name)
			}
		}
	}
}

func TestCollectingWithNetsDoesNotAllocate(t *testing.T) {
	w := newWorld(t, actor.Default(), ppo.Default())
	w.envs.Collect(w.ro, w.play)
	if n := testing.AllocsPerRun(10, func() { w.envs.Collect(w.ro, w.play) }); n != 0 {
		t.Errorf("a window allocates %v times, want 0", n)
	}
}

// A frozen agent with an LSTM plays windows of any length and keeps its memory
// across a checkpoint.
func TestFrozenLSTMPlaysAndRemembers(t *testing.T) {
	net := actor.Config{Net: "dense", Frame: "egof", Hidden: []int{16}, Act: "tanh", LSTM: 8}
	w := newWorld(t, net, ppo.Default())
	frozen := func() *ppo.Player {
		b := w.brains[0]
		p := ppo.NewPlayer(b.Model, b.Params, 16, ppo.NewMemory(b.Model, 16, 1, 1), 1)
		p.Frozen = true
		return p
	}
	a, b := frozen(), frozen()
	w.play[0][0] = a
	w.envs.Collect(w.ro, w.play)
	saved, err := a.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.UnmarshalBinary(saved); err != nil {
		t.Fatal(err)
	}
	again, _ := b.AppendBinary(nil)
	if len(saved) != 2*4*16*8 || !slices.Equal(saved, again) || !slices.ContainsFunc(saved, func(x byte) bool { return x != 0 }) {
		t.Errorf("%d bytes of memory, restored alike: %v", len(saved), slices.Equal(saved, again))
	}
	if err := b.UnmarshalBinary(saved[1:]); err == nil {
		t.Error("a cut memory was accepted")
	}
}

// Aligned learners read each other's rows, and those with a memory go on with it: the presets of selfish learners, with
// fewer copies and steps, keep what every run promises: equal bytes for any number of workers, and when they are
// stopped and resumed.
func TestSelfishPresetsKeepTheirPromises(t *testing.T) {
	for name, sets := range map[string][]string{"aa-ipd": nil, "aa-coin": nil, "icl": nil, "icl shown": {"train.standins.shown=true"}} {
		t.Run(name, func(t *testing.T) {
			preset, _, _ := strings.Cut(name, " ")
			sets = append([]string{"train.envs=8", "train.window=51", "train.steps=2040", "train.save=816"}, sets...)
			text := spectest.With(t, "base: "+preset, sets...)
			want := spectest.Promises(t, text, 3)
			for _, workers := range []int{2, 7} {
				if !bytes.Equal(spectest.Play(t, text, 3, workers).Last(t), want) {
					t.Errorf("one and %d workers end in different checkpoints", workers)
				}
			}
		})
	}
}

// What players encoded to act by is what a brain encodes to learn from: in a window that is as it was played it
// looks at no observation again, and in any other it does.
func TestWhatPlayersEncodedIsLearntFrom(t *testing.T) {
	for name, net := range map[string]func(*actor.Config){
		"egof": func(c *actor.Config) { c.Frame = "egof" }, "ego": func(c *actor.Config) { c.Frame = "ego" },
		"convolutions": func(c *actor.Config) { c.Net, c.Frame = "conv", "board" },
	} {
		cfg := actor.Default()
		net(&cfg)
		learnt := func(played, spoilt bool) []float32 {
			w := newWorld(t, cfg, ppo.Default())
			for range 2 { // the second window goes over the memory of the first
				w.envs.Collect(w.ro, w.play)
			}
			if spoilt {
				for i := range w.ro.Obs {
					w.ro.Obs[i] = 1 - w.ro.Obs[i]
				}
			}
			win := w.window()
			win.Played = played
			if _, err := w.brains[2].Learn(win); err != nil {
				t.Fatal(err)
			}
			return w.brains[2].Params.W
		}
		want := learnt(false, false)
		if !slices.Equal(learnt(true, false), want) {
			t.Errorf("%s: a window as it was played teaches something else", name)
		}
		if !slices.Equal(learnt(true, true), want) {
			t.Errorf("%s: observations were encoded again", name)
		}
		if slices.Equal(learnt(false, true), want) {
			t.Errorf("%s: a window that was changed teaches the same", name)
		}
	}
}
