package hop

import (
	"hop/agent"
	"hop/batch"
	"hop/frame"
	"hop/game"
	"hop/mind"
	"hop/mind/hop/outcome"
	"hop/model/cvae"
	"hop/model/vae"
	"hop/nn"
	"hop/rng"
	"hop/safetensors"
)

// codes is a VAE in a mind: it gives states their codes, and says which hand-made
// goal a code leads to, which scripted partners need.
type codes struct {
	m             *Mind
	vae           *vae.Model
	params        *nn.Params
	learner       *vae.Learner // nil: the weights stay as they are
	work          *vae.Work
	gate          vae.Gate
	*outcome.Ends // which goals codes lead to

	// What was labelled last.
	states *vae.Rows
	list   []trajectory
}

// codeRows is how many states are encoded at a time.
const codeRows = 512

func newCodes(m *Mind, key rng.Key) (*codes, error) {
	c := &codes{
		m: m, vae: m.models.VAE, params: m.models.Codes.Clone(), work: m.models.VAE.Work(codeRows),
		Ends: outcome.New(m.spec),
	}
	if m.cfg.Goals.VAEPasses > 0 {
		cfg := vae.DefaultLearn()
		cfg.LR, cfg.Tau = m.cfg.Goals.Rate, cfg.TauEnd
		var err error
		if c.learner, err = vae.NewLearner(c.vae, c.params, cfg, unending, key.Child("vae")); err != nil {
			return nil, err
		}
	}
	c.gate = vae.NewGate(frame.Layout(m.spec.Obs), m.spec.Seats, -1)
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
	var rewards []float32
	var out []int
	for _, p := range list {
		rewards = rewards[:0]
		for t := p.lo; t < p.hi; t++ {
			rewards = append(rewards, ro.Reward[ro.Step(p.agent, t, p.env)])
		}
		out = cvae.Selector(c.m.cfg.Goals.Selector).Subgoals(out, rewards, c.m.cfg.Goals.Ahead, selectGamma)
	}
	return out
}

// selectGamma is the discount that the inference was trained with.
const selectGamma = 0.95

// count learns which goals go with which last actions.
func (c *codes) count(ro *batch.Rollout, list []trajectory) {
	for _, p := range list {
		last := p.last(ro)
		c.Add(ro.Action[last], int(ro.Reached[last]), c.m.sight.Obs(nil, ro, p.agent, p.hi-1, p.env))
	}
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

// mean names the goals that some codes lead to, in the mean.
func (o outcomes) mean(codes [][]float32) (list []Word) {
	for _, name := range o.m.spec.Goals {
		list = append(list, Word{name, 0})
	}
	for _, z := range codes {
		for g, p := range o.goals(z) {
			list[g].Share += float64(p) / float64(len(codes))
		}
	}
	return list
}

// goals returns how likely each goal is for code z, a view: by its last action, and
// by what trajectories that ended so reached.
func (o outcomes) goals(z []float32) []float32 {
	o.vae.Outcomes(o.params, o.last, z, 1)
	o.Goals(o.goal, o.last)
	return o.goal
}

func (c *codes) save(f *safetensors.File, prefix string) {
	if c.learner != nil {
		c.learner.Save(f, prefix+"vae/")
	} else {
		c.params.Save(f, prefix+"vae/model/")
	}
	if len(c.Count) > 0 {
		f.PutFloat32(prefix+"ends", c.Count, len(c.Count))
	}
}

func (c *codes) load(f *safetensors.File, prefix string, weights bool) error {
	var err error
	if c.learner != nil && !weights {
		err = c.learner.Load(f, prefix+"vae/")
	} else {
		err = c.params.Load(f, prefix+"vae/model/")
	}
	if err != nil || len(c.Count) == 0 {
		return err
	}
	return f.Float32(c.Count, prefix+"ends", len(c.Count))
}
