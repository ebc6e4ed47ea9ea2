package check

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"hop/check"
)

// what says in a sentence's middle what a kind of difference means, and where to
// look.
var what = map[string][2]string{
	"seat":  {"sit on other seats than were dealt", "rollout: where agents are dealt to seats; the stream is deal/ENV"},
	"start": {"are marked as starting or not starting an episode, wrongly", "rollout: Start is true at an episode's first slot only"},
	"alive": {"are marked alive or gone, wrongly",
		"Alive must follow game.State.Alive for each agent and slot; who has left stays gone until the next episode"},
	"own": {"are marked as played by somebody else, or a stranger's as their own",
		"Own: true where the agent's own policy acted, and nowhere else; only such rows are learnt from"},
	"action": {"hold another action than was played", "whoever writes Action; map agents to seats by Seat, not by number"},
	"planes": {"hold another board than the agent saw",
		"the observation: each agent's own, and the last one of an episode in its own slot, before the reset"},
	"features": {"hold other features than the agent saw", "the observation: each agent's own, before the reset"},
	"mask":     {"show another mask in the observation than the rules give", "the observation's mask"},
	"time": {"show another time than the rules give",
		"the observation's time: the last observation of an episode must not be the next one's first"},
	"last actions": {"show the last joint action in another order than ego-first",
		"the last joint action: the observing seat first, then the next seats, wrapping"},
	"legal": {"hold another mask of legal actions than the rules give",
		"Legal: an all-ones mask lets the learner put weight on actions that cannot be played"},
	"reward": {"hold another reward than was earned",
		"whoever writes Reward: by agent, not by seat, in the step in which it was earned"},
	"end": {"are marked with the wrong end",
		"End: a cut bootstraps from the next value, an exit does not; a time limit inside the rules is an exit"},
	"goal":        {"hold another goal than was reached", "Reached must be taken from the state right after the step"},
	"probability": {"hold another probability than the player recorded", "whoever touches LogProb between playing and learning"},
	"value":       {"hold another value than the player recorded", "whoever touches Value between playing and learning"},
	"after exit": {"of agents that had left hold an action, a reward or a claim to be learnt from",
		"rows after an exit must hold NoAction, no reward and Own false"},
}

// Findings says what the windows so far came to, one finding for each kind.
func (r *Replay) Findings() []check.Finding {
	var out []check.Finding
	lost := 0
	for n := range r.envs {
		if r.envs[n].lost {
			lost++
		}
	}
	for _, kind := range recordKinds {
		d := r.diff[kind]
		if d.rows == 0 {
			continue
		}
		bad := d.count[0] + d.count[1]
		f := check.Finding{
			Step: 3, Check: "replay: " + kind, Module: "buffers", Rows: d.rows, Unit: "share of rows",
			Says: fmt.Sprintf("The record of %s is what the rules say, in %d rows.", kind, d.rows),
		}
		if bad > 0 {
			if d.count[0] > 0 {
				f.Module = "rollout"
			}
			share, who := float64(bad)/float64(d.rows), slices.Sorted(maps.Keys(d.agents))
			says := fmt.Sprintf("%s of the rows, of %s, %s (%s).", percent(share), check.Agents(who), what[kind][0], d.where)
			f.Accuse(check.Fault, share, says, what[kind][1])
			for _, a := range who {
				f.Saw(float64(d.agents[a]), 0, "agent %d: rows that differ", a)
			}
			if lost > 0 {
				f.Saw(float64(lost), 0, "envs that could not be followed further")
			}
		}
		out = append(out, f)
	}
	return append(out, r.dealing())
}

// dealing asks whether agents are dealt to seats evenly: chi-square over agents
// and seats.
func (r *Replay) dealing() check.Finding {
	n := 0
	k := len(r.dealt)
	for _, c := range r.dealt[0] {
		n += c
	}
	f := check.Finding{
		Step: 3, Check: "seats are dealt evenly", Module: "rollout", Rows: n, Unit: "episodes above even",
		Says: fmt.Sprintf("Every agent sat on every seat about equally often in %d episodes.", n),
	}
	if r.spec.Fixed {
		f.Says = "Agents keep their seats, which have roles of their own."
	}
	if k < 2 || n == 0 || r.spec.Fixed {
		return f
	}
	even, x2 := float64(n)/float64(k), 0.
	for a := range r.dealt {
		for _, c := range r.dealt[a] {
			x2 += (float64(c) - even) * (float64(c) - even) / even
			f.Effect = max(f.Effect, math.Abs(float64(c)-even))
		}
	}
	if p := check.ChiTail(x2, (k-1)*(k-1)); p < 1e-6 {
		f.Status, f.Says = check.Fault, fmt.Sprintf("Agents are not dealt to seats evenly: chance gives this once in %.0e runs.", 1/p)
		f.Next = "rollout: deal agents to seats anew each episode, so that a seat's advantage is no agent's"
	}
	return f
}

// percent writes a share so that a small one is not called 0 %.
func percent(share float64) string {
	switch {
	case share > 0 && share < 0.01:
		return fmt.Sprintf("%.2g %%", 100*share)
	default:
		return fmt.Sprintf("%.0f %%", 100*share)
	}
}
