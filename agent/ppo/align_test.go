package ppo

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/rng"
)

// met draws a window of three agents with episodes that begin within it, agents who leave before
// others, and places that stand-ins play.
func met(r *rng.Rand) *batch.Rollout {
	ro := batch.New(batch.Shape{Agents: 3, Steps: 25, Envs: 5, ObsLen: 1, Actions: 2})
	for i := range ro.Reached {
		ro.Reached[i] = game.NoGoal
	}
	for n := range ro.Envs {
		for t := range ro.Steps {
			over := t > 0 && r.IntN(6) == 0 // the step before was the episode's last
			if over {
				ro.Start[ro.Moment(t, n)] = true
			}
			for a := range agent.ID(3) {
				step, slot := ro.Step(a, t, n), ro.Slot(a, t, n)
				ro.Alive[slot] = t == 0 || over || ro.Alive[ro.Slot(a, t-1, n)] && r.IntN(8) > 0
				if t > 0 && ro.Alive[ro.Slot(a, t-1, n)] && (over || !ro.Alive[slot]) {
					ro.End[ro.Step(a, t-1, n)] = [2]batch.End{batch.Exited, batch.Cut}[r.IntN(2)]
				}
				ro.Own[step] = ro.Alive[slot] && r.IntN(4) > 0
				ro.Reward[step], ro.Value[slot] = float32(math.NaN()), float32(r.Norm())
				if ro.Alive[slot] {
					ro.Reward[step] = float32(r.Norm())
				}
			}
		}
	}
	return ro
}

// Aligned advantages are those of the definition in float64. Rewards of dead rows are NaN here: if
// one reached an advantage, it would show.
func TestAlignedAdvantagesFollowTheDefinition(t *testing.T) {
	r := rng.New(1).Rand()
	b := &Brain{cfg: Config{Gamma: 0.9, Lambda: 0.8, Align: 1.5}}
	rewards := learner.Rewards{Scale: 0.7, Gamma: 0.9}
	moved := 0.
	for range 20 {
		ro := met(&r)
		size := ro.Steps * ro.Envs
		earned, adv, ret, plain := make([]float32, size), make([]float32, size), make([]float32, size), make([]float32, size)
		for a := range agent.ID(3) {
			rewards.Apply(earned, ro, a)
			Advantages(adv, ret, ro, a, earned, 0.9, 0.8)
			copy(plain, adv)
			b.align(adv, ro, rewards, a)
			w := &reference.Window{Rollout: ro, Rewards: reference.Rewards{Scale: 0.7, Gamma: 0.9}}
			for i, want := range w.Aligned(a, reference.PPO{Gamma: 0.9, Lambda: 0.8, Align: 1.5}) {
				if !ro.Alive[ro.Slot(a, 0, 0)+i] {
					if adv[i] != 0 && ro.Own[ro.Step(a, 0, 0)+i] {
						t.Fatalf("a dead row has advantage %v", adv[i])
					}
					continue
				}
				if !(math.Abs(float64(adv[i])-want) < 1e-4*max(1, math.Abs(want))) {
					t.Fatalf("%v step %d env %d: aligned advantage %v, want %v", a, i/ro.Envs, i%ro.Envs, adv[i], want)
				}
				moved = max(moved, math.Abs(float64(adv[i]-plain[i])))
			}
		}
	}
	if moved < 1 {
		t.Errorf("alignment moves advantages by %v at most: nothing was tested", moved)
	}
}

// The formula by hand, of two agents: A* = A + beta gamma (sum_{k<t} gamma^(t-k) A_k) A'_t, anew from
// an episode's start, and nothing where the other is a stand-in.
func TestAlignmentByHand(t *testing.T) {
	ro := batch.New(batch.Shape{Agents: 2, Steps: 5, Envs: 1, ObsLen: 1, Actions: 1})
	for i := range ro.Reached {
		ro.Reached[i], ro.Alive[i], ro.Own[i], ro.End[i] = game.NoGoal, true, true, batch.Exited // advantages are rewards less values
	}
	for i := range ro.Alive {
		ro.Alive[i] = true
	}
	copy(ro.Reward, []float32{1, 2, 4, 8, 3, 10, 20, 30, 40, 50})
	ro.Start[ro.Moment(3, 0)] = true
	ro.Own[ro.Step(1, 2, 0)] = false
	b := &Brain{cfg: Config{Gamma: 0.5, Lambda: 1, Align: 2}}
	adv := []float32{1, 2, 4, 8, 3}
	b.align(adv, ro, learner.Rewards{Scale: 1}, 0)
	want := []float32{1, 2 + 2*.5*(.5*1)*20, 4, 8, 3 + 2*.5*(.5*8)*50}
	for i, x := range want {
		if adv[i] != x {
			t.Errorf("step %d: %v, want %v", i, adv[i], x)
		}
	}
}
