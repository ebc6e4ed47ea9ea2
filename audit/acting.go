package audit

import (
	"fmt"
	"math"

	"github.com/hop-marl/hop/agent/learner"
	checks "github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/check"
)

// acting compares what players recorded about their choices with what their
// network, or their search, says at the recorded observation.
type acting struct {
	asked     bool
	search    bool // agents plan: the record is of a search's policy
	rows      int
	logp      int // rows whose probability is another
	value     int // rows whose value is another
	cut       int // values after a cut that are not the network's
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
	c.search = u.hop != nil && !u.hop.ByNetwork()
	for _, t := range u.taps {
		for _, a := range t.agents {
			if t.hop != nil && !t.hop.ByNetwork() {
				c.searched(u, ro, a)
			} else if t.exp.Actor.LSTM == 0 { // what an LSTM remembered is not recorded
				c.network(u, ro, t, a)
			}
		}
	}
}

// network asks the agent's network again.
func (c *acting) network(u *session, ro *batch.Rollout, t *tap, a agent.ID) {
	acting, ok := learner.As[learner.Acting](t.Mind)
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
	for at := range ro.Steps * ro.Envs { // the last copies first: what is left out of a batch is at its end
		t, n := ro.Steps-1-at/ro.Envs, ro.Envs-1-at%ro.Envs
		step, next := ro.Step(a, t, n), ro.Slot(a, t+1, n)
		if ro.End[step] != batch.Cut || !ro.Own[step] || !ro.Alive[ro.Slot(a, t, n)] || model.Extra > 0 || seen >= 2*actRows {
			continue
		}
		seen++
		c.rows++
		ws.Reset()
		ws.Add(ro.ObsAt(next), nil)
		ws.Forward(params)
		if d := math.Abs(float64(ws.Value[0] - ro.Value[next])); d > 1e-3*max(1, math.Abs(float64(ws.Value[0]))) {
			c.cut++
			c.agents[a]++
		}
	}
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

// draws follows the streams that actions are drawn from: one number a decision, from
// act/AGENT/env/ENV (docs/architecture.md), so that every action can be drawn again.
type draws struct {
	before, now [][]int // [A][N] decisions before the window, and with it
	steps       int     // of a window
	acted       []bool  // [A][T][N] the agent's own player decided
	rows, wrong int
	agents      map[agent.ID]bool
}

// take counts the decisions of a window.
func (d *draws) take(u *session, ro *batch.Rollout) {
	if d.now == nil {
		d.agents = map[agent.ID]bool{}
		for range ro.Agents {
			d.now, d.before = append(d.now, make([]int, ro.Envs)), append(d.before, make([]int, ro.Envs))
		}
	}
	d.steps, d.acted = ro.Steps, make([]bool, len(u.deeds))
	for i := range d.acted {
		d.acted[i] = u.deeds[i].Acted
	}
	for a := range agent.ID(ro.Agents) {
		copy(d.before[a], d.now[a])
		record.Each(ro, a, func(_, n, step, _ int) {
			if u.deeds[step].Acted {
				d.now[a][n]++
			}
		})
	}
}

// at indexes [A][T][N].
func (d *draws) at(a agent.ID, t, n int) int { return (int(a)*d.steps+t)*len(d.now[0]) + n }

// drawsAlone reports whether the streams can be followed: nobody else draws from them.
func (u *session) drawsAlone() bool {
	t := u.exp.Train
	return u.hop == nil && t.Standins.Share == 0 && t.Standins.ShareEnd <= 0 && t.Standins.Teams == 0 && t.Standins.Alike == 0 &&
		t.Warm.Windows == 0
}

// hold draws the actions of a mind's rows again.
func (d *draws) hold(u *session, want *reference.Learnt) {
	if !u.drawsAlone() {
		return
	}
	for r, at := range want.Row[:want.Rows] {
		stream := u.parts.Key.Child("act", int(at.Agent)).Child("env", at.N).Rand()
		drawn := d.before[at.Agent][at.N]
		for t := range at.T {
			if d.acted[d.at(at.Agent, t, at.N)] {
				drawn++
			}
		}
		for range drawn {
			stream.Uint64()
		}
		if !u.same[d.at(at.Agent, at.T, at.N)] {
			continue // it was changed later
		}
		x, sum, act := float64(stream.Float32()), 0., int(want.Action[r])
		if act < 0 || act >= len(want.Probs[r]) {
			continue // the record's fault
		}
		for _, q := range want.Probs[r][:act] {
			sum += q
		}
		const slack = 1e-4
		if d.rows++; x < sum-slack || x > sum+want.Probs[r][act]+slack {
			d.wrong++
			d.agents[at.Agent] = true
		}
	}
}

// redrawn says whether actions are the ones that their streams give.
func (u *session) redrawn() check.Finding {
	d := &u.draws
	f := check.Finding{
		Step: 4, Check: "actions are drawn from their own streams", Module: "rollout", Unit: "share of rows", Rows: d.rows,
		Says: "Actions, drawn again from each agent's and env's own stream with the network's probabilities, are those that were played.",
	}
	if d.wrong > 0 {
		var who []agent.ID
		for a := range agent.ID(u.spec.Seats) {
			if d.agents[a] {
				who = append(who, a)
			}
		}
		share := float64(d.wrong) / float64(d.rows)
		f.Accuse(check.Fault, share, fmt.Sprintf("%s: %.0f %% of the actions are not what the agent's own stream in that env and the network's "+
			"probabilities give: numbers are shared, skipped or drawn twice.", check.Capital(check.Agents(who)), 100*share),
			"rollout: the streams act/AGENT/env/ENV; nn.Categorical.Sample: one draw a decision")
	}
	return f
}
