package hop

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
)

// cell returns where a plane of a 4 by 4 board of 7 shows something, -1 if nowhere.
func cell(obs []float32, plane int) int {
	for c := range 16 {
		if obs[c*7+plane] != 0 {
			return c
		}
	}
	return -1
}

// When it learns from a search, an agent's network reads of each living co-player,
// at the place where the agent sees it, the goal that it reached in the end.
func TestTheNetworkLearnsWithTheGoalsThatWereReached(t *testing.T) {
	g := hunt(t, 35)
	m, _ := makeMind(t, g, 1, 8, func(*Config) {})
	shape := batch.Shape{Envs: 8, Steps: 40, GoalLen: m.goalLen}
	ro := collect(t, rollout.Config{Game: g}, shape, []string{"ns", "random", "nh", "ns"}, nil)
	w := &learner.Window{Rollout: ro, Rewards: learner.Rewards{Scale: 1, Gamma: 1}}
	u := labelled(m, w)
	goals := m.own.inHindsight(u)
	read, shared := 0, 0
	for _, p := range u.list {
		reached := int(ro.Reached[p.last(ro)])
		for s := p.lo; s < p.hi; s++ {
			mine := ro.Slot(m.sees.me, s, p.env)
			if !ro.Alive[mine] {
				continue
			}
			// Who is where the co-player sees itself?
			at := cell(ro.ObsAt(ro.Slot(p.agent, s, p.env)), 0)
			var places []int
			for place := range 3 {
				if cell(ro.ObsAt(mine), 1+place) == at {
					places = append(places, place)
				}
			}
			if len(places) != 1 {
				shared++ // a shared cell does not say who is who
				continue
			}
			read++
			want := [3]float32{}
			want[reached] = 1
			if got := [3]float32(goals[(mine-ro.Slot(m.sees.me, 0, 0))*m.goalLen+places[0]*3:]); got != want {
				t.Fatalf("%v reached goal %d, step %d of env %d reads %v at place %d", p.agent, reached, s, p.env, got, places[0])
			}
		}
	}
	if read < 50 {
		t.Errorf("%d steps were read, %d cells shared: the test saw too little", read, shared)
	}
	// A policy that acted on beliefs learns from what it acted on.
	for s := range ro.Steps {
		for n := range ro.Envs {
			if step := ro.Step(m.sees.me, s, n); ro.Alive[ro.Slot(m.sees.me, s, n)] {
				ro.Own[step] = true
				ro.TargetAt(step)[ro.Action[step]] = 1
			}
		}
	}
	for own, want := range map[string]bool{"search": false, "ppo": true} {
		var weights [][]float32
		for _, l := range []*update{u, {}} {
			m, _ := makeMind(t, g, 1, 8, func(c *Config) { c.Own = own })
			late := m.update(w)
			late.list, late.steps, late.goals = l.list, l.steps, l.goals
			if m.own.Fit(late); late.err != nil {
				t.Fatal(late.err)
			}
			weights = append(weights, m.own.brain.Params.W)
		}
		if same := slices.Equal(weights[0], weights[1]); same != want {
			t.Errorf("own %s: that the network learns alike with and without labels is %v, want %v", own, same, want)
		}
	}
}

// Of somebody new it is believed as the spec says that it acts at random; what
// earlier episodes counted says more later.
func TestDoubtStartsAsItIsSet(t *testing.T) {
	for _, want := range []float64{-1, 0.1} {
		m, _ := makeMind(t, hunt(t, 35), 0, 1, func(c *Config) { c.Goals.DoubtStart = want })
		b := m.beliefs.held[0]
		if want < 0 {
			want = 1. / 3
		}
		at := b.At(0, 0)
		if sum := at[0] + at[1] + at[2]; math.Abs(at[2]-want) > 1e-9 || math.Abs(sum-1) > 1e-9 || math.Abs(at[0]-at[1]) > 1e-9 {
			t.Errorf("the belief starts at %v, want doubt %v, the rest even and a sum of 1", at, want)
		}
		for range 50 {
			b.Seen(0, 1)
		}
		if b.Start(0); at[1] < at[0] {
			t.Errorf("after 50 of the second goal the belief starts at %v", at)
		}
	}
}

// recorder is a response network that says nothing and keeps what it reads.
type recorder struct {
	actions, rows int
	obs, goals    [][]float32
}

func (r *recorder) Add(obs, goal []float32) {
	r.obs, r.goals = append(r.obs, slices.Clone(obs)), append(r.goals, slices.Clone(goal))
	r.rows++
}

func (r *recorder) Run() (logits, value []float32) {
	n := r.rows
	r.rows = 0
	return make([]float32, n*r.actions), make([]float32, n)
}

// A response network reads which bot stands for what each living co-player is
// after, at the place where the agent sees it, and nothing of those who have left.
func TestTheResponseNetworkReadsTheDrawnGoals(t *testing.T) {
	g := hunt(t, 35)
	m, _ := makeMind(t, g, 1, 8, func(c *Config) { c.Leaf.Kind, c.Search.Kind = "response", "onestep" })
	team := []string{"ns", "", "nh", "random"}
	if err := m.Swap(learner.Truth{Team: team, Goals: true}); err != nil {
		t.Fatal(err)
	}
	p, err := m.player(8) // which knows it
	if err != nil {
		t.Fatal(err)
	}
	heard := &recorder{actions: 7}
	p.search.parts[0].leaves.response.Net = heard
	collect(t, rollout.Config{Game: g, FixSeat: true}, batch.Shape{Envs: 8, Steps: 40, GoalLen: m.goalLen}, team, p)
	kind := []int{1, 2, 0} // of agents 2, 3 and 0, who sit after agent 1
	left, there := 0, 0
	for i, obs := range heard.obs {
		for place := range 3 {
			want := [3]float32{}
			if cell(obs, 1+place) >= 0 {
				there++
				want[kind[place]] = 1
			} else {
				left++
			}
			if got := [3]float32(heard.goals[i][place*3:]); got != want {
				t.Fatalf("of the co-player at place %d it reads %v, want %v", place, got, want)
			}
		}
	}
	if left < 50 || there < 50 {
		t.Errorf("%d co-players had left, %d had not: the test saw too little", left, there)
	}
}

// What a planner plays is its own to learn from, unless it is frozen.
func TestRowsOfFrozenPlannersAreNobodys(t *testing.T) {
	g := hunt(t, 35)
	for _, frozen := range []bool{false, true} {
		m, _ := makeMind(t, g, 1, 4, func(*Config) {})
		if frozen {
			m.Freeze(false)
		}
		players, err := m.Players(1, 1, 4)
		if err != nil {
			t.Fatal(err)
		}
		ro := collect(t, rollout.Config{Game: g}, batch.Shape{Envs: 4, Steps: 30, GoalLen: m.goalLen}, []string{"ns", "", "nh", "ns"}, players[0])
		rows, _ := ro.OwnRows(1, nil, nil)
		if got := len(rows) > 0; got == frozen {
			t.Errorf("frozen is %v, and %d rows are its own", frozen, len(rows))
		}
	}
}
