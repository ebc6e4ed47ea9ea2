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

// path is one co-player's steps lo to hi-1 of an episode that ended in the window.
type path struct {
	other  int // which of the others
	agent  agent.ID
	env    int
	lo, hi int
}

// last returns the index of the path's last step.
func (p path) last(ro *batch.Rollout) int { return ro.Step(p.agent, p.hi-1, p.env) }

// paths appends the steps of co-player j's episodes in env n that began and
// ended in the window.
func paths(dst []path, ro *batch.Rollout, a agent.ID, j, n int) []path {
	for t := 0; t < ro.Steps; t++ {
		if !ro.Start[ro.Moment(t, n)] {
			continue
		}
		end := t
		for end < ro.Steps && ro.Alive[ro.Slot(a, end, n)] && ro.End[ro.Step(a, end, n)] == batch.Going {
			end++
		}
		if end == ro.Steps || ro.End[ro.Step(a, end, n)] != batch.Exited {
			return dst // the window ends first
		}
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

// label gives every step the goal that its path reached in the end.
func (w *handmade) label(g []float32, ro *batch.Rollout, paths []path, _ float64, _ *rng.Rand) ([]agent.Stat, error) {
	row, k := 0, w.width()
	for _, p := range paths {
		goal := 0
		if !w.none {
			goal = int(ro.Reached[p.last(ro)])
		}
		for range p.hi - p.lo {
			copy(g[row*k:(row+1)*k], w.hot[goal*k:])
			row++
		}
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
	if g.none && g.h.cfg.Leaf != "net" {
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

// over counts which goals the others reached.
func (g *handGuess) over(v *rollout.View, n int) {
	if g.none {
		return
	}
	for j, a := range g.h.others {
		g.h.belief[n].Over(0, j, v.GoalOf(n, a))
	}
}

// useful reports whether a path may be learnt from: with hand-made goals one that
// was rewarded and reached a goal.
func (h *HOP) useful(ro *batch.Rollout, p path) bool {
	last := p.last(ro)
	if h.cfg.Goals == "hand" && ro.Reached[last] == game.NoGoal {
		return false
	}
	return ro.Reward[last] > 0 || h.cfg.Goals != "hand" && !h.cfg.Rewarded
}

var (
	_ wants = (*handmade)(nil)
	_ guess = (*handGuess)(nil)
)
