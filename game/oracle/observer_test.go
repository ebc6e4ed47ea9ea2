package oracle_test

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/matrix"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
)

// onlooker plays a bot and shows every slot to an observer, then to look.
type onlooker struct {
	rollout.Player
	o    *oracle.Observer
	look func(v *rollout.View, n int)
}

func (p *onlooker) Act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		p.o.See(v, int(n))
		p.look(v, int(n))
	}
	p.Player.Act(v, envs)
}

// One who always defects may be that bot or play at random. By hand: before its first
// action 1/2, after one defection 1/(1+1/2) = 2/3, then 4/5, then 8/9; that it defects is
// expected with (1 + p)/2, and to be after that is 1 as far as it is that bot. Who forgets
// begins each episode anew; who does not goes on, as long as co-players are the same.
func TestTheObserverFollowsBayesRule(t *testing.T) {
	c := matrix.Default()
	c.Rounds = 2
	g := gametest.New(t, matrix.New, c)
	within := []float64{1. / 2, 2. / 3}
	for _, tc := range []struct {
		name string
		same func(episode int) bool
		want []float64 // by slot
	}{
		{"forgets", nil, slices.Concat(within, within, within)},
		{"remembers", func(e int) bool { return e != 2 }, []float64{1. / 2, 2. / 3, 2. / 3, 4. / 5, 1. / 2, 2. / 3}},
	} {
		o, err := oracle.NewObserver(g, []string{"alld", "random"}, []agent.ID{1})
		must(t, err)
		o.Same = tc.same
		forgetful := o.Forgetful()
		e, err := rollout.New(rollout.Config{Game: g, Envs: 1, Key: rng.New(1), Workers: 1})
		must(t, err)
		mine, err := rollout.NewBots(g, "allc", 1)
		must(t, err)
		other, err := rollout.NewBots(g, "alld", 1)
		must(t, err)
		slot, probs := 0, make([]float64, 2)
		players := []rollout.Player{&onlooker{mine, o, func(v *rollout.View, n int) {
			want := within[slot%2]
			forgetful.See(v, n)
			if forgetful.Predict(probs, 0); math.Abs(probs[1]-(1+want)/2) > 1e-6 {
				t.Errorf("who forgets beside one who %s, slot %d: expects %v, want %v for defecting", tc.name, slot, probs, (1+want)/2)
			}
			want = tc.want[slot]
			o.Predict(probs, 0)
			names, goals := o.InWords(0)
			if math.Abs(probs[1]-(1+want)/2) > 1e-6 || math.Abs(probs[0]+probs[1]-1) > 1e-6 {
				t.Errorf("%s, slot %d: expects %v, want %v for defecting", tc.name, slot, probs, (1+want)/2)
			}
			if at := slices.Index(names, oracle.RandomWord); math.Abs(goals[at]-(1-want)) > 1e-6 || math.Abs(goals[1]-want) > 1e-6 {
				t.Errorf("%s, slot %d: in words %v %v, want %v to defect", tc.name, slot, names, goals, want)
			}
			slot++
		}}, other}
		e.Collect(batch.New(e.Shape(9, 0)), [][]rollout.Player{players})
		if slot != len(tc.want) {
			t.Fatalf("%s: %d slots, want %d", tc.name, slot, len(tc.want))
		}
	}
}

// In the stag hunt the observer is right where oracle.Bayes is: its beliefs within an
// episode are those of the own-history observer. A stag hunter whose stag is gone is
// after a hare.
func TestTheObserverIsTheOwnHistory(t *testing.T) {
	g := gametest.New(t, staghunt.New, staghunt.Default())
	bots := []string{"ns", "nh"}
	o, err := oracle.NewObserver(g, bots, []agent.ID{1, 2, 3})
	must(t, err)
	b, err := oracle.NewBayes(g, bots)
	must(t, err)
	e, err := rollout.New(rollout.Config{Game: g, Envs: 1, Key: rng.New(2), Workers: 1})
	must(t, err)
	var players []rollout.Player
	for _, name := range []string{"random", "ns", "ns", "ns"} {
		p, err := rollout.NewBots(g, name, 1)
		must(t, err)
		players = append(players, p)
	}
	actions, types := make([]int32, 4), make([]float64, 2)
	looks, hares := 0, 0
	players[0] = &onlooker{players[0], o, func(v *rollout.View, n int) {
		if v.Start[v.Moment(v.T, n)] {
			b.Start()
		} else {
			for a := range agent.ID(4) {
				actions[v.Seat[v.Slot(a, v.T, n)]] = v.PlayedOf(n, a)
			}
			b.Update(nil, actions) // it has looked at that slot
		}
		st := v.State(n)
		for j := range 3 {
			slot := v.Slot(agent.ID(j+1), v.T, n)
			b.Predict(make([]float32, 7), oracle.OwnHistory, st, v.SeatAt(slot), 0)
			b.Types(types, oracle.OwnHistory, v.SeatAt(slot), 0)
			if !v.Alive[slot] {
				continue
			}
			looks++
			_, goals := o.InWords(j)
			gone := false // the only stag
			for s := range game.Seat(4) {
				gone = gone || st.(*staghunt.State).Caught(s) == staghunt.GoalStag
			}
			if gone {
				if types = []float64{0, 1}; goals[1] != 1 {
					t.Fatalf("no stag is left and %v is believed to be after one", goals[0])
				}
				hares++
			}
			if math.Abs(goals[0]-types[0]) > 1e-9 {
				t.Fatalf("co-player %d is after the stag with %v, by its own history %v", j, goals[0], types[0])
			}
		}
	}}
	e.Collect(batch.New(e.Shape(400, 0)), [][]rollout.Player{players})
	if looks < 200 || hares < 20 {
		t.Errorf("%d looks, %d of them without a stag: the test saw too little", looks, hares)
	}
}

// Among co-players none of whom is after anything an observer says that they act at
// random; one whose bots do not say what they are after says nothing.
func TestTheObserverNamesThoseWhoActAtRandom(t *testing.T) {
	g := gametest.New(t, matrix.New, matrix.Default())
	o, err := oracle.NewObserver(g, []string{"random"}, []agent.ID{1})
	must(t, err)
	e, err := rollout.New(rollout.Config{Game: g, Envs: 1, Key: rng.New(1), Workers: 1})
	must(t, err)
	bots, err := rollout.NewBots(g, "random", 1)
	must(t, err)
	looks := 0
	e.Collect(batch.New(e.Shape(5, 0)), [][]rollout.Player{{&onlooker{bots, o, func(*rollout.View, int) {
		looks++
		if names, probs := o.InWords(0); len(names) == 0 || math.Abs(probs[slices.Index(names, oracle.RandomWord)]-1) > 1e-12 {
			t.Errorf("it says %v with %v, want that its co-player acts at random", names, probs)
		}
	}}, bots}})
	if looks == 0 {
		t.Error("nobody looked")
	}
}
