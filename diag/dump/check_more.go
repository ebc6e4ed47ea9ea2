package dump

import (
	"fmt"
	"slices"

	"hop/diag"
)

// legal asks whether masks are kept to, and whether they say anything.
func (s set) legal() diag.Finding {
	f, c := diag.Finding{Step: 3, Check: "legal actions", Module: "rollout"}, s.count()
	closed := 0
	for _, d := range s {
		if d.Legal == nil {
			f.Says = "Masks are not recorded (legal, [T][A][K])."
			return f
		}
		for i, alive := range d.Alive {
			if !alive {
				continue
			}
			a := i % len(d.Agents)
			c.rows[a]++
			mask := d.Legal[i*d.Actions : (i+1)*d.Actions]
			if act := d.Action[i]; act >= 0 && !mask[act] {
				c.bad[a]++
			}
			if slices.Contains(mask, false) {
				closed++
			}
		}
	}
	s.finish(&f, c, "illegal actions", "Every action is legal", "Actions are recorded that the mask forbids",
		"whether masks and actions are of the same step and the same agent")
	if f.Verdict == diag.Pass && closed == 0 && f.Rows > 0 {
		f.Verdict, f.Effect, f.Lo, f.Hi = diag.Suspect, 1, 1, 1
		f.Says = fmt.Sprintf("Every mask allows everything, in %d rows.", f.Rows)
		f.Next = "if the game forbids any action, the mask was not recorded but filled with ones"
	}
	return f
}

// cuts asks how episodes end: by an exit, or cut off from outside.
func (s set) cuts() diag.Finding {
	f, c := diag.Finding{Step: 3, Check: "ends of episodes", Module: "buffers"}, s.count()
	longest, horizon := 0, 0
	for _, d := range s {
		horizon = max(horizon, d.Horizon)
		for e := range d.Starts[:len(d.Starts)-1] { // the last one may be cut by the end of the dump
			longest = max(longest, d.End(e)-d.Starts[e])
		}
	}
	limits, dones, episodes, unmarked := 0, false, 0, false
	for _, d := range s {
		if d.Done == nil {
			f.Says = "Exits are not recorded (dones, [T][A]), so cuts and exits cannot be told apart."
			return f
		}
		for e := range d.Starts[:len(d.Starts)-1] {
			last := d.End(e) - 1
			episodes++
			atLimit := 0
			for a := range d.Agents {
				i := d.At(last, a)
				if !d.Alive[i] {
					continue
				}
				c.rows[a]++
				done, cut := d.Done[i], d.Cut != nil && d.Cut[i]
				switch {
				case !done && !cut, done && cut:
					c.bad[a]++
					unmarked = unmarked || !done
				case done:
					atLimit++
				}
			}
			if last+1-d.Starts[e] == longest && atLimit > 1 {
				limits++
			}
			dones = dones || atLimit > 0
		}
	}
	bad := "Agents are marked both as having left and as cut off"
	if unmarked {
		bad = "Episodes end for agents that neither left nor were cut off"
	}
	s.finish(&f, c, "ends without, or with two, reasons", "Every agent leaves or is cut off", bad,
		"mark the last row of an agent that leaves in dones, and one that a limit from outside stops in truncated; only the latter bootstraps")
	if f.Verdict == diag.Fault && !unmarked {
		f.Verdict = diag.Suspect // dones may be the OR of both, as CleanRL's are
	}
	if f.Verdict == diag.Pass && horizon != longest && episodes >= 20 && limits*20 > episodes && dones {
		f.Verdict, f.Effect = diag.Suspect, float64(limits)/float64(episodes)
		f.Lo, f.Hi, f.Unit = f.Effect, f.Effect, "share of episodes"
		f.Says = fmt.Sprintf("%d of %d episodes end after exactly %d steps with several agents leaving at once: a time limit "+
			"may be recorded as death.", limits, episodes, longest)
		f.Next = "mark such ends in truncated, or, if the limit is a rule of the game and time is observed, save horizon"
	}
	return f
}

// lastObs asks whether the last observation of an episode was overwritten by the
// first of the next.
func (s set) lastObs() diag.Finding {
	f, c := diag.Finding{Step: 3, Check: "last observation", Module: "rollout"}, s.count()
	differ := false // first observations that differ: else equality means nothing
	for _, d := range s {
		if d.Obs == nil || d.Next == nil {
			f.Says = "Next observations are not recorded (obs and next_obs), so last ones cannot be compared."
			return f
		}
		n := len(d.Obs) / (d.Steps * len(d.Agents))
		for e := range d.Starts[:len(d.Starts)-1] {
			last, next := d.End(e)-1, d.End(e)
			for a := range d.Agents {
				i, j := d.At(last, a), d.At(next, a)
				if !d.Alive[i] {
					continue
				}
				first := d.Obs[j*n : (j+1)*n]
				c.rows[a]++
				if slices.Equal(d.Next[i*n:(i+1)*n], first) {
					c.bad[a]++
				}
				start := d.At(d.Starts[e], a)
				differ = differ || !slices.Equal(d.Obs[start*n:(start+1)*n], first)
			}
		}
	}
	if !differ {
		f.Says = "All episodes start alike, so an overwritten last observation would not show."
		return f
	}
	s.finish(&f, c, "overwritten last observations", "The last observation of an episode is its own",
		"The last observation of an episode is the first of the next",
		"auto-reset: take the final observation from info (final_obs) before the reset")
	return f
}

// labels asks whether goals' labels are there for everybody alike.
func (s set) labels() diag.Finding {
	f, c := diag.Finding{Step: 3, Check: "labels", Module: "buffers"}, s.count()
	kinds := make([]map[int32]int, len(s.agents()))
	for a := range kinds {
		kinds[a] = map[int32]int{}
	}
	for _, d := range s {
		if d.Label == nil {
			f.Says = "Labels are not recorded (labels, [T][A])."
			return f
		}
		for i, alive := range d.Alive {
			a := i % len(d.Agents)
			if !alive {
				c.rows[a]++
				if d.Label[i] >= 0 {
					c.bad[a]++
				}
			} else if d.Label[i] >= 0 {
				kinds[a][d.Label[i]]++
			}
		}
	}
	s.finish(&f, c, "labels after it left", "Nobody is labelled after leaving", "Labels are recorded for agents that have left",
		"label an agent's steps up to the one with which it leaves")
	if f.Verdict != diag.Pass {
		return f
	}
	most := 0
	for _, m := range kinds {
		most = max(most, len(m))
	}
	var short []int
	for a, m := range kinds {
		f.Evidence = append(f.Evidence, diag.Row{Label: s.agents()[a] + ": different labels", Value: float64(len(m)), Wanted: float64(most)})
		if len(m) < most {
			short = append(short, a)
		}
	}
	if len(short) > 0 {
		f.Verdict, f.Effect, f.Unit = diag.Suspect, float64(len(short))/float64(len(kinds)), "share of agents"
		f.Lo, f.Hi = f.Effect, f.Effect
		f.Says = fmt.Sprintf("%s %s fewer kinds of labels than the others.", list(s.agents(), short), verb(short, "has", "have"))
		f.Next = "whether labels are written for every agent, by the agent's own id"
	}
	return f
}

// goals asks whether each agent's series of goals is complete.
func (s set) goals() diag.Finding {
	f, c := diag.Finding{Step: 3, Check: "goal series", Module: "buffers"}, s.count()
	for _, d := range s {
		if d.Goal == nil {
			f.Says = "Goals are not recorded (goals, [T][A][D])."
			return f
		}
		for i, alive := range d.Alive {
			if !alive {
				continue
			}
			c.rows[i%len(d.Agents)]++
			if g := d.Goal[i*d.GoalLen : (i+1)*d.GoalLen]; !slices.ContainsFunc(g, func(x float32) bool { return x != 0 }) {
				c.bad[i%len(d.Agents)]++
			}
		}
	}
	s.finish(&f, c, "steps without a goal", "Every step has a goal", "Goals are missing where agents act",
		"whether goals are kept for every agent and every env (the users' _logs[(env_id, my_id)] was empty for some)")
	if f.Verdict == diag.Fault && f.Effect < 0.05 && !s.without(c) {
		f.Verdict = diag.Suspect
	}
	return f
}

// without reports whether some agent has no goal at all.
func (s set) without(c count) bool {
	for a := range c.bad {
		if c.rows[a] > 0 && c.bad[a] == c.rows[a] {
			return true
		}
	}
	return false
}

// ego asks whether planes and recorded joint actions are in the same order. The
// first A planes of an observation show where agents are: ego-first, or by
// number. Joint actions must be in the same order.
func (s set) ego() diag.Finding {
	f := diag.Finding{Step: 3, Check: "ego order", Module: "rollout", Unit: "share of rows"}
	var planes, joint tally
	for _, d := range s {
		if d.Joint == nil || d.Obs == nil || len(d.Shape) != 3 {
			f.Says = "Planes (obs, [T][A][P][H][W]) and joint actions (joint, [T][A][A]) are not both recorded."
			return f
		}
		v := newPlanes(d)
		if v == nil {
			f.Says = fmt.Sprintf("Observations have %v numbers, fewer planes than agents, so the order of planes is not known.", d.Shape)
			return f
		}
		for e := range d.Starts {
			for t := d.Starts[e]; t < d.End(e); t++ {
				v.look(&planes, t)
				if t > d.Starts[e] {
					d.lastJoint(&joint, t)
				}
			}
		}
	}
	f.Rows = joint.rows
	f.Evidence = []diag.Row{
		{Label: "planes that fit ego-first order", Value: planes.share(planes.ego), Wanted: 1},
		{Label: "planes that fit global order", Value: planes.share(planes.global), Wanted: 0},
		{Label: "joint actions that fit ego-first order", Value: joint.share(joint.ego), Wanted: 1},
		{Label: "joint actions that fit global order", Value: joint.share(joint.global), Wanted: 0},
	}
	p, j := planes.order(), joint.order()
	switch {
	case planes.rows == 0 || joint.rows == 0:
		f.Says = "No two agents are ever alive together, so an order cannot show."
	case p == "" || j == "":
		what := "planes"
		if p != "" {
			what = "joint actions"
		}
		f.Verdict, f.Effect = diag.Suspect, 1
		f.Says = fmt.Sprintf("The %s are neither in ego-first nor in global order.", what)
		f.Next = "the first A planes must show one agent each; joint must hold the actions of the step before"
	case p != j:
		f.Verdict, f.Effect = diag.Fault, 1
		f.Says = fmt.Sprintf("Planes are in %s order, joint actions in %s order.", p, j)
		f.Next = "put the joint action into the planes' order: (own + k) mod A; a world model cannot learn from two orders"
	default:
		f.Says = fmt.Sprintf("Planes and joint actions are both in %s order, in %d rows.", p, f.Rows)
	}
	f.Lo, f.Hi = f.Effect, f.Effect
	return f
}
