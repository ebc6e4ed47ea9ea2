package reference

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// Goals is what an agent takes its co-players to be after (docs/hop.md): its
// settings, and the networks of learnt goals.
type Goals struct {
	GoalSettings
	Spec   game.Spec
	Me     agent.ID
	Others []agent.ID // in order
	Kinds  []string   // latent goals and contexts: whom a co-player may be, a hypothesis each

	Model Others // of others
	Net   Net    // of the model of others

	who    []string  // of whom a response network was told
	met    []float64 // how often it met each
	smooth float64   // share of uniform play in likelihoods
	vae    codeShape
	codes  Net // of the VAE
	infer  inferShape
	Infer  Net // of the inference

	reader   readerShape
	sequence Net // of the sequence model
}

// Load reads an agent's networks of goals, and its model of others, from its saved tensors.
func (c HOP) Load(f *safetensors.File, spec game.Spec, me agent.ID) (*Goals, error) {
	g := &Goals{GoalSettings: c.Goals, Spec: spec, Me: me, smooth: c.Belief.Smooth}
	for a := range agent.ID(spec.Seats) {
		if a != me {
			g.Others = append(g.Others, a)
		}
	}
	var errs [3]error
	g.Net, errs[0] = LoadNet(f, "moa/net/")
	if g.Kind != "hand" && g.Kind != "none" {
		var shapes struct {
			VAE      struct{ Config codeShape }
			CVAE     struct{ Config inferShape }
			Sequence struct {
				Config readerShape
				Input  struct{ Kinds []string }
			}
			Response struct {
				Who []string
				Met []float64
			}
		}
		if err := json.Unmarshal([]byte(f.Meta["models"]), &shapes); err != nil {
			return nil, fmt.Errorf("reference: the shapes of saved models: %w", err)
		}
		g.vae, g.infer = shapes.VAE.Config, shapes.CVAE.Config
		if g.Kind == "context" {
			g.reader = shapes.Sequence.Config
			if g.infer.Dim = g.reader.length(); !g.reader.Untyped {
				g.Kinds = c.kinds(shapes.Sequence.Input.Kinds)
			}
			g.sequence, errs[1] = LoadNet(f, "models/sequence/")
		} else {
			g.codes, errs[1] = LoadNet(f, "goals/vae/model/")
		}
		if g.Kind == "latent" {
			g.who, g.met = shapes.Response.Who, shapes.Response.Met
			g.Kinds = c.kinds(g.who)
			g.Infer, errs[2] = LoadNet(f, "goals/cvae/model/")
		}
	}
	g.Model = Others{OthersSettings: c.Others, Spec: spec, Width: g.Width(), Count: len(g.Others)}
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
	y := rowOf(encode(g.vae.Frame, board(g.Spec, g.vae.Reads != "planes"), obs, nil))
	if g.vae.Net == "conv" {
		y = convolutions(t, g.codes, "enc", y, board(g.Spec, false))
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
	return t.LogSoftmax(logits.shaped(logits.Cols/classes), nil).shaped(1)
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
// their goals: of episodes that began in the window and in which the co-player left or
// that were over; with hand-made goals, of all that began in it, up to the last goal.
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
					if g.Kind == "hand" && ro.Reached[step] != game.NoGoal || g.Kind != "hand" && !ro.Alive[ro.Slot(a, s+1, n)] {
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

// Mislabels returns those that are tried.
func (g *Goals) Mislabels() []Mislabel { return mislabels }

var mislabels = []Mislabel{
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

// read labels the steps of co-players that the agent was there to read, of episodes that
// began in the window: each by the context that it had read by then, and all of a path by the
// kind that is drawn from what it believed at the path's last step. Both follow from what it
// wrote for its own network: the beliefs times the features, acting at random the last number.
// What a context should have been is a Reader's.
func (g *Goals) read(ro *batch.Rollout, r *rng.Rand) (list []Label, paths []int) {
	for j, a := range g.Others {
		for n := range ro.Envs {
			for t := range ro.Steps {
				if !ro.Start[ro.Moment(t, n)] {
					continue
				}
				first := len(list)
				for s := t; s < ro.Steps && ro.Alive[ro.Slot(a, s, n)]; s++ {
					if s > t && ro.Start[ro.Moment(s, n)] || g.wrote(ro, Label{Agent: a, T: s, Env: n}) == nil {
						break
					}
					list = append(list, Label{Other: j, Agent: a, T: s, Env: n})
				}
				if len(list) > first {
					paths = append(paths, first)
					g.recall(ro, list[first:], r.Float64())
				}
			}
		}
	}
	return list, append(paths, len(list))
}

// wrote returns what the agent wrote about a step's co-player; nil: nothing.
func (g *Goals) wrote(ro *batch.Rollout, l Label) []float32 {
	slot, width := ro.Slot(g.Me, l.T, l.Env), g.Width()
	if !ro.Alive[slot] || ro.GoalLen != width*len(g.Others) {
		return nil
	}
	place := (int(ro.Seat[ro.Slot(l.Agent, l.T, l.Env)])-int(ro.Seat[slot])+g.Spec.Seats)%g.Spec.Seats - 1
	row, sum := ro.GoalAt(slot)[place*width:(place+1)*width], 0.
	for _, b := range row[g.infer.Dim:] {
		sum += float64(b)
	}
	if sum < 0.5 {
		return nil
	}
	return row
}

// recall fills in the goals of a path.
func (g *Goals) recall(ro *batch.Rollout, path []Label, u float64) {
	n, d := len(g.Kinds), g.infer.Dim
	sum, kind, sure := 0., n, true
	for k, b := range g.wrote(ro, path[len(path)-1])[d : d+n] {
		if sum += float64(b); u < sum && kind == n {
			kind = k
		}
		sure = sure && (u < sum-1e-4 || u > sum+1e-4)
	}
	for i, l := range path {
		row := g.wrote(ro, l)
		known := 1 - float64(row[len(row)-1])
		if g.reader.Untyped { // the last number says that it is there
			known = 1
		}
		if !sure || known < 1e-2 {
			continue // either is right, or rounding decides
		}
		path[i].Goal = make([]float64, d+n)
		for k := range d {
			path[i].Goal[k] = float64(row[k]) / known
		}
		if kind < n {
			path[i].Goal[d+kind] = 1
		}
	}
}
