package hop

import (
	"hop/plan"
	"hop/rng"
)

// drawn is the co-players in a search: each tree draws what they are after from
// the beliefs, and they act as the model of others says of that.
type drawn struct {
	*plan.NetOthers
	m         *Mind
	inference Inference
	read      []float32 // [trees][others][GoalLen] what the model reads
}

func newDrawn(m *Mind, net plan.NetConfig, f Inference, envs int) *drawn {
	known := m.width // from where on a goal says whom it is about
	if m.cfg.Search.Others == "uniform" {
		known = m.moa.Model.GoalLen
	}
	net.Net = m.moa.Answers(net.Rows*len(m.others), known)
	d := &drawn{m: m, inference: f, read: make([]float32, envs*m.search.Trees*len(m.others)*m.moa.Model.GoalLen)}
	d.NetOthers = plan.NewNetOthers(plan.OthersConfig{
		NetConfig: net, Others: len(m.others), Trees: m.search.Trees, Envs: envs, Vectors: d,
	})
	return d
}

// Goals draws a hypothesis about each co-player from the beliefs, and what it is
// after if that holds.
func (d *drawn) Goals(tree int32, r *rng.Rand) {
	env := d.Env[int(tree)/d.Trees]
	names := d.Of(tree)
	d.m.beliefs[env].Draw(names, 0, r)
	copy(names, d.m.truth.goals)
	for j, g := range names {
		v := d.Vector(tree, j, g)
		if int(g) == d.m.random {
			clear(v) // the model is not asked
			continue
		}
		names[j] = d.inference.Draw(tree, env, j, g, r)
		if d.m.features(v, j, d.inference.Drawn(tree, j, names[j])); !d.inference.Open(env, j) {
			clear(v[d.m.width:]) // nor is it of whom nothing is inferred
		}
	}
}

// Vector returns what the model reads about a tree's co-player.
func (d *drawn) Vector(tree int32, other int, _ int32) []float32 {
	n := d.m.moa.Model.GoalLen
	at := (int(tree)*d.Others + other) * n
	return d.read[at : at+n]
}

var _ plan.Others = (*drawn)(nil)
