package check

import (
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
)

// peek changes what cannot be known yet, then what must count, and decides again.
func (x *experiment) peek(base *outcome) {
	a := x.v.Agent
	if again := x.decide(0, nil); base.broke != nil || again.broke != nil || !base.same(again) {
		x.back()
		return // it does not decide alike twice: whether it can be put back is another question
	}
	x.back()
	ask := func(i int, salt uint64, what string, edit func(v *rollout.View)) {
		x.took(i, len(x.envs))
		o := x.decide(salt, edit)
		x.back()
		switch {
		case o.broke != nil:
			x.wrong(i, a, "the decision breaks (%v) when only %s changed", o.broke, what)
		case !base.same(o):
			x.wrong(i, a, "%s changed when only %s did", base.differs(o), what)
		}
	}
	futures := min(x.v.Actions, 8)
	if x.Hop != nil {
		futures = 2 // a search takes longer
	}
	for k := range futures {
		ask(knowsFuture, 0, "what is not there yet (this step's actions and rewards, later slots, the others' own notes)", func(v *rollout.View) {
			x.later(v, k)
		})
	}
	ask(knowsChance, 1, "coming chance (what the rules and the others will draw)", nil)
	if x.Hop == nil {
		ask(readsOthers, 0, "rows of other agents", x.others)
		x.counts(base)
		return
	}
	x.moved(base)
	x.history(base)
}

// later changes everything that is written after this decision, and what the other
// agents noted for themselves: in future k all others play action k now.
func (x *experiment) later(v *rollout.View, k int) {
	r := stream("later", k)
	for b := range agent.ID(v.Agents) {
		for t := v.T; t < v.Steps; t++ {
			for n := range v.Envs {
				scrambleStep(v.Rollout, v.Step(b, t, n), &r)
				slot := v.Slot(b, t+1, n)
				noise(v.ObsAt(slot), &r)
				legal := v.LegalAt(slot)
				for k := range legal {
					legal[k] = r.IntN(2) == 0
				}
				v.Alive[slot], v.Start[v.Moment(t+1, n)] = r.IntN(2) == 0, r.IntN(2) == 0
				v.Seat[slot] = int8(r.IntN(v.Agents))
				v.Value[slot] = r.Float32()
				noise(v.GoalAt(slot), &r)
			}
		}
		for n := range v.Envs {
			v.Action[v.Step(b, v.T, n)] = int32(k)
			if slot := v.Slot(b, v.T, n); b != v.Agent {
				v.Value[slot] = 3 + r.Float32()
				noise(v.GoalAt(slot), &r)
			}
		}
	}
}

func scrambleStep(ro *batch.Rollout, step int, r *rng.Rand) {
	ro.Action[step] = int32(r.IntN(ro.Actions))
	ro.Reward[step], ro.LogProb[step] = 5*r.Float32(), -r.Float32()
	ro.Own[step], ro.End[step], ro.Reached[step] = r.IntN(2) == 0, batch.End(r.IntN(3)), int8(r.IntN(2))-1
	noise(ro.TargetAt(step), r)
}

func noise(dst []float32, r *rng.Rand) {
	var bits uint64
	for i := range dst {
		if i%64 == 0 {
			bits = r.Uint64()
		}
		dst[i], bits = float32(bits&1), bits>>1
	}
}

// others changes all rows of other agents, at this slot and before.
func (x *experiment) others(v *rollout.View) {
	r := stream("others")
	for b := range agent.ID(v.Agents) {
		for t := 0; t <= v.T && b != v.Agent; t++ {
			for n := range v.Envs {
				slot := v.Slot(b, t, n)
				noise(v.ObsAt(slot), &r)
				noise(v.GoalAt(slot), &r)
				slices.Reverse(v.LegalAt(slot))
				v.Value[slot]++
				v.Alive[slot] = !v.Alive[slot]
				if t < v.T {
					scrambleStep(v.Rollout, v.Step(b, t, n), &r)
				}
			}
		}
	}
}

// opposite turns what is seen into its opposite.
func opposite(obs []float32) []float32 {
	for i := range obs {
		obs[i] = 1 - obs[i]
	}
	return obs
}

// dead reports whether the network, computed from its layers, says the same of what is seen and of its opposite: no unit that
// reads it is active any more.
func (x *experiment) dead() bool {
	net, err := reference.LoadNet(x.start, "net/")
	a, ok := learner.As[learner.Acting](x.Mind)
	if err != nil || !ok || x.Actor.LSTM > 0 {
		return false
	}
	model, _ := a.Actor()
	ref := ActorOf(x.Actor, model.Input)
	for _, n := range x.envs {
		slot := x.v.SlotOf(int(n))
		logits, value := ref.At(net, x.v.ObsAt(slot), x.v.GoalAt(slot))
		other, worth := ref.At(net, opposite(slices.Clone(x.v.ObsAt(slot))), x.v.GoalAt(slot))
		if value != worth || !slices.Equal(logits, other) {
			return false
		}
	}
	return true
}

// counts asks of one that acts by a network alone whether its observation and its
// mask count.
func (x *experiment) counts(base *outcome) {
	a := x.v.Agent
	x.took(seesNow, len(x.envs))
	o := x.decide(0, func(v *rollout.View) {
		for _, n := range x.envs {
			opposite(v.ObsAt(v.SlotOf(int(n))))
		}
	})
	x.back()
	same := slices.Equal(o.value, base.value) && slices.Equal(o.logp, base.logp) && slices.Equal(o.action, base.action)
	if o.broke == nil && same && !x.dead() {
		x.wrong(seesNow, a, "what it sees can be turned into its opposite, and neither its value nor its policy changes")
	}
	x.took(seesNow, len(x.envs))
	want := make([]int32, len(x.envs))
	o = x.decide(0, func(v *rollout.View) {
		for i, n := range x.envs {
			legal := v.LegalAt(v.SlotOf(int(n)))
			want[i] = base.action[i]
			for k := range legal {
				if other := (int(base.action[i]) + 1 + k) % len(legal); legal[other] {
					want[i] = int32(other)
					break
				}
			}
			clear(legal)
			legal[want[i]] = true
		}
	})
	x.back()
	for i, act := range o.action {
		if o.broke == nil && act != want[i] {
			x.wrong(seesNow, a, "it plays action %d where only action %d is legal", act, want[i])
		}
	}
}

// moved plays one step on the copy's state before a planner decides: what it decides
// on is another state, so something must change.
func (x *experiment) moved(base *outcome) {
	there := true
	o := x.decide(0, func(v *rollout.View) {
		for _, n := range x.envs {
			there = there && x.stepOn(v, int(n))
		}
	})
	x.back()
	if !there || o.broke != nil || base.journal == nil || o.journal == nil || len(base.journal.Grown) != len(o.journal.Grown) {
		return
	}
	x.took(seesNow, len(x.envs))
	for i := range o.journal.Grown {
		if o.journal.Grown[i].Key != base.journal.Grown[i].Key {
			return
		}
	}
	if base.same(o) && slices.Equal(base.journal.Q, o.journal.Q) {
		x.wrong(seesNow, x.v.Agent, "the state is another, and neither its roots, beliefs, values nor policy change")
	}
}

// stepOn plays one random step that the agent survives, and shows it to everyone. It
// reports whether the agent sees the difference.
func (x *experiment) stepOn(v *rollout.View, n int) bool {
	spec, was := x.Game.Spec(), x.Game.New()
	st := v.State(n)
	was.CopyFrom(st)
	r := stream("step", n)
	joint, rewards, legal := make([]int32, spec.Seats), make([]float32, spec.Seats), make([]bool, len(spec.Actions))
	for range 20 {
		st.CopyFrom(was)
		for s := range joint {
			st.Legal(game.Seat(s), legal)
			joint[s] = game.Uniform(legal, &r)
		}
		if st.Step(joint, rewards, &r); st.Alive(v.SeatOf(n)) {
			break
		}
	}
	if !st.Alive(v.SeatOf(n)) {
		return false
	}
	seen := slices.Clone(v.ObsAt(v.SlotOf(n)))
	for b := range agent.ID(v.Agents) {
		slot := v.Slot(b, v.T, n)
		seat := v.SeatAt(slot)
		v.Alive[slot] = st.Alive(seat)
		st.Legal(seat, v.LegalAt(slot))
		st.Observe(seat, v.ObsAt(slot))
	}
	return unlike(seen, v.ObsAt(v.SlotOf(n))) >= 0
}

// history changes what co-players are seen to have done last, where that makes some
// hypothesis about them likelier than another: beliefs must change. Who has just
// reached a goal is believed anew, and who is known for sure stays so.
func (x *experiment) history(base *outcome) {
	l, k := x.Game.Spec().Obs, x.v.Actions
	if l.Last == 0 || !x.Hop.Belief.Within || len(base.beliefs) == 0 {
		return
	}
	others := l.Last - 1
	kinds := len(base.beliefs) / len(x.envs) / others
	likely := make([]float32, x.v.Envs*others*kinds*k)
	predicted, err := x.start.Bytes("predicted")
	if kinds < 2 || err != nil || len(predicted) != x.v.Envs || x.start.Float32(likely, "likelihoods", len(likely)) != nil {
		return
	}
	changed := 0
	o := x.decide(0, func(v *rollout.View) {
		for i, e := range x.envs {
			n := int(e)
			me := int(v.SeatOf(n))
			j := -1
			for b := range agent.ID(v.Agents) {
				if b == v.Agent {
					continue
				}
				j++
				place := (int(v.SeatAt(v.Slot(b, v.T, n))) - me + l.Last) % l.Last
				hot := v.ObsAt(v.SlotOf(n))[l.LastAt()+place*k:][:k]
				probs := likely[(n*others+j)*kinds*k:][:kinds*k]
				belief := base.beliefs[(i*others+j)*kinds:][:kinds]
				open := predicted[n] == 1 && v.Alive[v.Slot(b, v.T, n)] && v.ReachedOf(n, b) == game.NoGoal && slices.Max(belief) < 0.99
				if did := slices.Index(hot, 1); did >= 0 && open {
					if other := telling(probs, kinds, k, did); other >= 0 {
						clear(hot)
						hot[other] = 1
						changed++
					}
				}
			}
		}
	})
	x.back()
	if changed == 0 || o.broke != nil {
		return
	}
	x.took(readsHistory, changed)
	if slices.Equal(o.beliefs, base.beliefs) {
		x.wrong(readsHistory, x.v.Agent, "what co-players just did is another, and its beliefs are the same")
	}
}

// telling returns an action that speaks otherwise for the hypotheses than the one
// that was seen, or -1.
func telling(probs []float32, kinds, k, did int) int {
	for other := range k {
		for g := 1; g < kinds && other != did; g++ {
			was := float64(probs[did])*float64(probs[g*k+other]) - float64(probs[g*k+did])*float64(probs[other])
			if probs[other] > 0 && probs[did] > 0 && (was > 1e-3 || was < -1e-3) {
				return other
			}
		}
	}
	return -1
}

// Peeking returns what was found about knowing what cannot be known.
func (l *Decisions) Peeking(plans bool) []check.Finding {
	module, place := "ppo", "the player's forward pass (ppo.Player.forward)"
	if plans {
		module, place = "planner", "the player (hop.player.Act): what it reads of the view besides this slot's observations and masks"
	}
	return l.findings(map[int]check.Finding{
		knowsFuture: {Check: "decisions know nothing of later steps", Module: module, Unit: "decisions",
			Says: "Changing this step's actions, rewards and everything later changes no decision.", Next: place},
		knowsChance: {Check: "decisions know nothing of coming chance", Module: module, Unit: "decisions",
			Says: "Another stream of the rules, and of the others, changes no decision.", Next: place},
		readsOthers: {Check: "decisions read one's own row", Module: module, Unit: "decisions",
			Says: "Changing the other agents' rows changes no decision.", Next: place},
		seesNow: {Check: "decisions are about what is there now", Module: module, Unit: "decisions",
			Says: "Another observation, mask or state changes what is decided.", Next: place},
		readsHistory: {Check: "what others did counts", Module: "planner", Unit: "actions",
			Says: "Beliefs change with what the co-players are seen to have done.", Next: "hop.beliefs.Update and hop.visible.lastAction"},
	})
}
