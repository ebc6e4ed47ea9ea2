package train

import (
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/check"
)

// The limits of the guards of learning.
const (
	behindWindows = 20   // windows that an agent must be behind in
	behindShare   = 0.1  // of the others' gain that it has at most
	movedFar      = 0.05 // nats: a policy that moves so far leaves PPO's clip somewhere
	saturated     = 1e-3 // nats: a policy of less entropy may stand still to the last bit
	stillEven     = 0.9  // share of the entropy of uniform play above which no policy has been learnt
	flatRows      = 32   // rows that a flat head must be seen in
	forgetShare   = 0.75 // of what a model of others knew before play began that it must keep
)

// ratios finds a policy that never differs from the one that played, though it
// learns in several steps, and a clip that never holds though the policy moves far.
func (w *window) ratios(stats []agent.Stat) {
	kl, ok := stat(stats, "ppo/kl")
	norm, _ := stat(stats, "ppo/grad_norm")
	clipped, counted := stat(stats, "ppo/clipped")
	entropy, _ := stat(stats, "ppo/entropy")
	rate, _ := stat(stats, "ppo/lr")
	if lasts(&w.me.Ratio, ok && kl.Value == 0 && entropy.Value > saturated && norm.N > 1 && norm.Value > 0 && rate.Value > 0, inARow) {
		w.say("ratio of 1", "ppo", fmt.Sprintf("the ratio of %s's policy to the one that played has been exactly 1 in all %d gradient steps of "+
			"the last %d windows", w.who, norm.N, w.me.Ratio),
			"see that the old log-probability is the recorded one, not computed anew from the network that learns")
	}
	if lasts(&w.me.Unclipped, ok && counted && clipped.Value == 0 && kl.Value > movedFar, inARow) {
		w.say("nothing clipped", "ppo", fmt.Sprintf("the policy of %s moves %.2g nats a window and no ratio has met ppo.clip in %d windows",
			w.who, kl.Value, w.me.Unclipped), "see that the loss takes the worse of the ratio and the clipped ratio, and what is counted")
	}
}

// heads finds a policy or a value that says the same everywhere after it has learnt.
func (w *window) heads(agents []agent.ID, stats []agent.Stat) {
	_, ppo := stat(stats, "ppo/kl") // a search's policy and values are its own
	rows, even, level := 0, true, true
	var first float32
	ro := w.s.ro
	for step, slot := range w.own(agents) {
		if !ppo || !even && !level {
			break
		}
		if rows == 0 {
			first = ro.Value[slot]
		}
		rows++
		even = even && math.Abs(float64(ro.LogProb[step])+w.evenly(slot)) < 1e-6
		level = level && ro.Value[slot] == first
	}
	enough := ppo && rows >= flatRows
	if lasts(&w.me.Even, enough && even, inARow) {
		w.say("silent policy", "ppo", fmt.Sprintf("the policy of %s is exactly uniform in all %d rows, %d windows after it began to learn",
			w.who, rows, w.me.Even), "see that the policy head is part of what the optimiser holds, and that its logits reach the player")
	}
	switch {
	case !lasts(&w.me.Level, enough && level, inARow) || w.me.Level > inARow: // said already
	case w.dead(agents):
		w.warn(check.Note, "dead network", "ppo", fmt.Sprintf("the network of %s says the same of whatever it sees: its units are never active",
			w.who), "lower ppo.lr, and train anew: what has died does not learn any more")
	default:
		w.say("silent value", "ppo", fmt.Sprintf("the value of %s is %.3g in all %d rows, for %d windows", w.who, first, rows, w.me.Level),
			"see that the value head is part of what the optimiser holds, and that its output reaches the window")
	}
}

// dead reports whether the policy, too, is the same everywhere: whoever may do the same does it with the same probability.
func (w *window) dead(agents []agent.ID) bool {
	type choice struct {
		legal  string
		action int32
	}
	ro, said := w.s.ro, map[choice]float32{}
	for step, slot := range w.own(agents) {
		c := choice{fmt.Sprint(ro.LegalAt(slot)), ro.Action[step]}
		if p, ok := said[c]; ok && math.Abs(float64(p-ro.LogProb[step])) > 1e-6 {
			return false
		}
		said[c] = ro.LogProb[step]
	}
	return true
}

// behind finds an agent that has gained next to nothing while all others have, by a
// lot. It can be a role that the agents have found for it; one that repeats over
// seeds is a fault.
func (w *window) behind() {
	st := &w.g.state
	a := len(w.p.Return)
	if !w.s.spec.Symmetric || a < 3 || len(w.s.cfg.Team) > 0 || w.s.parts.Kinds != nil || w.p.Warm || w.p.Episodes == 0 ||
		len(w.s.minds) != a {
		return
	}
	if st.Gain == nil {
		st.Gain, st.Start, st.Lags = make([]float64, a), make([]float64, a), make([]int, a)
	}
	const memory = 0.9
	first := st.Begun < inARow
	st.Begun++
	for i := range st.Gain {
		if w.p.Return[i].N() == 0 {
			continue
		}
		ret := w.p.Return[i].Mean()
		if first {
			st.Start[i] += (ret - st.Start[i]) / float64(st.Begun)
			continue
		}
		st.Gain[i] = memory*st.Gain[i] + (1-memory)*(ret-st.Start[i])
	}
	for i, gain := range st.Gain {
		least, mean := math.Inf(1), 0.
		for j, g := range st.Gain {
			if j != i {
				least, mean = min(least, g), mean+g/float64(a-1)
			}
		}
		lags := least > 0 && gain < behindShare*least && least > 0.5*mean && mean > 0.1*w.top()
		if lasts(&st.Lags[i], lags, behindWindows) {
			w.mind, w.agent, w.who = w.s.parts.MindOf[i], i, fmt.Sprintf("agent %d", i)
			bad := check.Suspect
			if w.learns(w.mind) { // it may be a role that they have found
				bad = check.Note
			}
			w.warn(bad, "one agent behind", "", fmt.Sprintf("agent %d has gained %.2g since it began, every other agent at least %.2g, for %d "+
				"windows", i, gain, least, st.Lags[i]),
				"hop audit RUN holds its updates against their definition; if another seed leaves another agent "+
					"behind, it is a role that they have found")
		}
	}
}

// learns reports whether the agent of a mind has come to a policy of its own: it is updated as often as the others, by gradients that
// are something, and plays far from evenly.
func (w *window) learns(mind int) bool {
	updates := func(m abilities) int {
		if m.counting == nil {
			return 0
		}
		return m.counting.Counts().Updates
	}
	me := w.s.minds[mind]
	if slices.ContainsFunc(w.s.minds, func(m abilities) bool { return updates(m) > updates(me)+inARow }) {
		return false
	}
	norm, _ := stat(w.p.Stats[mind], "ppo/grad_norm", "search/grad_norm")
	h, ok := stat(w.p.Stats[mind], "ppo/entropy", "search/entropy")
	return ok && norm.Value > 0 && h.Value < stillEven*w.uniform(me.Agents())
}

// top is the largest return met, unscaled.
func (w *window) top() float64 { return w.g.state.Bound / max(w.s.scale(), 1e-9) }

// scale is the largest scale that rewards are learnt in.
func (s *SelfPlay) scale() (most float64) {
	for m := range s.minds {
		most = max(most, s.shaped(m).Scale)
	}
	return most
}

// knew takes in how well a model of others knows a kind of stranger, which counts as its
// start as long as the agents have not played themselves.
func (g *guards) knew(x *StrangerScore, start bool) {
	me := &g.state.Minds[x.Mind]
	if me.Knew == nil {
		me.Knew = map[string]float64{}
	}
	if start {
		me.Knew[x.Kind] = max(me.Knew[x.Kind], x.Top1.Mean())
	}
}

// start returns how well it knew that kind when play began.
func (g *guards) start(x *StrangerScore) float64 { return g.state.Minds[x.Mind].Knew[x.Kind] }

// forgets finds a model of others that foresees a kind of stranger much worse than it did
// before the agents began to play themselves.
func (w *window) forgets() {
	for i := range w.p.Strangers {
		x := &w.p.Strangers[i]
		start, now := w.g.start(x), x.Top1.Mean()
		if x.Mind != w.mind || x.Kind == allKinds || w.s.update <= w.s.cfg.Warm.Windows || now >= forgetShare*start {
			continue
		}
		w.warn(check.Note, "model of others forgets", "moa", fmt.Sprintf("%s's model of others foresees %.0f %% of what %s does in fixed "+
			"episodes, and foresaw %.0f %% before the agents began to play", w.who, 100*now, x.Kind, 100*start),
			"learn more slowly (moa.lr, moa.passes), meet them more often (train.standins), or start from a model that was trained on them and "+
				"stays as it is (models.moa, moa.passes 0)")
	}
}
