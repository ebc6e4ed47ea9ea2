package train_test

import (
	"context"
	"flag"
	"path/filepath"
	"testing"

	"hop/agent"
	"hop/batch"
	"hop/exp"
	"hop/ppo"
	"hop/runlog"
	"hop/stats"
	"hop/train"
)

var fall = flag.Bool("fall", false, "run the experiment in which a planner's reward rises and falls (minutes)")

// falling is a HOP agent trained as in docs/hop.md, "Rise and fall".
const falling = `
actor: {hidden: [64, 64]}
ppo: {gamma: 0.99, lambda: 1, lr: 1e-3, epochs: 2, reward_scale: 0.2}
plan: {on: true, goals: hand, leaf: net, passes: 6}
search: {trees: 4, sims: 24}
moa: {hidden: [64, 64], lr: 1e-3}
train:
  envs: 32
  window: 40
  steps: 60000
  warm: {windows: 10, who: [ns, nh]}
`

// padded is a HOP that learns from rows of agents that have left, once it plays.
type padded struct {
	*train.HOP
	warm, updates int
}

const stay = 4

func (p *padded) Learn(ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
	if p.updates++; p.updates <= p.warm {
		return p.HOP.Learn(ro, shape, share)
	}
	return p.LearnPadded(ro, shape, share, stay)
}

// The users' planner got better and then worse (note 000). One fault does this:
// rows of agents that have left, recorded as staying. The better the agents play,
// the sooner they leave and the more of the rows are such; the model of others
// comes to predict that whoever has reached the stag stays there and never hunts,
// and the plan gives the stag up. The same run without the fault does not fall.
func TestRowsOfThoseWhoLeftMakeTheRewardFall(t *testing.T) {
	if !*fall {
		t.Skip("minutes; run with -fall")
	}
	for _, faulty := range []bool{false, true} {
		s, err := exp.Parse([]byte(falling), "test.yaml", "test", nil)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := s.Parts(1, exp.Machine{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		if faulty {
			for i, m := range parts.Minds {
				parts.Minds[i] = &padded{HOP: m.(*train.HOP), warm: s.Train.Warm.Windows}
			}
		}
		loop, err := train.NewSelfPlay(s.Train, s.PPO, parts)
		if err != nil {
			t.Fatal(err)
		}
		run, err := runlog.Create(filepath.Join(t.TempDir(), "run"), nil, runlog.Info{})
		if err != nil {
			t.Fatal(err)
		}
		var best, now stats.Acc // of five windows
		var block stats.Acc
		windows := 0
		err = loop.Run(context.Background(), run, func(p *train.Progress) {
			if p.Update <= s.Train.Warm.Windows {
				return
			}
			for _, r := range p.Return {
				block.Merge(r)
			}
			if windows++; windows%5 == 0 {
				t.Logf("faulty %v, env step %d: mean return %.3f", faulty, p.Step, block.Mean())
				now = block
				if best.N() == 0 || block.Mean() > best.Mean() {
					best = block
				}
				block = stats.Acc{}
			}
		})
		run.Close()
		if err != nil {
			t.Fatal(err)
		}
		if fell := best.Mean() - now.Mean(); faulty != (fell > 0.5) {
			t.Errorf("faulty %v: the mean return was %.3f at best and ends at %.3f", faulty, best.Mean(), now.Mean())
		}
	}
}
