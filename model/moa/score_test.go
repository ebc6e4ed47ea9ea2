package moa_test

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/num/rng"
)

// twoKinds returns a learner on a board of 2 by 2 with 3 actions, and rows of two
// co-players: the first always does 0, the second always 1. dead appends rows of
// the second after it has left, with action 2; seatOrder writes the last joint
// action in the order of the seats.
func twoKinds(t *testing.T, dead int, seatOrder bool) (*moa.Learner, *moa.Rows, []int32, []int32) {
	t.Helper()
	in := moa.Input{
		Input:   frame.Input{Height: 2, Width: 2, Planes: 1, Rest: 9},
		Actions: 3, GoalLen: 2, LegalAt: 4, LastAt: 7, Seats: 2,
	}
	l, err := moa.NewLearner(moa.Config{Net: "dense", Frame: "board", Hidden: []int{8, 8}}, moa.DefaultLearning(), in, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	rows := l.Model.NewRows()
	rows.Keep = dead > 0
	var seqs, who []int32
	for i := range 40 {
		j := int32(i % 2)
		seqs, who = append(seqs, int32(i)), append(who, j)
		rows.Begin()
		for range 2 {
			goal := make([]float32, 2)
			goal[j] = 1
			obs := make([]float32, 13)
			copy(obs, []float32{1, 0, 0, 0, 1, 1, 1})
			own := 0
			if seatOrder { // the second one sits on seat 1
				own = int(j)
			}
			obs[7+3*own+int(j)], obs[7+3*(1-own)+1-int(j)] = 1, 1 // what it did, and what the other one did
			rows.Add(obs, goal, j)
		}
		for range dead * int(j) {
			rows.Add(make([]float32, 13), []float32{0, 1}, 2)
		}
	}
	return l, rows, seqs, who
}

func namedStat(stats []agent.Stat, name string) (agent.Stat, bool) {
	for _, s := range stats {
		if s.Name == name {
			return s, true
		}
	}
	return agent.Stat{}, false
}

func TestModelsOfOthersAreScoredByCoPlayer(t *testing.T) {
	l, rows, seqs, who := twoKinds(t, 0, false)
	r := rng.New(2).Rand()
	learn := make([]int32, 0, len(seqs)/2)
	for i, s := range seqs { // only the first co-player is learnt from
		if who[i] == 0 {
			learn = append(learn, s)
		}
	}
	for range 50 {
		if _, err := l.Epoch(rows, learn, 0.01, &r, nil); err != nil {
			t.Fatal(err)
		}
	}
	got := moa.NewScore([]agent.ID{3, 5}, []string{"a", "b", "c"})
	got.AddAll(l, rows, seqs, who)
	stats := got.Stats(l, rows)
	for name, want := range map[string]float64{
		"others/3/top1": 1, "others/5/top1": 0, "others/3/rows": 40, "others/5/rows": 40, "others/3/recall/a": 1, "others/5/recall/b": 0,
		"moa/top1": 0.5, "moa/uniform": 1. / 3, "moa/floor": math.Log(1 + 2/math.E), "moa/dead": 0, "moa/wrong": 0, "moa/still": 0,
	} {
		s, ok := namedStat(stats, name)
		if !ok || math.Abs(s.Value-want) > 1e-6 {
			t.Errorf("%s is %v (there: %v), want %v", name, s.Value, ok, want)
		}
	}
	if s, _ := namedStat(stats, "others/3/top1"); s.N != 40 {
		t.Errorf("others/3/top1 is said to come from %d rows, want 40", s.N)
	}
	if s, ok := namedStat(stats, "others/3/recall/b"); ok {
		t.Errorf("others/3/recall/b is %v, want none: agent 3 never does it", s)
	}
}

func TestRowsOfThoseWhoLeftAreCountedOnline(t *testing.T) {
	l, rows, seqs, who := twoKinds(t, 3, false)
	got := moa.NewScore([]agent.ID{1, 2}, []string{"a", "b", "c"})
	got.AddAll(l, rows, seqs, who)
	stats := got.Stats(l, rows)
	if s, _ := namedStat(stats, "moa/dead"); s.Value != 60 || s.N != 140 {
		t.Errorf("moa/dead is %v of %d rows, want 60 of 140", s.Value, s.N)
	}
	if s, _ := namedStat(stats, "moa/still"); s.Value != float64(len(l.Params.Parts)) {
		t.Errorf("moa/still is %v before any step, want %d", s.Value, len(l.Params.Parts))
	}
}

// A joint action must begin with oneself, as the planes do.
func TestJointActionsInSeatOrderAreCountedOnline(t *testing.T) {
	l, rows, seqs, who := twoKinds(t, 0, true)
	got := moa.NewScore([]agent.ID{1, 2}, []string{"a", "b", "c"})
	got.AddAll(l, rows, seqs, who)
	if s, _ := namedStat(got.Stats(l, rows), "moa/wrong"); s.Value != 20 || s.N != 40 {
		t.Errorf("moa/wrong is %v of %d rows, want the second one's 20 of 40", s.Value, s.N)
	}
}
