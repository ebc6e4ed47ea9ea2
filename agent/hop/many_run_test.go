package hop_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// many is a short run of ten on a small board, the nearest three of whom trees predict anew: the
// preset hop-cleanup-64, small.
const many = `
name: many
game: {name: cleanup, size: 6, agents: 10, pooled: true, start: 0.2, horizon: 12}
mind: hop
actor: {frame: ego, hidden: [8]}
ppo: {lambda: 1, epochs: 1, minibatch: 128}
goals: {read: false}
moa: {frame: ego, hidden: [8, 8]}
search: {trees: 2, sims: 10, depth: 2, act: visits, nearest: 3}
train: {envs: 3, window: 8, steps: 150, save: 60, brains: [0], warm: {windows: 1, who: [fair, harvester]}, strangers: {every: 0}}
eval: {episodes: 1}
`

// Many agents keep every promise, also where they keep hardly any answer of a network; and what
// they share learns from their searches.
func TestManyKeepEveryPromise(t *testing.T) {
	_, dir := spectest.PromisesOf(t, many, 1, func(p *train.Parts) {
		for _, m := range p.Minds {
			m.(interface{ KeepFewAnswers() }).KeepFewAnswers()
		}
	})
	metrics, err := os.ReadFile(filepath.Join(dir, "metrics.csv"))
	if err != nil || !bytes.Contains(metrics, []byte("search/policy_loss")) || bytes.Contains(metrics, []byte("ppo/policy_loss")) {
		t.Errorf("the network did not learn from the searches: %v", err)
	}
}

// One network learns from many searches only where it reads nothing that each agent has of its own;
// and nobody is near where there is no board.
func TestManyNeedWhatTheyShare(t *testing.T) {
	spectest.Refused(t, "goals.read false", many, "goals.read=true")
	spectest.Refused(t, "rank 0", many, "rank=50")
	spectest.Refused(t, "search.nearest", many, "game.name=matrix", "game.agents=", "train.warm.windows=0", "train.warm.who=[]")
	spectest.Refused(t, "goals.kind", many, "goals.kind=context")
}
