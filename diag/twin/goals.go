package twin

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"hop/agent"
	"hop/batch"
	"hop/frame"
	"hop/game"
	"hop/mind/hop"
	"hop/model/cvae"
	"hop/model/vae"
	"hop/rng"
	"hop/safetensors"
)

// Goals is what an agent takes its co-players to be after (docs/hop.md): its
// settings, and the networks of learnt goals.
type Goals struct {
	hop.Goals
	Spec   game.Spec
	Me     agent.ID
	Others []agent.ID // in order
	Kinds  []string   // latent goals and contexts: whom a co-player may be, a hypothesis each

	Model Others // of others
	Net   Net    // of the model of others

	who    []string  // of whom a response network was told
	met    []float64 // how often it met each
	smooth float64   // share of uniform play in likelihoods
	vae    vae.Config
	codes  Net // of the VAE
	infer  cvae.Config
	Infer  Net // of the inference
}

// LoadGoals reads an agent's networks of goals, and its model of others, from its saved
// tensors.
func LoadGoals(f *safetensors.File, c hop.Config, spec game.Spec, me agent.ID) (*Goals, error) {
	g := &Goals{Goals: c.Goals, Spec: spec, Me: me, smooth: c.Belief.Smooth}
	for a := range agent.ID(spec.Seats) {
		if a != me {
			g.Others = append(g.Others, a)
		}
	}
	var errs [3]error
	g.Net, errs[0] = LoadNet(f, "moa/net/")
	if g.Kind != "hand" && g.Kind != "none" {
		var shapes struct {
			VAE      struct{ Config vae.Config }
			CVAE     struct{ Config cvae.Config }
			Sequence struct {
				Config struct{ Width int }
				Input  struct{ Kinds []string }
			}
			Response struct {
				Who []string
				Met []float64
			}
		}
		if err := json.Unmarshal([]byte(f.Meta["models"]), &shapes); err != nil {
			return nil, fmt.Errorf("twin: the shapes of saved models: %w", err)
		}
		g.vae, g.infer = shapes.VAE.Config, shapes.CVAE.Config
		if g.Kind == "context" {
			g.infer.Dim, g.Kinds = shapes.Sequence.Config.Width, kinds(shapes.Sequence.Input.Kinds, c.Leaf)
		} else {
			g.codes, errs[1] = LoadNet(f, "goals/vae/model/")
		}
		if g.Kind == "latent" {
			g.who, g.met = shapes.Response.Who, shapes.Response.Met
			g.Kinds = kinds(g.who, c.Leaf)
			g.Infer, errs[2] = LoadNet(f, "goals/cvae/model/")
		}
	}
	g.Model = Others{MOA: c.MOA, Spec: spec, Width: g.Width(), Count: len(g.Others)}
	return g, errors.Join(errs[:]...)
}

// Features returns how many numbers say what a co-player is after, without doubt.
func (g *Goals) Features() int {
	switch g.Kind {
	case "hand":
		return len(g.Spec.Goals)
	case "latent", "context":
		return g.infer.Dim + len(g.Kinds)
	case "classes":
		return g.Hypotheses()
	}
	return 1
}

// Hypotheses returns how many there are about a co-player, without doubt.
func (g *Goals) Hypotheses() int {
	switch g.Kind {
	case "hand":
		return len(g.Spec.Goals)
	case "classes":
		return int(math.Pow(float64(g.vae.Discrete), float64(g.vae.Groups)))
	}
	return max(1, len(g.Kinds))
}

// Width returns how many numbers networks read about a co-player, doubt the last.
func (g *Goals) Width() int {
	if g.Doubt && g.Kind != "none" {
		return g.Features() + 1
	}
	return g.Features()
}

// board says how the game's observations lie; rest: with what follows the planes.
func board(spec game.Spec, rest bool) frame.Input {
	l := spec.Obs
	in := frame.Input{Height: l.Height, Width: l.Width, Planes: len(l.Planes)}
	if rest {
		in.Rest = l.Len() - l.PlanesLen()
	}
	return in
}

// Code is what the VAE's encoder says of a state: mean and log-variance; for discrete
// goals the classes' probabilities, group by group, and no log-variance, or, where
// beliefs are over classes, the log-probability of every class of all groups together.
func (g *Goals) Code(obs []float32) (mean, logvar []float64) {
	t := &Tape{}
	y := rowsOf([][]float64{Encode(g.vae.Frame, board(g.Spec, g.vae.Reads != "planes"), obs, nil)})
	if g.vae.Net == "conv" {
		l, in := g.Spec.Obs, len(g.Spec.Obs.Planes)
		x := y
		y = t.Slice(x, 0, l.PlanesLen())
		for i := range 3 {
			w := g.codes[fmt.Sprintf("enc/%d/w", i)]
			y = t.ReLU(t.Conv3x3(y, w, g.codes[fmt.Sprintf("enc/%d/b", i)], l.Height, l.Width, in))
			in = w.Cols
		}
		y = t.Concat(y, t.Slice(x, l.PlanesLen(), x.Cols))
	} else {
		y = layers(t, g.codes, "enc", y)
	}
	if g.vae.Discrete == 0 {
		return t.Affine(y, g.codes["mu/w"], g.codes["mu/b"]).V, t.Affine(y, g.codes["logvar/w"], g.codes["logvar/b"]).V
	}
	logits := t.Affine(y, g.codes["logits/w"], g.codes["logits/b"])
	if g.Kind == "latent" {
		return t.Exp(grouped(t, logits, g.vae.Discrete)).V, nil
	}
	all := []float64{0}
	for i := range g.vae.Groups {
		logp := t.LogSoftmax(t.Slice(logits, i*g.vae.Discrete, (i+1)*g.vae.Discrete), nil).V
		var more []float64
		for _, x := range all {
			for _, p := range logp {
				more = append(more, x+p)
			}
		}
		all = more
	}
	return all, nil
}

// grouped is the log-probabilities of variables of so many classes each.
func grouped(t *Tape, logits *Mat, classes int) *Mat {
	return t.LogSoftmax(logits.Shaped(logits.Cols/classes), nil).Shaped(1)
}

// Class returns the likeliest class of a state, and whether it is so by more than
// rounding.
func (g *Goals) Class(obs []float32) (class int, sure bool) {
	logp, _ := g.Code(obs)
	for k, p := range logp {
		if p > logp[class] {
			class = k
		}
	}
	second := math.Inf(-1)
	for k, p := range logp {
		if k != class {
			second = max(second, p)
		}
	}
	return class, logp[class]-second > 1e-3
}

// Open reports whether the gate lets infer the goal of one who sees obs: something that
// is neither an agent nor a block is within so many steps, walls not counted.
func (g *Goals) Open(obs []float32) bool {
	if g.Kind != "latent" || g.Gate < 0 {
		return true
	}
	l := g.Spec.Obs
	full := func(cell, plane int) bool { return obs[cell*len(l.Planes)+plane] > 0.5 }
	for me := range l.Height * l.Width {
		for thing := range l.Height * l.Width {
			for p, name := range l.Planes {
				away := math.Abs(float64(me/l.Width-thing/l.Width)) + math.Abs(float64(me%l.Width-thing%l.Width))
				if full(me, 0) && p >= g.Spec.Seats && name != "block" && full(thing, p) && away <= float64(g.Gate) {
					return true
				}
			}
		}
	}
	return false
}

// Steps returns the co-players' steps of a window that can be labelled, without
// their goals: of episodes that began in the window and in which the co-player left
// by the rules; with hand-made goals, of all that began in it, up to the last goal.
// paths are where one ends and the next begins.
func (g *Goals) Steps(ro *batch.Rollout) (list []Label, paths []int) {
	for j, a := range g.Others {
		for n := range ro.Envs {
			for t := range ro.Steps {
				if !ro.Start[ro.Moment(t, n)] {
					continue
				}
				last, length := -1, 0 // up to which step labels are known
				for s := t; s < ro.Steps && ro.Alive[ro.Slot(a, s, n)]; s++ {
					length++
					step := ro.Step(a, s, n)
					if g.Kind == "hand" && ro.Reached[step] != game.NoGoal || g.Kind != "hand" && ro.End[step] == batch.Exited {
						last = s
					}
					if ro.End[step] != batch.Going {
						break
					}
				}
				if last < 0 {
					continue
				}
				paths = append(paths, len(list))
				for s := t; s <= last; s++ {
					list = append(list, Label{Other: j, Agent: a, T: s, Env: n})
				}
			}
		}
	}
	return list, append(paths, len(list))
}

// Subgoals returns for every step the one whose state was its subgoal: among the
// next ones of its path the one from which most was earned, the last of equals;
// with the conservative selector least, the first of equals.
func (g *Goals) Subgoals(ro *batch.Rollout, list []Label, paths []int) []int {
	const gamma, equal = 0.95, 1e-6
	out := make([]int, len(list))
	for p := 0; p+1 < len(paths); p++ {
		lo, hi := paths[p], paths[p+1]
		earned := make([]float64, hi-lo+1)
		for i := hi - 1; i >= lo; i-- {
			l := list[i]
			earned[i-lo] = float64(ro.Reward[ro.Step(l.Agent, l.T, l.Env)]) + gamma*earned[i-lo+1]
		}
		for i := lo; i < hi; i++ {
			out[i] = i
			for k := i + 1; k < hi && k <= i+g.Ahead; k++ {
				more := earned[k-lo] - earned[out[i]-lo]
				if out[i] == i || g.Selector == "optimistic" && more >= -equal || g.Selector != "optimistic" && more < -equal {
					out[i] = k
				}
			}
		}
	}
	return out
}

// Mislabel is how labels may go wrong, to be named if one explains what was found.
type Mislabel struct {
	Says    string
	Unmixed bool // the mix the wrong way round
	Own     bool // the code of a step's own state in place of its subgoal's
	Gated   bool // the gate the wrong way round
	Worst   bool // the other selector
	Kinds   kindSlip
}

// Mislabels are those that are tried.
var Mislabels = []Mislabel{
	{Says: "with the mix of chosen and inferred codes the wrong way round", Unmixed: true},
	{Says: "with the code of the step's own state in place of its subgoal's", Own: true},
	{Says: "with the gate the wrong way round", Gated: true},
	{Says: "with the other selector of subgoals", Worst: true},
	{Says: "with kinds by the first step of every episode alone", Kinds: kindsFirst},
	{Says: "with kinds that are drawn as if all were equally likely", Kinds: kindsEven},
	{Says: "with the likeliest kind in place of a draw", Kinds: kindsLikeliest},
	{Says: "with kinds as if nobody acted at random", Kinds: kindsSure},
	{Says: "without kinds", Kinds: kindsNone},
}

// Label labels a window's steps. share is how much of the run lies behind; draws
// come from r. It returns what the inference learns towards as well: means and
// log-variances of the subgoals' codes.
func (g *Goals) Label(ro *batch.Rollout, share float64, r *rng.Rand, slip Mislabel) (list []Label, paths []int, target [][2][]float64) {
	if g.Kind == "context" {
		list, paths = g.read(ro, r)
		return list, paths, nil
	}
	list, paths = g.Steps(ro)
	obs := func(i int) []float32 { return ro.ObsAt(ro.Slot(list[i].Agent, list[i].T, list[i].Env)) }
	switch g.Kind {
	case "none":
		for i := range list {
			list[i].Goal = []float64{1}
		}
		return list, paths, nil
	case "hand":
		for p := 0; p+1 < len(paths); p++ {
			goal := 0
			for i := paths[p+1] - 1; i >= paths[p]; i-- {
				if reached := ro.Reached[ro.Step(list[i].Agent, list[i].T, list[i].Env)]; reached != game.NoGoal {
					goal = int(reached)
				}
				list[i].Goal = hot(goal, g.Features())
			}
		}
		return list, paths, nil
	}
	if slip.Worst {
		other := *g
		other.Selector = map[string]string{"optimistic": "conservative", "conservative": "optimistic"}[g.Selector]
		return other.Label(ro, share, r, Mislabel{})
	}
	chosen := g.Subgoals(ro, list, paths)
	for i := range chosen {
		if slip.Own {
			chosen[i] = i
		}
	}
	if g.Kind == "classes" {
		for i := range list {
			class, sure := g.Class(obs(chosen[i]))
			if list[i].Goal = hot(class, g.Features()); !sure {
				list[i].Goal = nil // either is right
			}
		}
		return list, paths, nil
	}
	for i := range list {
		mean, logvar := g.Code(obs(chosen[i]))
		target = append(target, [2][]float64{mean, logvar})
	}
	open := func(i int) bool { return g.Open(obs(i)) != slip.Gated }
	for p := 0; p+1 < len(paths); p++ {
		mind := g.Begin()
		for i := paths[p]; i < paths[p+1]; i++ {
			list[i].Goal = make([]float64, g.infer.Dim)
			if open(i) { // else it is no part of what is remembered
				mean, logvar := mind.See(g, obs(i), g.Joint(ro, list[i]))
				list[i].Goal = g.draw(mean, logvar, r)
			}
		}
	}
	mix := 0.
	if g.Mix > 0 {
		mix = max(0, 1-share/g.Mix)
	}
	if slip.Unmixed {
		mix = 1 - mix
	}
	for i := range list {
		if open(i) && r.Float64() < mix {
			list[i].Goal = g.draw(target[i][0], target[i][1], r)
		}
	}
	g.drawKinds(ro, list, paths, r, slip.Kinds)
	return list, paths, target
}

func hot(k, n int) []float64 {
	out := make([]float64, n)
	out[k] = 1
	return out
}

// draw draws from a normal distribution; of discrete goals one class of each variable.
func (g *Goals) draw(mean, logvar []float64, r *rng.Rand) []float64 {
	out := make([]float64, len(mean))
	if k := g.infer.Classes; k > 0 {
		for lo := 0; lo < len(mean); lo += k {
			out[lo+int(rng.Pick(mean[lo:lo+k], float64(r.Float32())))] = 1
		}
		return out
	}
	for i, m := range mean {
		out[i] = m + math.Exp(0.5*logvar[i])*r.Norm()
	}
	return out
}

// Joint returns what everybody did before a labelled step, from the co-player's own
// place: itself, then the next seats, wrapping; NoAction for those who had left, and
// for all at an episode's start.
func (g *Goals) Joint(ro *batch.Rollout, l Label) []int32 {
	out := make([]int32, g.Spec.Seats)
	me := int(ro.Seat[ro.Slot(l.Agent, l.T, l.Env)])
	for a := range agent.ID(ro.Agents) {
		place := (int(ro.Seat[ro.Slot(a, l.T, l.Env)]) - me + g.Spec.Seats) % g.Spec.Seats
		if out[place] = game.NoAction; l.T > 0 && !ro.Start[ro.Moment(l.T, l.Env)] {
			out[place] = ro.Action[ro.Step(a, l.T-1, l.Env)]
		}
	}
	return out
}

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
	state := g.remember(t, rowsOf([][]float64{read}), rowsOf([][]float64{h.H}))
	feature := g.feature(t, rowsOf([][]float64{g.row(obs)}))
	h.H, h.F = state.V, feature.V
	mu, lv := g.inferred(t, state, feature)
	if g.infer.Classes > 0 {
		return t.Exp(grouped(t, mu, g.infer.Classes)).V, make([]float64, mu.Cols)
	}
	return mu.V, lv.V
}

func (g *Goals) row(obs []float32) []float64 {
	return Encode(g.infer.Frame, board(g.Spec, true), obs, nil)
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

// remember is one step of the GRU (Cho et al. 2014, the reset gate applied to the
// product): gates r and z, then n = tanh(x + r h), h' = (1-z) n + z h.
func (g *Goals) remember(t *Tape, x, h *Mat) *Mat {
	n := h.Cols
	a, b := t.Affine(x, g.Infer["gru/wx"], g.Infer["gru/bx"]), t.Affine(h, g.Infer["gru/wh"], g.Infer["gru/bh"])
	part := func(m *Mat, i int) *Mat { return t.Slice(m, i*n, (i+1)*n) }
	reset := t.Sigmoid(t.Add(part(a, 0), part(b, 0)))
	keep := t.Sigmoid(t.Add(part(a, 1), part(b, 1)))
	fresh := t.Tanh(t.Add(part(a, 2), t.Mul(reset, part(b, 2))))
	return t.Add(fresh, t.Mul(keep, t.Sub(h, fresh)))
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
	cfg := cvae.DefaultLearn()
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
			for s := range cfg.Shards {
				noise := key.Child("noise", steps, s).Rand()
				if part := pick[len(pick)*s/cfg.Shards : len(pick)*(s+1)/cfg.Shards]; len(part) > 0 {
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
			read := t.Concat(before, rowsOf([][]float64{g.joint(g.Joint(ro, list[at]))}))
			state = g.remember(t, read, state)
			feature := g.feature(t, rowsOf([][]float64{g.row(ro.ObsAt(ro.Slot(list[at].Agent, list[at].T, list[at].Env)))}))
			mean, logvar := g.inferred(t, state, feature)
			z, apart := g.drawn(t, mean, logvar, noise[at], target[at])
			y := t.ReLU(t.Affine(t.Concat(z, state), g.Infer["dec/w"], g.Infer["dec/b"]))
			y = t.Affine(y, g.Infer["out/w"], g.Infer["out/b"])
			fixed := rowsOf([][]float64{feature.V})
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
	eps, k := rowsOf([][]float64{noise}), g.infer.Classes
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
	off := t.Sub(mean, rowsOf([][]float64{mp}))
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
