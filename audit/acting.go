package audit

import (
	"math"

	"hop/agent"
	checks "hop/audit/check"
	"hop/audit/record"
	"hop/audit/reference"
	"hop/batch"
	"hop/mind"
)

// acting compares what players recorded about their choices with what their
// network, or their search, says at the recorded observation.
type acting struct {
	asked     bool
	search    bool // agents plan: the record is of a search's policy
	rows      int
	logp      int // rows whose probability is another
	value     int // rows whose value is another
	target    int // rows whose search policy is no distribution over the legal actions
	far       float64
	agents    map[agent.ID]int // rows that differ
	likeliest checks.Likeliest
}

// actRows is how many rows of a window and an agent are asked again.
const actRows = 128

func (c *acting) take(u *session, ro *batch.Rollout) {
	if u.window <= u.exp.Train.Warm.Windows {
		return // watched bots have no probabilities
	}
	if c.agents == nil {
		c.agents = map[agent.ID]int{}
	}
	c.search = u.hop != nil && u.hop.Imagines() != nil // else it plays by its network alone
	for _, t := range u.taps {
		for _, a := range t.agents {
			if t.hop != nil && t.hop.Imagines() != nil { // else it plays by its network alone, and no search is recorded
				c.searched(u, ro, a)
			} else if t.exp.Actor.LSTM == 0 { // what an LSTM remembered is not recorded
				c.network(u, ro, t, a)
			}
		}
	}
}

// network asks the agent's network again.
func (c *acting) network(u *session, ro *batch.Rollout, t *tap, a agent.ID) {
	acting, ok := mind.As[mind.Acting](t.Mind)
	if !ok {
		return
	}
	model, params := acting.Actor()
	ws := model.Work(1)
	seen := 0
	record.Each(ro, a, func(_, _, step, slot int) {
		if !untouched(u, ro, step, slot) || seen >= actRows {
			return
		}
		seen++
		c.asked = true
		c.rows++
		ws.Reset()
		ws.Add(ro.ObsAt(slot), ro.GoalAt(slot)[:min(model.Extra, ro.GoalLen)])
		ws.Forward(params)
		act := ro.Action[step]
		probs := reference.Softmax(ws.Logits[:ro.Actions], ro.LegalAt(slot))
		bad := act < 0 || int(act) >= len(probs)
		if !bad {
			d := math.Abs(math.Log(max(probs[act], 1e-30)) - float64(ro.LogProb[step]))
			c.far = max(c.far, d)
			bad = d > 1e-3
		}
		if bad {
			c.logp++
			c.agents[a]++
		}
		if d := math.Abs(float64(ws.Value[0] - ro.Value[slot])); d > 1e-3*max(1, math.Abs(float64(ws.Value[0]))) {
			c.value++
			c.agents[a]++
		}
		c.likeliest.Add(probs, act)
	})
}

// untouched reports whether a row is an agent's own and as it was played: what
// was changed later is the buffers' fault, not the player's.
func untouched(u *session, ro *batch.Rollout, step, slot int) bool {
	d := u.deeds[step]
	return d.Acted && ro.Alive[slot] && ro.Own[step] && d.Action == ro.Action[step] && d.LogProb == ro.LogProb[step] &&
		d.Value == ro.Value[slot] && d.Legal == record.Bits(ro.LegalAt(slot)) && d.Obs == record.Print(ro.ObsAt(slot))
}

// searched holds a search's policy to what it must be.
func (c *acting) searched(u *session, ro *batch.Rollout, a agent.ID) {
	record.Each(ro, a, func(_, _, step, slot int) {
		if !untouched(u, ro, step, slot) {
			return
		}
		c.asked = true
		c.rows++
		sum, wrong := 0., false
		probs := make([]float64, ro.Actions)
		for k, p := range ro.TargetAt(step) {
			probs[k] = float64(p)
			sum += float64(p)
			wrong = wrong || p < 0 || p > 0 && !ro.LegalAt(slot)[k]
		}
		if wrong || math.Abs(sum-1) > 1e-3 {
			c.target++
			c.agents[a]++
			return
		}
		if d := math.Abs(math.Log(max(probs[ro.Action[step]], 1e-30)) - float64(ro.LogProb[step])); d > 1e-3 {
			c.logp++
			c.agents[a]++
			c.far = max(c.far, d)
		}
		c.likeliest.Add(probs, ro.Action[step])
	})
}
