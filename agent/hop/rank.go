package hop

import (
	"errors"
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/search"
)

// ranks are ranked rewards as RLlib's AlphaZero has them (Laterre et al. 2018): an episode's
// last reward counts 1 if it is at least a percentile of the last ones, itself among them,
// else -1. The rewards before it count nothing.
type ranks struct {
	percentile float64   // 0: rewards count as they are
	recent     []float32 // oldest first
	sorted     []float32 // the same
}

// remembered is how many episodes rewards are ranked among: RLlib's buffer_max_length.
const remembered = 1000

// add puts a reward among the recent ones.
func (r *ranks) add(x float32) {
	if len(r.recent) == remembered {
		at, _ := slices.BinarySearch(r.sorted, r.recent[0])
		r.sorted = slices.Delete(r.sorted, at, at+1)
		r.recent = slices.Delete(r.recent, 0, 1)
	}
	at, _ := slices.BinarySearch(r.sorted, x)
	r.recent, r.sorted = append(r.recent, x), slices.Insert(r.sorted, at, x)
}

// of returns what a last reward counts. Between two recent rewards the percentile lies on
// the line through them, as numpy's does.
func (r *ranks) of(x float32) float32 {
	if len(r.sorted) == 0 {
		return 1
	}
	at := r.percentile / 100 * float64(len(r.sorted)-1)
	lo, hi := r.sorted[int(at)], r.sorted[min(int(at)+1, len(r.sorted)-1)]
	if part := at - float64(int(at)); float64(x) < float64(lo)+part*(float64(hi)-float64(lo)) {
		return -1
	}
	return 1
}

// more returns what is added to the agent's shaped rewards, [T][N], so that they are ranked;
// nil: nothing. Episodes that somebody else played to their end count nothing.
func (r *ranks) more(u *update, sees *visible, scale float32) []float32 {
	if r.percentile == 0 {
		return nil
	}
	ro := u.window.Rollout
	plus := make([]float32, ro.Steps*ro.Envs)
	u.window.Rewards.Apply(plus, ro, sees.me)
	for i, shaped := range plus {
		plus[i] = -shaped
		if step := ro.Step(sees.me, 0, 0) + i; ro.End[step] == batch.Exited && ro.Own[step] {
			r.add(ro.Reward[step])
			plus[i] += scale * r.of(ro.Reward[step])
		}
	}
	return plus
}

// save adds the recent rewards to f, if any are ranked.
func (r *ranks) save(f *safetensors.File, prefix string) {
	if r.percentile > 0 {
		f.PutFloat32(prefix+"ranked", r.recent, len(r.recent))
	}
}

// load restores what save stored.
func (r *ranks) load(f *safetensors.File, prefix string) error {
	if r.percentile == 0 {
		return nil
	}
	t, ok := f.Get(prefix + "ranked")
	if !ok || len(t.Shape) != 1 || t.Shape[0] > remembered {
		return errors.New("hop: loading " + prefix + "ranked: the checkpoint has no ranked rewards; use the spec of the saved run")
	}
	r.recent = make([]float32, t.Shape[0])
	err := f.Float32(r.recent, prefix+"ranked", len(r.recent))
	r.sorted = slices.Sorted(slices.Values(r.recent))
	return err
}

// rankedRules are rules by which a search earns ranked rewards.
type rankedRules struct {
	search.Dynamics
	ranks *ranks
}

// Expand plays the leaves and ranks what is earned in the end.
func (d rankedRules) Expand(leaves []search.Leaf, others []int32, rs []rng.Rand) {
	d.Dynamics.Expand(leaves, others, rs)
	for i := range leaves {
		l := &leaves[i]
		if l.Over {
			l.Reward = d.ranks.of(l.Reward)
		} else {
			l.Reward = 0
		}
	}
}

// dynamics returns what a search plays on, given the rules.
func (r *ranks) dynamics(rules learner.Rules) search.Dynamics {
	if r.percentile == 0 {
		return rules
	}
	return rankedRules{rules, r}
}

// checkRank says why rewards cannot be ranked.
func (c *Config) checkRank() error {
	if c.Rank > 0 && (c.Own != "search" || c.Leaf.Kind != "net") {
		return config.Bad("rank", c.Rank, "0, because own is "+c.Own+" and leaf.kind is "+c.Leaf.Kind+
			": ranked rewards are for a network that learns from a search (own search) and evaluates its leaves (leaf.kind net)")
	}
	return nil
}
