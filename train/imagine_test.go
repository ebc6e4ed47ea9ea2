package train

import (
	"strings"
	"testing"

	"hop/agent"
	"hop/batch"
	"hop/frame"
	"hop/game"
	"hop/game/grid"
	"hop/game/staghunt"
	"hop/model/actor"
	"hop/ppo"
	"hop/rng"
)

// dreaming is a self-play run whose world model has seen a few windows.
func dreaming(t testing.TB) *SelfPlay {
	t.Helper()
	g, err := staghunt.New(staghunt.Default())
	if err != nil {
		t.Fatal(err)
	}
	l, key := g.Spec().Obs, rng.New(3)
	parts := Parts{Game: g, Key: key, Workers: 2, BrainOf: []int{0, 1, 2, 3}, Imagine: DefaultImagining()}
	parts.Imagine.On, parts.Imagine.Length, parts.Imagine.Steps, parts.Imagine.Batch = true, 20, 100, 128
	in := actor.Input{Input: frame.Input{Height: l.Height, Width: l.Width, Planes: len(l.Planes), Rest: l.Len() - l.PlanesLen()}, Actions: 7}
	for a := range agent.ID(4) {
		b, err := ppo.New(ppo.Default(), actor.Default(), in, []agent.ID{a}, 1, key.Child("brain", int(a)))
		if err != nil {
			t.Fatal(err)
		}
		parts.Brains = append(parts.Brains, b)
	}
	cfg := Default()
	cfg.Envs, cfg.Window = 64, 32
	s, err := NewSelfPlay(cfg, ppo.Default(), parts)
	if err != nil {
		t.Fatal(err)
	}
	for range 6 {
		if err := s.prepare(); err != nil {
			t.Fatal(err)
		}
		s.envs.Collect(s.ro, s.players)
		s.update++
		s.imagine.world.judge(s.ro)
		if _, err := s.imagine.world.learn(s.ro, s.update, false); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// imagine fills the imagined rollout from such states.
func imagine(t *testing.T, s *SelfPlay, from string) {
	t.Helper()
	s.imagine.cfg.From = from
	if !s.imagine.look(s.ro) {
		t.Fatal("there is no state to start from")
	}
	s.imagine.imagine(s.ro, 0)
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
	s := dreaming(t)
	for _, from := range []string{"starts", "slots"} {
		imagine(t, s, from)
		ro, planes := s.imagine.ro, len(s.spec.Obs.Planes)
		if exact := s.imagine.world.exact; exact < 0.97 {
			t.Fatalf("the model foresees %.3f of the steps after five windows, want 0.97", exact)
		}
		moved, astray, exits, cuts, lost := 0, 0, 0, 0, 0
		for n := range ro.Envs {
			for tt := range ro.Steps {
				over := !anyAlive(ro, tt, n)
				if over != ro.Start[ro.Moment(tt+1, n)] {
					t.Fatalf("env %d slot %d: over is %v, but the next slot starts an episode is %v", n, tt, over, !over)
				}
				for a := range agent.ID(4) {
					i, slot, next := ro.Step(a, tt, n), ro.Slot(a, tt, n), ro.Slot(a, tt+1, n)
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
						if ro.Alive[next] || anyLegal(ro.LegalAt(next)) {
							t.Fatalf("%v has left but is alive or may act (fault 8)", a)
						}
						continue
					case batch.Cut:
						cuts++
						if tt < ro.Steps-1 {
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
			t.Errorf("from %s: %d of %d moves lead elsewhere than the agent went, %d exits, %d cuts, %d of them before the end; want at most 2 in a hundred astray, few early cuts and some of the others", from, astray, moved, exits, cuts, lost)
		}
	}
}

// Fault 7: value targets of imagined rows that add Monte-Carlo returns to
// imagined rewards. The report names it, and is silent without it.
func TestMixedReturnsAreNamed(t *testing.T) {
	s := dreaming(t)
	imagine(t, s, "starts")
	ro := s.imagine.ro
	for _, planted := range []bool{false, true} {
		if planted {
			for a := range agent.ID(4) {
				for n := range ro.Envs {
					sum := float32(0)
					for tt := ro.Steps - 1; tt >= 0; tt-- {
						sum += ro.Reward[ro.Step(a, tt, n)]
						ro.Reward[ro.Step(a, tt, n)] += sum
					}
				}
			}
		}
		stats, err := s.learnBy(func(i int, shape ppo.Shape, share float64) ([]agent.Stat, error) {
			return s.parts.Brains[i].LearnMixed(s.ro, ppo.Mixture{Imagined: ro, RealRatio: 0.5}, shape, share)
		})
		if err != nil {
			t.Fatal(err)
		}
		if says := complaint(stats); strings.Contains(says, "fault 7") != planted {
			t.Errorf("planted %v: the report says %q", planted, says)
		}
	}
}

func TestUnrollingAllocatesNothing(t *testing.T) {
	s := dreaming(t)
	imagine(t, s, "slots")
	d := &s.imagine.workers[0]
	if n := testing.AllocsPerRun(10, func() { s.imagine.unroll(d, s.ro) }); n != 0 {
		t.Errorf("unrolling allocates %v times, want 0", n)
	}
}
