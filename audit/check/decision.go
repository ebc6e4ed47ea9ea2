package check

import (
	"fmt"
	"slices"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/search"
)

// Subject is whose decisions are looked at.
type Subject struct {
	Mind   learner.Mind
	Player rollout.Player
	Hop    *hop.Config // nil: it does not plan
	Game   game.Game
	Scale  float64      // of rewards in recorded values
	Actor  actor.Config // its own network
}

// most is how many envs of a decision are looked at.
const most = 2

// Looks is what was found out.
type Decisions struct {
	q   [decisionQuestions]answer
	err error

	odd     map[int]*rest // by agent: the root held against expectimax, over all decisions
	imagine map[agent.ID]*imagines
}

// question is what one question came to, over all decisions.
type answer struct {
	asked, bad int
	says       string // the first answer that was wrong
	who        []agent.ID
}

// took notes how often a question was asked.
func (l *Decisions) took(i, asked int) { l.q[i].asked += asked }

// wrong notes a wrong answer about an agent.
func (l *Decisions) wrong(i int, a agent.ID, says string, args ...any) {
	q := &l.q[i]
	q.bad++
	if q.says == "" {
		q.says = fmt.Sprintf(says, args...)
	}
	if !slices.Contains(q.who, a) {
		q.who = append(q.who, a)
	}
}

// findings turns answers into findings, each as its about says; none of a question
// that was never asked.
func (l *Decisions) findings(list map[int]check.Finding) []check.Finding {
	var out []check.Finding
	for i, q := range l.q {
		f, ok := list[i]
		if !ok || q.asked == 0 {
			continue
		}
		f.Step, f.Rows = 4, q.asked
		if q.bad > 0 {
			slices.Sort(q.who)
			for _, a := range q.who {
				f.Who = append(f.Who, int(a))
			}
			f.Saw(float64(q.bad), 0, "%s that differ, of %d", f.Unit, q.asked)
			who := check.Agents(q.who)
			f.Accuse(check.Fault, float64(q.bad), fmt.Sprintf("%s: %s (%d of %d %s).", check.Capital(who), q.says, q.bad, q.asked, f.Unit), f.Next)
		} else {
			f.Next = ""
		}
		out = append(out, f)
	}
	return out
}

// experiment is a decision that is made on copies.
type experiment struct {
	*Decisions
	Subject
	saver learner.Saver
	start *safetensors.File // the mind, before
	v     *rollout.View     // the real one
	envs  []int32
}

// outcome is what came of a decision.
type outcome struct {
	view    *rollout.View
	action  []int32
	logp    []float32
	value   []float32
	target  []float32
	goal    []float32
	beliefs []float64
	journal *search.Journal
	broke   any // it panicked
}

// same reports whether two decisions are the same to the bit.
func (o *outcome) same(p *outcome) bool {
	return slices.Equal(o.action, p.action) && slices.Equal(o.logp, p.logp) && slices.Equal(o.value, p.value) &&
		slices.Equal(o.target, p.target) && slices.Equal(o.goal, p.goal) && slices.Equal(o.beliefs, p.beliefs)
}

// differs says in words in what two decisions differ.
func (o *outcome) differs(p *outcome) string {
	switch {
	case !slices.Equal(o.beliefs, p.beliefs):
		return "its beliefs"
	case !slices.Equal(o.value, p.value):
		return fmt.Sprintf("its value (%.4f, it was %.4f)", p.value[0], o.value[0])
	case !slices.Equal(o.target, p.target) || !slices.Equal(o.logp, p.logp):
		return "its policy"
	case !slices.Equal(o.action, p.action):
		return "its action"
	}
	return "what it is taken to believe"
}

// Look examines the decision that the player is about to make in the envs.
func (l *Decisions) Look(s Subject, v *rollout.View, envs []int32) error {
	saver, ok := learner.As[learner.Saver](s.Mind)
	if !ok || l.err != nil {
		return l.err
	}
	x := &experiment{Decisions: l, Subject: s, saver: saver, start: &safetensors.File{}, v: v}
	for i := len(envs) - 1; i >= 0 && len(x.envs) < most; i-- {
		if n := envs[i]; !v.Start[v.Moment(v.T, int(n))] {
			x.envs = append(x.envs, n)
		}
	}
	if len(x.envs) == 0 {
		return nil
	}
	if l.err = saver.Save(x.start, ""); l.err != nil {
		return l.err
	}
	base := x.decide(0, nil)
	if s.Hop != nil && base.broke == nil && base.journal != nil {
		x.search(base)
	}
	x.back()
	again := x.decide(0, nil)
	x.back()
	if base.broke == nil && (again.broke != nil || !base.same(again)) {
		return l.err // a decision that cannot be made again shows nothing
	}
	x.peek(base)
	return l.err
}

// back puts the mind back to where it was before the decision.
func (x *experiment) back() {
	if err := x.saver.Load(x.start, ""); err != nil && x.err == nil {
		x.err = fmt.Errorf("inside: the mind cannot be put back: %w", err)
	}
}

// decide lets the player decide on copies: with another future by chance if salt is
// not 0, and after edit, if there is one.
func (x *experiment) decide(salt uint64, edit func(v *rollout.View)) (o *outcome) {
	ro := batch.New(x.v.Shape)
	ro.CopyFrom(x.v.Rollout)
	v := x.v.Fork(ro, salt)
	if edit != nil {
		edit(v)
	}
	for _, n := range x.envs { // what it writes, if it does
		clear(v.TargetAt(v.StepOf(int(n))))
		clear(v.GoalAt(v.SlotOf(int(n))))
		v.Value[v.SlotOf(int(n))] = 0
	}
	o = &outcome{view: v}
	defer func() {
		if p := recover(); p != nil {
			o.broke = p
		}
	}()
	if t, ok := x.Player.(learner.Timed); ok {
		o.journal = &search.Journal{}
		t.Forest().Journal = o.journal
		defer func() { t.Forest().Journal = nil }()
	}
	x.Player.Act(v, slices.Clone(x.envs))
	reading, reads := x.Player.(learner.Predictor)
	probs := make([]float64, v.Actions)
	for _, e := range x.envs {
		n := int(e)
		step, slot := v.StepOf(n), v.SlotOf(n)
		o.action, o.logp, o.value = append(o.action, v.Action[step]), append(o.logp, v.LogProb[step]), append(o.value, v.Value[slot])
		o.target, o.goal = append(o.target, v.TargetAt(step)...), append(o.goal, v.GoalAt(slot)...)
		if reads {
			for j := range reading.Others() {
				o.beliefs = append(o.beliefs, reading.Read(probs, n, j)...)
			}
		}
	}
	return o
}

// stream returns a stream of the audit's own.
func stream(name string, i ...int) rng.Rand { return rng.New(16).Child(name, i...).Rand() }
