package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/safetensors"
)

// path is what an agent held while it played, and what it should have held: the
// record of a window, and references of its beliefs and memories that go on from one
// window to the next.
type path struct {
	ready   bool
	windows int
	seen    map[[2]int][]learner.Belief // by slot and env: of every co-player, after it acted

	ended map[[2]int]bool // by slot and env: an episode's end

	beliefs   []*reference.Beliefs   // [N]
	history   [][]*reference.History // [N][others]
	expected  [][]learner.Belief     // [N][others] of the last decision; nil: none in this episode
	playing   []bool                 // [N] it has acted in the running episode
	goal      [][]int                // [N][A] the goal reached last in the episode
	class     [][]int                // [N][others] of the last state seen; -1: none or not sure
	lastDone  [][]int32              // [N][A] actions of the window's last step
	lastGoal  [][]int                // [N][A] goals reached in it
	read      [][]*reference.Reader  // [N][others] what has been read of each, where a sequence model reads
	episode   []int                  // [N] which is running
	loose     []bool                 // [N] a class that was counted is either of two: what follows is taken as it is
	predicted int
}

// pathWindows is how many windows of play are followed: the step from one to the
// next is among them.
const pathWindows = 2

// lifeWindows is how many are followed where lives have ends.
const lifeWindows = 4

// Watches reports whether decisions are still to be recorded.
func (s *Study) Watches() bool {
	if s.guard != nil {
		return true
	}
	if s.cfg.Goals.Life > 0 {
		return s.path.windows < lifeWindows
	}
	return s.path.windows < pathWindows
}

// Before takes the mind as it is before its first decision.
func (s *Study) Before(f *safetensors.File, envs int) error {
	p := &s.path
	if p.ready {
		return nil
	}
	p.ready, p.seen, p.ended = true, map[[2]int][]learner.Belief{}, map[[2]int]bool{}
	goals, _, _, err := s.loaded(f)
	if err != nil {
		return err
	}
	for n := range envs {
		p.beliefs = append(p.beliefs, goals.NewBeliefs(s.hop.Belief, len(s.others)))
		none, noGoal := make([]int, len(s.others)), make([]int, s.spec.Seats)
		for j := range none {
			none[j] = -1
		}
		for a := range noGoal {
			noGoal[a] = game.NoGoal
		}
		var memories []*reference.History
		for range s.others {
			memories = append(memories, goals.Begin())
		}
		p.history, p.expected, p.playing = append(p.history, memories), append(p.expected, nil), append(p.playing, false)
		p.loose, p.episode = append(p.loose, false), append(p.episode, -1)
		var read []*reference.Reader
		for j := range s.others {
			if !goals.Reads() {
				break
			}
			r := goals.NewReader()
			if err := r.Load(f, n*len(s.others)+j, envs*len(s.others)); err != nil {
				return err
			}
			read = append(read, r)
		}
		p.read = append(p.read, read)
		p.goal, p.class = append(p.goal, noGoal), append(p.class, none)
		p.lastDone = append(p.lastDone, slices.Repeat([]int32{game.NoAction}, s.spec.Seats))
		p.lastGoal = append(p.lastGoal, slices.Clone(noGoal))
	}
	return s.begun(f, goals)
}

// begun holds what is believed before anything is known against its definition, and goes
// on from what it is.
func (s *Study) begun(f *safetensors.File, goals *reference.Goals) error {
	var want []*reference.Beliefs
	for n, b := range s.path.beliefs {
		want = append(want, goals.NewBeliefs(s.hop.Belief, len(s.others)))
		if err := b.Load(f, n, len(s.path.beliefs)); err != nil {
			return err
		}
	}
	if s.met || s.cfg.Goals.Kind == "context" {
		return nil // nobody is new: what is believed was learnt among them
	}
	for n, b := range s.path.beliefs {
		for j, a := range s.others {
			if s.bayes.rows++; distance(b.C[j], want[n].C[j], 1e-6) == 0 && distance(b.B[j], want[n].B[j], 1e-6) == 0 {
				continue
			}
			says := ""
			even := func(x []float64) bool { return distance(x, slices.Repeat([]float64{x[0]}, len(x)), 1e-9) == 0 }
			switch {
			case even(b.B[j]) && even(b.C[j]):
				says = " All are equally likely: the doubt that it should start with is forgotten, or whom the response network met."
			case distance(b.B[j], want[n].B[j], 1e-6) == 0:
				says = fmt.Sprintf(" Its counts begin with %s, they should with %s.", numbers(b.C[j]), numbers(want[n].C[j]))
			}
			s.bayes.miss(distance(b.B[j], want[n].B[j], 1e-6), "in env %d agent %d, who is new, is believed to be %s; it should be %s.%s",
				"agent/hop: prior in kinds.go and Remember; belief: Meet", n, a, numbers(b.B[j]), numbers(want[n].B[j]), says)
		}
	}
	return nil
}

// Acted records what the player holds after it acted.
func (s *Study) Acted(b learner.Believing, v *rollout.View, envs []int32) {
	for _, n := range envs {
		var list []learner.Belief
		for j := range s.others {
			h := b.Believes(int(n), j)
			list = append(list, learner.Belief{
				Posterior: slices.Clone(h.Posterior), Expected: slices.Clone(h.Expected), Mean: slices.Clone(h.Mean), Spread: slices.Clone(h.Spread),
			})
		}
		s.path.seen[[2]int{v.T, int(n)}] = list
		s.answered(v, int(n), s.modelled(b, v, int(n)))
	}
}

// Over records that the player was informed of an episode's end.
func (s *Study) Over(t, n int) {
	if s.path.ready {
		s.path.ended[[2]int{t, n}] = true
	}
}

// Played follows a window that has been played: f is the mind that played it.
// Windows in which it did not play only tell what was reached.
func (s *Study) Played(w *learner.Window, f *safetensors.File) error {
	p, ro := &s.path, w.Rollout
	if !s.Watches() {
		return nil
	}
	if err := s.Before(f, ro.Envs); err != nil { // it has only watched so far
		return err
	}
	goals, model, net, err := s.loaded(f)
	if err != nil {
		return err
	}
	ex := &walk{Study: s, p: p, ro: ro, goals: goals, model: model, net: net}
	for t := range ro.Steps {
		for n := range ro.Envs {
			ex.slot(t, n)
			ex.step(t, n)
		}
	}
	saved := make([]*reference.Beliefs, ro.Envs)
	for n := range saved {
		ex.cut(ro.Steps, n)
		saved[n] = goals.NewBeliefs(s.hop.Belief, len(s.others))
		for a := range agent.ID(ro.Agents) {
			p.lastDone[n][a] = ro.Action[ro.Step(a, ro.Steps-1, n)]
			p.lastGoal[n][a] = int(ro.Reached[ro.Step(a, ro.Steps-1, n)])
		}
	}
	for n, b := range saved {
		if err := b.Load(f, n, len(saved)); err != nil {
			return err
		}
		for j := range s.others {
			if goals.Kind == "context" {
				break // nothing is counted
			}
			if s.counts.rows++; p.loose[n] {
				copy(p.beliefs[n].C[j], b.C[j])
			} else if distance(b.C[j], p.beliefs[n].C[j], 1e-6) > 0 {
				s.counts.miss(1, "the counts of agent %d's goals in env %d are %s, they should be %s.",
					"belief: Over and Seen; agent/hop: EpisodeOver, Outcome and Reached", s.others[j], n, numbers(b.C[j]), numbers(p.beliefs[n].C[j]))
				copy(p.beliefs[n].C[j], b.C[j])
			}
		}
		p.loose[n] = false
	}
	if len(p.seen) > 0 {
		p.windows++
	}
	clear(p.seen)
	clear(p.ended)
	return nil
}

func numbers(x []float64) string {
	out := ""
	for i, v := range x {
		if i > 0 {
			out += ", "
		}
		out += fmt.Sprintf("%.4g", v)
	}
	return "(" + out + ")"
}

// walk follows one window.
type walk struct {
	*Study
	p     *path
	ro    *batch.Rollout
	goals *reference.Goals
	model reference.Others
	net   reference.Net
}

// played returns what an agent did before slot t, and the goal it reached with it.
func (x *walk) played(a agent.ID, t, n int) (action int32, goal int) {
	if t == 0 {
		return x.p.lastDone[n][a], x.p.lastGoal[n][a]
	}
	step := x.ro.Step(a, t-1, n)
	return x.ro.Action[step], int(x.ro.Reached[step])
}

// slot is what is held at a moment.
func (x *walk) slot(t, n int) {
	p, ro := x.p, x.ro
	start := ro.Start[ro.Moment(t, n)]
	if start {
		p.episode[n]++
		p.playing[n], p.expected[n] = false, nil
		for a := range p.goal[n] {
			p.goal[n][a] = game.NoGoal
		}
		for j := range x.others {
			p.class[n][j] = -1
			p.history[n][j] = x.goals.Begin()
		}
	}
	x.cut(t, n)
	held := p.seen[[2]int{t, n}]
	if held == nil {
		return
	}
	x.believed(t, n, start, held)
	if p.read[n] != nil {
		x.reading(t, n, start, held)
	}
	for j, a := range x.others {
		if x.goals.Kind == "classes" && ro.Alive[ro.Slot(a, t, n)] {
			class, sure := x.goals.Class(ro.ObsAt(ro.Slot(a, t, n)))
			if p.class[n][j] = class; !sure {
				p.class[n][j] = -2
			}
		}
		if x.goals.Kind == "latent" {
			x.inferred(t, n, j, held[j])
		}
	}
	x.predictions(t, n, held)
	x.written(t, n, held)
	p.playing[n], p.expected[n] = true, held
}

// cut is what is written where a window or a limit cuts an episode.
func (x *walk) cut(t, n int) {
	if t > 0 && x.ro.End[x.ro.Step(x.me, t-1, n)] == batch.Cut && x.p.expected[n] != nil {
		x.written(t, n, x.p.expected[n])
	}
}

// inferred holds what is inferred about co-player j against its history.
func (x *walk) inferred(t, n, j int, held learner.Belief) {
	ro, a := x.ro, x.others[j]
	mean, spread := make([]float64, len(held.Mean)), make([]float64, len(held.Mean))
	before := *x.p.history[n][j]
	slot := ro.Slot(a, t, n)
	var joint []int32
	if ro.Alive[slot] {
		joint = make([]int32, x.spec.Seats)
		for b := range agent.ID(ro.Agents) {
			place := (int(ro.Seat[ro.Slot(b, t, n)]) - int(ro.Seat[slot]) + x.spec.Seats) % x.spec.Seats
			if joint[place] = game.NoAction; !ro.Start[ro.Moment(t, n)] {
				joint[place], _ = x.played(b, t, n)
			}
		}
		if x.goals.Open(ro.ObsAt(slot)) { // else it is no part of what is remembered
			mu, lv := x.p.history[n][j].See(x.goals, ro.ObsAt(slot), joint)
			copy(mean, mu)
			for k, v := range lv {
				spread[k] = math.Exp(0.5 * v)
			}
		}
	}
	if x.history.rows++; distance(held.Mean, mean, 2e-3) == 0 && distance(held.Spread, spread, 2e-3) == 0 {
		return
	}
	says := fmt.Sprintf("at step %d of env %d what is inferred of agent %d's goal, %s, does not follow from its history: %s.",
		t, n, a, code(wide(held.Mean)), code(mean))
	try := func(from reference.History, obs []float32, joint []int32, why string) bool {
		mu, _ := from.See(x.goals, obs, joint)
		if distance(held.Mean, mu, 2e-3) > 0 {
			return false
		}
		says += " It agrees " + why + "."
		return true
	}
	if joint != nil {
		shifted := append(slices.Clone(joint[1:]), joint[0])
		_ = try(before, ro.ObsAt(slot), joint, "without the gate") ||
			try(*x.goals.Begin(), ro.ObsAt(slot), joint, "without any memory of the steps before") ||
			try(before, ro.ObsAt(slot), shifted, "with the last joint action in another order") ||
			try(before, ro.ObsAt(ro.Slot(a, max(t-1, 0), n)), joint, "with what it saw a step before") ||
			try(before, ro.ObsAt(ro.Slot(x.me, t, n)), joint, "with what the agent itself saw")
		if t == 0 || !ro.Start[ro.Moment(t, n)] {
			for k := range joint {
				joint[k] = game.NoAction
			}
			_ = try(before, ro.ObsAt(slot), joint, "without the last joint action")
		} else if distance(held.Mean, mean, 2e-3) > 0 {
			says += " An episode starts there: what was remembered of the one before is not forgotten."
		}
	}
	x.history.miss(distance(held.Mean, mean, 2e-3), "%s", "agent/hop: Observe and lastJoint in latent.go; model/cvae: Infer", says)
}

// followed is how many predictions are computed again in a window.
const followed = 400

// predictions holds what co-players are expected to do against the model.
func (x *walk) predictions(t, n int, held []learner.Belief) {
	if x.goals.Kind == "context" && x.cfg.ByNetwork() {
		return // nobody asks: beliefs do not follow from it, and no search does
	}
	if x.p.predicted++; x.predict.rows > followed && x.p.predicted%8 != 0 {
		return
	}
	ro, k := x.ro, len(x.spec.Actions)
	for j, a := range x.others {
		slot := ro.Slot(a, t, n)
		got := held[j].Expected
		kinds := len(got) / k
		for g := range kinds {
			want := make([]float64, k)
			switch legal := ro.LegalAt(slot); {
			case !ro.Alive[slot]:
			case g == x.p.beliefs[n].Random || x.cfg.Search.Others == "uniform" || !x.goals.Open(ro.ObsAt(slot)):
				want = uniform(legal)
			default:
				want = x.model.Predict(x.net, ro.ObsAt(slot), legal, x.model.Reads(j, x.features(held[j], g)))
			}
			if x.predict.rows++; distance(got[g*k:(g+1)*k], want, 1e-3) > 0 {
				x.unexpected(t, n, j, g, held, got[g*k:(g+1)*k], want)
			}
		}
	}
}

func uniform(legal []bool) []float64 {
	out, n := make([]float64, len(legal)), 0
	for _, ok := range legal {
		if ok {
			n++
		}
	}
	for k, ok := range legal {
		if ok {
			out[k] = 1 / float64(n)
		}
	}
	return out
}

// features returns those of hypothesis g.
func (x *walk) features(b learner.Belief, g int) []float64 {
	if x.goals.OfKinds() {
		return x.goals.Goal(wide(b.Mean), g)
	}
	out := make([]float64, x.goals.Features())
	out[g] = 1
	return out
}

// unexpected says that a prediction is not the model's, and tries to explain it.
func (x *walk) unexpected(t, n, j, g int, held []learner.Belief, got []float32, want []float64) {
	ro, a := x.ro, x.others[j]
	slot := ro.Slot(a, t, n)
	says := fmt.Sprintf("at step %d of env %d what agent %d is expected to do under hypothesis %d, %s, is not what the model of others says "+
		"of it, %s.", t, n, a, g, numbers(wide(got)), numbers(want))
	try := func(at, who int, goal []float64, why string) bool {
		legal := ro.LegalAt(slot)
		apart := func(legal []bool) bool {
			return distance(got, x.model.Predict(x.net, ro.ObsAt(at), legal, x.model.Reads(who, goal)), 1e-3) > 0
		}
		if !slices.Contains(ro.LegalAt(at), true) || apart(legal) && apart(ro.LegalAt(at)) {
			return false
		}
		says += " It agrees " + why + "."
		return true
	}
	if ro.Alive[slot] && g != x.p.beliefs[n].Random {
		right := x.features(held[j], g)
		found := try(slot, (j+1)%len(x.others), right, "with the number of another co-player") ||
			try(ro.Slot(x.me, t, n), j, right, "with what the agent itself saw") ||
			try(ro.Slot(a, max(t-1, 0), n), j, right, "with what it saw a step before") ||
			try(slot, j, make([]float64, len(right)), "without a goal")
		for h := range x.goals.Hypotheses() {
			found = found || h != g && try(slot, j, x.features(held[j], h), "with the goal of another hypothesis")
		}
		for i, b := range x.others {
			at := ro.Slot(b, t, n)
			found = found || i != j && try(at, i, x.features(held[i], g), fmt.Sprintf("with agent %d in its place", b)) ||
				i != j && try(at, j, right, fmt.Sprintf("with what agent %d saw", b))
		}
	}
	x.predict.miss(distance(got, want, 1e-3), "%s", "agent/hop: predictOthers in act.go; model/moa: Predict", says)
}

// believed holds the posterior against Bayes' rule. What a sequence model says of its context
// does not follow it, and is not asked.
func (x *walk) believed(t, n int, start bool, held []learner.Belief) {
	b := x.p.beliefs[n]
	for j, a := range x.others {
		if x.goals.Kind == "context" {
			copy(b.B[j], held[j].Posterior)
			continue
		}
		before := slices.Clone(b.B[j])
		action, reached := x.played(a, t, n)
		if start {
			b.Begin(j)
		} else if last := x.p.expected[n]; last != nil {
			b.Did(j, last[j].Expected, action)
			if x.goals.Kind == "hand" && reached != game.NoGoal && x.ro.Alive[x.ro.Slot(a, t, n)] {
				b.Over(j, reached)
				b.Begin(j)
			}
		}
		if distance(before, b.B[j], 1e-9) > 0 && !start {
			x.moved++
		}
		got := held[j].Posterior
		if x.bayes.rows++; distance(got, b.B[j], 1e-4) == 0 {
			continue
		}
		if x.p.loose[n] {
			copy(b.B[j], got)
			continue
		}
		x.bayes.miss(distance(got, b.B[j], 1e-4), "%s", "belief.Bayes and belief.Beliefs.Prior; hop.beliefs.Update and hop.visible.lastAction",
			x.unbelievable(t, n, j, start, before, held))
		copy(b.B[j], got)
	}
}

// unbelievable says how a belief is wrong.
func (x *walk) unbelievable(t, n, j int, start bool, before []float64, held []learner.Belief) string {
	b, a, got := x.p.beliefs[n], x.others[j], held[j].Posterior
	says := fmt.Sprintf("at step %d of env %d the belief about agent %d is %s, by Bayes' rule it is %s.", t, n, a, numbers(got),
		numbers(b.B[j]))
	sum := 0.
	for _, v := range got {
		sum += v
	}
	last := x.p.expected[n]
	action, _ := x.played(a, t, n)
	if math.Abs(sum-1) > 1e-6 {
		return says + fmt.Sprintf(" It does not even sum to 1 but to %.4g.", sum)
	}
	alt := func(edit func(c *reference.Beliefs)) []float64 {
		c := *b
		c.B, c.C = [][]float64{slices.Clone(before)}, [][]float64{slices.Clone(b.C[j])}
		edit(&c)
		return c.B[0]
	}
	same := func(p []float64) bool { return distance(got, p, 1e-4) == 0 }
	switch {
	case start && same(alt(func(c *reference.Beliefs) { c.Across = !c.Across; c.Begin(0) })):
		return says + " An episode starts there: it agrees with somebody new in place of what was counted, or the other way round."
	case start && same(before):
		return says + " An episode starts there: the belief does not start anew."
	case start:
		for i, o := range x.others {
			if same(alt(func(c *reference.Beliefs) { copy(c.C[0], b.C[i]); c.Begin(0) })) {
				return says + fmt.Sprintf(" An episode starts there: it starts from what was counted of agent %d.", o)
			}
		}
		return says + " An episode starts there: the belief does not start from its prior."
	case same(alt(func(c *reference.Beliefs) { c.Did(0, held[j].Expected, action) })):
		return says + " It agrees with what was expected after the action in place of before it."
	case same(before) && action != game.NoAction:
		return says + fmt.Sprintf(" That agent %d did %s has not changed it.", a, x.name(action))
	case last == nil:
		return says
	case same(alt(func(c *reference.Beliefs) { c.Did(0, last[j].Expected, action) })):
		return says + fmt.Sprintf(" Agent %d has just reached a goal: what it is after now is open, but the belief does not start anew.", a)
	}
	for i, o := range x.others {
		other, _ := x.played(o, t, n)
		switch {
		case i != j && same(alt(func(c *reference.Beliefs) { c.Did(0, last[j].Expected, other) })):
			return says + fmt.Sprintf(" It agrees with what agent %d did in its place.", o)
		case i != j && same(alt(func(c *reference.Beliefs) { c.Did(0, last[i].Expected, action) })):
			return says + fmt.Sprintf(" It agrees with what agent %d was expected to do in its place.", o)
		}
	}
	switch {
	case same(alt(func(c *reference.Beliefs) { c.Begin(0); c.Did(0, last[j].Expected, action) })):
		return says + " It agrees with a belief that starts anew at every step."
	case same(alt(func(c *reference.Beliefs) { c.Smooth = 0; c.Did(0, last[j].Expected, action) })):
		return says + " It agrees without the share of uniform play."
	}
	return says
}

func (s *Study) name(action int32) string {
	if action < 0 {
		return "nothing"
	}
	return s.spec.Actions[action]
}

// written holds what the own network reads against the beliefs.
func (x *walk) written(t, n int, held []learner.Belief) {
	ro, width := x.ro, x.goals.Width()
	if ro.GoalLen == 0 || ro.GoalLen != len(x.others)*width {
		return
	}
	want := make([]float64, ro.GoalLen)
	slot := ro.Slot(x.me, t, n)
	b := x.p.beliefs[n]
	for j, a := range x.others {
		at := ro.Slot(a, t, n)
		if !ro.Alive[at] {
			continue
		}
		var goals [][]float64
		for g := range x.goals.Hypotheses() {
			goals = append(goals, x.features(held[j], g))
		}
		place := (int(ro.Seat[at])-int(ro.Seat[slot])+x.spec.Seats)%x.spec.Seats - 1
		copy(want[place*width:], b.Written(held[j].Posterior, goals, width))
		if x.goals.Untyped() { // doubt's place says that it is there
			want[(place+1)*width-1] = 1
		}
	}
	if x.Study.written.rows++; distance(ro.GoalAt(slot), want, 1e-4) > 0 {
		x.Study.written.miss(distance(ro.GoalAt(slot), want, 1e-4),
			"at step %d of env %d the own network is given %s about the others, the beliefs are %s.",
			"agent/hop: writePosterior and placeOf in act.go", t, n, numbers(wide(ro.GoalAt(slot))), numbers(want))
	}
}

// step is what happens after a moment: goals that are reached, episodes that end.
func (x *walk) step(t, n int) {
	p, ro := x.p, x.ro
	there, left := false, true
	for a := range agent.ID(ro.Agents) {
		if ro.Alive[ro.Slot(a, t, n)] {
			there = true
			if g := int(ro.Reached[ro.Step(a, t, n)]); g != game.NoGoal {
				p.goal[n][a] = g
			}
		}
		left = left && !ro.Alive[ro.Slot(a, t+1, n)]
	}
	over := there && left
	switch ended := p.ended[[2]int{t, n}]; {
	case ended && !over:
		x.counts.miss(1, "at step %d of env %d the agent was informed that the episode is over, but it goes on.", "rollout: step", t, n)
	case over && p.playing[n] && !ended:
		x.counts.miss(1, "at step %d of env %d the agent was not informed that the episode is over.", "rollout: step; train: dealtPlayer", t, n)
	}
	if !p.ended[[2]int{t, n}] || x.goals.Kind == "none" || x.goals.Kind == "context" {
		return
	}
	for j, a := range x.others {
		goal := game.NoGoal
		switch {
		case x.goals.Kind == "classes":
			if goal = p.class[n][j]; goal == -2 {
				goal, p.loose[n] = 0, true
			}
		case x.goals.Kind == "hand" && ro.Alive[ro.Slot(a, t, n)]:
			goal = int(ro.Reached[ro.Step(a, t, n)])
		case x.goals.Kind == "hand":
			goal = p.goal[n][a]
		}
		p.beliefs[n].Over(j, goal)
	}
}
