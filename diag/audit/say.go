package audit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hop/agent"
	"hop/diag"
)

// finding makes a finding that was counted, not estimated.
func finding(step int, check, module string, bad float64, rows int, unit, good, wrong, next string) diag.Finding {
	f := diag.Finding{Step: step, Check: check, Module: module, Says: good, Effect: bad, Lo: bad, Hi: bad, Rows: rows, Unit: unit}
	if bad > 0 {
		f.Verdict, f.Says, f.Next = diag.Fault, wrong, next
	}
	return f
}

// findings says what the closely examined run came to.
func (u *session) findings() []diag.Finding {
	var out []diag.Finding
	out = append(out, u.pipeline()...)
	out = append(out, u.replay.Findings()...)
	out = append(out, u.data()...)
	out = append(out, u.learners()...)
	out = append(out, u.planning()...)
	if u.exp.Imagine.On {
		out = append(out, u.imagined()...)
	}
	out = append(out, u.logging())
	if u.broke != nil {
		out = append(out, u.broken(out))
	}
	return out
}

// broken says that the run ended early: a symptom if something explains it.
func (u *session) broken(found []diag.Finding) diag.Finding {
	f := diag.Finding{
		Step: 2, Check: "the run runs", Module: "rollout", Verdict: diag.Fault, Effect: 1, Lo: 1, Hi: 1, Unit: "runs", Rows: 1,
		Says: fmt.Sprintf("The run broke in window %d: %v.", u.window+1, u.broke), Next: "the message; a player that acts illegally, or rules that refuse what their mask allows",
	}
	for _, g := range found {
		if g.Verdict == diag.Fault {
			f.Module = ""
		}
	}
	return f
}

// pipeline is step 2: who learns, how often, from whose rows.
func (u *session) pipeline() []diag.Finding {
	out := []diag.Finding{u.configured()}
	own, foreign, none, probed := []agent.ID{}, map[agent.ID][]agent.ID{}, []agent.ID{}, 0
	var taught []agent.ID // by the first agent whose rows others learn from
	worst := 0.
	f := diag.Finding{Step: 2, Check: "every agent learns from its own rows", Module: "ppo", Unit: "share of another agent's rows learnt from"}
	for _, t := range u.taps {
		if t.src == nil || !t.src.twice || len(t.src.restored) > 0 {
			continue
		}
		for b, share := range t.src.share {
			if t.src.probed[b] == 0 {
				continue
			}
			probed += t.src.probed[b]
			id, mine := agent.ID(b), contains(t.brain.Agents, agent.ID(b))
			for _, a := range t.brain.Agents {
				wanted := 0.
				if mine {
					wanted = 1
				}
				if mine && a != id {
					continue // one brain: its agents share rows by right
				}
				if !mine && share > 0 || mine && share < 1 {
					f.Evidence = append(f.Evidence, diag.Row{Label: fmt.Sprintf("agent %d learns from agent %d: share of rows", a, b), Value: share, Wanted: wanted})
				}
				switch {
				case mine && share == 0:
					none = append(none, a)
				case mine && share < 0.75:
					own = append(own, a)
				case !mine && share > 0:
					foreign[id] = append(foreign[id], a)
					worst = max(worst, share)
				}
			}
		}
	}
	f.Rows, f.Effect, f.Lo, f.Hi = probed, worst, worst, worst
	f.Says = fmt.Sprintf("Changing a row changes its own agent's weights and nobody else's, in %d probes.", probed)
	f.Next = "whoever hands rows to the learner: an agent's rows are those of its own ID, never of a name or of the first in a list"
	switch {
	case probed == 0:
		f.Says, f.Next = "No row could be probed.", ""
	case len(foreign) > 0 && (u.exp.LOLA.On || u.exp.Influence.On):
		f.Says, f.Next, f.Effect, f.Lo, f.Hi = "Agents learn from each other's rows, as the spec asks them to (lola or influence).", "", 0, 0, 0
	case len(foreign) > 0:
		f.Verdict = diag.Fault
		for b := range agent.ID(u.spec.Seats) {
			if who := foreign[b]; len(who) > 0 {
				f.Says = fmt.Sprintf("%s learn from agent %d's rows: %.0f %% of them", capital(names(who)), b, 100*worst)
				if len(who) == 1 {
					f.Says = fmt.Sprintf("%s learns from agent %d's rows: %.0f %% of them", capital(names(who)), b, 100*worst)
				}
				taught = who
				break
			}
		}
		switch {
		case slices.Equal(none, taught) && len(none) == 1:
			f.Says += ", and from none of its own"
		case slices.Equal(none, taught):
			f.Says += ", and from none of their own"
		case len(none) > 0:
			f.Says += fmt.Sprintf("; %s learn nothing from their own rows", names(none))
		}
		f.Says += "."
	case len(none) > 0:
		f.Verdict, f.Effect, f.Lo, f.Hi = diag.Fault, 1, 1, 1
		f.Says = fmt.Sprintf("%s: what happens in their own rows changes none of their weights.", capital(names(none)))
	case len(own) > 0:
		f.Verdict = diag.Suspect
		f.Says = fmt.Sprintf("%s: part of their own rows change nothing.", capital(names(own)))
	default:
		f.Next = ""
	}
	out = append(out, f)
	return append(out, u.counts()...)
}

// configured compares how the agents are made.
func (u *session) configured() diag.Finding {
	f := diag.Finding{Step: 2, Check: "agents are configured alike", Module: "spec", Unit: "differences", Rows: len(u.taps), Says: "All brains have the same layers, rate and settings, and weights of their own."}
	bad := func(says string, value, wanted float64, label string) {
		f.Effect++
		f.Lo, f.Hi = f.Effect, f.Effect
		f.Evidence = append(f.Evidence, diag.Row{Label: label, Value: value, Wanted: wanted})
		if f.Verdict == diag.Pass {
			f.Verdict, f.Says = diag.Fault, says
			f.Next = "where the agents are made: print the settings of each and compare"
		}
	}
	taken := map[agent.ID]int{}
	for i, t := range u.taps {
		for _, a := range t.brain.Agents {
			taken[a]++
			if u.parts.BrainOf[a] != i {
				bad(fmt.Sprintf("Agent %d plays with brain %d, but brain %d learns from its rows.", a, u.parts.BrainOf[a], i), float64(u.parts.BrainOf[a]), float64(i), fmt.Sprintf("agent %d: brain", a))
			}
		}
		if i == 0 {
			continue
		}
		first := u.taps[0]
		if t.brain.Params.Len() != first.brain.Params.Len() || len(t.brain.Params.Parts) != len(first.brain.Params.Parts) {
			bad(fmt.Sprintf("Brain %d has another network than brain 0.", i), float64(t.brain.Params.Len()), float64(first.brain.Params.Len()), fmt.Sprintf("brain %d: weights", i))
		} else if t.first != nil && slices.Equal(t.first, first.first) {
			bad(fmt.Sprintf("Brain %d starts with the very weights of brain 0: its stream is not its own.", i), 1, 0, fmt.Sprintf("brain %d: equal weights", i))
		}
		if math.Abs(t.lr-first.lr) > 1e-12 && t.windows > 0 && first.windows > 0 {
			bad(fmt.Sprintf("Brain %d learns at a rate of %.2g, brain 0 at %.2g.", i, t.lr, first.lr), t.lr, first.lr, fmt.Sprintf("brain %d: learning rate", i))
		}
	}
	for a := range agent.ID(u.spec.Seats) {
		if taken[a] != 1 {
			bad(fmt.Sprintf("Agent %d's rows are learnt from by %d brains.", a, taken[a]), float64(taken[a]), 1, fmt.Sprintf("agent %d: brains", a))
		}
	}
	return f
}

// counts is who was updated how often, and which weights moved.
func (u *session) counts() []diag.Finding {
	idle := diag.Finding{Step: 2, Check: "every update changes weights", Module: "ppo", Unit: "share of updates without effect", Says: "Every window with rows changed every brain's weights."}
	still := diag.Finding{Step: 4, Check: "the optimiser reaches every weight", Module: "ppo", Unit: "layers that never moved", Says: "Every layer of every brain has moved."}
	var stuck []string
	for i, t := range u.taps {
		if t.windows == 0 {
			continue
		}
		idle.Rows += t.windows
		still.Rows += len(t.still)
		share := float64(t.idle) / float64(t.windows)
		if share > 0 {
			idle.Evidence = append(idle.Evidence, diag.Row{Label: fmt.Sprintf("brain %d (%s): windows that changed nothing, of %d", i, names(t.brain.Agents), t.windows), Value: float64(t.idle), Wanted: 0})
			if share > idle.Effect {
				idle.Effect = share
				idle.Says = fmt.Sprintf("%s stopped learning: nothing changed in %d of %d windows with rows, the last change was in window %d.", capital(names(t.brain.Agents)), t.idle, t.windows, t.since)
			}
			continue
		}
		for _, part := range t.brain.Params.Parts {
			if t.still[part.Name] {
				stuck = append(stuck, part.Name)
				still.Evidence = append(still.Evidence, diag.Row{Label: fmt.Sprintf("brain %d, layer %s: updates that moved it, of %d", i, part.Name, t.windows), Value: 0, Wanted: float64(t.windows)})
			}
		}
	}
	if idle.Effect > 0 {
		idle.Verdict, idle.Lo, idle.Hi = diag.Fault, idle.Effect, idle.Effect
		idle.Next = "the learner's Learn for that agent: a counter shared between agents, an early return, or code that runs for the first agent only"
	}
	if len(stuck) > 0 {
		still.Verdict, still.Effect = diag.Fault, float64(len(stuck))
		still.Lo, still.Hi = still.Effect, still.Effect
		still.Says = fmt.Sprintf("%d layers never moved (%s): the optimiser does not hold them, or no gradient reaches them.", len(stuck), strings.Join(slices.Compact(slices.Sorted(slices.Values(stuck))), ", "))
		still.Next = "the optimiser's list of parameters; call it after the network is complete"
	}
	return []diag.Finding{u.counters(), idle, still}
}

// counters compares the learners' own counters with the audit's count.
func (u *session) counters() diag.Finding {
	f := diag.Finding{Step: 2, Check: "rows learnt from, as counted", Module: "ppo", Unit: "rows too many or too few", Says: "The learners count as many rows as their agents played."}
	for i, t := range u.taps {
		if t.windows == 0 || u.exp.Imagine.On {
			continue // imagined rounds learn from a window without passing here
		}
		counted := t.brain.RowsSeen - t.begun
		f.Rows += t.rows
		f.Evidence = append(f.Evidence,
			diag.Row{Label: fmt.Sprintf("brain %d (%s): rows learnt from", i, names(t.brain.Agents)), Value: float64(counted), Wanted: float64(t.rows)})
		if d := math.Abs(float64(counted - t.rows)); d > f.Effect {
			f.Verdict, f.Effect, f.Lo, f.Hi = diag.Fault, d, d, d
			f.Says = fmt.Sprintf("Brain %d learnt from %d rows, its agents played %d of their own.", i, counted, t.rows)
			f.Next = "which rows the learner gathers: alive, own, and of its agents"
		}
	}
	return f
}

// data is what else step 3 asks: how many rows everybody has, and what they show.
func (u *session) data() []diag.Finding {
	f := diag.Finding{Step: 3, Check: "rows by agent", Module: "rollout", Unit: "smallest share of the mean", Says: "Every learner has rows to learn from."}
	var counts []float64
	sum := 0.
	for a, n := range u.rows {
		if u.learner(a) {
			counts = append(counts, float64(n))
			sum += float64(n)
			f.Evidence = append(f.Evidence, diag.Row{Label: fmt.Sprintf("agent %d: rows of its own", a), Value: float64(n)})
		}
	}
	f.Rows = int(sum)
	if len(counts) == 0 {
		return nil
	}
	mean := sum / float64(len(counts))
	for i := range f.Evidence {
		f.Evidence[i].Wanted = math.Round(mean)
	}
	f.Effect = slices.Min(counts) / max(mean, 1)
	f.Lo, f.Hi = f.Effect, f.Effect
	if f.Effect < 0.2 {
		f.Verdict = diag.Suspect
		f.Says = fmt.Sprintf("One learner has only %.0f %% of the rows that learners have on average.", 100*f.Effect)
		f.Next = "who acts for it: a policy that leaves at once, or rows that are not marked as its own"
	}
	out := []diag.Finding{f}
	one := diag.Finding{Step: 3, Check: "actions by agent", Module: "ppo", Unit: "largest share of one action", Says: "No agent plays a single action."}
	for a, acts := range u.acts {
		n, top := 0, 0
		for _, c := range acts {
			n += c
			top = max(top, c)
		}
		if n == 0 {
			continue
		}
		one.Rows += n
		share := float64(top) / float64(n)
		one.Evidence = append(one.Evidence, diag.Row{Label: fmt.Sprintf("agent %d: share of its commonest action", a), Value: share, Wanted: 1 / float64(len(acts))})
		one.Effect = max(one.Effect, share)
	}
	one.Lo, one.Hi = one.Effect, one.Effect
	if one.Effect > 0.98 && len(u.spec.Actions) > 2 {
		one.Verdict = diag.Suspect
		one.Says = fmt.Sprintf("An agent plays one action in %.0f %% of its rows.", 100*one.Effect)
		one.Next = "its entropy over the run: hop report RUN"
	}
	return append(out, one)
}

// learner reports whether an agent has a brain that learns.
func (u *session) learner(a int) bool {
	return len(u.exp.Train.Team) == 0 || u.exp.Train.Team[a] == "learn"
}

// learns is the matrix of who learns from whom; -1 where nothing was probed.
func (u *session) learns() [][]float64 {
	out := make([][]float64, u.spec.Seats)
	for a := range out {
		out[a] = make([]float64, u.spec.Seats)
		src := u.taps[u.parts.BrainOf[a]].src
		for b := range out[a] {
			if out[a][b] = -1; src != nil && src.probed[b] > 0 {
				out[a][b] = src.share[b]
			}
		}
	}
	return out
}

// changes returns, per brain, in how many windows weights changed.
func (u *session) changes() []int {
	var out []int
	for _, t := range u.taps {
		out = append(out, t.windows-t.idle)
	}
	return out
}

func names(list []agent.ID) string {
	if len(list) == 1 {
		return fmt.Sprintf("agent %d", list[0])
	}
	var s []string
	for _, a := range list {
		s = append(s, fmt.Sprint(int(a)))
	}
	if len(s) == 0 {
		return "no agent"
	}
	return "agents " + strings.Join(s[:len(s)-1], ", ") + " and " + s[len(s)-1]
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
