package audit

import (
	"fmt"
	"slices"

	checks "hop/audit/check"
	"hop/audit/probe"
	"hop/batch"
	"hop/check"
	"hop/mind"
	"hop/mind/hop/pretrained"
	"hop/rng"
)

// foreseen asks the world model that planners search on what it predicts of played
// steps, once, and their searches what they make of it.
func (u *session) foreseen(ro *batch.Rollout) {
	if u.hop == nil || u.hop.Search.Dynamics != "world" || u.world != nil {
		return
	}
	fail := func(err error) {
		f := check.Finding{Step: 4, Check: "the world model can be read", Module: "world", Unit: "models", Rows: 1}
		f.Accuse(check.Fault, 1, fmt.Sprintf("The planners' world model cannot be asked: %v.", err), "mind/hop: Models and rules")
		u.world = append(u.world, f)
	}
	f, err := probe.Saved(u.taps[slices.IndexFunc(u.taps, func(t *tap) bool { return t.hop != nil })].Mind)
	if err != nil {
		fail(err)
		return
	}
	models, err := pretrained.Of(f)
	if err != nil || models.World == nil {
		fail(fmt.Errorf("it is not among what agents save (%w)", err))
		return
	}
	var layers, search checks.Layers
	layers.Ask(models.World, models.Steps, ro)
	w := checks.WorldOf(models.World, models.Steps)
	for i, t := range u.taps {
		s, ok := mind.As[mind.Searching](t.Mind)
		if !ok {
			continue
		}
		_, made := s.Search()
		rules, _, err := (*made)(1, 1)
		if err == nil {
			err = search.Search(u.parts.Game, w, rules, rng.New(uint64(i)+7))
		}
		if err != nil {
			fail(err)
		}
	}
	u.world = append(u.world, layers.Say("planners ask", "model/world.Work.Step and what it reads (encode.go)"))
	steps := search.Say("searches ask", "plan/learned: Set, Expand and predict (joint actions by place, what is packed), Observe")
	steps.Module, steps.Check = "planner", "the search plays on its world model"
	steps.Says = ifPassed(steps, "Steps of the search are what the world model's layers come to in float64, from every place.")
	u.world = append(u.world, steps)
}

// ifPassed keeps an accusation, else says that all is well.
func ifPassed(f check.Finding, says string) string {
	if f.Status != check.Pass {
		return f.Says
	}
	return says
}
