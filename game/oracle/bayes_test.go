package oracle_test

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
)

// knowable plays teams of 0..4 ns, rest nh, in turn, and returns top-1 (ties
// share) and cross-entropy of every observer.
func knowable(t *testing.T, c staghunt.Config, episodes int) (top1, ce [oracle.Knowledges]float64) {
	t.Helper()
	g := gametest.New(t, staghunt.New, c)
	bots := []string{"ns", "nh"}
	b, err := oracle.NewBayes(g, bots)
	must(t, err)
	var who [2]game.Bot
	for i, name := range bots {
		if who[i], err = game.NewBot(g, name); err != nil {
			t.Fatal(err)
		}
	}
	st, n := g.New(), g.Spec().Seats
	actions, rewards := make([]int32, n), make([]float32, n)
	probs, order := make([]float32, len(g.Spec().Actions)), make([]int, n)
	rows := 0
	for e := range episodes {
		r := rng.New(7).Child("episode", e).Rand()
		r.Perm(order)
		st.Reset(&r)
		b.Start()
		for !st.Over() {
			for s := range n {
				if actions[s] = game.NoAction; !st.Alive(game.Seat(s)) {
					continue
				}
				typ := 1
				if order[s] < e%(n+1) {
					typ = 0
				}
				actions[s] = who[typ].Act(st, game.Seat(s), &r)
				rows++
				for k := range top1 {
					b.Predict(probs, oracle.Knowledge(k), st, game.Seat(s), typ)
					best, ties := float32(0), 0.
					for _, p := range probs {
						if p > best {
							best, ties = p, 0
						}
						if p == best {
							ties++
						}
					}
					p := probs[actions[s]]
					if p == best {
						top1[k] += 1 / ties
					}
					ce[k] -= math.Log(max(float64(p), 1e-9))
				}
			}
			b.Update(st, actions)
			st.Step(actions, rewards, &r)
		}
	}
	for k := range top1 {
		top1[k] /= float64(rows)
		ce[k] /= float64(rows)
	}
	return top1, ce
}

// What can be known about ns and nh, as the prototypes measured it. With 1,000
// episodes (20,000 rows) the deviation of top-1 is about .003 and of the
// cross-entropy .005, episodes being alike inside; the bounds are 4 of them.
func TestObserversKnowWhatCanBeKnown(t *testing.T) {
	small, large := staghunt.Default(), staghunt.Default()
	small.Size, small.Blocks = 4, 0
	large.Size, large.Blocks = 8, 5
	for _, tc := range []struct {
		name     string
		c        staghunt.Config
		top1, ce map[oracle.Knowledge]float64
	}{
		{
			"4x4", small,
			map[oracle.Knowledge]float64{oracle.TypeKnown: .916, oracle.OwnHistory: .852, oracle.Even: .705},
			map[oracle.Knowledge]float64{oracle.TypeKnown: .123, oracle.OwnHistory: .267, oracle.Even: .686},
		},
		{
			"8x8, five blocks", large,
			map[oracle.Knowledge]float64{oracle.TypeKnown: .907, oracle.OwnHistory: .871, oracle.Even: .719},
			map[oracle.Knowledge]float64{oracle.TypeKnown: .133, oracle.OwnHistory: .218, oracle.Even: .599},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			top1, ce := knowable(t, tc.c, 1000)
			for k := range oracle.Knowledges {
				t.Logf("%-14s top-1 %.3f, cross-entropy %.3f", oracle.Knowledge(k), top1[k], ce[k])
			}
			for k, want := range tc.top1 {
				if math.Abs(top1[k]-want) > .012 {
					t.Errorf("%s: top-1 %.3f, want %.3f", k, top1[k], want)
				}
			}
			for k, want := range tc.ce {
				if math.Abs(ce[k]-want) > .02 {
					t.Errorf("%s: cross-entropy %.3f, want %.3f", k, ce[k], want)
				}
			}
			for k := 1; k < oracle.Knowledges; k++ {
				if ce[k] > ce[k-1]-.002 { // who the others are tells something too: teams are not dealt independently
					t.Errorf("%s is worse than %s: cross-entropy %.3f, %.3f", oracle.Knowledge(k), oracle.Knowledge(k-1), ce[k], ce[k-1])
				}
			}
		})
	}
}

func TestTeamsArePriorsAsCollected(t *testing.T) {
	g := gametest.New(t, staghunt.New, staghunt.Default())
	b, err := oracle.NewBayes(g, []string{"ns", "nh"})
	must(t, err)
	p := make([]float64, 2)
	for s := range g.Spec().Seats {
		b.Types(p, oracle.JointHistory, game.Seat(s), 0)
		if math.Abs(p[0]-.5) > 1e-9 || math.Abs(p[0]+p[1]-1) > 1e-9 {
			t.Errorf("seat %d starts at %v, want half each", s, p)
		}
	}
}

func TestBotsWithMemoryAreRefused(t *testing.T) {
	g := gametest.New(t, staghunt.New, staghunt.Default())
	for _, name := range []string{"switcher", "nobody"} {
		if _, err := oracle.NewBayes(g, []string{"ns", name}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
