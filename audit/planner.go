package audit

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/agent/learner"
	checks "github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/audit/probe"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/search"
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
		s, ok := learner.As[learner.Searching](t.Mind)
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
		whole, ok := game.WholeOf(u.parts.Game) // a search supposes whole boards
		if !ok {
			continue
		}
		bad, n, says := foresees(whole, *made, *search, rng.New(uint64(i)+7))
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
func differing(want, got search.Config) [][2]string {
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
func foresees(g game.Game, rulesOf learner.RulesMaker, srch search.Config, key rng.Key) (bad, n int, says string) {
	spec := g.Spec()
	forest, err := search.New(srch, len(spec.Actions), spec.Seats-1, 1, 1)
	if err != nil {
		return 1, 1, err.Error()
	}
	rules, _, err := rulesOf(forest)
	if err != nil {
		return 1, 1, err.Error()
	}
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
	rules learner.Rules, st, after game.State, seats []game.Seat, actions []int32, rewards []float32, legal []bool, r *rng.Rand,
) string {
	me := seats[0]
	rules.Set(0, st, seats)
	rules.Root(0, 0)
	leaf := []search.Leaf{{Tree: 0, From: 0, To: 1, Action: actions[me]}}
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

// insight is what was found inside single decisions: one of every agent in an early
// window and one in a late one.
type insight struct {
	checks.Decisions
	done map[int][]agent.ID // by window
}

// look examines an agent's decision, if it is one to be examined: some steps into a
// window, so that there is a past, and at another step for each agent.
func (u *session) look(r *recorder, v *rollout.View, envs []int32) {
	if _, ok := learner.As[learner.Acting](r.tap.Mind); !ok || u.spec.Opaque {
		return // what such a player writes down beside its action is its own affair, and some states cannot be put back
	}
	early, late := u.exp.Train.Warm.Windows, updates(&u.exp, u.opt)-1
	if w := u.window; v.Imagined() || w != early && w != late || v.T < 3+int(v.Agent) || slices.Contains(u.insight.done[w], v.Agent) {
		return
	}
	if !slices.ContainsFunc(envs, func(n int32) bool { return !v.Start[v.Moment(v.T, int(n))] }) {
		return
	}
	if u.insight.done == nil {
		u.insight.done = map[int][]agent.ID{}
	}
	u.insight.done[u.window] = append(u.insight.done[u.window], v.Agent)
	s := checks.Subject{Mind: r.tap.Mind, Player: r.Player, Hop: r.tap.hop, Game: u.parts.Game, Scale: r.tap.exp.PPO.RewardScale,
		Actor: r.tap.exp.Actor}
	u.insight.Look(s, v, envs) // what cannot be put back is found by probes of learning
}

// inner is what decisions show from inside.
func (u *session) inner() []check.Finding {
	if u.spec.View > 0 { // what a search supposes is not to be what is there
		return u.insight.Peeking(u.hop != nil)
	}
	return append(u.insight.Searching(), u.insight.Peeking(u.hop != nil)...)
}

// legal reports whether what was played is.
func (r *recorder) legal(v *rollout.View, envs []int32) bool {
	for _, n := range envs {
		legal, act := v.LegalAt(v.SlotOf(int(n))), v.Action[v.StepOf(int(n))]
		if act < 0 || int(act) >= len(legal) || !legal[act] {
			return false
		}
	}
	return true
}

// culprit is the module in which a run broke: the player's whose decision panicked or
// was not legal, the learner's who could not learn, else the rollout's.
func (u *session) culprit() string {
	switch {
	case u.unlearnt:
		return "ppo"
	case u.guilty == nil:
		return "rollout"
	case u.guilty.tap.hop != nil:
		return "planner"
	}
	return "ppo"
}

// before takes the mind as it is before it first acts.
func (p *tap) before(v *rollout.View) {
	if s := p.studyOf(v.Agent); s == nil || !s.Watches() || p.broke != nil || p.begunPath {
		return
	}
	f, err := probe.Saved(p.Mind)
	for _, s := range p.studies {
		if err == nil {
			err = s.Before(checks.Part(f, s.Agent()), v.Envs)
		}
	}
	p.begunPath, p.broke = true, err
}

// acted records what a player holds about its co-players.
func (p *tap) acted(player rollout.Player, v *rollout.View, envs []int32) {
	if _, ok := player.(learner.Believing); !ok {
		p.blind = true
	}
	if b, ok := player.(learner.Believing); ok && p.broke == nil {
		if s := p.studyOf(v.Agent); s != nil && s.Watches() {
			s.Acted(b, v, envs)
		}
	}
}

// examine holds what the agent made of its co-players in a window against the reference:
// start is the mind that played it. It lets the mind learn once and puts it back.
func (p *tap) examine(w *learner.Window, start *safetensors.File) error {
	if p.studies == nil || p.broke != nil {
		return p.broke
	}
	for _, s := range p.studies {
		if err := s.Played(w, checks.Part(start, s.Agent())); err != nil {
			return err
		}
	}
	h, ok := learner.As[probe.Labeller](p.Mind)
	if study := p.studies[0]; !ok || study.Learnt || p.u.window < probeAt || !p.src.Sound() {
		return nil
	}
	saver, _ := learner.As[learner.Saver](p.Mind)
	labels, err := p.labels(h, w, start)
	if err != nil {
		return err
	}
	stats, err := p.Mind.Learn(w)
	if err != nil {
		return err
	}
	after, err := probe.Saved(p.Mind)
	if err != nil {
		return err
	}
	if err := saver.Load(start, ""); err != nil {
		return err
	}
	return p.studies[0].Update(w, start, after, labels, stats)
}

// labels asks a mind for its labels of a window and puts it back.
func (p *tap) labels(h probe.Labeller, w *learner.Window, start *safetensors.File) ([]hop.Label, error) {
	list := h.Labels(w)
	saver, _ := learner.As[learner.Saver](p.Mind)
	return list, saver.Load(start, "")
}

// inHindsight returns the goals that the own network reads when it learns w from a
// search: its labels, taken as they are, in place of beliefs; nil where it reads
// none. start is the mind before it learns.
func (p *tap) inHindsight(w *learner.Window, start *safetensors.File) ([]float32, error) {
	h, ok := learner.As[probe.Labeller](p.Mind)
	if !ok || p.studies == nil || w.GoalLen == 0 || p.hop.Own != "search" {
		return nil, nil
	}
	labels, err := p.labels(h, w, start)
	if err != nil {
		return nil, err
	}
	return p.studies[0].Hindsight(w, start, labels)
}

// studied is what the reference says about goals, models of others and beliefs.
func (u *session) studied() []check.Finding {
	var list []*checks.Study
	for _, t := range u.taps {
		if !t.blind {
			list = append(list, t.studies...)
		}
	}
	return checks.OthersFindings(list)
}
