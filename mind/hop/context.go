package hop

import (
	"fmt"
	"reflect"

	"hop/agent"
	"hop/batch"
	"hop/belief"
	"hop/mind"
	"hop/mind/hop/incontext"
	"hop/rng"
	"hop/safetensors"
)

// contexts is what a sequence model has read of the co-players over all episodes among them
// (package incontext). There is a hypothesis for each kind of the population, as with latent;
// what is believed of them the model says itself, and the model of others is its action head.
type contexts struct {
	*incontext.Reader
	m *Mind
}

func newContexts(m *Mind) (GoalModel, error) {
	if head := m.models.Sequence.Head; !reflect.DeepEqual(head, m.cfg.MOA.Config) {
		return nil, fmt.Errorf("hop: models.sequence predicts actions by the net %+v, moa.* says %+v; train it with the spec's net, such as "+
			"--set model.head.hidden=[64,64] --set model.head.distances=false", head, m.cfg.MOA.Config)
	}
	r, err := incontext.New(m.models.Sequence, m.models.Lives, m.sight, m.others, m.who, m.cfg.Goals.DoubtStart)
	if err == nil {
		r.Within, r.Across = m.cfg.Belief.Within, m.cfg.Belief.Across
	}
	return &contexts{r, m}, err
}

// Trajectories returns steps up to the last one at which the agent was there to read.
func (w *contexts) Trajectories(ro *batch.Rollout) (kept []trajectory) {
	for _, p := range w.m.episodes(ro, true) {
		if p.hi = w.Read(ro, p.agent, p.env, p.lo, p.hi); p.hi > p.lo {
			kept = append(kept, p)
		}
	}
	return kept
}

// Label gives every step what had been read by then, and the kind that was believed at the last.
func (w *contexts) Label(dst []float32, ro *batch.Rollout, list []trajectory, _ float64, r *rng.Rand) []agent.Stat {
	for _, p := range list {
		dst = w.Reader.Label(dst, ro, p.agent, p.env, p.lo, p.hi, r.Float64())
	}
	return nil
}

// Fit does nothing: nothing is learnt but in context.
func (w *contexts) Fit(*rng.Rand) ([]agent.Stat, error) { return nil, nil }

// Networks returns none.
func (w *contexts) Networks() []mind.Network { return nil }

func (w *contexts) save(f *safetensors.File, prefix string) { w.Save(f, prefix) }

func (w *contexts) load(f *safetensors.File, prefix string, weights bool) error {
	if weights {
		return nil // they are with the run's models
	}
	return w.Load(f, prefix)
}

func (w *contexts) Inference(envs, trees int) Inference {
	return contextInference{w.Worker(envs, trees)}
}

// contextInference is one worker's part.
type contextInference struct{ *incontext.Worker }

func (f contextInference) Believe(b *belief.Beliefs, n int) bool {
	for j := range b.Others {
		f.Posterior(b.At(0, j), n, j)
	}
	return true
}

// Words are the goals that the model's goal head expects.
func (f contextInference) Words(n, j, _ int) []Word {
	var list []Word
	for g, p := range f.After(n, j) {
		list = append(list, Word{f.Model.Goals[g], float64(p)})
	}
	if list == nil {
		return []Word{{"some goal", 1}}
	}
	return list
}

var (
	_ GoalModel = (*contexts)(nil)
	_ Inference = contextInference{}
)
