package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// Study is what is found out about one agent.
type Study struct {
	cfg    hop.Config
	hop    reference.HOP
	spec   game.Spec
	me     agent.ID
	others []agent.ID
	key    rng.Key  // of the mind
	kinds  []string // latent goals: whom a co-player may be
	met    bool     // the mind comes from a checkpoint and knows the others

	labels   tally // labels in hindsight
	model    tally // the model of others' update
	reported tally // what is reported of the model of others
	infer    tally // the inference's update
	history  tally // what is inferred while playing
	predict  tally // predictions of what others do
	bayes    tally // beliefs
	counts   tally // counts across episodes
	written  tally // what the own network reads of beliefs
	answers  tally // what was done against the answer that was due
	made     tally // models of others that are made while playing
	ready    tally // whether there is a plan by them
	acts     tally // whether it is what acts
	moved    int   // beliefs that an action moved
	path     path
	guard    *guarded // in play, where answers are guarded; nil: they are not
	plan     *planned // in play, where there may be one against somebody unknown; nil: there is none
	Learnt   bool     // an update has been looked at
}

// New returns the study of the agent me, whose mind was made from key and perhaps loaded from
// a checkpoint.
func NewStudy(c hop.Config, spec game.Spec, me agent.ID, key rng.Key, loaded bool) *Study {
	s := &Study{cfg: c, hop: hopOf(&c), spec: spec, me: me, key: key, met: loaded}
	for a := range agent.ID(spec.Seats) {
		if a != me {
			s.others = append(s.others, a)
		}
	}
	return s
}

// Part returns what is saved of one agent, and what all have in common, where several share a
// mind that keeps what each of them knows by agent.
func Part(f *safetensors.File, a agent.ID) *safetensors.File {
	const each = "agent/"
	out := &safetensors.File{Meta: f.Meta}
	for _, t := range f.Tensors {
		if name, ok := strings.CutPrefix(t.Name, fmt.Sprintf("%s%d/", each, a)); ok {
			t.Name = name
		} else if strings.HasPrefix(t.Name, each) {
			continue
		}
		out.Tensors = append(out.Tensors, t)
	}
	return out
}

// Agent returns whom the study is of.
func (s *Study) Agent() agent.ID { return s.me }

// Mislabels reports that the agent's labels in hindsight were found wrong, which
// explains what else is odd about what it learns from others.
func (s *Study) Mislabels() bool { return s.labels.bad > 0 }

// tally counts what was compared and what differed.
type tally struct {
	rows, bad int
	far       float64 // by how much at most
	says      string  // what differed first
	next      string
}

// miss notes something that differs; says is kept of the first.
func (t *tally) miss(far float64, says, next string, args ...any) {
	if t.bad++; t.bad == 1 {
		t.says, t.next = fmt.Sprintf(says, args...), next
	}
	t.far = max(t.far, far)
}

// near reports whether two numbers agree but for rounding.
func agree(got, want, within float64) bool {
	return math.Abs(got-want) <= within*max(1, math.Abs(want))
}

// alike compares numbers and returns the largest distance, 0 if all agree.
func distance[F float32 | float64](got []F, want []float64, within float64) (far float64) {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	for i, x := range got {
		if !agree(float64(x), want[i], within) {
			far = max(far, math.Abs(float64(x)-want[i]))
		}
	}
	return far
}

// loaded returns the agent's goals and its model of others as saved.
func (s *Study) loaded(f *safetensors.File) (*reference.Goals, reference.Others, reference.Net, error) {
	g, err := s.hop.Load(f, s.spec, s.me)
	if err != nil {
		return nil, reference.Others{}, nil, err
	}
	s.kinds = g.Kinds
	return g, g.Model, g.Net, nil
}

// Labelled counts the steps of co-players that a model of others may learn from.
func Labelled(ro *batch.Rollout, me agent.ID, goals string, seats int) int {
	g := reference.Goals{GoalSettings: reference.GoalSettings{Kind: goals}}
	for a := range agent.ID(seats) {
		if a != me {
			g.Others = append(g.Others, a)
		}
	}
	list, _ := g.Steps(ro)
	return len(list)
}

// othersQuestion is one that is asked of every agent.
type othersQuestion struct {
	of           func(*Study) *tally
	module, name string
	unit, says   string
	step         int
}

var othersQuestions = []othersQuestion{
	{func(s *Study) *tally { return &s.labels }, "goals", "labels in hindsight", "share of labels",
		"What co-players' steps were done for is labelled as defined, step by step and number by number.", 3},
	{func(s *Study) *tally { return &s.infer }, "goals", "the inference learns as defined", "share of agents",
		"One update of the inference of goals has the direction and the length of its definition.", 4},
	{func(s *Study) *tally { return &s.history }, "goals", "goals are inferred from history", "share of steps",
		"What is inferred of every co-player follows from its own history, and from nothing else.", 4},
	{func(s *Study) *tally { return &s.model }, "moa", "the model of others learns as defined", "share of agents",
		"One update of every model of others has the direction and the length of its definition.", 4},
	{func(s *Study) *tally { return &s.reported }, "logging", "what is reported of models of others", "share of numbers",
		"Accuracy, cross-entropy and rows, of all co-players and of each, are those of the predictions before learning.", 4},
	{func(s *Study) *tally { return &s.predict }, "beliefs", "likelihoods are the model's", "share of predictions",
		"What others are expected to do for each goal is what the model of others says from their own place.", 4},
	{func(s *Study) *tally { return &s.bayes }, "beliefs", "beliefs follow Bayes' rule", "share of beliefs",
		"Beliefs are prior times likelihood, step by step, and start anew with every episode.", 4},
	{func(s *Study) *tally { return &s.counts }, "beliefs", "counts across episodes", "share of counts",
		"What is counted across episodes is what the co-players turned out to be after.", 4},
	{func(s *Study) *tally { return &s.written }, "beliefs", "beliefs reach the own network", "share of rows",
		"The own network is given the beliefs about whoever is there, each at its place.", 4},
	{func(s *Study) *tally { return &s.answers }, "planner", "what was refuted loses its turn", "share of actions",
		"The plan acts until returns refute what was expected of it; then whoever's turn it is by what each has earned.", 4},
	{func(s *Study) *tally { return &s.made }, "moa", "models that are made while playing", "share of predictions",
		"What they expect of every co-player, and how well they are taken to predict, follows from what was done in that life.", 4},
	{func(s *Study) *tally { return &s.ready }, "planner", "when there is a plan against somebody unknown", "share of decisions",
		"There is one from the fifth episode on, where models that are made while playing predict no worse than what was read.", 4},
	{(*Study).plans, "planner", "plans against somebody unknown", "share of decisions",
		"What plans make of the search's policy is what comes of the same futures in float64.", 4},
	{func(s *Study) *tally { return &s.acts }, "planner", "plans against somebody unknown act", "share of actions",
		"Actions are drawn from a plan's policy where there is one, else from the search's, with the agent's own stream.", 4},
}

// Findings says what the studies of all agents came to. Questions that none could
// be asked are left out.
func OthersFindings(list []*Study) []check.Finding {
	var out []check.Finding
	for _, q := range othersQuestions {
		f := check.Finding{Step: q.step, Check: q.name, Module: q.module, Unit: q.unit, Says: q.says}
		var who []agent.ID
		var first *tally
		for _, s := range list {
			t := q.of(s)
			if f.Rows += t.rows; t.bad > 0 {
				who = append(who, s.me)
				f.Saw(float64(t.bad), 0, "agent %d: %s that differ, of %d", s.me, q.unit[len("share of "):], t.rows)
				if first == nil {
					first = t
				}
			}
		}
		if f.Rows == 0 {
			continue
		}
		if first != nil {
			slices.Sort(who)
			name := check.Agents(who)
			bad := 0
			for _, s := range list {
				bad += q.of(s).bad
			}
			f.Accuse(check.Fault, float64(bad)/float64(f.Rows), fmt.Sprintf("%s: %s", check.Capital(name), first.says), first.next)
		}
		out = append(out, f)
	}
	return out
}

// slip is a way in which rows of a model of others may be wrong, to be named if it
// explains what was learnt.
type othersSlip struct {
	says, next string
	rows       rowsMaker
}

// rowsMaker makes the rows that a slip would.
type rowsMaker func(s *Study, o reference.Others, ro *batch.Rollout, labels []reference.Label) []reference.Step

// edited makes rows of labels that were changed one by one; false leaves one out.
func edited(edit func(s *Study, ro *batch.Rollout, l *reference.Label, i int, all []reference.Label) bool) rowsMaker {
	return func(s *Study, o reference.Others, ro *batch.Rollout, labels []reference.Label) []reference.Step {
		var list []reference.Label
		for i, l := range labels {
			if edit(s, ro, &l, i, labels) {
				list = append(list, l)
			}
		}
		return o.Steps(ro, list)
	}
}

// seen makes rows whose observations are others'.
func seen(obs func(s *Study, ro *batch.Rollout, l reference.Label) []float32) rowsMaker {
	return func(s *Study, o reference.Others, ro *batch.Rollout, labels []reference.Label) []reference.Step {
		var kept []reference.Step
		for i, row := range o.Steps(ro, labels) {
			row.Obs = obs(s, ro, labels[i])
			if at := s.spec.Obs.LegalAt(); s.spec.Obs.Legal > 0 {
				row.Legal = make([]bool, len(row.Legal))
				for k := range row.Legal {
					row.Legal[k] = row.Obs[at+k] != 0
				}
			}
			if row.Legal[row.Action] { // the model refuses what it takes for illegal
				kept = append(kept, row)
			}
		}
		return kept
	}
}

var othersSlips = []othersSlip{
	{"with the observations of the step after", "agent/hop: rows in learn.go",
		seen(func(_ *Study, ro *batch.Rollout, l reference.Label) []float32 {
			return ro.ObsAt(ro.Slot(l.Agent, l.T+1, l.Env))
		})},
	{"with the observations of the step before", "agent/hop: rows in learn.go",
		seen(func(_ *Study, ro *batch.Rollout, l reference.Label) []float32 {
			if !ro.Start[ro.Moment(l.T, l.Env)] {
				l.T--
			}
			return ro.ObsAt(ro.Slot(l.Agent, l.T, l.Env))
		})},
	{"with the agent's own observations in place of its co-players'", "agent/hop: rows in learn.go",
		seen(func(s *Study, ro *batch.Rollout, l reference.Label) []float32 {
			return ro.ObsAt(ro.Slot(s.me, l.T, l.Env))
		})},
	{"with the number of another co-player", "agent/hop: features in hop.go",
		edited(func(s *Study, _ *batch.Rollout, l *reference.Label, _ int, _ []reference.Label) bool {
			l.Other = (l.Other + 1) % len(s.others)
			return true
		})},
	{"without saying which co-player it is", "agent/hop: features in hop.go",
		func(_ *Study, o reference.Others, ro *batch.Rollout, labels []reference.Label) []reference.Step {
			rows := o.Steps(ro, labels)
			for i := range rows {
				clear(rows[i].Features[o.Width:])
			}
			return rows
		}},
	{"without the goals", "agent/hop: features in hop.go",
		func(_ *Study, o reference.Others, ro *batch.Rollout, labels []reference.Label) []reference.Step {
			rows := o.Steps(ro, labels)
			for i := range rows {
				clear(rows[i].Features[:o.Width])
			}
			return rows
		}},
	{"with the label of the step before", "agent/hop: rows in learn.go",
		edited(func(_ *Study, _ *batch.Rollout, l *reference.Label, i int, all []reference.Label) bool {
			l.Goal = all[max(i-1, 0)].Goal
			return true
		})},
	{"with the label of the step after", "agent/hop: rows in learn.go",
		edited(func(_ *Study, _ *batch.Rollout, l *reference.Label, i int, all []reference.Label) bool {
			l.Goal = all[min(i+1, len(all)-1)].Goal
			return true
		})},
	{"with one label for all steps of an episode, its first", "agent/hop: rows in learn.go",
		edited(func(_ *Study, _ *batch.Rollout, l *reference.Label, i int, all []reference.Label) bool {
			for i > 0 && all[i-1].Agent == l.Agent && all[i-1].Env == l.Env && all[i-1].T == all[i].T-1 {
				i--
			}
			l.Goal = all[i].Goal
			return true
		})},
	{"without the last step of every episode", "agent/hop: rows in learn.go",
		edited(func(_ *Study, _ *batch.Rollout, l *reference.Label, i int, all []reference.Label) bool {
			return i+1 < len(all) && all[i+1].Agent == l.Agent && all[i+1].Env == l.Env && all[i+1].T == l.T+1
		})},
	{"without the first step of every episode", "agent/hop: rows in learn.go",
		edited(func(_ *Study, ro *batch.Rollout, l *reference.Label, _ int, _ []reference.Label) bool {
			return !ro.Start[ro.Moment(l.T, l.Env)]
		})},
}
