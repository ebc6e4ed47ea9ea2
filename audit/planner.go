package audit

import (
	"fmt"
	"reflect"

	"hop/check"
	"hop/game"
	"hop/mind"
	"hop/plan"
	"hop/rng"
)

// planning is what is asked about agents that search: is the search the spec's,
// and does it plan on the true rules?
func (u *session) planning() []check.Finding {
	if u.hop == nil {
		return nil
	}
	set := check.Finding{
		Step: 2, Check: "the search is the spec's", Module: "planner", Unit: "settings that differ",
		Says: "Every agent searches as the spec says.",
	}
	rules := check.Finding{
		Step: 4, Check: "the search plans on the true rules", Module: "planner", Unit: "share of steps that differ",
		Says: "What the search foresees for an action is what the rules do.",
	}
	for i, t := range u.taps {
		s, ok := mind.As[mind.Searching](t.Mind)
		if !ok {
			continue
		}
		search, made := s.Search()
		set.Rows++
		for _, d := range differing(t.hop.Search.Resolve(len(u.spec.Actions)), *search) {
			set.Accuse(check.Fault, set.Effect+1, fmt.Sprintf("Mind %d searches with another %s than the spec says: %s.", i, d[0], d[1]),
				"where the search's settings are passed on")
		}
		if t.hop.Search.Dynamics != "rules" {
			rules.Says = "The search plans on a learnt model, which is not compared with the rules here."
			continue
		}
		bad, n, says := foresees(u.parts.Game, *made, *search, rng.New(uint64(i)+7))
		if rules.Rows += n; bad > 0 {
			share := float64(bad) / float64(n)
			rules.Accuse(check.Fault, max(rules.Effect, share), fmt.Sprintf("In %.0f %% of the steps tried, mind %d's search foresees something "+
				"else than the rules do: %s.", 100*share, i, says),
				"the dynamics that the search plays on: which action is whose, when it is over, what it pays")
		}
	}
	return []check.Finding{set, rules}
}

// differing lists the settings in which two searches differ.
func differing(want, got plan.Config) [][2]string {
	var out [][2]string
	a, b := reflect.ValueOf(want), reflect.ValueOf(got)
	for i := range a.NumField() {
		if x, y := a.Field(i).Interface(), b.Field(i).Interface(); x != y {
			out = append(out, [2]string{a.Type().Field(i).Tag.Get("yaml"), fmt.Sprintf("%v, not %v", y, x)})
		}
	}
	return out
}

// foresees plays random steps from random positions both on the search's rules
// and on the game, and counts where they differ.
func foresees(g game.Game, rulesOf mind.RulesMaker, search plan.Config, key rng.Key) (bad, n int, says string) {
	spec := g.Spec()
	rules, _, err := rulesOf(1, search.Trees)
	if err != nil {
		return 1, 1, err.Error()
	}
	forest, err := plan.New(search, len(spec.Actions), spec.Seats-1, 1, 1)
	if err != nil {
		return 1, 1, err.Error()
	}
	rules.Fit(forest)
	r := key.Child("foresee").Rand()
	st, after := g.New(), g.New()
	legal := make([]bool, len(spec.Actions))
	actions, rewards := make([]int32, spec.Seats), make([]float32, spec.Seats)
	seats := make([]game.Seat, spec.Seats)
	st.Reset(&r)
	for range 200 {
		if st.Over() {
			st.Reset(&r)
		}
		me := game.Seat(r.IntN(spec.Seats))
		for i := range seats {
			seats[i] = game.Seat((int(me) + i) % spec.Seats)
		}
		for s := range actions {
			actions[s] = game.NoAction
			if st.Alive(game.Seat(s)) {
				st.Legal(game.Seat(s), legal)
				actions[s] = game.Uniform(legal, &r)
			}
		}
		if st.Alive(me) && spec.Deterministic && !spec.Opaque {
			n++
			if text := foresee(rules, st, after, seats, actions, rewards, legal, &r); text != "" {
				if bad++; says == "" {
					says = text
				}
			}
		}
		st.Step(actions, rewards, &r)
	}
	return bad, n, says
}

// foresee compares one step; "" if the two agree.
func foresee(
	rules mind.Rules, st, after game.State, seats []game.Seat, actions []int32, rewards []float32, legal []bool, r *rng.Rand,
) string {
	me := seats[0]
	rules.Set(0, st, seats)
	rules.Root(0, 0)
	leaf := []plan.Leaf{{Tree: 0, From: 0, To: 1, Action: actions[me]}}
	others := make([]int32, 0, len(seats)-1)
	for _, s := range seats[1:] {
		others = append(others, actions[s])
	}
	rules.Expand(leaf, others, []rng.Rand{*r})
	after.CopyFrom(st)
	draws := *r
	after.Step(actions, rewards, &draws)
	gone := !after.Alive(me)
	switch {
	case leaf[0].Reward != rewards[me]:
		return fmt.Sprintf("a reward of %v, it is %v", leaf[0].Reward, rewards[me])
	case leaf[0].Over != gone:
		return fmt.Sprintf("over %v, it is %v", leaf[0].Over, gone)
	case gone:
		return ""
	}
	after.Legal(me, legal)
	for k, ok := range legal {
		if ok != (leaf[0].Legal>>k&1 != 0) {
			return "other legal actions"
		}
	}
	return ""
}
