package audit

import (
	"fmt"

	"hop/agent"
	"hop/audit/record"
	"hop/audit/reference"
	"hop/batch"
	"hop/check"
)

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
	return u.hop == nil && t.Standins.Share == 0 && t.Standins.ShareEnd <= 0 && t.Standins.Teams == 0 && t.Warm.Windows == 0
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
