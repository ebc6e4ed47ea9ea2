package hop

import (
	"slices"

	"hop/mind"
	"hop/rollout"
)

// InWords returns how likely co-player j of env n is held to be after each goal: the
// beliefs over hypotheses times the words of each.
func (p *watcher) InWords(n, j int) (names []string, probs []float64) {
	for i, b := range p.beliefs[n].At(0, j) {
		words := []Word{{"random", 1}}
		if i != p.random {
			words = p.inference.Words(n, j, i)
		}
		for _, w := range words { // hypotheses may lead to the same goals
			at := slices.Index(names, w.Name)
			if at < 0 {
				at, names, probs = len(names), append(names, w.Name), append(probs, 0)
			}
			probs[at] += b * w.Share
		}
	}
	return names, probs
}

// Watch infers and predicts as Act does, and chooses nothing.
func (p *watcher) Watch(v *rollout.View, envs []int32) {
	p.inference.Observe(v, envs)
	p.updateBeliefs(v, envs)
	p.predictOthers(v, envs)
}

var (
	_ mind.Wording  = (*player)(nil)
	_ mind.Watching = (*player)(nil)
)
