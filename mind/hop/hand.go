package hop

import (
	"hop/agent"
	"hop/batch"
	"hop/belief"
	"hop/game"
	"hop/mind"
	"hop/rng"
	"hop/rollout"
	"hop/safetensors"
)

// handmade is the game's own goals, or one hypothesis that says nothing. Without
// goals, partners are drawn from all bots.
type handmade struct {
	m      *Mind
	silent bool
	n      int
	hot    []float32 // [n][n] one-hot
}

func newHandmade(m *Mind, goals int, silent bool) *handmade {
	w := &handmade{m: m, silent: silent, n: goals, hot: make([]float32, goals*goals)}
	for g := range goals {
		w.hot[g*goals+g] = 1
	}
	return w
}

func (w *handmade) Hypotheses() int { return w.n }
func (w *handmade) Features() int   { return w.n }
func (w *handmade) Remember(int)    {}

// Trajectories returns steps up to the last goal that was reached in the window,
// because what the rest was done for is not known; without goals whole episodes.
func (w *handmade) Trajectories(ro *batch.Rollout) []trajectory {
	list := w.m.episodes(ro, !w.silent)
	kept := list[:0]
	for _, p := range list {
		for !w.silent && p.hi > p.lo && ro.Reached[p.last(ro)] == game.NoGoal {
			p.hi--
		}
		if p.hi > p.lo {
			kept = append(kept, p)
		}
	}
	return kept
}

// Label gives every step the goal that its trajectory reached next; trajectories
// end with one.
func (w *handmade) Label(dst []float32, ro *batch.Rollout, list []trajectory, _ float64, _ *rng.Rand) []agent.Stat {
	first := 0
	for _, p := range list {
		goal := 0
		for t := p.hi - 1; t >= p.lo; t-- {
			if reached := ro.Reached[ro.Step(p.agent, t, p.env)]; !w.silent && reached != game.NoGoal {
				goal = int(reached)
			}
			row := first + t - p.lo
			copy(dst[row*w.n:(row+1)*w.n], w.hot[goal*w.n:])
		}
		first += p.hi - p.lo
	}
	return nil
}

// Fit does nothing: hand-made goals are inferred by beliefs alone.
func (w *handmade) Fit(*rng.Rand) ([]agent.Stat, error) { return nil, nil }

// Networks returns none.
func (w *handmade) Networks() []mind.Network { return nil }

func (w *handmade) save(*safetensors.File, string)             {}
func (w *handmade) load(*safetensors.File, string, bool) error { return nil }

func (w *handmade) Inference(envs, trees int) Inference {
	return &handInference{handmade: w, partners: make([]int32, envs*trees*len(w.m.others))}
}

// handInference is one worker's part.
type handInference struct {
	*handmade
	partners []int32 // [trees][others] without goals: the bot drawn
}

func (f *handInference) Observe(*rollout.View, []int32) {}
func (f *handInference) Open(int, int) bool             { return true }
func (f *handInference) Renamed() bool                  { return false }
func (f *handInference) Goal(_, _, g int) []float32     { return f.hot[g*f.n : (g+1)*f.n] }

func (f *handInference) Reached(v *rollout.View, n, j int) int {
	if a := f.m.others[j]; !f.silent && f.m.sight.There(v.Rollout, a, v.T, n) && f.m.sight.Saw(v.Rollout, a, v.T, n) {
		return v.ReachedOf(n, a)
	}
	return game.NoGoal
}

// Outcome returns the goal of the last step, or with which co-player j left. Goals
// before that were counted when they were reached.
func (f *handInference) Outcome(v *rollout.View, n, j int) (goal int, counts bool) {
	if f.silent || f.m.spec.View > 0 {
		return game.NoGoal, !f.silent // whether it reached anything out of view is not known
	}
	a := f.m.others[j]
	if v.Alive[v.Slot(a, v.T, n)] {
		return v.ReachedOf(n, a), true
	}
	return v.GoalOf(n, a), true
}

func (f *handInference) Draw(tree int32, _, j int, g int32, r *rng.Rand) int32 {
	if f.silent && f.m.cfg.Leaf.partnered() {
		f.partners[int(tree)*len(f.m.others)+j] = int32(r.IntN(len(f.m.who)))
	}
	return g
}

func (f *handInference) Drawn(_ int32, _ int, name int32) []float32 { return f.Goal(0, 0, int(name)) }

func (f *handInference) Partner(tree int32, j int, name int32) int32 {
	if f.silent {
		return f.partners[int(tree)*len(f.m.others)+j]
	}
	return name
}

func (f *handInference) Words(_, _, g int) []Word {
	if f.silent {
		return []Word{{"any", 1}}
	}
	return []Word{{f.m.spec.Goals[g], 1}}
}

func (f *handInference) Believe(*belief.Beliefs, int) bool { return false }

var (
	_ GoalModel = (*handmade)(nil)
	_ Inference = (*handInference)(nil)
)
