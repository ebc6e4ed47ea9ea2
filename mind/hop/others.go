package hop

import (
	"slices"

	"hop/model/moa"
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
	net.Net = &moaNet{ws: m.moa.Model.Work(net.Rows * len(m.others)), m: m}
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
		d.m.features(v, j, d.inference.Drawn(tree, j, names[j]))
	}
}

// Vector returns what the model reads about a tree's co-player.
func (d *drawn) Vector(tree int32, other int, _ int32) []float32 {
	n := d.m.moa.Model.GoalLen
	at := (int(tree)*d.Others + other) * n
	return d.read[at : at+n]
}

// moaNet is the model of others as a search asks it. Co-players that act at random
// have equal logits.
type moaNet struct {
	ws     *moa.Work
	m      *Mind
	random []int32 // rows about co-players that act at random
}

func (n *moaNet) Add(obs, goal []float32) {
	who := goal[n.m.width:]
	if n.m.cfg.Search.Others == "uniform" || !slices.ContainsFunc(who, func(x float32) bool { return x != 0 }) {
		n.random = append(n.random, int32(n.ws.Rows()))
	}
	n.ws.Add(obs, goal)
}

func (n *moaNet) Run() (logits, value []float32) {
	n.ws.Forward(n.m.moa.Params)
	rows, k := n.ws.Rows(), len(n.m.spec.Actions)
	n.ws.Reset()
	for _, i := range n.random {
		clear(n.ws.Logits[int(i)*k : (int(i)+1)*k])
	}
	n.random = n.random[:0]
	return n.ws.Logits[:rows*k], nil
}

var _ plan.Others = (*drawn)(nil)
