package lab

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

// held makes what somebody held: whether the action was foreseen, and p(stag), p(hare).
func held(top1, stag, hare float64) learner.Held {
	return learner.Held{Top1: top1, Names: []string{"stag", "hare"}, Probs: []float64{stag, hare}}
}

// Four looks at an ns, whose stag is gone in the last: by hand the agent is right about
// the goal in two of four and half right in a tie, the observer who remembers in all, the
// one who forgets in three; of the three actions that are known it foresees one.
func TestReadingsAreSharesOfTheLimit(t *testing.T) {
	words := []string{"stag", "hare"}
	o := &readingSum{name: "ns", from: 3, words: words, goals: words, atOnce: true, limited: true}
	for i, l := range []learner.Prediction{
		{Episode: 3, Pursues: "stag", Acted: true, Held: []learner.Held{held(1, 0.8, 0.2), held(1, 0.9, 0.1), held(1, 0.5, 0.4)}},
		{Episode: 3, Step: 1, Pursues: "stag", Acted: true, Held: []learner.Held{held(0, 0.5, 0.5), held(0.5, 1, 0), held(0, 1, 0)}},
		{Episode: 4, Pursues: "stag", Acted: true, Held: []learner.Held{held(0, 0.3, 0.7), held(1, 1, 0), held(0.5, 0.5, 0.4)}},
		{Episode: 4, Step: 1, Pursues: "hare", Held: []learner.Held{held(0, 0, 1), held(0, 0, 1), held(0, 0.9, 0.1)}},
		{Episode: 4, Step: 2, Next: 0, Held: []learner.Held{held(0, 1, 0), held(0, 0, 1), held(0, 0, 1)}}, // it is after nothing: not counted
	} {
		o.add(&l, i/3, l.Episode == 3, l.Episode == 4)
	}
	r := o.reading(2, 1)
	same := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	same("goals right", r.Goal.Accuracy, 2.5/4)
	same("their limit", float64(r.Goal.Limit), 1)
	same("share of it", float64(r.Goal.OfLimit), 2.5/4)
	same("one episode's limit", float64(r.Goal.LimitEpisode), 3./4)
	same("of the first seed", float64(r.Goal.BySeed[0]), 1.5/3)
	same("of the second seed", float64(r.Goal.BySeed[1]), 1)
	same("of its second episode", float64(r.Goal.ByEpisode[1]), 1./2)
	same("actions right", r.Action.Accuracy, 1./3)
	same("their limit", float64(r.Action.Limit), 2.5/3)
	same("p(stag) of the first episode", r.PGoal[0][0], 0.65)
	same("p(hare) at the second step, late", r.Late.PGoal[1][1], 1)
	same("the observer's p(stag) at the first step, early", r.Early.Limit[0][0], 0.9)
	if r.Goal.Steps != 4 || r.Action.Steps != 3 || len(r.Early.PGoal) != 2 {
		t.Errorf("%d goals, %d actions, %d early steps; want 4, 3 and 2", r.Goal.Steps, r.Action.Steps, len(r.Early.PGoal))
	}
	// In hindsight what was reached next is the truth, and there is no limit.
	o = &readingSum{name: "PPO", words: words, goals: words}
	for next := range []int{0, 1} {
		o.add(&learner.Prediction{Pursues: "stag", Next: next, Acted: true, Held: []learner.Held{held(1, 0.6, 0.4)}}, 0, false, false)
	}
	o.add(&learner.Prediction{Next: game.NoGoal, Held: []learner.Held{held(1, 0.6, 0.4)}}, 0, false, false)
	if r := o.reading(1, 1); r.Goal.Accuracy != 0.5 || r.Goal.Steps != 2 || !math.IsNaN(float64(r.Goal.Limit+r.Action.Limit)) {
		t.Errorf("in hindsight %+v, want half of 2 steps and no limit", r.Goal)
	}
}

// seer plays a bot and reads the others as a Bayes observer does, or, blind, takes
// everybody for a stag hunter.
type seer struct {
	*rollout.Bots
	others []agent.ID
	o      []*oracle.Observer
	blind  bool
}

func (s *seer) Act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		s.o[n].See(v, int(n))
	}
	s.Bots.Act(v, envs)
}

func (s *seer) Others() []agent.ID { return s.others }

func (s *seer) Read(dst []float64, n, j int) []float64 {
	s.o[n].Predict(dst, j)
	return nil
}

func (s *seer) InWords(n, j int) ([]string, []float64) {
	names, probs := s.o[n].InWords(j)
	if s.blind {
		probs = []float64{1, 0, 0}
	}
	return names, probs
}

// The Bayes observer reaches its own limit, to the digit, and nobody else's words change
// it. Who takes everybody for a stag hunter is right of ns while there is a stag, and
// never of nh or random.
func TestTheObserverReachesItsLimit(t *testing.T) {
	c := &adapting{Lab: &Lab{Reg: registry.New()}, Adapt: prepare.Adapt{Steps: 150, Last: 50, Lives: 3},
		turns: make(chan struct{}, 1)}
	g := hunt(t)
	m, err := c.meeting(t.Context(), g, nil, []string{"ns", "nh", "random"}, true)
	if err != nil {
		t.Fatal(err)
	}
	others := []agent.ID{1, 2, 3}
	row := adaptRow{}
	readings := func(blind bool) []adapted.Reading {
		s := &livedSeed{reads: []*learner.Predictions{{Pursues: m.pursues, Beside: c.observers(m, row)}}}
		focal := eval.Member{Name: "seer", Players: func(workers, lanes int) (list []rollout.Player, err error) {
			for range workers {
				p := &seer{others: others, blind: blind}
				for range lanes {
					o, err := oracle.NewObserver(g, []string{"nh", "ns", "random"}, others)
					if err != nil {
						return nil, err
					}
					o.Same = func(int) bool { return true }
					p.o = append(p.o, o)
				}
				if p.Bots, err = rollout.NewBots(g, "deadline", lanes); err != nil {
					return nil, err
				}
				list = append(list, p)
			}
			return s.reads[0].Take(list, lanes), nil
		}}
		if s.res, err = c.live(t.Context(), m, 1, nil, focal); err != nil {
			t.Fatal(err)
		}
		return c.readings(m, []*livedSeed{s})
	}
	for _, r := range readings(false) {
		for what, a := range map[string]*adapted.Accuracy{"goals": r.Goal, "actions": r.Action} {
			if a.OfLimit != 1 || a.LimitEpisode >= a.Limit || a.Steps < 20 {
				t.Errorf("%s of %s: %v of %v, in one episode %v, over %d steps", what, r.Name, a.Accuracy, a.Limit, a.LimitEpisode, a.Steps)
			}
		}
		if !slices.Equal(r.Words, []string{"stag", "hare", "random"}) {
			t.Errorf("%s is spoken of in the words %v", r.Name, r.Words)
		}
	}
	for _, r := range readings(true) {
		if want := r.Name == "ns"; (r.Goal.Accuracy > 0.5) != want || (r.Goal.Accuracy > 0) != want {
			t.Errorf("blind, goals of %s are right in %v of the steps", r.Name, r.Goal.Accuracy)
		}
	}
	// Somebody known who cannot say what it is after, and acts as ns does, takes nothing from the limit of goals. To name
	// the nearest is right of ns more often than of nh, in no case always, and never of random.
	row.known = map[string]spec.Acquaintance{"go(stag,nearest,nh)": {}}
	for _, r := range readings(false) {
		if near := r.Goal.Nearest; r.Goal.Limit < .9 || (near > 0) != (r.Name != "random") || near > .95 || math.Abs(float64(near)-.5) < .01 {
			t.Errorf("goals of %s: limit %v beside one who cannot say, by what is nearest %v", r.Name, r.Goal.Limit, near)
		}
	}
	row.known = nil
	c.split = []string{"flee", "nh", "random"} // an observer among strangers knows the split, and ns is not in it
	for _, r := range readings(false) {
		if a := r.Action; (a.LimitCE > a.CE+1) != (r.Name == "ns") || (a.OfLimit > 2) != (r.Name == "ns") {
			t.Errorf("by who knows the split, actions of %s are foreseen in %v, ce %v; by who knows ns too in %v, ce %v", r.Name, a.Limit,
				a.LimitCE, a.Accuracy, a.CE)
		}
	}
}

// An agent that has one word for everybody infers nothing and reports nothing.
func TestOneWordIsNoInference(t *testing.T) {
	o := &readingSum{name: "ns", goals: []string{"stag", "hare"}, limited: true}
	o.add(&learner.Prediction{Acted: true, Held: []learner.Held{{Top1: 1, Names: []string{"any"}, Probs: []float64{1}}}}, 0, true, true)
	if r := o.reading(1, 1); r.Goal != nil || r.PGoal != nil || r.Early != nil || r.Action.Accuracy != 1 {
		t.Errorf("%+v: want actions alone", r)
	}
	read := []*livedSeed{{reads: []*learner.Predictions{nil}, res: &eval.Adapted{}}}
	if list := (&adapting{}).readings(&meeting{g: hunt(t)}, read); list != nil {
		t.Errorf("an agent that reads nobody reports %v", list)
	}
	if n := meanNumbers([]stats.Acc{{}}, 2); len(n) != 2 || !math.IsNaN(float64(n[0])) {
		t.Errorf("numbers without values are %v", n)
	}
}

func hunt(t *testing.T) game.Game {
	t.Helper()
	g, _, err := (&Lab{Reg: registry.New()}).NewGame("staghunt", nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
