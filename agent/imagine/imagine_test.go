package imagine

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/rng"
)

// learnt are the weights of the first test's world model, with which others begin.
var learnt []float32

// imagining is an imagination whose world model has seen a few windows of
// independent learners, and the last of them.
func imagining(t testing.TB) (*Imagination, *batch.Rollout) {
	t.Helper()
	m, ro, _ := imaginingBy(t)
	return m, ro
}

// imaginingBy also returns the minds.
func imaginingBy(t testing.TB) (*Imagination, *batch.Rollout, []learner.Mind) {
	t.Helper()
	g := gametest.New(t, staghunt.New, staghunt.Default())
	spec, key := g.Spec(), rng.New(4)
	var minds []learner.Mind
	var players []rollout.Player
	for a := range agent.ID(4) {
		b := brain(t, spec, a, key.Child("brain", int(a)))
		minds, players = append(minds, b), append(players, b.Player(a, 64))
	}
	e, err := rollout.New(rollout.Config{Game: g, Envs: 64, Key: key, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Default()
	cfg.On, cfg.Length, cfg.Steps, cfg.Batch = true, 20, 100, 128
	if len(learnt) > 0 {
		cfg.Steps = 1 // what is learnt is replaced
	}
	m, err := New(cfg, nil, spec, e.Shape(32, 0), minds, []int{0, 1, 2, 3}, key, 1)
	if err != nil {
		t.Fatal(err)
	}
	ro := batch.New(e.Shape(32, 0))
	loaded := false
	for update := 0; ; update++ {
		e.Collect(ro, [][]rollout.Player{players})
		m.world.score(ro)
		if update == 6 || loaded {
			break
		}
		if _, err := m.world.learn(ro, update, false); err != nil {
			t.Fatal(err)
		}
		if loaded = len(learnt) > 0 && len(learnt) == len(m.world.net.W); loaded { // all rewards have been seen
			copy(m.world.net.W, learnt)
		}
	}
	learnt = slices.Clone(m.world.net.W)
	if m.world.exact < 0.97 {
		t.Fatalf("the model foresees %.3f of the steps after five windows, want 0.97", m.world.exact)
	}
	if !m.game.look(ro, true) {
		t.Fatal("there is no state to start from")
	}
	return m, ro, minds
}

// cell returns where an agent sees itself, -1 if it is gone.
func cell(ro *batch.Rollout, slot, planes int) int {
	for i, v := range ro.ObsAt(slot)[:16*planes] {
		if v == 1 && i%planes == 0 {
			return i / planes
		}
	}
	return -1
}

// An imagined rollout is an ordinary one: exits, cuts, masks and episode starts
// as package rollout writes them, and each agent moves as it itself decided.
func TestImaginedRolloutsAreOrdinary(t *testing.T) {
	m, played := imagining(t)
	for _, anywhere := range []bool{false, true} {
		m.game.look(played, anywhere)
		ro, planes := m.Imagine(7, 0).Rollout, len(m.game.spec.Obs.Planes)
		moved, astray, exits, cuts, lost := 0, 0, 0, 0, 0
		for n := range ro.Envs {
			for s := range ro.Steps {
				if over := !anyAlive(ro, s, n); over != ro.Start[ro.Moment(s+1, n)] {
					t.Fatalf("env %d slot %d: over is %v, but the next slot starts an episode is %v", n, s, over, !over)
				}
				for a := range agent.ID(4) {
					i, slot, next := ro.Step(a, s, n), ro.Slot(a, s, n), ro.Slot(a, s+1, n)
					if !ro.Alive[slot] {
						if ro.Action[i] != game.NoAction || ro.Own[i] || ro.Reward[i] != 0 {
							t.Fatalf("%v acts, owns or earns while not alive", a)
						}
						continue
					}
					if k := ro.Action[i]; !ro.LegalAt(slot)[k] {
						t.Fatalf("%v plays action %d, which is not legal", a, k)
					}
					switch ro.End[i] {
					case batch.Exited:
						exits++
						if ro.Alive[next] || anyTrue(ro.LegalAt(next)) {
							t.Fatalf("%v has left but is alive or may act", a)
						}
						continue
					case batch.Cut:
						cuts++
						if s < ro.Steps-1 {
							lost++
						}
						if ro.Value[next] == 0 {
							t.Fatalf("%v was cut but nothing says what the rest is worth", a)
						}
					}
					if k := ro.Action[i]; k < grid.Stay {
						moved++
						step := []int{grid.Up: -4, grid.Down: 4, grid.Left: -1, grid.Right: 1}[k]
						if cell(ro, next, planes) != cell(ro, slot, planes)+step {
							astray++
						}
					}
				}
			}
		}
		if moved == 0 || exits == 0 || cuts == 0 || 50*astray > moved || 50*lost > exits {
			t.Errorf("anywhere is %v: %d of %d moves lead elsewhere, %d exits, %d cuts, %d of them before the end; "+
				"want at most 2 in a hundred astray, "+
				"few early cuts and some of the others", anywhere, astray, moved, exits, cuts, lost)
		}
	}
}

// blind is imagination whose model loses agent 2 in every step from slot 3 on.
type blind struct {
	*imagined
	steps int
}

func (g *blind) StepAll(sts []game.State, actions [][]int32, rewards [][]float32, rules []*rng.Rand) {
	g.imagined.StepAll(sts, actions, rewards, rules)
	if g.steps++; g.steps <= 1+3 { // the first resets
		return
	}
	for i, s := range sts {
		st := s.(*state)
		if actions[i] == nil {
			continue
		}
		next := world.Next{Obs: make([][]float32, 4), Reward: make([][]float32, 4), End: make([][]bool, 4), Legal: make([][]bool, 4)}
		for a, seat := range st.seat {
			s := int(seat)
			next.Obs[s], next.Reward[s] = slices.Clone(st.obsOf(s)), []float32{rewards[i][s]}
			next.End[s], next.Legal[s] = []bool{false}, slices.Clone(st.legalOf(s))
			if a == 2 {
				clear(next.Legal[s])
			}
		}
		st.take(&next, 0, rewards[i])
	}
}

// Where the model says that an agent is there and may do nothing, its episode is
// cut, not over: what the rest is worth comes from its value. The others play on.
func TestEpisodesAreCutWhereTheModelLosesAnAgent(t *testing.T) {
	m, _ := imagining(t)
	e, err := rollout.New(rollout.Config{Game: &blind{imagined: m.game}, Envs: 16, Key: rng.New(1), Workers: 1, FixSeat: true})
	if err != nil {
		t.Fatal(err)
	}
	ro := batch.New(e.Shape(8, 0))
	e.Collect(ro, m.players)
	cuts, others := 0, 0
	for n := range 16 {
		for s := range 7 {
			slot, next := ro.Slot(2, s, n), ro.Slot(2, s+1, n)
			switch end := ro.End[ro.Step(2, s, n)]; {
			case end == batch.Cut:
				cuts++
				if s < 3 || ro.Alive[next] || ro.Value[next] == 0 || anyTrue(ro.LegalAt(next)) {
					t.Errorf("slot %d of env %d is a cut, then alive is %v and the value %v", s, n, ro.Alive[next], ro.Value[next])
				}
				if anyAlive(ro, s+1, n) {
					others++
				}
			case s >= 3 && ro.Alive[slot] && end != batch.Exited:
				t.Errorf("slot %d of env %d: the model has lost the agent, and its step ends as %v", s, n, end)
			}
		}
	}
	if cuts < 5 || others < 5 {
		t.Errorf("%d cuts, %d with others left: the test saw too little", cuts, others)
	}
}

// alone is the world model as a game whose states are stepped one by one.
type alone struct{ *imagined }

type lone struct {
	*state
	sts     []game.State
	actions [][]int32
	rewards [][]float32
}

func (g alone) New() game.State {
	st := g.imagined.New().(*state)
	return &lone{st, []game.State{st}, make([][]int32, 1), make([][]float32, 1)}
}

func (s *lone) Step(actions []int32, rewards []float32, _ *rng.Rand) {
	s.actions[0], s.rewards[0] = actions, rewards
	s.g.StepAll(s.sts, s.actions, s.rewards, nil)
	s.actions[0], s.rewards[0] = nil, nil
}

func (s *lone) CopyFrom(src game.State) { s.state.CopyFrom(src.(*lone).state) }

// What every game owes to those who play it, the world model owes as well, except
// that it answers moves that are not legal too, and that who is next to whom is as
// it was at the real seats.
func TestTheWorldModelIsAGame(t *testing.T) {
	m, played := imagining(t)
	m.game.look(played, false)
	for _, c := range gametest.Checks {
		t.Run(c.Name, func(t *testing.T) {
			err := c.Try(alone{m.game})
			if _, ok := err.(gametest.DoesNotApply); err != nil && !ok && c.Name != "legal" && c.Name != "layout" {
				t.Errorf("%s: %v", c.Doc, err)
			}
		})
	}
}

// Once warm, playing on in the model allocates nothing.
func TestImaginingAllocatesNothing(t *testing.T) {
	m, _ := imagining(t)
	m.Imagine(7, 0)
	if n := testing.AllocsPerRun(10, func() { m.envs.Collect(m.ro, m.players) }); n != 0 {
		t.Errorf("a window of %d steps allocates %v times, want 0", m.ro.Steps, n)
	}
}
