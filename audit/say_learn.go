package audit

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	checks "github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/audit/probe"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/check"
)

// experiment is a question that probes have answered for every mind.
type experiment struct {
	check, module string
	wanted        bool // the right answer
	of            func(*probe.Sources) probe.Yes
	good, wrong   string // wrong follows the agents' names
	next          string
}

// asked gathers the answers of all minds to experiments; those that no mind could
// be asked are left out.
func (u *session) asked(list ...experiment) []check.Finding {
	var out []check.Finding
	for _, e := range list {
		f := check.Finding{Step: 4, Check: e.check, Module: e.module, Unit: "share of agents", Says: e.good}
		var who []agent.ID
		for _, t := range u.taps {
			if !t.src.Sound() {
				continue
			}
			if y := e.of(t.src); y.Asked {
				if f.Rows++; y.Is != e.wanted && !(e.wanted && t.update.Dead()) {
					who = append(who, t.agents...)
				}
			}
		}
		if f.Rows > 0 {
			out = append(out, counted(f, float64(len(who))/float64(u.spec.Seats), check.Capital(check.Agents(who))+": "+e.wrong, e.next))
		}
	}
	return out
}

// learners is step 4: what the learners make of the data.
func (u *session) learners() []check.Finding {
	var minds []*checks.Learner
	for _, t := range u.taps {
		minds = append(minds, &t.update)
	}
	updated, acted := checks.Updates(minds), u.acted()
	if u.draws.rows > 0 {
		updated = append(updated, u.redrawn())
	}
	for _, f := range updated {
		if f.Module == check.PPO && f.Status == check.Fault && acted.Module == "rollout" {
			acted.Module = check.PPO // the network itself is off, not what was written down of it
		}
	}
	out := append([]check.Finding{u.restored(), acted}, u.asked(
		experiment{"rows after an exit do not teach", check.PPO, false, func(s *probe.Sources) probe.Yes { return s.Dead },
			"What stands in rows of agents that had left changes no weight.", "rows at which they had left change their weights.",
			"the learner's mask: only rows that are alive and own belong to a loss"},
		experiment{"rows of stand-ins do not teach", check.PPO, false, func(s *probe.Sources) probe.Yes { return s.Foreign },
			"What bots and stand-ins did in an agent's place changes no weight.", "rows that somebody else played change their weights.",
			"the learner's mask: Own must be true"},
		experiment{"nothing follows an exit", check.PPO, false, func(s *probe.Sources) probe.Yes { return s.Exits },
			"The value after an exit changes no weight.", "values after an exit are bootstrapped from, as if the episode went on.",
			"the advantages: an exit ends both the bootstrap and the sum"},
		experiment{"a cut bootstraps", check.PPO, true, func(s *probe.Sources) probe.Yes { return s.Cuts },
			"The value after a cut counts.", "the value after a cut counts for nothing, so the end of a window is learnt as death.",
			"the advantages: a cut bootstraps from the next slot's value"},
		experiment{"masks are used", check.PPO, true, func(s *probe.Sources) probe.Yes { return s.Mask },
			"The mask of legal actions changes what is learnt.", "the mask of legal actions changes nothing.",
			"the policy loss: illegal actions must have no probability"},
		experiment{"boards are read", check.PPO, true, func(s *probe.Sources) probe.Yes { return s.Obs },
			"What the board shows changes what is learnt.", "what the board shows changes nothing.", "the network's input"},
	)...)
	out = append(out, u.recomputed(), u.rewarded())
	out = append(out, updated...)
	if u.hop != nil && u.hop.MOA.Passes > 0 {
		out = append(out, u.moaUpdated())
	}
	return out
}

// rewarded asks what a raised reward does: its state must be worth more, and its
// action become likelier, unless a search says what is likely. A raised reward also
// raises what led to it, and where states look alike that can be another action, so
// single trials may go the wrong way; most of them do only if the loss does.
func (u *session) rewarded() check.Finding {
	f := check.Finding{
		Step: 4, Check: "what is rewarded is learnt", Module: "ppo", Unit: "share of trials that went the wrong way",
	}
	search := u.hop != nil && u.hop.Own == "search"
	free, prob, value := 0, 0, 0
	for _, t := range u.taps {
		if !t.src.Sound() || t.src.Rise.Trials == 0 {
			continue
		}
		r := t.src.Rise
		f.Rows, free, prob, value = f.Rows+r.Trials, free+r.Free, prob+r.Prob, value+r.Value
		f.Saw(float64(r.Prob), float64(r.Free), "%s: trials in which the action became likelier", check.Agents(t.agents))
		f.Saw(float64(r.Value), float64(r.Trials), "%s: trials in which the state was worth more", check.Agents(t.agents))
	}
	f.Says = fmt.Sprintf("Raising the reward of a step makes its state worth more (%d of %d trials) and, unless a search decides, its action "+
		"likelier (%d of %d).", value, f.Rows, prob, free)
	if free < probe.Rows && f.Rows >= probe.Rows {
		f.Says = fmt.Sprintf("Raising the reward of a step makes its state worth more (%d of %d trials). Whether its action becomes likelier "+
			"was not asked: the policy is saturated, in %d of %d rows no other action is played.", value, f.Rows, f.Rows-free, f.Rows)
	}
	wrong := func(good, of int) bool { return of >= probe.Rows && 4*good < of }
	proven := !slices.ContainsFunc(u.taps, func(t *tap) bool { return t.src.Sound() && t.src.Rise.Trials > 0 && !t.update.Proven() })
	switch {
	case proven && (wrong(value, f.Rows) || wrong(prob, free)): // a step among many that look alike, or passes that overshoot
		f.Status, f.Says = check.NotAsked, fmt.Sprintf("Raising the reward of a step makes its state worth more in %d of %d trials and its "+
			"action likelier in %d of %d, which says nothing here: whole updates are what their definition gives.", value, f.Rows, prob, free)
	case wrong(value, f.Rows):
		f.Accuse(check.Fault, 1-float64(value)/float64(f.Rows), fmt.Sprintf("Raising the reward of a step makes its state worth less, in %d "+
			"of %d trials.", f.Rows-value, f.Rows), "the value's loss and its returns")
	case wrong(prob, free) && !search && !slices.ContainsFunc(u.taps, (*tap).readsWeights):
		f.Accuse(check.Fault, 1-float64(prob)/float64(free), fmt.Sprintf("Raising the reward of a step makes its action less likely, in %d "+
			"of %d trials.", free-prob, free), "the sign of the policy's loss, and which action it is taken for")
	}
	return f
}

// restored asks whether a saved mind comes back.
func (u *session) restored() check.Finding {
	f := check.Finding{
		Step: 4, Check: "saved equals loaded", Module: "checkpoint", Unit: "tensors that do not come back",
		Says: "What is saved comes back, and learning goes on from it as before.",
	}
	const next = "Save and Load of that mind: every tensor that Save writes must be read"
	var lost []string
	for i, t := range u.taps {
		if t.src == nil {
			continue
		}
		f.Rows++
		lost = append(lost, t.src.Restored...)
		if len(t.src.Restored) == 0 && !t.src.Twice {
			f.Accuse(check.Fault, f.Effect+1, fmt.Sprintf("Mind %d learns differently from the same checkpoint and the same window: something "+
				"that learning depends on is not saved.", i), next)
		}
		if net, err := probe.Saved(t.Mind); err == nil && len(lost) == 0 && t.params != nil {
			for _, part := range t.params.Parts {
				w, now := make([]float32, part.Len), t.params.W[part.Off:part.Off+part.Len]
				if err := net.Float32(w, "net/"+part.Name, part.Shape...); err != nil || !slices.Equal(w, now) {
					lost = append(lost, "net/"+part.Name)
				}
			}
		}
	}
	if len(lost) > 0 {
		slices.Sort(lost)
		kinds := slices.Compact(slices.Clone(lost))
		f.Accuse(check.Fault, float64(len(lost)), fmt.Sprintf("After saving, learning and loading again, %d tensors are not what was saved "+
			"(%s): a resumed run goes on with other weights.", len(lost), strings.Join(kinds[:min(3, len(kinds))], ", ")), next)
	}
	return f
}

// acted asks whether the record of choices is what the network said.
func (u *session) acted() check.Finding {
	c := &u.acting
	module, who := "rollout", "network"
	if c.search {
		module, who = "planner", "search"
	}
	f := check.Finding{
		Step: 4, Check: "choices are recorded as made", Module: module, Unit: "share of rows", Rows: c.rows,
		Says: fmt.Sprintf("Recorded probabilities and values are what the %s says at the recorded observation.", who),
	}
	if !c.asked {
		f.Says = "Choices were not compared: what the agents remembered is not recorded."
		return f
	}
	if c.cut > 0 && c.logp+c.value+c.target == 0 {
		f.Saw(float64(c.cut), 0, "values after a cut that are not the network's")
		f.Accuse(check.Fault, float64(c.cut)/float64(c.rows), fmt.Sprintf("%s: %d values after a cut are not what the network says of "+
			"what was seen last.", check.Capital(check.Agents(slices.Sorted(maps.Keys(c.agents)))), c.cut),
			"Player.Evaluate, and for which rows it is called")
	} else if bad := float64(max(c.logp, c.value, c.target)) / float64(c.rows); bad > 0 {
		f.Saw(float64(c.logp), 0, "rows with another probability")
		f.Saw(float64(c.value), 0, "rows with another value")
		f.Saw(float64(c.target), 0, "rows whose search policy is none")
		f.Accuse(check.Fault, bad,
			fmt.Sprintf("%s: in %.0f %% of the rows the recorded probability, value or search policy is not what the %s says there.",
				check.Capital(check.Agents(slices.Sorted(maps.Keys(c.agents)))), 100*bad, who),
			"the player: the action, its probability and the value must come from one forward pass on that row's observation, mask and weights")
	} else if z := c.likeliest.Off(); math.Abs(z) > 6 {
		f.Accuse(check.Fault, z, fmt.Sprintf("The likeliest action is not taken as often as the %s says (%.1f standard deviations).", who, z),
			"where the action is drawn")
		f.Unit, f.Lo, f.Hi = "standard deviations", z-2, z+2
	}
	return f
}

// recomputed compares what the learners report with the audit's own arithmetic.
func (u *session) recomputed() check.Finding {
	f := check.Finding{
		Step: 4, Check: "rows that learners report", Module: "ppo", Unit: "windows with another count",
		Says: "Learners report as many rows as their agents had of their own.",
	}
	for i, t := range u.taps {
		c := &t.stats
		f.Rows += c.windows
		if c.wrongN > 0 {
			f.Saw(float64(c.gotN), float64(c.wantN), "mind %d: rows", i)
			f.Accuse(check.Fault, float64(c.wrongN), fmt.Sprintf("Mind %d reports %d rows in a window in which its agents had %d rows of their own.",
				i, c.gotN, c.wantN), gathers)
		}
	}
	return f
}

// moaUpdated asks whether models of others change, in all their layers.
func (u *session) moaUpdated() check.Finding {
	f := check.Finding{
		Step: 2, Check: "every model of others is updated", Module: "moa", Unit: "share of updates without effect",
		Says: "Every window with labelled trajectories changed every model of others.",
	}
	for _, t := range u.taps {
		a := t.agents[0]
		if f.Rows += t.moaSeen; t.moaSeen == 0 {
			continue
		}
		if t.moaIdle > 0 {
			f.Saw(float64(t.moaIdle), 0, "agent %d: windows that changed nothing, of %d", a, t.moaSeen)
			if share := float64(t.moaIdle) / float64(t.moaSeen); share > f.Effect {
				f.Accuse(check.Fault, share, fmt.Sprintf("Agent %d's model of others does not learn: nothing changed in %d of %d windows with "+
					"labelled trajectories.", a, t.moaIdle, t.moaSeen),
					"the model's Learn for that agent; code that runs for the first agent only")
			}
			continue
		}
		var stuck []string
		for _, name := range slices.Sorted(maps.Keys(t.moaStill)) {
			if t.moaStill[name] {
				stuck = append(stuck, name)
			}
		}
		if len(stuck) > 0 {
			f.Accuse(check.Fault, max(f.Effect, 0.5), fmt.Sprintf("Agent %d's model of others has layers that never moved (%s): its optimiser "+
				"does not hold them.", a, strings.Join(stuck, ", ")), "the optimiser's list of parameters")
		}
	}
	return f
}

// logging compares the log with what it should say.
func (u *session) logging() check.Finding {
	l := &u.logs
	f := check.Finding{
		Step: 2, Check: "the log says what happened", Module: "logging", Unit: "share of logged numbers", Rows: l.rows,
		Says: "Logged returns, losses and counts are the run's.",
	}
	if l.failed == 0 {
		return f
	}
	w := l.wrong[0]
	f.Accuse(check.Fault, float64(l.failed)/float64(max(l.rows, 1)),
		fmt.Sprintf("%d of %d logged numbers are wrong, such as %s of agent %d in window %d: %.4g, it was %.4g.",
			l.failed, l.rows, w.name, w.agent, w.window, w.got, w.want), "where the rows of metrics.csv are made")
	for _, w := range l.wrong {
		if !math.IsNaN(w.got) {
			f.Saw(w.got, w.want, "%s, agent %d", w.name, w.agent)
		}
	}
	return f
}
