package reference

import (
	"math"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/rng"
)

// History is what the inference remembers of one co-player within an episode.
type History struct {
	H []float64 // the GRU's state
	F []float64 // the feature of the state before
}

// Begin returns an empty memory.
func (g *Goals) Begin() *History {
	return &History{make([]float64, g.infer.GRU), make([]float64, g.infer.Feature)}
}

// See takes in what a co-player sees and the joint action before, and returns what
// it may be after: mean and log-variance.
func (h *History) See(g *Goals, obs []float32, joint []int32) (mean, logvar []float64) {
	t := &Tape{}
	read := append(slices.Clone(h.F), g.joint(joint)...)
	state := t.GRU(g.Infer, "gru", rowOf(read), rowOf(h.H))
	feature := g.feature(t, rowOf(g.row(obs)))
	h.H, h.F = state.V, feature.V
	mu, lv := g.inferred(t, state, feature)
	if g.infer.Classes > 0 {
		return t.Exp(grouped(t, mu, g.infer.Classes)).V, make([]float64, mu.Cols)
	}
	return mu.V, lv.V
}

func (g *Goals) row(obs []float32) []float64 {
	return encode(g.infer.Frame, board(g.Spec, true), obs, nil)
}

// joint writes a joint action as one-hots; NoAction is zeros.
func (g *Goals) joint(actions []int32) []float64 {
	k := len(g.Spec.Actions)
	out := make([]float64, len(actions)*k)
	for s, a := range actions {
		if a != game.NoAction {
			out[s*k+int(a)] = 1
		}
	}
	return out
}

func (g *Goals) feature(t *Tape, x *Mat) *Mat {
	return t.Tanh(t.Input(x, g.Infer["feature/w"], g.Infer["feature/b"]))
}

// inferred is q, from what is remembered and the feature; of discrete goals mean is
// logits, and there is no log-variance.
func (g *Goals) inferred(t *Tape, state, feature *Mat) (mean, logvar *Mat) {
	y := layers(t, g.Infer, "trunk", t.Concat(state, feature))
	if mean = t.Affine(y, g.Infer["mu/w"], g.Infer["mu/b"]); g.infer.Classes > 0 {
		return mean, nil
	}
	return mean, t.Affine(y, g.Infer["logvar/w"], g.Infer["logvar/b"])
}

// Learn is one window's update of the inference, as often as CVAEPasses says, on
// labelled paths towards the codes of their subgoals: the squared error of the
// feature, rebuilt from a draw of q and the memory, and KL(q || p) (OMG). The order
// comes from r; key names the noise. sign is that of the KL term, 1.
func (g *Goals) Learn(opt *Adam, ro *batch.Rollout, list []Label, paths []int, target [][2][]float64, r *rng.Rand,
	key rng.Key, steps int, sign float64) {
	cfg := g.GoalSettings
	if g.infer.Classes > 0 {
		cfg.KL = 1
	}
	list, paths, target = g.within(ro, list, paths, target)
	order := make([]int, len(paths)-1)
	length := func(p int) int { return paths[p+1] - paths[p] }
	for range g.CVAEPasses {
		r.Perm(order)
		for lo := 0; lo < len(order); lo += 16 * cfg.Batch {
			slices.SortStableFunc(order[lo:min(lo+16*cfg.Batch, len(order))], func(a, b int) int { return length(a) - length(b) })
		}
		for lo := 0; lo < len(order); lo += cfg.Batch {
			pick, rows := order[lo:min(lo+cfg.Batch, len(order))], 0
			for _, p := range pick {
				rows += length(p)
			}
			for s := range cfg.Parts {
				noise := key.Child("noise", steps, s).Rand()
				if part := pick[len(pick)*s/cfg.Parts : len(pick)*(s+1)/cfg.Parts]; len(part) > 0 {
					g.gradient(ro, list, paths, target, part, sign*cfg.KL, rows, &noise)
				}
			}
			opt.Step(g.Infer, g.Rate, cfg.MaxGrad)
			steps++
		}
	}
}

// within returns the labelled steps that the gate lets be inferred from; of paths, those
// that have some.
func (g *Goals) within(ro *batch.Rollout, list []Label, paths []int, target [][2][]float64) (in []Label, ends []int, to [][2][]float64) {
	ends = []int{0}
	for p := 0; p+1 < len(paths); p++ {
		for i := paths[p]; i < paths[p+1]; i++ {
			if g.Open(ro.ObsAt(ro.Slot(list[i].Agent, list[i].T, list[i].Env))) {
				in, to = append(in, list[i]), append(to, target[i])
			}
		}
		if len(in) > ends[len(ends)-1] {
			ends = append(ends, len(in))
		}
	}
	return in, ends, to
}

// gradient adds that of some paths. Noise is drawn step by step, over the paths
// that are still going on.
func (g *Goals) gradient(ro *batch.Rollout, list []Label, paths []int, target [][2][]float64, pick []int, kl float64,
	total int, r *rng.Rand) {
	longest := 0
	for _, p := range pick {
		longest = max(longest, paths[p+1]-paths[p])
	}
	for range longest * len(pick) {
		r.Float64() // whether the chosen code is read: it no longer is
	}
	noise := make([][]float64, len(list)) // of q; that of the chosen codes comes first and is not used
	for _, used := range []bool{false, true} {
		for t := range longest {
			for _, p := range pick {
				if at := paths[p] + t; at < paths[p+1] {
					noise[at] = g.noise(r, used)
				}
			}
		}
	}
	for _, p := range pick {
		t := &Tape{}
		state, loss, before := NewMat(1, g.infer.GRU), NewMat(1, 1), NewMat(1, g.infer.Feature)
		for at := paths[p]; at < paths[p+1]; at++ {
			read := t.Concat(before, rowOf(g.joint(g.Joint(ro, list[at]))))
			state = t.GRU(g.Infer, "gru", read, state)
			feature := g.feature(t, rowOf(g.row(ro.ObsAt(ro.Slot(list[at].Agent, list[at].T, list[at].Env)))))
			mean, logvar := g.inferred(t, state, feature)
			z, apart := g.drawn(t, mean, logvar, noise[at], target[at])
			y := t.ReLU(t.Affine(t.Concat(z, state), g.Infer["dec/w"], g.Infer["dec/b"]))
			y = t.Affine(y, g.Infer["out/w"], g.Infer["out/b"])
			fixed := rowOf(feature.V)
			miss := t.Sub(y, fixed)
			loss = t.Add(loss, t.Mean(t.Mul(miss, miss), total*g.infer.Feature))
			loss = t.Add(loss, t.Scale(apart, kl/float64(total)))
			before = feature
		}
		t.Backward(loss)
	}
}

// noise is what one row draws from: standard normal numbers; of discrete goals one
// number for each variable of the chosen code, then Gumbel's for each class of q.
func (g *Goals) noise(r *rng.Rand, inferred bool) (out []float64) {
	for k := range g.infer.Dim {
		switch c := g.infer.Classes; {
		case c == 0:
			out = append(out, r.Norm())
		case inferred:
			out = append(out, r.Gumbel())
		case k%c == 0:
			out = append(out, float64(r.Float32()))
		}
	}
	return out
}

// drawn is a draw from q, and how far q is from the target: KL(q || p). Discrete goals
// are drawn one-hot and differentiated as the softmax of the noisy logits (Jang et al.
// 2017), at a temperature that is still 1; their KL is KL(p || q).
func (g *Goals) drawn(t *Tape, mean, logvar *Mat, noise []float64, target [2][]float64) (z, apart *Mat) {
	eps, k := rowOf(noise), g.infer.Classes
	if k == 0 {
		return t.Add(mean, t.Mul(t.Exp(t.Scale(logvar, 0.5)), eps)), divergence(t, mean, logvar, target[0], target[1])
	}
	soft := t.Exp(grouped(t, t.Add(mean, eps), k))
	z = NewMat(1, soft.Cols)
	for lo := 0; lo < len(z.V); lo += k {
		part := soft.V[lo : lo+k]
		z.V[lo+slices.Index(part, slices.Max(part))] = 1
	}
	t.Do(func() {
		for i, d := range z.G {
			soft.G[i] += d
		}
	})
	less := make([]float64, len(z.V))
	for i, p := range target[0] {
		less[i] = -p
	}
	return z, t.Weigh(grouped(t, mean, k), less)
}

// divergence is KL(q || p) of two normal distributions, p held fixed: the sum over
// dimensions of (lp - lq + (vq + (mq - mp)^2) / vp - 1) / 2.
func divergence(t *Tape, mean, logvar *Mat, mp, lp []float64) *Mat {
	off := t.Sub(mean, rowOf(mp))
	inverse := make([]float64, len(lp))
	for i, x := range lp {
		inverse[i] = 0.5 * math.Exp(-x)
	}
	half := make([]float64, len(lp))
	for i := range half {
		half[i] = -0.5
	}
	sum := t.Add(t.Weigh(t.Mul(off, off), inverse), t.Weigh(t.Exp(logvar), inverse))
	return t.Add(sum, t.Weigh(logvar, half))
}

// Hindsight returns the agent's Goal rows [T+1][N][GoalLen] with labels in place of
// beliefs, by place in ego-first order: what its own network reads when it learns
// from a search. where it was not there, or nothing is labelled, beliefs stay.
func (g *Goals) Hindsight(ro *batch.Rollout, labels []Label) []float32 {
	first, width := ro.Slot(g.Me, 0, 0), g.Width()
	out := slices.Clone(ro.Goal[first*ro.GoalLen : (first+(ro.Steps+1)*ro.Envs)*ro.GoalLen])
	for _, l := range labels {
		slot := ro.Slot(g.Me, l.T, l.Env)
		if !ro.Alive[slot] {
			continue
		}
		place := (int(ro.Seat[ro.Slot(l.Agent, l.T, l.Env)])-int(ro.Seat[slot])+g.Spec.Seats)%g.Spec.Seats - 1
		dst := out[(slot-first)*ro.GoalLen+place*width:][:width]
		clear(dst)
		for i, x := range l.Goal {
			dst[i] = float32(x)
		}
	}
	return out
}
