package pretrain

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
)

// still plays the first legal action and remembers the goals it was given.
type still struct{ seen [][]float32 }

func (p *still) Act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		p.seen = append(p.seen, append([]float32(nil), v.GoalAt(v.SlotOf(int(n)))...))
		for k, ok := range v.LegalAt(v.SlotOf(int(n))) {
			if ok {
				v.Action[v.StepOf(int(n))] = int32(k)
				break
			}
		}
	}
}

func (p *still) Evaluate(*rollout.View, []int32) {}

// Whoever is told knows each co-player at the place where it sees it, and nothing of
// those who have left: the learner, and each copy of it from its own view.
func TestPoliciesOfTheLivingStandAtTheirPlaces(t *testing.T) {
	cfg := staghunt.Default()
	cfg.Size = 4
	g := gametest.New(t, staghunt.New, cfg)
	for _, c := range []struct {
		who  []string
		team []int8 // as it is dealt
		is   []int8 // as it is, the learner among them
	}{
		{[]string{"ns", "nh", "random"}, []int8{0, 1, 2, 1}, []int8{0, 1, 2, 1}},
		{[]string{"ns", "random", Self, "nh"}, []int8{0, 2, 1, 3}, []int8{2, 2, 1, 3}},
		{[]string{"nh", Self}, []int8{1, 1, 1, 1}, []int8{1, 1, 1, 1}},
	} {
		e, err := rollout.New(rollout.Config{Game: g, Envs: 1, Key: rng.New(8), Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		kinds, teams := len(c.who), newTeamDealer(4, 1, c.who, rng.New(9))
		teams.fixed = c.team
		learners := make([]still, 4)
		players, err := teams.players(g, c.who, 1, 1, nil, func(a agent.ID) rollout.Player { return &learners[a] })
		if err != nil {
			t.Fatal(err)
		}
		ro := batch.New(e.Shape(200, 3*kinds))
		e.Collect(ro, players)
		alone, with := 0, 0
		for me := range agent.ID(4) {
			at := 0
			for step := range 200 {
				slot := ro.Slot(me, step, 0)
				if !ro.Alive[slot] || me > 0 && (int(c.team[me]) >= kinds || c.who[c.team[me]] != Self) {
					continue
				}
				want := make([]float32, 3*kinds)
				for a := range agent.ID(4) {
					if other := ro.Slot(a, step, 0); a != me && ro.Alive[other] {
						place := (int(ro.Seat[other])-int(ro.Seat[slot])+4)%4 - 1
						want[place*kinds+int(c.is[a])] = 1
						with++
					} else {
						alone++
					}
				}
				if got := learners[me].seen[at]; !slices.Equal(got, want) {
					t.Fatalf("%v: agent %d at step %d: seen %v, want %v", c.who, me, step, got, want)
				}
				at++
			}
			if at != len(learners[me].seen) {
				t.Errorf("%v: agent %d decided %d times, want %d", c.who, me, len(learners[me].seen), at)
			}
		}
		if alone < 10 || with < 10 {
			t.Errorf("%v: %d co-players had left, %d had not: the test saw too little", c.who, alone, with)
		}
	}
}

// A network learns from its own steps and from those of its copies, and from no bot's.
func TestRowsOfBotsAreNotLearntFrom(t *testing.T) {
	cfg := staghunt.Default()
	cfg.Size, cfg.Horizon = 3, 8
	g := gametest.New(t, staghunt.New, cfg)
	c := DefaultResponse().For(g)
	c.Who, c.Share, c.Envs, c.Window, c.Net.Hidden = []string{"nh", Self, "random"}, 0.3, 8, 60, []int{8}
	r, err := NewResponse(c, g, 3, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.teams.dealt = make([][][]int8, c.Envs)
	r.envs.Collect(r.ro, r.play)
	own, bots := 0, 0
	for n := range c.Envs {
		episode := -1
		for step := range c.Window {
			if r.ro.Start[r.ro.Moment(step, n)] {
				episode++
			}
			for a := range agent.ID(4) {
				if !r.ro.Alive[r.ro.Slot(a, step, n)] {
					continue
				}
				want := r.teams.dealt[n][episode][a] == 1
				if got := r.ro.Own[r.ro.Step(a, step, n)]; got != want {
					t.Fatalf("agent %d at step %d of env %d is %v: that its step is learnt from is %v", a, step, n, r.teams.dealt[n][episode], got)
				}
				if want {
					own++
				} else {
					bots++
				}
			}
		}
	}
	rows := 0
	for _, a := range r.Brain.Agents() {
		list, _ := r.ro.OwnRows(a, nil, nil)
		rows += len(list)
	}
	if rows != own || own < 100 || bots < 100 {
		t.Errorf("%d rows are learnt from, %d are its own, %d bots': want the first two alike and enough of all", rows, own, bots)
	}
}

// Teams are dealt as Met says: a share of all episodes to copies alone, kinds evenly in
// the others.
func TestCoPlayersAreMetAsOftenAsIsSaid(t *testing.T) {
	for _, c := range []struct {
		who   []string
		share float64
		want  []float64
	}{
		{[]string{"ns", "nh", "random", Self}, 0.5, []float64{.125, .125, .125, .625}},
		{[]string{Self, "nh"}, 0.2, []float64{.6, .4}},
		{[]string{"ns", "nh", "random"}, 0.5, []float64{1. / 3, 1. / 3, 1. / 3}}, // there are no copies
	} {
		in := ResponseInput{Who: c.who, Share: c.share}
		teams := newTeamDealer(4, 1, c.who, rng.New(5))
		teams.share = c.share
		const deals = 6000
		met := make([]float64, len(c.who))
		for i := range deals {
			if i == deals/2 {
				teams.even = Teams(4, len(c.who))
			}
			teams.deal(0)
			for _, k := range teams.who[1:4] {
				met[k] += 1. / 3 / deals
			}
			if self := int8(slices.Index(c.who, Self)); teams.who[0] != max(0, self) {
				t.Fatalf("%v: the learner is dealt as %d", c.who, teams.who[0])
			}
		}
		for k, want := range c.want {
			// Five standard errors of an episode's share, which is at most 1/2.
			if got := in.Met()[k]; math.Abs(got-want) > 1e-9 || math.Abs(met[k]-want) > 5*0.5/math.Sqrt(deals) {
				t.Errorf("%v: %s is said to be met %.3f of the time and is %.3f, want %.3f", c.who, c.who[k], got, met[k], want)
			}
		}
	}
}

// With even teams each multiset of co-players is as likely as any other, at any places: 20 teams
// of three of four kinds, 60,000 draws, 6 standard errors (one false alarm in 10^7 seeds).
func TestEvenTeamsAreEquallyLikely(t *testing.T) {
	who := []string{"ns", "nh", "random", Self}
	c := newTeamDealer(4, 1, who, rng.New(3))
	c.even = Teams(4, len(who))
	if len(c.even) != 20 {
		t.Fatalf("%d teams of three of four kinds, want 20", len(c.even))
	}
	const draws = 60000
	teams, first := map[[4]int]int{}, [4]int{}
	for range draws {
		c.deal(0)
		var count [4]int
		for _, k := range c.who[1:] {
			count[k]++
		}
		teams[count]++
		first[c.who[1]]++
		if c.who[0] != 3 {
			t.Fatalf("the learner is of kind %d, want self", c.who[0])
		}
	}
	for team, n := range teams {
		if n < 3000-6*54 || n > 3000+6*54 {
			t.Errorf("team %v was drawn %d times of %d, want a twentieth", team, n, draws)
		}
	}
	for k, n := range first {
		if n < 15000-6*106 || n > 15000+6*106 {
			t.Errorf("the first co-player was of kind %d %d times of %d, want a quarter", k, n, draws)
		}
	}
}
