package hop

import (
	"slices"

	"hop/agent"
	"hop/batch"
	"hop/frame"
	"hop/game"
	"hop/mind"
	"hop/model/cvae"
	"hop/model/vae"
	"hop/nn"
	"hop/rng"
	"hop/safetensors"
)

// codes is a VAE in a mind: it gives states their codes, and says which hand-made
// goal a code leads to, which scripted partners need.
type codes struct {
	m       *Mind
	vae     *vae.Model
	params  *nn.Params
	learner *vae.Learner // nil: the weights stay as they are
	work    *vae.Work
	gate    vae.Gate
	ends    []float32 // [actions][goals] trajectories that ended with an action and a goal, counted
	plane   []int     // [goals] where the board shows what is wanted; -1: nowhere

	// What was labelled last.
	states *vae.Rows
	list   []trajectory
}

// codeRows is how many states are encoded at a time.
const codeRows = 512

func newCodes(m *Mind, key rng.Key) (*codes, error) {
	c := &codes{
		m: m, vae: m.models.VAE, params: m.models.Codes.Clone(), work: m.models.VAE.Work(codeRows),
		ends: make([]float32, len(m.spec.Actions)*len(m.spec.Goals)),
	}
	if m.cfg.Goals.VAEPasses > 0 {
		cfg := vae.DefaultLearn()
		cfg.LR, cfg.Tau = m.cfg.Goals.Rate, cfg.TauEnd
		var err error
		if c.learner, err = vae.NewLearner(c.vae, c.params, cfg, unending, key.Child("vae")); err != nil {
			return nil, err
		}
	}
	l := m.spec.Obs
	c.gate = vae.NewGate(frame.Layout(l), m.spec.Seats, -1)
	for _, goal := range m.spec.Goals {
		c.plane = append(c.plane, slices.Index(l.Planes, goal))
	}
	return c, nil
}

// unending is a number of steps that no run reaches: learning rates stay constant.
const unending = 1 << 30

// read puts the steps of trajectories into the VAE's form.
func (c *codes) read(ro *batch.Rollout, list []trajectory) *vae.Rows {
	rows := c.vae.Rows()
	c.states, c.list = rows, list
	for _, p := range list {
		last := ro.Action[p.last(ro)]
		for t := p.lo; t < p.hi; t++ {
			rows.Add(c.m.sight.Obs(nil, ro, p.agent, t, p.env), c.m.sight.Legal(ro, p.agent, t, p.env), ro.Action[ro.Step(p.agent, t, p.env)])
			if len(rows.Outcome) > 0 {
				rows.Outcome[len(rows.Outcome)-1] = last
			}
		}
	}
	return rows
}

// encode calls do with the codes of the rows, first counted from 0, a batch at a
// time.
func (c *codes) encode(rows *vae.Rows, do func(ws *vae.Work, first int)) {
	for lo := 0; lo < rows.Len(); lo += codeRows {
		c.work.Reset()
		for i := lo; i < min(lo+codeRows, rows.Len()); i++ {
			c.work.Add(rows, i)
		}
		c.work.Encode(c.params)
		do(c.work, lo)
	}
}

// subgoals returns, for every step of the trajectories, the row of the later state that
// the selector takes for its subgoal. A state's value is the discounted return
// that followed.
func (c *codes) subgoals(ro *batch.Rollout, list []trajectory) []int {
	var rewards, value []float32
	var out []int
	at, s := 0, cvae.Selector(c.m.cfg.Goals.Selector)
	for _, p := range list {
		n := p.hi - p.lo
		rewards = rewards[:0]
		for t := p.lo; t < p.hi; t++ {
			rewards = append(rewards, ro.Reward[ro.Step(p.agent, t, p.env)])
		}
		value = append(value[:0], rewards...)
		cvae.Returns(value, rewards, selectGamma)
		for t := range n {
			out = append(out, at+s.Pick(t, n, c.m.cfg.Goals.Ahead, func(row int) float32 { return value[row] }))
		}
		at += n
	}
	return out
}

// selectGamma is the discount that the inference was trained with.
const selectGamma = 0.95

// count learns which goals go with which last actions. Whoever reached nothing
// was after what it was standing at in the end: a hunter who waited at the stag in vain
// wanted the stag.
func (c *codes) count(ro *batch.Rollout, list []trajectory) {
	for _, p := range list {
		last := p.last(ro)
		g := int(ro.Reached[last])
		if g == game.NoGoal {
			g = c.standingAt(c.m.sight.Obs(nil, ro, p.agent, p.hi-1, p.env))
		}
		if g != game.NoGoal {
			c.ends[int(ro.Action[last])*len(c.m.spec.Goals)+g]++
		}
	}
}

// standingAt returns the goal whose thing is on the observer's own cell, the first of
// several, or game.NoGoal.
func (c *codes) standingAt(obs []float32) int {
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

// Fit passes over the states that were labelled last, if the VAE learns.
func (c *codes) Fit(r *rng.Rand) ([]agent.Stat, error) {
	if c.learner == nil {
		return nil, nil
	}
	rows, list := c.states, c.list
	end := make([]int, 0, rows.Len()) // of each row, the last of its path
	for _, p := range list {
		last := len(end) + p.hi - p.lo - 1
		for range p.hi - p.lo {
			end = append(end, last)
		}
	}
	order, ahead := make([]int, rows.Len()), make([]int, rows.Len())
	var sum vae.Terms
	size := vae.DefaultLearn().Batch
	for range c.m.cfg.Goals.VAEPasses {
		r.Perm(order)
		for i, at := range order {
			ahead[i] = at + r.IntN(1+min(c.m.cfg.Goals.Ahead, end[at]-at))
		}
		for lo := 0; lo < len(order); lo += size {
			hi := min(lo+size, len(order))
			t, err := c.learner.Step(rows, order[lo:hi], ahead[lo:hi])
			if err != nil {
				return nil, err
			}
			sum = sum.Plus(t)
		}
	}
	stats := []agent.Stat{{Name: "vae/kl", Value: sum.KL.Mean(), N: rows.Len()}}
	if c.vae.Config.Loss == "b" {
		stats = append(stats, agent.Stat{Name: "vae/action", Value: sum.Action.Mean(), N: rows.Len()})
	}
	return stats, nil
}

// Networks returns none: guards know the VAE by what its codes are used for.
func (c *codes) Networks() []mind.Network { return nil }

// leadsToGoals reports that codes can be turned into goals, and so into partners.
func (c *codes) leadsToGoals() bool {
	return c.vae.Config.Loss == "b" && c.vae.Outcome > 0 && len(c.m.spec.Goals) > 0
}

// outcomes draws the hand-made goal that a code leads to, for one worker.
type outcomes struct {
	*codes
	last []float32 // [actions] how trajectories of a code end
	goal []float32 // [goals]
}

func (c *codes) outcomes() outcomes {
	return outcomes{c, make([]float32, len(c.m.spec.Actions)), make([]float32, len(c.m.spec.Goals))}
}

// draw draws the number of the goal that code z leads to.
func (o outcomes) draw(z []float32, r *rng.Rand) int32 { return game.Sample(o.goals(z), r) }

// words names the goals that code z leads to.
func (o outcomes) words(z []float32) []Word {
	var list []Word
	for g, p := range o.goals(z) {
		list = append(list, Word{o.m.spec.Goals[g], float64(p)})
	}
	return list
}

// goals returns how likely each goal is for code z, a view: by its last action, and
// by what trajectories that ended so reached.
func (o outcomes) goals(z []float32) []float32 {
	k := len(o.goal)
	o.vae.Outcomes(o.params, o.last, z, 1)
	clear(o.goal)
	total := float32(0)
	for a, p := range o.last {
		ends := o.ends[a*k : (a+1)*k]
		sum := float32(0)
		for _, n := range ends {
			sum += n
		}
		if sum == 0 {
			continue // nothing that ended so has been seen
		}
		for g, n := range ends {
			o.goal[g] += p * n / sum
			total += p * n / sum
		}
	}
	for g := range o.goal {
		if total > 0 {
			o.goal[g] /= total
		} else {
			o.goal[g] = 1 / float32(k)
		}
	}
	return o.goal
}

func (c *codes) save(f *safetensors.File, prefix string) {
	if c.learner != nil {
		c.learner.Save(f, prefix+"vae/")
	} else {
		c.params.Save(f, prefix+"vae/model/")
	}
	if len(c.ends) > 0 {
		f.PutFloat32(prefix+"ends", c.ends, len(c.ends))
	}
}

func (c *codes) load(f *safetensors.File, prefix string, weights bool) error {
	var err error
	if c.learner != nil && !weights {
		err = c.learner.Load(f, prefix+"vae/")
	} else {
		err = c.params.Load(f, prefix+"vae/model/")
	}
	if err != nil || len(c.ends) == 0 {
		return err
	}
	return f.Float32(c.ends, prefix+"ends", len(c.ends))
}
