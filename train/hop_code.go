package train

import (
	"slices"

	"hop/agent"
	"hop/batch"
	"hop/frame"
	"hop/game"
	"hop/model/cvae"
	"hop/model/vae"
	"hop/nn"
	"hop/rng"
	"hop/safetensors"
)

// coder is a VAE in a mind: it gives states their codes, and says which hand-made
// goal a code leads to, which scripted rollouts need.
type coder struct {
	h     *HOP
	vae   *vae.Model
	codes *nn.Params
	teach *vae.Learner // nil: the weights stay as they are
	work  *vae.Work
	gate  vae.Gate
	ends  []float32 // [actions][goals] paths that ended with an action and a goal, counted
	plane []int     // [goals] where the board shows what is wanted; -1: nowhere
}

// codeRows is how many states are encoded at a time.
const codeRows = 512

func newCoder(h *HOP, m Models, key rng.Key) (*coder, error) {
	c := &coder{h: h, vae: m.VAE, codes: m.Codes.Clone(), work: m.VAE.Work(codeRows), ends: make([]float32, len(h.spec.Actions)*len(h.spec.Goals))}
	if slices.Contains(h.cfg.Train, "vae") {
		cfg := vae.DefaultLearn()
		cfg.LR, cfg.Tau = h.cfg.Rate, cfg.TauEnd
		var err error
		if c.teach, err = vae.NewLearner(m.VAE, c.codes, cfg, unending, key.Child("vae")); err != nil {
			return nil, err
		}
	}
	l := h.spec.Obs
	c.gate = vae.Gate{Layout: frame.Input{Height: l.Height, Width: l.Width, Planes: len(l.Planes)}, Distance: h.cfg.Gate}
	for i, plane := range l.Planes {
		if slices.Contains(h.spec.Goals, plane) {
			c.gate.Prey = append(c.gate.Prey, i)
		}
	}
	for _, goal := range h.spec.Goals {
		c.plane = append(c.plane, slices.Index(l.Planes, goal))
	}
	return c, nil
}

// unending is a number of steps that no run reaches: learning rates stay constant.
const unending = 1 << 30

// states puts the steps of paths into the VAE's form.
func (c *coder) states(ro *batch.Rollout, paths []path) *vae.Rows {
	rows := c.vae.Rows()
	for _, p := range paths {
		last := ro.Action[p.last(ro)]
		for t := p.lo; t < p.hi; t++ {
			slot := ro.Slot(p.agent, t, p.env)
			rows.Add(ro.ObsAt(slot), ro.LegalAt(slot), ro.Action[ro.Step(p.agent, t, p.env)])
			if len(rows.Outcome) > 0 {
				rows.Outcome[len(rows.Outcome)-1] = last
			}
		}
	}
	return rows
}

// encode calls do with the codes of the rows, first counted from 0, a batch at a
// time.
func (c *coder) encode(rows *vae.Rows, do func(ws *vae.Work, first int)) {
	for lo := 0; lo < rows.Len(); lo += codeRows {
		c.work.Reset()
		for i := lo; i < min(lo+codeRows, rows.Len()); i++ {
			c.work.Add(rows, i)
		}
		c.work.Encode(c.codes)
		do(c.work, lo)
	}
}

// choose returns, for every step of the paths, the row of the later state that
// the selector takes for its subgoal. A state's value is the discounted return
// that followed.
func (c *coder) choose(ro *batch.Rollout, paths []path) []int {
	var rewards, value []float32
	var out []int
	at, s := 0, cvae.Selector(c.h.cfg.Selector)
	for _, p := range paths {
		n := p.hi - p.lo
		rewards = rewards[:0]
		for t := p.lo; t < p.hi; t++ {
			rewards = append(rewards, ro.Reward[ro.Step(p.agent, t, p.env)])
		}
		value = append(value[:0], rewards...)
		cvae.Returns(value, rewards, selectGamma)
		for t := range n {
			out = append(out, at+s.Pick(t, n, c.h.cfg.Ahead, func(row int) float32 { return value[row] }))
		}
		at += n
	}
	return out
}

// selectGamma is the discount that the inference was trained with.
const selectGamma = 0.95

// count learns which goals go with which last actions. Whoever reached nothing
// was after what it stood at in the end: a hunter who waited at the stag in vain
// wanted the stag.
func (c *coder) count(ro *batch.Rollout, paths []path) {
	for _, p := range paths {
		last := p.last(ro)
		g := int(ro.Reached[last])
		if g == game.NoGoal {
			g = c.stood(ro.ObsAt(ro.Slot(p.agent, p.hi-1, p.env)))
		}
		if g != game.NoGoal {
			c.ends[int(ro.Action[last])*len(c.h.spec.Goals)+g]++
		}
	}
}

// stood returns the goal whose thing is on the observer's own cell, the first of
// several, or game.NoGoal.
func (c *coder) stood(obs []float32) int {
	l := c.gate.Layout
	for at := 0; at < l.Height*l.Width*l.Planes; at += l.Planes {
		if obs[at] == 0 {
			continue // the first plane is the observer
		}
		for g, k := range c.plane {
			if k >= 0 && obs[at+k] != 0 {
				return g
			}
		}
	}
	return game.NoGoal
}

// learn takes one pass over the states, if the VAE learns.
func (c *coder) learn(rows *vae.Rows, paths []path, r *rng.Rand) ([]agent.Stat, error) {
	if c.teach == nil {
		return nil, nil
	}
	end := make([]int, 0, rows.Len()) // of each row, the last of its path
	for _, p := range paths {
		last := len(end) + p.hi - p.lo - 1
		for range p.hi - p.lo {
			end = append(end, last)
		}
	}
	order, ahead := make([]int, rows.Len()), make([]int, rows.Len())
	r.Perm(order)
	for i, at := range order {
		ahead[i] = at + r.IntN(1+min(c.h.cfg.Ahead, end[at]-at))
	}
	var sum vae.Terms
	batch := vae.DefaultLearn().Batch
	for lo := 0; lo < len(order); lo += batch {
		hi := min(lo+batch, len(order))
		t, err := c.teach.Step(rows, order[lo:hi], ahead[lo:hi])
		if err != nil {
			return nil, err
		}
		sum = sum.Plus(t)
	}
	stats := []agent.Stat{{Name: "vae/kl", Value: sum.KL.Mean(), N: rows.Len()}}
	if c.vae.Config.Loss == "b" {
		stats = append(stats, agent.Stat{Name: "vae/action", Value: sum.Action.Mean(), N: rows.Len()})
	}
	return stats, nil
}

// teller draws the hand-made goal that a code leads to, for one worker.
type teller struct {
	*coder
	fate []float32 // [actions]
	goal []float32 // [goals]
}

func (c *coder) teller() teller {
	return teller{c, make([]float32, len(c.h.spec.Actions)), make([]float32, len(c.h.spec.Goals))}
}

// tells reports that codes can be turned into goals, and so into bots.
func (c *coder) tells() bool {
	return c.vae.Config.Loss == "b" && c.vae.Outcome > 0 && len(c.h.spec.Goals) > 0
}

// lead draws the number of the goal that code z leads to: its last action, and
// what such paths reached.
func (t teller) lead(z []float32, r *rng.Rand) int32 {
	k := len(t.goal)
	t.vae.Outcomes(t.codes, t.fate, z, 1)
	clear(t.goal)
	total := float32(0)
	for a, p := range t.fate {
		ends := t.ends[a*k : (a+1)*k]
		sum := float32(0)
		for _, n := range ends {
			sum += n
		}
		if sum == 0 {
			continue // nothing that ended so has been seen
		}
		for g, n := range ends {
			t.goal[g] += p * n / sum
			total += p * n / sum
		}
	}
	for g := range t.goal {
		if total > 0 {
			t.goal[g] /= total
		} else {
			t.goal[g] = 1 / float32(k)
		}
	}
	return game.Sample(t.goal, r)
}

func (c *coder) save(f *safetensors.File, prefix string) {
	if c.teach != nil {
		c.teach.Save(f, prefix+"vae/")
	} else {
		c.codes.Save(f, prefix+"vae/model/")
	}
	if len(c.ends) > 0 {
		f.PutFloat32(prefix+"ends", c.ends, len(c.ends))
	}
}

func (c *coder) load(f *safetensors.File, prefix string, alone bool) error {
	var err error
	if c.teach != nil && !alone {
		err = c.teach.Load(f, prefix+"vae/")
	} else {
		err = c.codes.Load(f, prefix+"vae/model/")
	}
	if err != nil || len(c.ends) == 0 {
		return err
	}
	return f.Float32(c.ends, prefix+"ends", len(c.ends))
}
