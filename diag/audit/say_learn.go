package audit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hop/agent"
	"hop/diag"
)

// asked gathers one experiment over all minds: wanted is the right answer.
func (u *session) asked(step int, check, module string, wanted bool, of func(*sources) yes, good, wrong, next string) []diag.Finding {
	var who []agent.ID
	n := 0
	for _, t := range u.taps {
		if t.src == nil || !t.src.twice || len(t.src.restored) > 0 {
			continue
		}
		if y := of(t.src); y.asked {
			n++
			if y.is != wanted {
				who = append(who, t.brain.Agents...)
			}
		}
	}
	if n == 0 {
		return nil
	}
	bad := float64(len(who)) / float64(u.spec.Seats)
	text := ""
	if len(who) > 0 {
		text = fmt.Sprintf(wrong, capital(names(who)))
	}
	return []diag.Finding{finding(step, check, module, bad, n, "share of agents", good, text, next)}
}

// learners is step 4: what the learners make of the data.
func (u *session) learners() []diag.Finding {
	var out []diag.Finding
	out = append(out, u.restored(), u.acted())
	out = append(out, u.asked(4, "rows after an exit do not teach", "ppo", false, func(s *sources) yes { return s.dead },
		"What stands in rows of agents that had left changes no weight.", "%s: rows at which they had left change their weights.", "the learner's mask: only rows that are alive and own belong to a loss")...)
	out = append(out, u.asked(4, "rows of stand-ins do not teach", "ppo", false, func(s *sources) yes { return s.foreign },
		"What bots and stand-ins did in an agent's place changes no weight.", "%s: rows that somebody else played change their weights.", "the learner's mask: Own must be true")...)
	out = append(out, u.asked(4, "nothing follows an exit", "ppo", false, func(s *sources) yes { return s.exits },
		"The value after an exit changes no weight.", "%s: values after an exit are bootstrapped from, as if the episode went on.", "the advantages: an exit ends both the bootstrap and the sum")...)
	out = append(out, u.asked(4, "a cut bootstraps", "ppo", true, func(s *sources) yes { return s.cuts },
		"The value after a cut counts.", "%s: the value after a cut counts for nothing, so the end of a window is learnt as death.", "the advantages: a cut bootstraps from the next slot's value")...)
	out = append(out, u.asked(4, "masks are used", "ppo", true, func(s *sources) yes { return s.mask },
		"The mask of legal actions changes what is learnt.", "%s: the mask of legal actions changes nothing.", "the policy loss: illegal actions must have no probability")...)
	out = append(out, u.asked(4, "boards are read", "ppo", true, func(s *sources) yes { return s.obs },
		"What the board shows changes what is learnt.", "%s: what the board shows changes nothing.", "the network's input")...)
	out = append(out, u.counted())
	if u.exp.Plan.On {
		out = append(out, u.modelOfOthers()...)
	}
	return out
}

// restored asks whether a saved mind comes back.
func (u *session) restored() diag.Finding {
	f := diag.Finding{Step: 4, Check: "saved equals loaded", Module: "checkpoint", Unit: "tensors that do not come back", Says: "What is saved comes back, and learning goes on from it as before."}
	var lost []string
	for i, t := range u.taps {
		if t.src == nil {
			continue
		}
		f.Rows++
		lost = append(lost, t.src.restored...)
		if len(t.src.restored) == 0 && !t.src.twice {
			f.Effect++
			f.Says = fmt.Sprintf("Brain %d learns differently from the same checkpoint and the same window: something that learning depends on is not saved.", i)
		}
		if net, err := saved(t.inner); err == nil && len(lost) == 0 {
			for _, part := range t.brain.Params.Parts {
				w := make([]float32, part.Len)
				if err := net.Float32(w, "net/"+part.Name, part.Shape...); err != nil || !slices.Equal(w, t.brain.Params.W[part.Off:part.Off+part.Len]) {
					lost = append(lost, "net/"+part.Name)
				}
			}
		}
	}
	if len(lost) > 0 {
		slices.Sort(lost)
		kinds := slices.Compact(lost)
		f.Effect = float64(len(lost))
		f.Says = fmt.Sprintf("After saving, learning and loading again, %d tensors are not what was saved (%s): a resumed run goes on with other weights.", len(lost), strings.Join(kinds[:min(3, len(kinds))], ", "))
	}
	if f.Effect > 0 {
		f.Verdict, f.Lo, f.Hi = diag.Fault, f.Effect, f.Effect
		f.Next = "Save and Load of that mind: every tensor that Save writes must be read"
	}
	return f
}

// acted asks whether the record of choices is what the network said.
func (u *session) acted() diag.Finding {
	c := &u.acting
	module, who := "rollout", "network"
	if c.search {
		module, who = "planner", "search"
	}
	f := diag.Finding{
		Step: 4, Check: "choices are recorded as made", Module: module, Unit: "share of rows", Rows: c.rows,
		Says: fmt.Sprintf("Recorded probabilities and values are what the %s says at the recorded observation.", who),
	}
	if !c.asked {
		f.Says = "Choices were not compared: what the agents remembered is not recorded."
		return f
	}
	bad := max(c.logp, c.value, c.target)
	z := 0.
	if c.spread > 1 {
		z = c.freq / math.Sqrt(c.spread)
	}
	if bad > 0 {
		f.Verdict, f.Effect = diag.Fault, float64(bad)/float64(c.rows)
		f.Lo, f.Hi = f.Effect, f.Effect
		f.Evidence = []diag.Row{{Label: "rows with another probability", Value: float64(c.logp)}, {Label: "rows with another value", Value: float64(c.value)}, {Label: "rows whose search policy is none", Value: float64(c.target)}}
		ids := slices.Sorted(func(yield func(agent.ID) bool) {
			for a := range c.agents {
				if !yield(a) {
					return
				}
			}
		})
		f.Says = fmt.Sprintf("%s: in %.0f %% of the rows the recorded probability, value or search policy is not what the %s says there.", capital(names(ids)), 100*f.Effect, who)
		f.Next = "the player: the action, its probability and the value must come from one forward pass on that row's observation, mask and weights"
	} else if math.Abs(z) > 6 {
		f.Verdict, f.Effect, f.Unit = diag.Fault, z, "standard deviations"
		f.Lo, f.Hi = z-2, z+2
		f.Says = fmt.Sprintf("The likeliest action is not taken as often as the %s says (%.1f standard deviations).", who, z)
		f.Next = "where the action is drawn"
	}
	return f
}

// counted compares what the learners report with the audit's own arithmetic.
func (u *session) counted() diag.Finding {
	f := diag.Finding{
		Step: 4, Check: "returns and counts, recomputed", Module: "ppo", Unit: "difference of the explained share",
		Says: "Returns, recomputed from the definition, explain as much as the learners report, from as many rows.",
	}
	for i, t := range u.taps {
		c := &t.stats
		f.Rows += c.windows
		if c.wrongN > 0 {
			f.Verdict = diag.Fault
			f.Says = fmt.Sprintf("Brain %d reports %d rows in a window in which its agents had %d rows of their own.", i, c.gotN, c.wantN)
			f.Evidence = append(f.Evidence, diag.Row{Label: fmt.Sprintf("brain %d: rows", i), Value: float64(c.gotN), Wanted: float64(c.wantN)})
			f.Next = "which rows the learner gathers: alive, own, and of its agents"
		}
		f.Effect = max(f.Effect, c.far)
		if c.far > 0.01 {
			if f.Verdict == diag.Pass {
				f.Says = fmt.Sprintf("Brain %d reports that values explained %.3f of the returns; from the definition it is %.3f.", i, c.got, c.want)
				f.Next = "the advantages: discount, lambda, the ends, the shaping of rewards"
			}
			f.Verdict = diag.Fault
			f.Evidence = append(f.Evidence, diag.Row{Label: fmt.Sprintf("brain %d: explained", i), Value: c.got, Wanted: c.want})
		}
	}
	f.Lo, f.Hi = f.Effect, f.Effect
	return f
}

// modelOfOthers is what is asked about models of others.
func (u *session) modelOfOthers() []diag.Finding {
	if !slices.Contains(u.exp.Plan.Train, "moa") || u.exp.Plan.Passes == 0 {
		return []diag.Finding{{Step: 4, Check: "models of others", Module: "moa", Says: "The models of others are not meant to learn."}}
	}
	var out []diag.Finding
	out = append(out, u.asked(4, "models of others learn from others", "moa", true, func(s *sources) yes { return s.others },
		"What co-players did changes the models of them.", "%s: what co-players did changes nothing in the model of them.", "the model's Learn for that agent")...)
	out = append(out, u.asked(4, "models of others do not learn from oneself", "moa", false, func(s *sources) yes { return s.mine },
		"An agent's own rows do not change its model of others.", "%s: their own rows change their models of others.", "whose rows are gathered for the model")...)
	out = append(out, u.asked(4, "models of others do not learn from who has left", "moa", false, func(s *sources) yes { return s.left },
		"Rows of agents that had left do not change the models.", "%s: rows of agents that had left change their models of others.", "the model's rows: an agent that has left has no action to predict")...)
	idle := diag.Finding{Step: 2, Check: "every model of others is updated", Module: "moa", Unit: "share of updates without effect", Says: "Every window with labelled trajectories changed every model of others."}
	count := diag.Finding{Step: 3, Check: "rows of models of others", Module: "moa", Unit: "windows with another count", Says: "The models of others are given every step of every labelled trajectory, and no other."}
	fit := diag.Finding{Step: 4, Check: "models of others can fit one window", Module: "moa", Unit: "nats", Says: "Learning one window again and again brings the cross-entropy below what any blurred loss could."}
	floor := math.Log(1 + float64(len(u.spec.Actions)-1)/math.E)
	for i, t := range u.taps {
		idle.Rows += t.moaSeen
		if t.moaSeen > 0 && t.moaIdle > 0 {
			share := float64(t.moaIdle) / float64(t.moaSeen)
			idle.Verdict = diag.Fault
			idle.Evidence = append(idle.Evidence, diag.Row{Label: fmt.Sprintf("agent %d: windows that changed nothing, of %d", t.brain.Agents[0], t.moaSeen), Value: float64(t.moaIdle)})
			if share > idle.Effect {
				idle.Effect = share
				idle.Says = fmt.Sprintf("Agent %d's model of others does not learn: nothing changed in %d of %d windows with labelled trajectories.", t.brain.Agents[0], t.moaIdle, t.moaSeen)
				idle.Next = "the model's Learn for that agent; code that runs for the first agent only"
			}
		} else {
			var stuck []string
			for name, still := range t.moaStill {
				if still {
					stuck = append(stuck, name)
				}
			}
			if slices.Sort(stuck); len(stuck) > 0 && t.moaSeen > 0 {
				idle.Verdict, idle.Effect = diag.Fault, max(idle.Effect, 0.5)
				idle.Says = fmt.Sprintf("Agent %d's model of others has layers that never moved (%s): its optimiser does not hold them.", t.brain.Agents[0], strings.Join(stuck, ", "))
				idle.Next = "the optimiser's list of parameters"
			}
		}
		count.Rows += t.stats.windows
		if t.stats.moaN > 0 {
			count.Verdict = diag.Fault
			count.Effect = max(count.Effect, float64(t.stats.moaN))
			count.Says = fmt.Sprintf("Brain %d's model of others learnt from %d rows where its co-players' labelled trajectories have %d.", i, t.stats.gotMoa, t.stats.wantMoa)
			count.Evidence = append(count.Evidence, diag.Row{Label: fmt.Sprintf("brain %d: rows", i), Value: float64(t.stats.gotMoa), Wanted: float64(t.stats.wantMoa)})
			count.Next = "the trajectories that the model is given: rows after an exit, or episodes cut by the window"
		}
		if t.src != nil && t.src.fit.asked && t.src.fit.rows > 0 {
			r := t.src.fit
			fit.Rows += r.rows
			fit.Evidence = append(fit.Evidence,
				diag.Row{Label: fmt.Sprintf("brain %d: cross-entropy at first", i), Value: r.first, Wanted: math.Log(float64(len(u.spec.Actions)))},
				diag.Row{Label: fmt.Sprintf("brain %d: after learning the window %d times", i, fitRounds), Value: r.last, Wanted: 0})
			fit.Effect = max(fit.Effect, r.last)
			if r.last >= floor-0.02 {
				fit.Verdict = diag.Fault
				fit.Says = fmt.Sprintf("Learning one window %d times leaves brain %d's model of others at a cross-entropy of %.3f. A softmax applied twice cannot go below %.3f.", fitRounds, i, r.last, floor)
				fit.Next = "the loss: it must be given logits, not probabilities"
			}
		}
	}
	for _, f := range []*diag.Finding{&idle, &count, &fit} {
		f.Lo, f.Hi = f.Effect, f.Effect
	}
	return append(out, idle, count, fit)
}

// imagined is what is asked about a world model's windows.
func (u *session) imagined() []diag.Finding {
	d := &u.dreams
	if d.windows == 0 || d.alive == 0 {
		return []diag.Finding{{Step: 4, Check: "imagined windows", Module: "world", Says: "The world model was not trusted within the windows of the audit, so nothing was imagined."}}
	}
	share := func(a, b int) float64 { return float64(a) / float64(max(b, 1)) }
	out := []diag.Finding{
		finding(4, "imagined masks", "world", share(d.masks, d.masked), d.masked, "share of rows", "Imagined masks are those of the imagined observations.",
			fmt.Sprintf("In %.0f %% of imagined rows the mask is not the one that the imagined observation shows.", 100*share(d.masks, d.masked)), "the mask of imagined steps: an all-ones mask lets the agents play what cannot be played"),
		finding(4, "imagined ends", "world", share(d.going+d.undead, d.alive), d.alive, "share of rows", "Imagined episodes end where the model says so, and who has left stays gone.",
			fmt.Sprintf("In %.1f %% of imagined rows an agent goes on after its end or ends without leaving.", 100*share(d.going+d.undead, d.alive)), "the imagined windows' ends"),
	}
	exits := diag.Finding{Step: 4, Check: "imagined exits", Module: "world", Rows: d.alive, Unit: "exits a row, imagined less played", Says: "Imagined agents leave about as often as real ones."}
	im, re := share(d.exits, d.alive), share(d.realEx, d.realAl)
	exits.Effect = im - re
	exits.Evidence = []diag.Row{{Label: "exits a row, imagined", Value: im, Wanted: re}}
	if re > 0.005 && im < re/4 {
		exits.Verdict = diag.Suspect
		if im == 0 {
			exits.Verdict = diag.Fault
		}
		exits.Says = fmt.Sprintf("Imagined agents leave in %.2g %% of their rows, real ones in %.2g %%: imagination does not know when an episode is done.", 100*im, 100*re)
		exits.Next = "the world model's end head, and what imagination does with it"
	}
	odd := finding(4, "imagined rewards", "world", share(d.odd, d.alive), d.alive, "share of rows", "Imagined rewards are ones that the game has paid.",
		fmt.Sprintf("%.0f %% of imagined rows hold a reward that the game has never paid: returns or values were put where rewards belong.", 100*share(d.odd, d.alive)), "the imagined windows' rewards: value targets must be built from the same kind of reward")
	for _, f := range []*diag.Finding{&exits} {
		f.Lo, f.Hi = f.Effect, f.Effect
	}
	return append(out, exits, odd)
}

// logging compares the log with what it should say.
func (u *session) logging() diag.Finding {
	l := &u.logs
	f := finding(2, "the log says what happened", "logging", float64(l.failed)/float64(max(l.rows, 1)), l.rows, "share of logged numbers", "Logged returns, losses and counts are the run's.", "", "")
	if l.failed > 0 {
		w := l.wrong[0]
		f.Says = fmt.Sprintf("%d of %d logged numbers are wrong, such as %s of agent %d in window %d: %.4g, it was %.4g.", l.failed, l.rows, w.name, w.agent, w.window, w.got, w.want)
		f.Next = "where the rows of metrics.csv are made"
		for _, w := range l.wrong {
			if !math.IsNaN(w.got) {
				f.Evidence = append(f.Evidence, diag.Row{Label: fmt.Sprintf("%s, agent %d", w.name, w.agent), Value: w.got, Wanted: w.want})
			}
		}
	}
	return f
}
