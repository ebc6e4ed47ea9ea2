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
	rows := net.Rows * len(m.others)
	net.Net = &moaNet{ws: m.moa.Model.Work(rows), m: m, asked: make([]bool, 0, rows), logits: make([]float32, rows*net.Actions)}
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

// moaNet is the model of others as a search asks it. Who acts at random, or is beyond
// the gate, has equal logits, and the model is not asked.
type moaNet struct {
	ws     *moa.Work
	m      *Mind
	asked  []bool    // [rows]
	logits []float32 // [rows][K]
}

func (n *moaNet) Add(obs, goal []float32) {
	who := goal[n.m.width:]
	ask := n.m.cfg.Search.Others != "uniform" && slices.ContainsFunc(who, func(x float32) bool { return x != 0 })
	if n.asked = append(n.asked, ask); ask {
		n.ws.Add(obs, goal)
	}
}

func (n *moaNet) Run() (logits, value []float32) {
	k, at := len(n.m.spec.Actions), 0
	if n.ws.Rows() > 0 {
		n.ws.Forward(n.m.moa.Params)
	}
	for i, ask := range n.asked {
		row := n.logits[i*k : (i+1)*k]
		if clear(row); ask {
			copy(row, n.ws.Logits[at*k:])
			at++
		}
	}
	logits = n.logits[:len(n.asked)*k]
	n.asked = n.asked[:0]
	n.ws.Reset()
	return logits, nil
}

var _ plan.Others = (*drawn)(nil)
