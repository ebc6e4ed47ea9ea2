package check

import (
	"fmt"
	"slices"

	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/num/check"
)

// legal asks whether masks are kept to, and whether they say anything.
func (s set) legal(f *check.Finding) {
	c, closed := s.count(), false
	s.each(func(d *record.Trajectories, i, a int) {
		if d.Alive[i] {
			mask, act := d.Legal[i*d.Actions:(i+1)*d.Actions], d.Action[i]
			c.add(a, act >= 0 && !mask[act])
			closed = closed || slices.Contains(mask, false)
		}
	})
	s.finish(f, c, "illegal actions", "Every action is legal", "Actions are recorded that the mask forbids",
		"whether masks and actions are of the same step and the same agent")
	if f.Status == check.Pass && !closed && f.Rows > 0 {
		f.Accuse(check.Note, 1, fmt.Sprintf("Every mask allows everything, in %d rows.", f.Rows),
			"if the game forbids any action, the mask was not recorded but filled with ones")
	}
}

// cuts asks how episodes end: by an exit, or cut off from outside.
func (s set) cuts(f *check.Finding) {
	c, longest, horizon := s.count(), 0, 0
	for _, d := range s {
		horizon = max(horizon, d.Horizon)
		for e := range d.Starts[:len(d.Starts)-1] { // the last one may be cut by the end of the dump
			longest = max(longest, d.End(e)-d.Starts[e])
		}
	}
	limits, dones, episodes, unmarked, alone := 0, false, 0, false, false
	for _, d := range s {
		for e := range d.Starts[:len(d.Starts)-1] {
			last := d.End(e) - 1
			episodes++
			atLimit := 0
			for a := range d.Agents {
				i := d.At(last, a)
				if !d.Alive[i] {
					continue
				}
				done, cut := d.Done[i], d.Cut != nil && d.Cut[i]
				c.add(a, done == cut)
				unmarked = unmarked || !done && !cut
				alone = alone || cut && !done
				if done && !cut {
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
	s.finish(f, c, "ends without, or with two, reasons", "Every agent leaves or is cut off", bad,
		"mark the last row of an agent that leaves in dones, and one that a limit from outside stops in truncated; only the latter bootstraps")
	if f.Status == check.Fault && !unmarked {
		f.Status = check.Suspect // dones may be the OR of both, as CleanRL's are
		if alone {               // it is not: an exit fell on the last step
			f.Accuse(check.Pass, 0, fmt.Sprintf("Every agent leaves or is cut off, some by chance at once, in %d rows.", f.Rows), "")
		}
	}
	if f.Status == check.Pass && !alone && horizon != longest && episodes >= 20 && limits*20 > episodes && dones {
		f.Accuse(check.Suspect, float64(limits)/float64(episodes), fmt.Sprintf("%d of %d episodes end after exactly %d steps with several "+
			"agents leaving at once: a time limit may be recorded as death.", limits, episodes, longest),
			"mark such ends in truncated, or, if the limit is a rule of the game and time is observed, save horizon")
		f.Unit = "share of episodes"
	}
}

// lastObs asks whether the last observation of an episode was overwritten by the
// first of the next.
func (s set) lastObs(f *check.Finding) {
	c := s.count()
	differ := false // first observations that differ: else equality means nothing
	for _, d := range s {
		n := len(d.Obs) / len(d.Alive)
		for e := range d.Starts[:len(d.Starts)-1] {
			last, next := d.End(e)-1, d.End(e)
			for a := range d.Agents {
				i, j, start := d.At(last, a), d.At(next, a), d.At(d.Starts[e], a)
				if !d.Alive[i] {
					continue
				}
				first := d.Obs[j*n : (j+1)*n]
				c.add(a, slices.Equal(d.Next[i*n:(i+1)*n], first))
				differ = differ || !slices.Equal(d.Obs[start*n:(start+1)*n], first)
			}
		}
	}
	switch episodes := len(s[0].Starts); {
	case !differ && episodes < 8:
		f.Says = fmt.Sprintf("All of %d episodes start alike, so an overwritten last observation would not show.", episodes)
		return
	case !differ:
		f.Rows, f.Unit = episodes, "episodes"
		f.Accuse(check.Note, 1, fmt.Sprintf("All of %d episodes start alike, so an overwritten last observation would not show.", episodes),
			"if the game draws how it starts, every reset has the same seed: give reset a new one, or none")
		return
	}
	s.finish(f, c, "overwritten last observations", "The last observation of an episode is its own",
		"The last observation of an episode is the first of the next",
		"auto-reset: take the final observation from info (final_obs) before the reset")
}

// labels asks whether goals' labels are there for everybody alike.
func (s set) labels(f *check.Finding) {
	c, kinds, most := s.count(), make([]map[int32]bool, len(s.agents())), 0
	for a := range kinds {
		kinds[a] = map[int32]bool{}
	}
	s.each(func(d *record.Trajectories, i, a int) {
		if !d.Alive[i] {
			c.add(a, d.Label[i] >= 0)
		} else if d.Label[i] >= 0 {
			kinds[a][d.Label[i]] = true
			most = max(most, len(kinds[a]))
		}
	})
	s.finish(f, c, "labels after it left", "Nobody is labelled after leaving", "Labels are recorded for agents that have left",
		"label an agent's steps up to the one with which it leaves")
	if f.Status != check.Pass {
		return
	}
	var short []int
	for a, m := range kinds {
		f.Saw(float64(len(m)), float64(most), "%s: different labels", s.agents()[a])
		if len(m) < most {
			short = append(short, a)
		}
	}
	if len(short) > 0 {
		f.Accuse(check.Suspect, float64(len(short))/float64(len(kinds)),
			fmt.Sprintf("%s %s fewer kinds of labels than the others.", listed(s.agents(), short), check.Verb(len(short), "has", "have")),
			"whether labels are written for every agent, by the agent's own id")
		f.Unit = "share of agents"
	}
}

// goals asks whether each agent's series of goals is complete.
func (s set) goals(f *check.Finding) {
	c := s.count()
	s.each(func(d *record.Trajectories, i, a int) {
		if d.Alive[i] {
			c.add(a, !slices.ContainsFunc(d.Goal[i*d.GoalLen:(i+1)*d.GoalLen], func(x float32) bool { return x != 0 }))
		}
	})
	s.finish(f, c, "steps without a goal", "Every step has a goal", "Goals are missing where agents act",
		"whether goals are kept for every agent and every env (the users' _logs[(env_id, my_id)] was empty for some)")
	none := false // some agent has no goal at all
	for a := range c.bad {
		none = none || c.rows[a] > 0 && c.bad[a] == c.rows[a]
	}
	if f.Status == check.Fault && f.Effect < 0.05 && !none {
		f.Status = check.Suspect
	}
}

// ego asks whether planes and recorded joint actions are in the same order. The
// first A planes of an observation show where agents are: ego-first, or by
// number. Joint actions must be in the same order.
func (s set) ego(f *check.Finding) {
	var planes, joint check.Orders
	for _, d := range s {
		v := newPlanes(d)
		if v == nil {
			f.Says = fmt.Sprintf("Observations have %v numbers, fewer planes than agents, so the order of planes is not known.", d.Shape)
			return
		}
		for e := range d.Starts {
			for t := d.Starts[e]; t < d.End(e); t++ {
				v.look(&planes, t)
				if t > d.Starts[e] {
					lastJoint(&joint, d, t)
				}
			}
		}
	}
	f.Rows, f.Unit = joint.Rows, "share of rows"
	f.Saw(planes.Share(planes.Ego), 1, "planes that fit ego-first order")
	f.Saw(planes.Share(planes.Global), 0, "planes that fit global order")
	f.Saw(joint.Share(joint.Ego), 1, "joint actions that fit ego-first order")
	f.Saw(joint.Share(joint.Global), 0, "joint actions that fit global order")
	p, j := planes.Name(), joint.Name()
	switch {
	case planes.Rows == 0 || joint.Rows == 0:
		f.Says = "No two agents are ever alive together, so an order cannot show."
	case p == "" || j == "":
		what := "planes"
		if p != "" {
			what = "joint actions"
		}
		f.Accuse(check.Suspect, 1, fmt.Sprintf("The %s are neither in ego-first nor in global order.", what),
			"the first A planes must show one agent each; joint must hold the actions of the step before")
	case p != j:
		f.Accuse(check.Fault, 1, fmt.Sprintf("Planes are in %s order, joint actions in %s order.", p, j),
			"put the joint action into the planes' order: (own + k) mod A; a world model cannot learn from two orders")
	default:
		f.Says = fmt.Sprintf("Planes and joint actions are both in %s order, in %d rows.", p, f.Rows)
	}
}

// planes looks at where agents are shown to be.
type planes struct {
	d       *record.Trajectories
	n, size int // planes of an observation, and their cells
	buf     [2][]float32
}

// newPlanes returns nil if observations cannot hold a plane for each agent.
func newPlanes(d *record.Trajectories) *planes {
	v := &planes{d: d, n: d.Shape[0], size: d.Shape[1] * d.Shape[2]}
	if d.Last {
		v.n, v.size = d.Shape[2], d.Shape[0]*d.Shape[1]
	}
	if v.n < len(d.Agents) || v.size == 0 {
		return nil
	}
	v.buf = [2][]float32{make([]float32, v.size), make([]float32, v.size)}
	return v
}

// plane copies plane p of what agent a sees.
func (v *planes) plane(dst []float32, t, a, p int) []float32 {
	base := v.d.At(t, a) * v.n * v.size
	for c := range dst {
		if v.d.Last {
			dst[c] = v.d.Obs[base+c*v.n+p]
		} else {
			dst[c] = v.d.Obs[base+p*v.size+c]
		}
	}
	return dst
}

// sit returns each agent's seat and who sits where, its number if seats are not
// recorded.
func sit(d *record.Trajectories, t int) (seat, at []int) {
	k := len(d.Agents)
	seat, at = make([]int, k), make([]int, k)
	for a := range k {
		seat[a] = a
		if d.Seat != nil {
			seat[a] = int(d.Seat[d.At(t, a)])
		}
		at[seat[a]] = a
	}
	return seat, at
}

// look compares two viewers' planes of the same agent. In ego-first order plane
// j of a viewer on seat s shows seat s+j; in global order plane j shows seat j.
// Either way all viewers must show a seat in the same cell.
func (v *planes) look(c *check.Orders, t int) {
	d, k := v.d, len(v.d.Agents)
	seat, at := sit(d, t)
	for a := range k {
		for b := a + 1; b < k; b++ {
			if !d.Alive[d.At(t, a)] || !d.Alive[d.At(t, b)] {
				continue
			}
			ego, global := true, true
			for s := range k {
				if !d.Alive[d.At(t, at[s])] {
					continue
				}
				x := v.plane(v.buf[0], t, a, (s-seat[a]+k)%k)
				ego = ego && slices.Equal(x, v.plane(v.buf[1], t, b, (s-seat[b]+k)%k))
				x = v.plane(v.buf[0], t, a, s)
				global = global && slices.Equal(x, v.plane(v.buf[1], t, b, s))
			}
			c.Add(ego, global)
		}
	}
}

// lastJoint compares the joint action that an agent recorded with those of the
// step before.
func lastJoint(c *check.Orders, d *record.Trajectories, t int) {
	k := len(d.Agents)
	seat, at := sit(d, t)
	did := make([]int32, k)
	for s := range did {
		if did[s] = -1; d.Alive[d.At(t-1, at[s])] {
			did[s] = d.Action[d.At(t-1, at[s])]
		}
	}
	for a := range k {
		if i := d.At(t, a); d.Alive[i] {
			_, wrong, global := check.Joint(seat[a], d.Joint[i*k:(i+1)*k], did)
			c.Add(wrong == 0, global)
		}
	}
}
