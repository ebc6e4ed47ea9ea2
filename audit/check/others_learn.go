package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// Update holds one update against its definition: start is the mind before, after
// is what it became by learning w, given are its labels. It does nothing if there is
// nothing to learn from.
func (s *Study) Update(w *learner.Window, start, after *safetensors.File, given []hop.Label, stats []agent.Stat) error {
	goals, model, net, err := s.loaded(start)
	if err != nil {
		return err
	}
	var stream rng.Rand
	if err := start.Binary(&stream, "moa_stream"); err != nil {
		return err
	}
	r := stream
	list, paths, target := goals.Label(w.Rollout, w.Share, &r, reference.Mislabel{})
	if len(list) == 0 && len(given) == 0 {
		return nil
	}
	s.Learnt = true
	if s.compareLabels(w, goals, stream, given, list); s.labels.bad > 0 {
		return nil // what is learnt from them is another question
	}
	if w.Recorded != nil || s.cfg.MOA.Slow > 0 { // such an update is not computed again
		s.compareStats(w.Rollout, model, net, asGiven(given), stats)
		return nil
	}
	if goals.Kind == "latent" && s.cfg.Goals.CVAEPasses > 0 {
		if err := s.learnInference(w, start, after, goals, list, paths, target, &r); err != nil {
			return err
		}
	}
	s.skipVAE(goals, paths, &r)
	if s.cfg.MOA.Passes == 0 {
		return s.still(start, after)
	}
	s.compareStats(w.Rollout, model, net, asGiven(given), stats)
	return s.learnModel(w.Rollout, start, after, model, net, asGiven(given), r)
}

// asGiven returns labels as a mind has them.
func asGiven(given []hop.Label) []reference.Label {
	labels := make([]reference.Label, len(given))
	for i, l := range given {
		labels[i] = reference.Label{Other: l.Other, Agent: l.Agent, T: l.T, Env: l.Env, Goal: wide(l.Goal)}
	}
	return labels
}

// Hindsight returns the Goal rows that the own network must read when it learns from
// a search, given the mind's labels.
func (s *Study) Hindsight(w *learner.Window, start *safetensors.File, given []hop.Label) ([]float32, error) {
	goals, err := s.hop.Load(start, s.spec, s.me)
	if err != nil || w.GoalLen != len(s.others)*goals.Width() {
		return nil, err
	}
	return goals.Hindsight(w.Rollout, asGiven(given)), nil
}

// compareStats compares what the agent reports of its model of others, before it
// learns, with the reference's predictions: of all co-players and of each.
func (s *Study) compareStats(ro *batch.Rollout, model reference.Others, net reference.Net, labels []reference.Label, stats []agent.Stat) {
	type sum struct {
		n, hits  int
		ce, near float64
	}
	all, of := sum{}, make([]sum, len(s.others))
	for i, x := range model.Steps(ro, labels) {
		p := model.Predict(net, x.Obs, x.Legal, x.Features)
		best, second := argmax(p), -1.
		for k := range p {
			if k != best {
				second = max(second, p[k])
			}
		}
		for _, t := range []*sum{&all, &of[labels[i].Other]} {
			t.n++
			t.ce -= math.Log(max(p[x.Action], 1e-9)) // a score is finite: what is less likely counts as that
			if int32(best) == x.Action {
				t.hits++
			}
			if p[best]-second < 1e-4 {
				t.near++ // rounding decides
			}
		}
	}
	ask := func(prefix string, t sum) {
		for _, st := range stats {
			n := float64(max(t.n, 1))
			var want, slack float64
			switch st.Name {
			case prefix + "rows":
				want, slack = float64(t.n), 0
			case prefix + "ce":
				want, slack = t.ce/n, 2e-3*max(1, t.ce/n)
			case prefix + "top1":
				want, slack = float64(t.hits)/n, (t.near+0.5)/n
			default:
				continue
			}
			if s.reported.rows++; math.Abs(st.Value-want) > slack {
				s.reported.miss(1, "%s is reported as %.4g; by its predictions before it learns it is %.4g.",
					"agent/hop: score.go, and when fitOthers scores", st.Name, st.Value, want)
			}
		}
	}
	ask("moa/", all)
	for j, a := range s.others {
		ask(fmt.Sprintf("others/%d/", a), of[j])
	}
}

const labelsAt = "agent/hop: Trajectories and Label of the goal model, episodes in goals.go"

// compareLabels compares which steps are labelled, then what they are.
func (s *Study) compareLabels(w *learner.Window, goals *reference.Goals, stream rng.Rand, given []hop.Label, list []reference.Label) {
	t := &s.labels
	t.rows += max(len(given), len(list))
	type place struct {
		a    agent.ID
		t, n int
	}
	want := map[place]bool{}
	for _, l := range list {
		want[place{l.Agent, l.T, l.Env}] = true
	}
	more, fewer := 0, len(list)
	var odd *hop.Label
	for i, l := range given {
		if p := (place{l.Agent, l.T, l.Env}); want[p] {
			fewer--
			delete(want, p)
		} else if more++; odd == nil {
			odd = &given[i]
		}
	}
	switch {
	case odd != nil:
		t.miss(float64(more), "%d of %d labelled steps may not be, such as agent %d's step %d in env %d%s; %d that may are missing.",
			labelsAt, more, len(given), odd.Agent, odd.T, odd.Env, s.why(w.Rollout, odd), fewer)
		t.bad = more + fewer
		return
	case fewer > 0:
		for _, l := range list {
			if want[place{l.Agent, l.T, l.Env}] {
				t.miss(float64(fewer), "%d of %d steps of co-players whose goals are known are not labelled, such as agent %d's step %d in env %d.",
					labelsAt, fewer, len(list), l.Agent, l.T, l.Env)
				break
			}
		}
		t.bad = fewer
		return
	}
	bad, first := labelsApart(given, list)
	if bad == 0 {
		return
	}
	l, right := given[first], list[first]
	says := fmt.Sprintf("%d of %d labels are not what the steps were done for, such as agent %d's step %d in env %d: %s, it is %s.",
		bad, len(list), l.Agent, l.T, l.Env, s.goal(wide(l.Goal)), s.goal(right.Goal))
	for _, slip := range goals.Mislabels() {
		r := stream
		if other, _, _ := goals.Label(w.Rollout, w.Share, &r, slip); goals.Kind == "latent" || goals.Kind == "classes" {
			if n, _ := labelsApart(given, other); n == 0 {
				says += " They agree " + slip.Says + "."
				break
			}
		}
	}
	t.miss(float64(bad), "%s", labelsAt, says)
	t.bad = bad
}

// labelsApart counts labels that differ, and returns the first of them.
func labelsApart(given []hop.Label, list []reference.Label) (bad, first int) {
	if len(given) != len(list) {
		return len(list), 0
	}
	for i, l := range given {
		want := list[i]
		if want.Agent != l.Agent || want.T != l.T || want.Env != l.Env || want.Other != l.Other ||
			want.Goal != nil && distance(l.Goal, want.Goal, 2e-3) > 0 {
			if bad++; bad == 1 {
				first = i
			}
		}
	}
	return bad, first
}

func wide(x []float32) []float64 {
	var out []float64
	for _, v := range x {
		out = append(out, float64(v))
	}
	return out
}

// goal names a goal's features.
func (s *Study) goal(x []float64) string {
	if s.cfg.Goals.OfKinds() {
		z := x[:max(0, len(x)-len(s.kinds))]
		if len(s.kinds) == 0 {
			return code(z)
		}
		return code(z) + " of " + s.kind(x[len(z):])
	}
	for k, v := range x {
		if v == 1 && s.cfg.Goals.Kind == "hand" {
			return s.spec.Goals[k]
		}
		if v == 1 {
			return fmt.Sprint("class ", k)
		}
	}
	return "nothing"
}

// code names a point.
func code(z []float64) string {
	if !slices.ContainsFunc(z, func(v float64) bool { return v != 0 }) {
		return "no goal at all"
	}
	return fmt.Sprintf("the code (%.3f, %.3f, ...)", z[0], z[min(1, len(z)-1)])
}

// kind names the kind of which a goal's last features are the one-hot.
func (s *Study) kind(hot []float64) string {
	at := slices.IndexFunc(hot, func(v float64) bool { return v != 0 })
	switch {
	case at < 0:
		return "no kind"
	case hot[at] != 1 || slices.ContainsFunc(hot[at+1:], func(v float64) bool { return v != 0 }):
		return fmt.Sprintf("the kinds %v of %v", numbers(hot), s.kinds)
	}
	return "kind " + s.kinds[at]
}

// why says what is wrong with labelling a step.
func (s *Study) why(ro *batch.Rollout, l *hop.Label) string {
	switch {
	case l.Agent == s.me:
		return ", which is its own"
	case !ro.Alive[ro.Slot(l.Agent, l.T, l.Env)]:
		return ", when it had left"
	}
	return ", whose end the window does not show"
}

// skipVAE draws what the VAE's own passes draw.
func (s *Study) skipVAE(g *reference.Goals, paths []int, r *rng.Rand) {
	if g.Kind != "latent" && g.Kind != "classes" {
		return
	}
	order := make([]int, paths[len(paths)-1])
	for range g.VAEPasses {
		r.Perm(order)
		for _, at := range order {
			p, _ := slices.BinarySearch(paths, at+1)
			r.IntN(1 + min(g.Ahead, paths[p]-1-at))
		}
	}
}

// still asks that a model that shall not learn does not.
func (s *Study) still(start, after *safetensors.File) error {
	before, err := reference.LoadNet(start, "moa/net/")
	if err != nil {
		return err
	}
	now, err := reference.LoadNet(after, "moa/net/")
	if err != nil {
		return err
	}
	s.model.rows++
	if c := before.Compare(now, before); !c.Same() {
		s.model.miss(1, "the model of others changed, though moa.passes is 0.", "agent/hop: fitOthers")
	}
	return nil
}

// learnInference holds the inference's update against its definition.
func (s *Study) learnInference(w *learner.Window, start, after *safetensors.File, goals *reference.Goals,
	list []reference.Label, paths []int,
	target [][2][]float64, r *rng.Rand) error {
	const under = "goals/cvae/"
	now, err := reference.LoadNet(after, under+"model/")
	if err != nil {
		return err
	}
	var steps [1]int64
	if err := start.Int64(steps[:], under+"steps", 1); err != nil {
		return err
	}
	before, from := goals.Infer, *r
	defer func() { goals.Infer = before }()
	try := func(sign float64) (reference.Change, rng.Rand, error) {
		opt := &reference.Adam{Eps: 1e-8}
		err := opt.Load(start, under+"adam/")
		if err != nil {
			return reference.Change{}, rng.Rand{}, err
		}
		stream := from
		goals.Infer = before.Clone()
		goals.Learn(opt, w.Rollout, list, paths, target, &stream, s.key.Child("cvae"), int(steps[0]), sign)
		return before.Compare(now, goals.Infer), stream, nil
	}
	c, stream, err := try(1)
	if err != nil {
		return err
	}
	*r = stream
	s.infer.rows++
	if c.Same() {
		return nil
	}
	says := moved("the inference of goals", c)
	if c, _, err := try(-1); err == nil && c.Same() {
		says += " It agrees with the sign of the KL term the wrong way round."
	} else if c, _, err := try(0); err == nil && c.Same() {
		says += " It agrees without the KL term."
	}
	s.infer.miss(1-c.Cosine, "%s", "model/cvae: Learn and its losses, agent/hop: Fit in latent.go", says)
	return nil
}

// moved says how a change differs from its definition's.
func moved(what string, c reference.Change) string {
	switch {
	case c.Length == 0:
		return fmt.Sprintf("an update does not change %s.", what)
	case c.Cosine >= 0.999 && !slices.ContainsFunc(c.Parts, func(p reference.Change) bool {
		return p.Name == c.Part && (p.Cosine < 0.99 || math.Abs(p.Length/c.Length-1) > 0.05)
	}):
		return fmt.Sprintf("an update changes %s in the right direction, but %.3g times as far as it should.", what, c.Length)
	case c.Cosine < -0.9:
		return fmt.Sprintf("an update changes %s the wrong way: its cosine with the definition's is %.3f.", what, c.Cosine)
	}
	for _, p := range c.Parts {
		if p.Name == c.Part && p.Length == 0 && c.Cosine > 0.5 {
			return fmt.Sprintf("an update leaves the layer %s of %s where it is.", p.Name, what)
		}
	}
	part := ""
	if c.Part != "" {
		part = ", most of all in the layer " + c.Part
	}
	return fmt.Sprintf("an update changes %s in another direction than its definition does: cosine %.3f, %.3g times as far%s.",
		what, c.Cosine, c.Length, part)
}

// learnModel holds the model of others' update against its definition.
func (s *Study) learnModel(ro *batch.Rollout, start, after *safetensors.File, model reference.Others, before reference.Net,
	labels []reference.Label, r rng.Rand) error {
	now, err := reference.LoadNet(after, "moa/net/")
	if err != nil {
		return err
	}
	try := func(m reference.Others, rows []reference.Step) (reference.Change, error) {
		opt := &reference.Adam{Eps: 1e-5}
		err := opt.Load(start, "moa/adam/")
		if err != nil || len(rows) == 0 {
			return reference.Change{}, err
		}
		net, stream := before.Clone(), r
		m.Update(net, opt, rows, &stream)
		return before.Compare(now, net), nil
	}
	c, err := try(model, model.Steps(ro, labels))
	if err != nil {
		return err
	}
	if s.model.rows++; c.Same() {
		return nil
	}
	says, next := moved("the model of others", c), modelAt
	if c.Length == 0 {
		s.model.miss(1, "%s", next, says)
		return nil
	}
	for _, x := range s.modelSlips(ro, model, labels) {
		rows := x.rows()
		if c, err := try(x.model, rows); len(rows) > 0 && err == nil && c.Same() {
			says, next = says+" It agrees "+x.says+".", x.next
			break
		}
	}
	s.model.miss(math.Abs(1-c.Cosine), "%s", next, says)
	return nil
}

const modelAt = "agent/hop: fitOthers and rows in learn.go; model/moa: Epoch and what it calls"

// modelSlip is an update of a model of others that went wrong.
type modelSlip struct {
	says, next string
	model      reference.Others
	rows       func() []reference.Step
}

// modelSlips are those that are tried, in their order.
func (s *Study) modelSlips(ro *batch.Rollout, model reference.Others, labels []reference.Label) (list []modelSlip) {
	rows := func() []reference.Step { return model.Steps(ro, labels) }
	add := func(says, next string, m reference.Others, rows func() []reference.Step) {
		list = append(list, modelSlip{says, next, m, rows})
	}
	for _, k := range []float64{0.1, 0.2, 0.5, 2, 5, 10} {
		rate := model
		rate.LR *= k
		add(fmt.Sprintf("with a learning rate of %.3g in place of %.3g", rate.LR, model.LR), "agent/hop: fitOthers", rate, rows)
	}
	for _, x := range othersSlips {
		add(x.says, x.next, model, func() []reference.Step { return x.rows(s, model, ro, labels) })
	}
	for j, a := range s.others {
		add(fmt.Sprintf("without the steps of agent %d", a), modelAt, model, func() []reference.Step {
			return model.Steps(ro, slices.DeleteFunc(slices.Clone(labels), func(l reference.Label) bool { return l.Other == j }))
		})
	}
	for a, name := range s.spec.Actions {
		add("without the steps at which "+name+" was played", modelAt, model, func() []reference.Step {
			return slices.DeleteFunc(rows(), func(x reference.Step) bool { return x.Action == int32(a) })
		})
	}
	for passes := 1; passes <= 2*model.Passes; passes++ {
		if m := model; passes != model.Passes {
			m.Passes = passes
			add(fmt.Sprintf("with %d passes in place of %d", passes, model.Passes), "agent/hop: fitOthers", m, rows)
		}
	}
	if own := s.own(ro); len(own) > 0 {
		add("with the agent's own steps among them", "agent/hop: rows in learn.go", model, func() []reference.Step {
			return append(rows(), model.Steps(ro, own)...)
		})
	}
	return list
}

// own returns the agent's own steps, as if they were a co-player's.
func (s *Study) own(ro *batch.Rollout) []reference.Label {
	var out []reference.Label
	for n := range ro.Envs {
		for t := range ro.Steps {
			if ro.Alive[ro.Slot(s.me, t, n)] && ro.Action[ro.Step(s.me, t, n)] != game.NoAction {
				out = append(out, reference.Label{Agent: s.me, T: t, Env: n})
			}
		}
	}
	return out
}
