package imagine

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// seer is PPO with a model of others that is known: what it expects of them is what
// predict says.
type seer struct {
	*ppo.Brain
	agents  int
	predict func(dst []float64, v *rollout.View, n int, of agent.ID)
}

func (s *seer) Players(a agent.ID, workers, envs int) ([]rollout.Player, error) {
	return learner.Workers(workers, func() rollout.Player {
		o := &owner{Player: s.Brain.Player(a, envs), seer: s, me: a}
		for b := range agent.ID(s.agents) {
			if b != a {
				o.others = append(o.others, b)
			}
		}
		return o
	}), nil
}

// owner is its player.
type owner struct {
	*ppo.Player
	*seer
	me      agent.ID
	others  []agent.ID
	view    rollout.View
	watched int // rows
}

func (o *owner) Others() []agent.ID { return o.others }

func (o *owner) Read(dst []float64, n, j int) []float64 {
	o.predict(dst, &o.view, n, o.others[j])
	return nil
}

func (o *owner) Watch(v *rollout.View, envs []int32) {
	o.view = *v
	o.watched += len(envs)
}

func (o *owner) Choose(v *rollout.View, envs []int32) { o.Player.Act(v, envs) }

func (o *owner) Act(v *rollout.View, envs []int32) {
	o.Watch(v, envs)
	o.Choose(v, envs)
}

func (o *owner) Evaluate(v *rollout.View, envs []int32) { o.Player.Evaluate(v, envs) }

// expects is what one agent knows of another's play in env n of its view.
type expects func(dst []float64, v *rollout.View, n int, of agent.ID)

// forSelf is imagination by agents that expect something of each other, in the world
// model of the imagination together, in which they play themselves.
func forSelf(t testing.TB, predict func(brains []learner.Mind) expects) (m, together *Imagination, played *batch.Rollout) {
	t.Helper()
	together, played, brains := imaginingBy(t)
	var minds []learner.Mind
	for _, b := range brains {
		minds = append(minds, &seer{Brain: b.(*ppo.Brain), agents: 4, predict: predict(brains)})
	}
	cfg := together.cfg
	cfg.Others = "model"
	m, err := New(cfg, nil, together.game.spec, played.Shape, minds, []int{0, 1, 2, 3}, rng.New(4), 1)
	if err != nil {
		t.Fatal(err)
	}
	m.world, m.game.rules = together.world, together.world
	m.game.look(played, false)
	together.game.look(played, false)
	return m, together, played
}

// policies expects of everyone what its own network says.
func policies(brains []learner.Mind) expects {
	cat, works := nn.NewCategorical(7, 1), []*actor.Work{}
	for _, b := range brains {
		works = append(works, b.(*ppo.Brain).Model.Work(1))
	}
	return func(dst []float64, v *rollout.View, n int, of agent.ID) {
		ws, slot := works[of], v.Slot(of, v.T, n)
		ws.Reset()
		ws.Add(v.ObsAt(slot), nil)
		ws.Forward(brains[of].(*ppo.Brain).Params)
		cat.Set(ws.Logits, v.LegalAt(slot), 1)
		_, p := cat.Row(0)
		for k, x := range p {
			dst[k] = float64(x)
		}
	}
}

// Whoever expects of the others exactly what they would do imagines what all of them
// would imagine together, step by step, as long as it is there; and every action of a
// co-player is the one that its own stream draws from what is expected of it.
func TestAnExactModelOfOthersImaginesWhatTheirBrainsWould(t *testing.T) {
	m, together, _ := forSelf(t, policies)
	ro, all := m.Imagine(7, 0).Rollout, together.Imagine(7, 0).Rollout
	same, left := 0, 0
	for n := range all.Envs { // agent 0's copies have the streams of those that all imagine
		for s := range all.Steps {
			for a := range agent.ID(4) {
				i, j := ro.Step(a, s, n), all.Step(a, s, n)
				if ro.Action[i] != all.Action[j] || ro.Reward[i] != all.Reward[j] ||
					!slices.Equal(ro.ObsAt(ro.Slot(a, s, n)), all.ObsAt(all.Slot(a, s, n))) {
					t.Fatalf("slot %d of copy %d: agent %d plays %d, want %d", s, n, a, ro.Action[i], all.Action[j])
				}
				same++
			}
			if end := ro.End[ro.Step(0, s, n)]; end != batch.Going {
				if end != all.End[all.Step(0, s, n)] {
					t.Fatalf("slot %d of copy %d: the end of agent 0 is %v, want %v", s, n, end, all.End[all.Step(0, s, n)])
				}
				left++
				break
			}
		}
	}
	if same < 1000 || left < all.Envs/2 {
		t.Errorf("%d rows were compared and %d exits seen: too few", same, left)
	}
	v, probs, foreign := &rollout.View{Rollout: ro}, make([]float64, 7), 0
	predict := policies([]learner.Mind{m.imaginers[0].Foreseeing.(*owner).Brain, m.imaginers[1].Foreseeing.(*owner).Brain,
		m.imaginers[2].Foreseeing.(*owner).Brain, m.imaginers[3].Foreseeing.(*owner).Brain})
	for n := range ro.Envs {
		for a := range agent.ID(4) {
			r := m.key.Child("round", 7).Child("act", int(a)).Child("env", n).Rand()
			for s := range ro.Steps {
				if !ro.Alive[ro.Slot(a, s, n)] {
					continue
				}
				v.T = s
				predict(probs, v, n, a)
				u := float64(r.Float32())
				if want := rng.Pick(probs, u); ro.Action[ro.Step(a, s, n)] != want {
					t.Fatalf("copy %d, slot %d: agent %d plays %d, want %d of %v", n, s, a, ro.Action[ro.Step(a, s, n)], want, probs)
				}
				foreign++
			}
		}
	}
	if foreign < 10000 {
		t.Errorf("%d actions were compared: too few", foreign)
	}
}

// always expects everyone to stay where it is.
func always([]learner.Mind) expects {
	return func(dst []float64, _ *rollout.View, _ int, _ agent.ID) {
		clear(dst)
		dst[grid.Stay] = 1
	}
}

// In what an agent imagines the others do what it expects of them, not what they would
// do; only its own rows are its own; it watches every slot once; an episode is over, cut
// for the others, when it has left; and everyone sits as the observations have it.
func TestEachAgentImaginesForItself(t *testing.T) {
	m, _, played := forSelf(t, always)
	defer t.Run("others' rows reach no loss", func(t *testing.T) { learnsFromOwnRows(t, m, played) })
	defer t.Run("nothing is allocated", func(t *testing.T) {
		begin := func() { m.envs.Restart(m.key) } // who always stays outlives the horizon in a later window
		n := testing.AllocsPerRun(3, func() {
			begin()
			m.envs.Collect(m.ro, m.players)
		})
		if n -= testing.AllocsPerRun(3, begin); n != 0 {
			t.Errorf("a window of %d steps allocates %v times, want 0", m.ro.Steps, n)
		}
	})
	ro, copies, planes := m.Imagine(7, 0).Rollout, m.game.copies, len(m.game.spec.Obs.Planes)
	watched, moved, cut := make([]int, 4), 0, 0
	for n := range ro.Envs {
		me := agent.ID(n / copies)
		for s := range ro.Steps {
			for a := range agent.ID(4) {
				i, slot := ro.Step(a, s, n), ro.Slot(a, s, n)
				if !ro.Alive[slot] {
					continue
				}
				if ro.Own[i] != (a == me) {
					t.Fatalf("copy %d of agent %d: own is %v for a row of agent %d", n, me, ro.Own[i], a)
				}
				if a == me {
					watched[a]++
					if ro.Action[i] != grid.Stay {
						moved++
					}
				} else if ro.Action[i] != grid.Stay {
					t.Fatalf("copy %d of agent %d: agent %d plays %d, and is expected to stay", n, me, a, ro.Action[i])
				}
				if !ro.Alive[ro.Slot(me, s+1, n)] && s+1 < ro.Steps {
					if a != me && ro.End[i] == batch.Cut {
						cut++
					}
					if ro.Alive[ro.Slot(a, s+1, n)] {
						t.Fatalf("copy %d: agent %d plays on after agent %d, who imagines, has left", n, a, me)
					}
				}
				for b := range agent.ID(4) { // where a sees b is where b is
					place := (int(ro.Seat[ro.Slot(b, s, n)]) - int(ro.Seat[slot]) + 4) % 4
					if at := cell(ro, ro.Slot(b, s, n), planes); ro.Alive[ro.Slot(b, s, n)] && ro.ObsAt(slot)[at*planes+place] != 1 {
						t.Fatalf("copy %d, slot %d: agent %d does not see agent %d where it is", n, s, a, b)
					}
				}
			}
		}
	}
	for a, d := range m.imaginers {
		if got := d.Foreseeing.(*owner).watched; got != watched[a] {
			t.Errorf("agent %d watched %d times, and acted %d times", a, got, watched[a])
		}
	}
	if moved < 1000 || cut < 20 {
		t.Errorf("%d own moves and %d cuts: too few", moved, cut)
	}
}

// learnsFromOwnRows checks that nothing else is learnt, whatever stands in the others'
// rows of an imagined window.
func learnsFromOwnRows(t *testing.T, m *Imagination, played *batch.Rollout) {
	im := m.Imagine(7, 0)
	learn := func() []float32 {
		b := brain(t, m.game.spec, 1, rng.New(8))
		w := &learner.Window{Rollout: played, Rewards: learner.Rewards{Scale: 1}, Imagined: im}
		if _, err := b.Learn(w); err != nil {
			t.Fatal(err)
		}
		return b.Params.W
	}
	want := learn()
	ro, wrong := im.Rollout, 0
	for n := range ro.Envs {
		for a := range agent.ID(4) {
			for s := range ro.Steps {
				if i := ro.Step(a, s, n); n/m.game.copies != 1 || a != 1 {
					ro.Reward[i], ro.LogProb[i], ro.Value[ro.Slot(a, s, n)] = 99, -5, 77
					ro.Action[i] = (ro.Action[i] + 7) % 7
					wrong++
				}
			}
		}
	}
	if got := learn(); !slices.Equal(got, want) || wrong == 0 {
		t.Errorf("the weights are others when %d rows of others are", wrong)
	}
	im.Rollout.Reward[ro.Step(1, 0, m.game.copies)] = 99
	if slices.Equal(learn(), want) {
		t.Error("an own imagined reward is not learnt from")
	}
}

var _ learner.Foreseeing = (*owner)(nil)

// brain is a PPO learner of one agent.
func brain(t testing.TB, spec game.Spec, a agent.ID, key rng.Key) *ppo.Brain {
	t.Helper()
	l := spec.Obs
	in := actor.Input{Input: frame.Input{Height: l.Height, Width: l.Width, Planes: len(l.Planes), Rest: l.Len() - l.PlanesLen()}, Actions: 7}
	b, err := ppo.New(ppo.Default(), actor.Default(), in, []agent.ID{a}, 1, key)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
