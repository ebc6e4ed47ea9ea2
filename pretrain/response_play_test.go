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
	players, err := teams.players(g, who, 1, 1, nil, func(agent.ID) rollout.Player { return learner })
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
