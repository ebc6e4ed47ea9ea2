package pretrain

import (
	"testing"

	"hop/agent"
	"hop/batch"
	"hop/game/gametest"
	"hop/game/staghunt"
	"hop/rng"
	"hop/rollout"
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

// The learner knows each co-player at the place where it sees it, and
// nothing of those who have left.
func TestPoliciesOfTheLivingStandAtTheirPlaces(t *testing.T) {
	cfg := staghunt.Default()
	cfg.Size = 4
	g := gametest.New(t, staghunt.New, cfg)
	e, err := rollout.New(rollout.Config{Game: g, Envs: 1, Key: rng.New(8), Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	who := []string{"ns", "nh", "random"}
	teams := newTeamDealer(4, 1, who, rng.New(9))
	teams.fixed = []int8{0, 1, 2, 1}
	learner := &still{}
	players, err := teams.players(g, who, 1, 1, func(agent.ID) rollout.Player { return learner })
	if err != nil {
		t.Fatal(err)
	}
	ro := batch.New(e.Shape(200, 9))
	e.Collect(ro, players)
	alone, with, at := 0, 0, 0
	for step := range 200 {
		slot := ro.Slot(0, step, 0)
		if !ro.Alive[slot] {
			continue
		}
		want := make([]float32, 9)
		for a := 1; a < 4; a++ {
			if other := ro.Slot(agent.ID(a), step, 0); ro.Alive[other] {
				place := (int(ro.Seat[other])-int(ro.Seat[slot])+4)%4 - 1
				want[place*3+int(teams.fixed[a])] = 1
				with++
			} else {
				alone++
			}
		}
		for i, x := range learner.seen[at] {
			if x != want[i] {
				t.Fatalf("step %d: seen %v, want %v", step, learner.seen[at], want)
			}
		}
		at++
	}
	if alone < 10 || with < 10 {
		t.Errorf("%d co-players had left, %d had not: the test saw too little", alone, with)
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
