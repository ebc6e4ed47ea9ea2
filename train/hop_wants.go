package train

import (
	"hop/agent"
	"hop/batch"
	"hop/game"
	"hop/rng"
	"hop/rollout"
	"hop/safetensors"
)

// wants is what a HOP takes its co-players to be after: hand-made goals, points
// that were inferred from their history, or classes of such points. Hypotheses
// are numbered; beliefs are over them and, with doubt, over one more: that the
// co-player acts at random.
type wants interface {
	// hypotheses returns how many there are, without doubt.
	hypotheses() int
	// width returns how many numbers say what one co-player is after, without
	// doubt.
	width() int
	// remember prepares for envs copies.
	remember(envs int)
	// guess returns a worker's part, for up to envs decisions of so many trees.
	guess(envs, trees int) guess
	// label writes into g, [rows of all paths][width], what each step of the
	// paths was done for, as is known afterwards, and learns what it has to.
	label(g []float32, ro *batch.Rollout, paths []path, share float64, r *rng.Rand) ([]agent.Stat, error)
	save(f *safetensors.File, prefix string) error
	// load restores what save stored; alone: weights only, to play.
	load(f *safetensors.File, prefix string, alone bool) error
}

// guess is what a wants is to one worker.
type guess interface {
	// watch takes in what the co-players of the envs show, before it is asked. It
	// reports that names start anew, so that caches must forget the old ones.
	watch(v *rollout.View, envs []int32) (anew bool)
	// now returns what networks read about hypothesis g on co-player j of env n,
	// [width], a view.
	now(n, j, g int) []float32
	// draw draws what co-player j of env n is after in a tree, given hypothesis
	// g, and returns a number that names it, in this worker's caches, for good.
	// Numbers below hypotheses are the hypotheses themselves.
	draw(tree int32, n, j int, g int32, r *rng.Rand) int32
	// drawn returns what networks read about it, [width], a view.
	drawn(tree int32, j int, name int32) []float32
	// bot returns the number of the bot that stands for it in scripted rollouts.
	bot(tree int32, j int, name int32) int32
	// over takes in that an episode of env n has ended.
	over(v *rollout.View, n int)
}

// path is one co-player's steps lo to hi-1 of an episode.
type path struct {
	other  int // which of the others
	agent  agent.ID
	env    int
	lo, hi int
}

// last returns the index of the path's last step.
func (p path) last(ro *batch.Rollout) int { return ro.Step(p.agent, p.hi-1, p.env) }

// paths appends the steps of co-player j's episodes in env n that began in the
// window and, unless cut, ended in it too.
func paths(dst []path, ro *batch.Rollout, a agent.ID, j, n int, cut bool) []path {
	for t := 0; t < ro.Steps; t++ {
		if !ro.Start[ro.Moment(t, n)] {
			continue
		}
		end := t
		for end < ro.Steps && ro.Alive[ro.Slot(a, end, n)] && ro.End[ro.Step(a, end, n)] == batch.Going {
			end++
		}
		if !cut && (end == ro.Steps || ro.End[ro.Step(a, end, n)] != batch.Exited) {
			return dst // the window ends first
		}
		end = min(end, ro.Steps-1)
		dst = append(dst, path{j, a, n, t, end + 1})
	}
	return dst
}

// handmade is the game's own goals, or one hypothesis that says nothing. Scripted
// rollouts against co-players of whom nothing is known draw any of the bots.
type handmade struct {
	h    *HOP
	hot  []float32 // [hypotheses][hypotheses] one-hot
	none bool
}

func newHandmade(h *HOP, goals int, none bool) *handmade {
	w := &handmade{h: h, none: none, hot: make([]float32, goals*goals)}
	for g := range goals {
		w.hot[g*goals+g] = 1
	}
	if none {
		w.hot = []float32{1}
	}
	return w
}

func (w *handmade) hypotheses() int {
	if w.none {
		return 1
	}
	return len(w.h.spec.Goals)
}

func (w *handmade) width() int { return w.hypotheses() }

func (w *handmade) remember(int) {}

func (w *handmade) guess(envs, trees int) guess {
	g := &handGuess{handmade: w}
	if w.none {
		g.bots = make([]int32, envs*trees*len(w.h.others))
	}
	return g
}

// label gives every step the goal that its path reached next; paths end with one.
func (w *handmade) label(g []float32, ro *batch.Rollout, paths []path, _ float64, _ *rng.Rand) ([]agent.Stat, error) {
	first, k := 0, w.width()
	for _, p := range paths {
		goal := 0
		for t := p.hi - 1; t >= p.lo; t-- {
			if reached := ro.Reached[ro.Step(p.agent, t, p.env)]; !w.none && reached != game.NoGoal {
				goal = int(reached)
			}
			row := first + t - p.lo
			copy(g[row*k:(row+1)*k], w.hot[goal*k:])
		}
		first += p.hi - p.lo
	}
	return nil, nil
}

func (w *handmade) save(*safetensors.File, string) error       { return nil }
func (w *handmade) load(*safetensors.File, string, bool) error { return nil }

// handGuess is one worker's part.
type handGuess struct {
	*handmade
	bots []int32 // [trees][others] without goals: the bot drawn
}

func (g *handGuess) watch(*rollout.View, []int32) bool { return false }

func (g *handGuess) now(_, _, goal int) []float32 {
	return g.hot[goal*g.width() : (goal+1)*g.width()]
}

func (g *handGuess) draw(tree int32, _, j int, goal int32, r *rng.Rand) int32 {
	if g.none && g.h.cfg.Casts() {
		g.bots[int(tree)*len(g.h.others)+j] = int32(r.IntN(len(g.h.cfg.Bots)))
	}
	return goal
}

func (g *handGuess) drawn(_ int32, _ int, name int32) []float32 { return g.now(0, 0, int(name)) }

func (g *handGuess) bot(tree int32, j int, name int32) int32 {
	if g.none {
		return g.bots[int(tree)*len(g.h.others)+j]
	}
	return name
}

// over counts what the others were after in the end: the goal of the last step, or
// with which they left. Goals before that were counted when they were reached.
func (g *handGuess) over(v *rollout.View, n int) {
	if g.none {
		return
	}
	for j, a := range g.h.others {
		goal := v.GoalOf(n, a)
		if v.Alive[v.Slot(a, v.T, n)] {
			goal = v.ReachedOf(n, a)
		}
		g.h.belief[n].Over(0, j, goal)
	}
}

// next takes in that a co-player who plays on has reached a goal: it is counted,
// and what the co-player is after now is open.
func (h *HOP) next(v *rollout.View, n, j int) {
	if h.cfg.Goals != "hand" {
		return
	}
	a := h.others[j]
	if goal := v.ReachedOf(n, a); goal != game.NoGoal && v.Alive[v.Slot(a, v.T, n)] {
		h.belief[n].Over(0, j, goal)
		h.start(n, j)
	}
}

// learns returns the steps of co-players' episodes that may be learnt from. With
// hand-made goals they are those up to the last goal that was reached in the
// window, because what the rest was done for is not known; else whole episodes,
// if wanted only those that were rewarded in the end.
func (h *HOP) learns(ro *batch.Rollout) []path {
	hand := h.cfg.Goals == "hand"
	var list []path
	for j, a := range h.others {
		for n := range ro.Envs {
			list = paths(list, ro, a, j, n, hand)
		}
	}
	kept := list[:0]
	for _, p := range list {
		for hand && p.hi > p.lo && ro.Reached[p.last(ro)] == game.NoGoal {
			p.hi--
		}
		if p.hi > p.lo && (hand || !h.cfg.Rewarded || ro.Reward[p.last(ro)] > 0) {
			kept = append(kept, p)
		}
	}
	return kept
}

var (
	_ wants = (*handmade)(nil)
	_ guess = (*handGuess)(nil)
)
