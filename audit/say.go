package audit

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/hop-marl/hop/agent/learner"
	checks "github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/audit/probe"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/check"
)

// counted makes a finding that was counted, not estimated: a fault if anything is
// bad. says are what to say then, and where to look.
func counted(f check.Finding, bad float64, says, next string) check.Finding {
	if bad > 0 {
		f.Accuse(check.Fault, bad, says, next)
	}
	return f
}

// findings says what the closely examined run came to.
func (u *session) findings() []check.Finding {
	var out []check.Finding
	fresh := u.fresh()
	for i, t := range u.taps {
		if t.src != nil && len(t.src.Restored) == 0 {
			t.src.Restored = probe.RoundTrip(t.Mind)
		}
		if t.src != nil && len(t.src.Restored) == 0 && fresh != nil {
			t.src.Restored = probe.Anew(t.Mind, fresh[i])
		}
	}
	out = append(out, u.pipeline()...)
	out = append(out, u.replay.Findings()...)
	out = append(out, u.handed(), u.earnings.Finding())
	out = append(out, u.data()...)
	out = append(out, u.learners()...)
	out = append(out, u.studied()...)
	out = append(out, u.planning()...)
	out = append(out, u.inner()...)
	if u.imagination != nil {
		out = append(out, u.imagination.Findings()...)
	}
	out = append(out, u.world...)
	out = append(out, u.logging())
	if u.strange.rows > 0 || u.strange.err != nil {
		out = append(out, u.strange.finding())
	}
	out = append(out, u.started...)
	if u.imagined > 1 {
		out = append(out, u.repeated())
	}
	if u.bots.alive > 0 {
		out = append(out, u.shownBots())
	}
	if st := u.exp.Train.Standins; st.Share > 0 || st.Alike > 0 {
		out = append(out, u.standIns())
	}
	if st := u.exp.Train.Standins; st.Alike > 0 && st.Teams == 0 && st.ShareEnd < 0 && u.dealt.times > 0 {
		out = append(out, u.teamsAlike())
	}
	if st := u.exp.Train.Standins; (st.Share > 0 || st.Alike > 0) && u.dealt.within > 0 {
		out = append(out, u.lifelong())
	}
	u.unsound(out)
	if u.broke != nil {
		out = append(out, u.broken(out))
	}
	return out
}

// fresh returns minds made anew, as a run that is resumed has them before it loads; nil: something was changed about these.
func (u *session) fresh() []learner.Mind {
	if u.opt.Change != nil || u.broke != nil {
		return nil
	}
	parts, err := u.exp.Parts(u.opt.Seeds[0], machineOf(u.from))
	if err != nil {
		return nil
	}
	for _, m := range parts.Minds {
		if r, ok := learner.As[learner.Rememberer](m); ok {
			r.Remember(u.exp.Train.Envs, u.exp.Train.Window)
		}
	}
	return parts.Minds
}

// unsound softens what was found of learners whose checkpoint does not come back
// whole: experiments start from it, so the fault may be that alone. So it is with the
// own network of an agent whose account of the others is at fault.
func (u *session) unsound(found []check.Finding) {
	lost := slices.ContainsFunc(u.taps, func(t *tap) bool { return t.src != nil && len(t.src.Restored) > 0 })
	others := slices.ContainsFunc(found, func(f check.Finding) bool {
		return f.Status == check.Fault && (f.Module == "goals" || f.Module == "moa")
	})
	for i := range found {
		f := &found[i]
		if others && f.Module == check.PPO && f.Check == checks.UpdateCheck && f.Status == check.Fault {
			f.Status = check.Suspect
			f.Says += " What it reads of the others, their goals, is at fault itself."
		}
		late := !slices.Contains([]string{"game", "rollout", "buffers", "checkpoint"}, f.Module)
		if lost && late && f.Status == check.Fault {
			f.Status = check.Suspect
			f.Says += " It was asked from a checkpoint that does not come back whole."
		}
	}
}

// broken says that the run ended early: a symptom if something explains it.
func (u *session) broken(found []check.Finding) check.Finding {
	f := check.Finding{
		Step: 2, Check: "the run runs", Module: u.culprit(), Status: check.Fault, Effect: 1, Unit: "runs", Rows: 1,
		Says: fmt.Sprintf("The run broke in window %d: %v.", u.window+1, u.broke),
		Next: "the message; a player that acts illegally, or rules that refuse what their mask allows",
	}
	if slices.ContainsFunc(found, func(g check.Finding) bool { return g.Status == check.Fault }) {
		f.Module = ""
	}
	return f
}

// pipeline is step 2: who learns, how often, from whose rows.
func (u *session) pipeline() []check.Finding {
	return append([]check.Finding{u.configured(), u.taught(), u.declared()}, u.counts()...)
}

// declared asks whether what minds declare to read of others counts.
func (u *session) declared() check.Finding {
	f := check.Finding{
		Step: 2, Check: "what is declared is read", Module: "ppo", Unit: "columns of others' rows that count for nothing",
		Says: "No mind declares to read anything of others.",
	}
	why, done, missing := "", map[string]bool{}, map[string][]agent.ID{}
	for _, t := range u.taps {
		if !t.src.Sound() || t.src.Reads.Why == "" {
			continue
		}
		why = t.src.Reads.Why
		f.Rows += len(t.src.Done) + len(t.src.Undone)
		for _, name := range t.src.Done {
			done[name] = true
		}
		for _, name := range t.src.Undone {
			missing[name] = append(missing[name], t.agents...)
		}
		if slices.ContainsFunc(t.studies, (*checks.Study).Mislabels) {
			f.Module = "goals"
		}
	}
	switch names := slices.Sorted(maps.Keys(done)); {
	case why == "":
	case f.Rows == 0:
		f.Status, f.Says = check.NotAsked, fmt.Sprintf("Minds read %s, but the window that was probed held none.", why)
	default:
		f.Says = fmt.Sprintf("Minds read %s: others' %s change what they learn.", why, strings.Join(names, ", "))
	}
	for name, who := range missing {
		f.Accuse(check.Fault, f.Effect+1, fmt.Sprintf("%s: %s are meant to be read, but others' %s change nothing that is learnt.",
			check.Capital(check.Agents(who)), why, name), "what the own network is given when it learns: agent/hop inHindsight, or the mind's Learn")
	}
	return f
}

// taught asks whose rows each agent was found to learn from.
func (u *session) taught() check.Finding {
	f := check.Finding{
		Step: 2, Check: "every agent learns from its own rows", Module: "ppo", Unit: "share of another agent's rows learnt from",
	}
	var none, few []agent.ID             // that learn from none, or few, of their own
	foreign := map[agent.ID][]agent.ID{} // by whose rows they learn from
	worst := 0.
	var declared string // what minds read of others by design
	var hidden []string // what else they were found to read
	for _, t := range u.taps {
		if !t.src.Sound() {
			continue
		}
		declared = t.src.Reads.Why
		for _, name := range t.src.Hidden {
			if !slices.Contains(hidden, name) {
				hidden = append(hidden, name)
			}
		}
		for b, share := range t.src.Share {
			if t.src.Probed[b] == 0 {
				continue
			}
			f.Rows += t.src.Probed[b]
			id, mine := agent.ID(b), slices.Contains(t.agents, agent.ID(b))
			for _, a := range t.agents {
				if mine && a != id {
					continue // one mind: its agents share rows by right
				}
				if !mine && share > 0 {
					f.Saw(share, 0, "agent %d learns from agent %d: share of rows", a, b)
					foreign[id] = append(foreign[id], a)
					worst = max(worst, share)
				}
				if mine && share < 1 {
					f.Saw(share, 1, "agent %d learns from agent %d: share of rows", a, b)
				}
				switch {
				case mine && share == 0:
					none = append(none, a)
				case mine && share < 0.75 && !t.update.Proven(): // of what is certain float32 leaves nothing to learn
					few = append(few, a)
				}
			}
		}
	}
	const next = "whoever hands rows to the learner: an agent's rows are those of its own ID, never of a name or of the first in a list"
	f.Says = fmt.Sprintf("Changing a row changes its own agent's weights and nobody else's, in %d probes.", f.Rows)
	if declared != "" {
		f.Says = fmt.Sprintf("Changing a row changes its own agent's weights, and others' only by what they declare to read (%s), in %d probes.",
			declared, f.Rows)
	}
	switch {
	case f.Rows == 0:
		f.Says = "No row could be probed."
	case len(foreign) > 0:
		first := slices.Min(slices.Collect(maps.Keys(foreign)))
		who := foreign[first]
		learn, own := "learn", "their"
		if len(who) == 1 {
			learn, own = "learns", "its"
		}
		says := fmt.Sprintf("%s %s from agent %d's rows: %.0f %% of them", check.Capital(check.Agents(who)), learn, first, 100*worst)
		if declared != "" {
			says += fmt.Sprintf(", by their %s, beside what is declared (%s)", strings.Join(hidden, " and "), declared)
		}
		if slices.Equal(none, who) {
			says += fmt.Sprintf(", and from none of %s own", own)
		} else if len(none) > 0 {
			says += fmt.Sprintf("; %s learn nothing from their own rows", check.Agents(none))
		}
		f.Accuse(check.Fault, worst, says+".", next)
	case len(none) > 0:
		f.Accuse(check.Fault, 1,
			fmt.Sprintf("%s: what happens in their own rows changes none of their weights.", check.Capital(check.Agents(none))), next)
	case len(few) > 0:
		f.Accuse(check.Suspect, 0, fmt.Sprintf("%s: part of their own rows change nothing.", check.Capital(check.Agents(few))), next)
	}
	return f
}

// configured compares how the agents are made.
func (u *session) configured() check.Finding {
	f := check.Finding{
		Step: 2, Check: "agents are configured alike", Module: "spec", Unit: "differences", Rows: len(u.taps),
		Says: "All minds have the same layers, rate and settings, and weights of their own.",
	}
	bad := func(value, wanted float64, label, says string, args ...any) {
		f.Saw(value, wanted, "%s", label)
		if f.Effect++; f.Status == check.Pass {
			f.Accuse(check.Fault, f.Effect, fmt.Sprintf(says, args...), "where the agents are made: print the settings of each and compare")
		}
	}
	taken := map[agent.ID]int{}
	for i, t := range u.taps {
		for _, a := range t.agents {
			taken[a]++
			if plays := u.parts.MindOf[a]; plays != i {
				bad(float64(plays), float64(i), fmt.Sprintf("agent %d: mind", a),
					"Agent %d plays with mind %d, but mind %d learns from its rows.", a, plays, i)
			}
		}
		first := u.taps[slices.IndexFunc(u.taps, t.alike)]
		if first == t || t.params == nil || first.params == nil {
			continue
		}
		mind := fmt.Sprintf("mind %d: ", i)
		if n := first.params.Len(); t.params.Len() != n || len(t.params.Parts) != len(first.params.Parts) {
			bad(float64(t.params.Len()), float64(n), mind+"weights", "Mind %d has another network than mind 0.", i)
		} else if t.first != nil && slices.Equal(t.first, first.first) {
			bad(1, 0, mind+"equal weights", "Mind %d starts with the very weights of mind 0: its stream is not its own.", i)
		}
		if math.Abs(t.lr-first.lr) > 1e-12 && t.windows > 0 && first.windows > 0 {
			bad(t.lr, first.lr, mind+"learning rate", "Mind %d learns at a rate of %.2g, mind 0 at %.2g.", i, t.lr, first.lr)
		}
	}
	for i, t := range u.taps {
		for _, o := range u.taps[:i] {
			if name := oneStream(t.streams, o.streams); name != "" {
				bad(1, 0, fmt.Sprintf("mind %d: %s", i, name), "Minds %d and %d draw from one and the same stream (%s).", o.i, i, name)
			}
		}
	}
	for a := range agent.ID(u.spec.Seats) {
		if n := taken[a]; n != 1 {
			bad(float64(n), 1, fmt.Sprintf("agent %d: minds", a), "Agent %d's rows are learnt from by %d minds.", a, n)
		}
	}
	return f
}

// oneStream returns the name of a stream that two minds have in common, or "".
func oneStream(a, b map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name] == b[name] {
			return name
		}
	}
	return ""
}

// counts is who was updated how often, and which weights moved.
func (u *session) counts() []check.Finding {
	idle := check.Finding{
		Step: 2, Check: "every update changes weights", Module: "ppo", Unit: "share of updates without effect",
		Says: "Every window with rows changed every mind's weights.",
	}
	still := check.Finding{
		Step: 4, Check: "the optimiser reaches every weight", Module: "ppo", Unit: "layers that never moved",
		Says: "Every layer of every mind has moved.",
	}
	var stuck []string
	lifeless := true
	for i, t := range u.taps {
		if t.asked < u.window && u.broke == nil {
			idle.Module = "buffers"
			idle.Accuse(check.Fault, 1-float64(t.asked)/float64(u.window), fmt.Sprintf("%s: the mind is handed %d of %d windows to learn from.",
				check.Capital(check.Agents(t.agents)), t.asked, u.window), "train.SelfPlay.learnFrom: every mind learns from every window")
			continue
		}
		if t.windows == 0 {
			continue
		}
		idle.Rows += t.windows
		still.Rows += len(t.still)
		if t.idle > 0 {
			idle.Saw(float64(t.idle), 0, "mind %d (%s): windows that changed nothing, of %d", i, check.Agents(t.agents), t.windows)
			if share := float64(t.idle) / float64(t.windows); share > idle.Effect {
				idle.Accuse(check.Fault, share, fmt.Sprintf("%s stopped learning: nothing changed in %d of %d windows with rows, the last change was "+
					"in window %d.", check.Capital(check.Agents(t.agents)), t.idle, t.windows, t.since),
					"the learner's Learn for that agent: a counter shared between agents, an early return, or code that runs for the first agent only")
			}
			continue
		}
		for _, part := range t.params.Parts {
			if t.still[part.Name] {
				stuck, lifeless = append(stuck, part.Name), lifeless && t.update.Lifeless(part.Name)
				still.Saw(0, float64(t.windows), "mind %d, layer %s: updates that moved it, of %d", i, part.Name, t.windows)
			}
		}
	}
	if len(stuck) > 0 {
		why, next := "the optimiser does not hold them, or no gradient reaches them.",
			"the optimiser's list of parameters; call it after the network is complete"
		if lifeless {
			why = "no gradient reaches them by the definition of the update either, because the units that they lead to are dead."
			next = "what drove the units to where they are never active: a learning rate or a gradient that is too large (ppo/lr, ppo/grad_norm)"
		}
		status := check.Fault
		if lifeless {
			status = u.learntTo(status)
		}
		still.Accuse(status, float64(len(stuck)), fmt.Sprintf("%d layers never moved (%s): %s",
			len(stuck), strings.Join(slices.Compact(slices.Sorted(slices.Values(stuck))), ", "), why), next)
	}
	return []check.Finding{u.counters(), idle, still}
}

// learntTo is how bad something is that a run may come to by learning alone: a note of one that has learnt.
func (u *session) learntTo(status check.Status) check.Status {
	if u.loaded {
		return check.Note
	}
	return status
}

// gathers is where to look if a learner has other rows than it should.
const gathers = "which rows the learner gathers: alive, own, and of its agents"

// counters compares the learners' own counters with the audit's count.
func (u *session) counters() check.Finding {
	f := check.Finding{
		Step: 2, Check: "rows learnt from, as counted", Module: "ppo", Unit: "rows too many or too few",
		Says: "The learners count as many rows as their agents played.",
	}
	for i, t := range u.taps {
		if t.windows == 0 || u.exp.Imagine.On {
			continue // imagined rounds learn from a window without passing here
		}
		n := t.counted() - t.begun
		f.Rows += t.rows
		f.Saw(float64(n), float64(t.rows), "mind %d (%s): rows learnt from", i, check.Agents(t.agents))
		if d := math.Abs(float64(n - t.rows)); d > f.Effect {
			f.Accuse(check.Fault, d, fmt.Sprintf("Mind %d learnt from %d rows, its agents played %d of their own.", i, n, t.rows), gathers)
		}
	}
	return f
}

// data is what else step 3 asks: how many rows everybody has, and what they show.
func (u *session) data() []check.Finding {
	f := check.Finding{
		Step: 3, Check: "rows by agent", Module: "rollout", Unit: "smallest share of the mean", Says: "Every learner has rows to learn from.",
	}
	var rows []float64
	for a, n := range u.rows {
		if u.learner(a) {
			rows = append(rows, float64(n))
			f.Rows += n
			f.Saw(float64(n), 0, "agent %d: rows of its own", a)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	mean := float64(f.Rows) / float64(len(rows))
	for i := range f.Evidence {
		f.Evidence[i].Wanted = math.Round(mean)
	}
	if f.Effect = slices.Min(rows) / max(mean, 1); f.Effect < 0.2 {
		f.Accuse(u.learntTo(check.Suspect), f.Effect, fmt.Sprintf("One learner has only %.0f %% of the rows that learners have on average.",
			100*f.Effect), "who acts for it: a policy that leaves at once, or rows that are not marked as its own")
	}
	one := check.Finding{
		Step: 3, Check: "actions by agent", Module: "ppo", Unit: "largest share of one action", Says: "No agent plays a single action.",
	}
	for a, acts := range u.acts {
		_, share := check.Commonest(acts)
		if share == 0 {
			continue
		}
		one.Rows += u.rows[a]
		one.Saw(share, 1/float64(len(acts)), "agent %d: share of its commonest action", a)
		one.Effect = max(one.Effect, share)
	}
	if one.Effect > 0.98 && len(u.spec.Actions) > 2 {
		one.Accuse(check.Suspect, one.Effect, fmt.Sprintf("An agent plays one action in %.0f %% of its rows.", 100*one.Effect),
			"its entropy over the run: hop report RUN")
	}
	return []check.Finding{f, one}
}

// learner reports whether an agent has a mind that learns.
func (u *session) learner(a int) bool {
	return len(u.exp.Train.Team) == 0 || u.exp.Train.Team[a] == "learn"
}

// learns is the matrix of who learns from whom; -1 where nothing was probed.
func (u *session) learns() [][]float64 {
	out := make([][]float64, u.spec.Seats)
	for a := range out {
		out[a] = make([]float64, u.spec.Seats)
		src := u.taps[u.parts.MindOf[a]].src
		for b := range out[a] {
			if out[a][b] = -1; src != nil && src.Probed[b] > 0 {
				out[a][b] = src.Share[b]
			}
		}
	}
	return out
}

// changes returns, per mind, in how many windows weights changed.
func (u *session) changes() []int {
	var out []int
	for _, t := range u.taps {
		out = append(out, t.windows-t.idle)
	}
	return out
}
