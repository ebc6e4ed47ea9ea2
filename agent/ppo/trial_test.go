package ppo

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/rng"
)

// trials is one brain for four hunters who live through trials of three episodes.
type trials struct {
	b    *Brain
	envs *rollout.Envs
	play [][]rollout.Player
}

func newTrials(t *testing.T, windows int, cfg Config) (trials, *batch.Rollout) {
	t.Helper()
	c := staghunt.Default()
	c.Size, c.Horizon = 3, 9
	g, err := staghunt.New(c)
	if err != nil {
		t.Fatal(err)
	}
	spec := g.Spec()
	in := actor.Input{Input: frame.Layout(spec.Obs).Input(), Actions: len(spec.Actions)}
	in.Extra = TrialInput(len(spec.Actions), spec.Seats)
	net := actor.Config{Net: "dense", Frame: "egof", Hidden: []int{16}, Act: "tanh", LSTM: 8}
	const envs, steps = 24, 37
	b, err := New(cfg, net, in, []agent.ID{0, 1, 2, 3}, 1, rng.New(5))
	if err != nil {
		t.Fatal(err)
	}
	b.LiveThroughTrials(3)
	b.Remember(envs, steps)
	for i := range b.Params.W {
		b.Params.W[i] *= 2 // values that differ from state to state
	}
	w := trials{b: b, play: [][]rollout.Player{nil}}
	if w.envs, err = rollout.New(rollout.Config{Game: g, Envs: envs, Key: rng.New(7), Workers: 1}); err != nil {
		t.Fatal(err)
	}
	for a := range agent.ID(4) {
		w.play[0] = append(w.play[0], b.Player(a, envs))
	}
	ro := batch.New(w.envs.Shape(steps, b.GoalLen()))
	for range windows {
		w.envs.Collect(ro, w.play)
	}
	return w, ro
}

// Advantages over trials are their definition's, forwards and in float64: sums of
// (gamma lambda)^k delta_{i+k} over an agent's own steps to the end of its trial.
// Episodes are counted here from the windows' starts, not taken from what players wrote.
// What follows a window is what its players then find, where the window's last slot
// shows the next board; and nothing follows the end of a trial.
func TestTrialAdvantagesFollowTheDefinition(t *testing.T) {
	cfg := Default()
	cfg.Gamma, cfg.Lambda = 0.9, 0.8
	w, ro := newTrials(t, 0, cfg)
	episode := make([][]int, ro.Envs) // [N][T+1] which it is, counted from the first window on
	for n := range episode {
		episode[n] = make([]int, ro.Steps+1)
		episode[n][ro.Steps] = -1
	}
	follows := map[[2]int]float32{} // by agent and env: what follows the last window
	checked, across, ends, shown := 0, 0, 0, 0
	for window := range 20 {
		w.envs.Collect(ro, w.play)
		for at, got := range follows {
			want := ro.Value[ro.Slot(agent.ID(at[0]), 0, at[1])]
			if episode[at[1]][ro.Steps]%3 == 0 {
				want = 0
			} else {
				shown++
			}
			if math.Abs(float64(got-want)) > 1e-5 {
				t.Errorf("window %d, agent %d, env %d: %v follows the window before, want %v", window, at[0], at[1], got, want)
			}
		}
		clear(follows)
		for n, e := range episode {
			if e[0] = e[ro.Steps]; window == 0 {
				e[0] = 0
			}
			for s := 1; s <= ro.Steps; s++ {
				e[s] = e[s-1]
				if ro.Start[ro.Moment(s, n)] {
					e[s]++
				}
			}
		}
		adv, ret := make([]float32, ro.Steps*ro.Envs), make([]float32, ro.Steps*ro.Envs)
		rewards := make([]float32, ro.Steps*ro.Envs)
		for k := range 4 {
			a := agent.ID(k)
			learner.Rewards{Scale: 0.2}.Apply(rewards, ro, a)
			w.b.trialAdvantages(adv, ret, ro, k, rewards)
			for n, e := range episode {
				var rows []int // the steps at which it acts
				for s := range ro.Steps {
					if ro.Alive[ro.Slot(a, s, n)] {
						rows = append(rows, s)
					}
				}
				if len(rows) > 0 && ro.Start[ro.Moment(ro.Steps, n)] {
					follows[[2]int{k, n}] = w.b.beyond[n]
				}
				value := func(s int) float64 { return float64(ro.Value[ro.Slot(a, s, n)]) }
				for i, first := range rows {
					sum, factor := 0., 1.
					for j := i; j < len(rows); j++ {
						now, next, over := rows[j], float64(w.b.beyond[n]), true
						if j+1 < len(rows) {
							after := rows[j+1]
							next, over = value(after), e[after]/3 != e[now]/3
							if over {
								next = 0
								ends++
							} else if e[after] != e[now] {
								across++
							}
						}
						sum += factor * (float64(rewards[now*ro.Envs+n]) + cfg.Gamma*next - value(now))
						if factor *= cfg.Gamma * cfg.Lambda; over {
							break
						}
					}
					if got := adv[first*ro.Envs+n]; math.Abs(float64(got)-sum) > 1e-4 {
						t.Fatalf("window %d, agent %d, env %d, step %d: the advantage is %v, want %v", window, a, n, first, got, sum)
					}
					checked++
				}
			}
		}
	}
	if checked == 0 || across == 0 || ends == 0 || shown == 0 {
		t.Errorf("%d advantages, %d ends of episodes inside trials, %d ends of trials, %d boards after a window: too few",
			checked, across, ends, shown)
	}
}

// The LSTM is trained from the states that it acted with, whether a sequence starts
// inside an episode, between two, or while the agent waits: every ratio is 1.
func TestTrialsAreLearntFromAsTheyWereLived(t *testing.T) {
	cfg := Default()
	cfg.LR, cfg.Epochs, cfg.SeqLen = 1e-30, 1, 7
	w, ro := newTrials(t, 3, cfg)
	stats, err := w.b.Learn(&learner.Window{Rollout: ro, Rewards: learner.Rewards{Scale: 0.2}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stats {
		if s.Name == "ppo/kl" && (math.Abs(s.Value) > 1e-9 || s.N == 0) {
			t.Errorf("%s is %v over %d rows before anything was learnt, want 0", s.Name, s.Value, s.N)
		}
	}
}

// A window over trials allocates no more than any other: nothing.
func TestCollectingTrialsDoesNotAllocate(t *testing.T) {
	w, ro := newTrials(t, 2, Default())
	if n := testing.AllocsPerRun(10, func() { w.envs.Collect(ro, w.play) }); n != 0 {
		t.Errorf("a window allocates %v times, want 0", n)
	}
}
