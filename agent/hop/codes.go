package hop

import (
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/cvae"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// codes is a VAE in a mind: it gives states their codes, picks the later states that were
// steps' subgoals, and says which of the game's goals a code leads to.
type codes struct {
	cfg     Goals
	sees    *visible
	vae     *vae.Model
	params  *nn.Params
	learner *vae.Learner // nil: the weights stay as they are
	work    *vae.Work
	gate    vae.Gate
	ends    *ends // which goals codes lead to

	// What was labelled last.
	states *vae.Rows
	list   []trajectory
}

// codeRows is how many states are encoded at a time.
const codeRows = 512

// unending is a number of steps that no run reaches: learning rates stay constant.
const unending = 1 << 30

// selectGamma is the discount that the inference was trained with.
const selectGamma = 0.95

func newCodes(m *Mind, key rng.Key) (*codes, error) {
	spec := m.sees.spec
	c := &codes{
		cfg: m.cfg.Goals, sees: m.sees, vae: m.models.VAE, params: m.models.Codes.Clone(), work: m.models.VAE.Work(codeRows),
		gate: vae.NewGate(frame.Layout(spec.Obs), spec.Seats, -1), ends: newEnds(spec),
	}
	if c.cfg.VAEPasses > 0 {
		cfg := vae.DefaultLearn()
		cfg.LR, cfg.Tau = c.cfg.Rate, cfg.TauEnd
		var err error
		if c.learner, err = vae.NewLearner(c.vae, c.params, cfg, unending, key.Child("vae")); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// read puts the steps of trajectories into the VAE's form.
func (c *codes) read(ro *batch.Rollout, list []trajectory) *vae.Rows {
	rows := c.vae.Rows()
	c.states, c.list = rows, list
	for _, p := range list {
		last := ro.Action[p.last(ro)]
		for t := p.lo; t < p.hi; t++ {
			rows.Add(c.sees.obs(nil, ro, p.agent, t, p.env), c.sees.legal(ro, p.agent, t, p.env), ro.Action[ro.Step(p.agent, t, p.env)])
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
		out = cvae.Selector(c.cfg.Selector).Subgoals(out, rewards, c.cfg.Ahead, selectGamma)
	}
	return out
}

// count learns which goals go with which last actions.
func (c *codes) count(ro *batch.Rollout, list []trajectory) {
	for _, p := range list {
		last := p.last(ro)
		c.ends.add(ro.Action[last], int(ro.Reached[last]), c.sees.obs(nil, ro, p.agent, p.hi-1, p.env))
	}
}

// fit passes over the states that were labelled last, if the VAE learns.
func (c *codes) fit(r *rng.Rand) ([]agent.Stat, error) {
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
	for range c.cfg.VAEPasses {
		r.Perm(order)
		for i, at := range order {
			ahead[i] = at + r.IntN(1+min(c.cfg.Ahead, end[at]-at))
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

// leadsToGoals reports that codes can be turned into goals, and so into partners.
func (c *codes) leadsToGoals() bool {
	return c.vae.Config.Loss == "b" && c.vae.Outcome > 0 && len(c.sees.spec.Goals) > 0
}

func (c *codes) save(f *safetensors.File, prefix string) {
	if c.learner != nil {
		c.learner.Save(f, prefix+"vae/")
	} else {
		c.params.Save(f, prefix+"vae/model/")
	}
	if n := len(c.ends.count); n > 0 {
		f.PutFloat32(prefix+"ends", c.ends.count, n)
	}
}

func (c *codes) load(f *safetensors.File, prefix string, weights bool) error {
	var err error
	if c.learner != nil && !weights {
		err = c.learner.Load(f, prefix+"vae/")
	} else {
		err = c.params.Load(f, prefix+"vae/model/")
	}
	if n := len(c.ends.count); err == nil && n > 0 {
		err = f.Float32(c.ends.count, prefix+"ends", n)
	}
	return err
}
