package matrix

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// Within an episode memory1 is one player: what it does after an outcome has the share of that
// outcome. From one episode to the next it is somebody else: over many, the shares are even, each
// apart from the others. Bounds are five standard errors, and the seed is fixed.
func TestMemory1IsSomebodyElseEachEpisode(t *testing.T) {
	g, err := New(Config{Matrix: "pd", Rounds: 4000, Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	b := Drawn(g)[0].New().(*drawn)
	r := rng.New(1).Rand()
	st := g.New().(*State)
	const episodes = 60
	var sum, square, first float64
	for range episodes {
		st.Reset(nil)
		var count, kind [4]float64
		for !st.Over() {
			at := -1
			if st.t > 0 {
				at = 2*int(st.last[1]) + int(st.last[0]) // it sits on seat 1
			}
			k := b.Act(st, 1, &r)
			if at < 0 {
				first += float64(1 - k)
			} else {
				count[at]++
				kind[at] += float64(1 - k)
			}
			st.Step([]int32{int32(r.IntN(2)), k}, make([]float32, 2), nil)
		}
		for at, p := range b.shares {
			p := float64(p)
			if got := kind[at] / count[at]; math.Abs(got-p) > 5*math.Sqrt(p*(1-p)/count[at])+1e-9 {
				t.Errorf("after outcome %d it cooperates in %.3f of %v rounds, and its share is %.3f", at, got, count[at], p)
			}
			sum += p
			square += p * p
		}
		b.Watch(st, 1)
	}
	n := 4. * episodes
	mean, deviation := sum/n, math.Sqrt(square/n-sum/n*sum/n)
	if math.Abs(mean-.5) > 5*math.Sqrt(1./12/n) || math.Abs(deviation-math.Sqrt(1./12)) > .05 {
		t.Errorf("shares have mean %.3f and deviation %.3f, want .5 and .289", mean, deviation)
	}
	if math.Abs(first/episodes-.5) > 5*.5/math.Sqrt(episodes) {
		t.Errorf("it begins by cooperating in %.2f of episodes, want half", first/episodes)
	}
}

func TestMemory1IsWhoWasSaved(t *testing.T) {
	b, other := &drawn{[4]float32{.1, .2, .3, .4}}, &drawn{}
	saved, err := b.AppendBinary(nil)
	if err == nil {
		err = other.UnmarshalBinary(saved)
	}
	if err != nil || *other != *b {
		t.Errorf("%v, %v comes back, want %v", err, *other, *b)
	}
	if other.UnmarshalBinary(saved[1:]) == nil {
		t.Error("half of a player was loaded")
	}
}

func TestNobodyIsDrawnWhereNobodyCooperates(t *testing.T) {
	g, err := New(Config{Matrix: "rps", Rounds: 3})
	if err != nil {
		t.Fatal(err)
	}
	if got := Drawn(game.Game(g)); len(got) != 0 {
		t.Errorf("rock-paper-scissors has %v", got)
	}
}

// What there is to be won by reading memory1 over 100 rounds of the dilemma, by backward induction on drawn tables: who
// knows the table has 314 in the mean, who always defects 300. docs/selfish.md quotes both.
func TestLittleIsWonByReadingMemory1(t *testing.T) {
	pays := Stages()[0].Pays
	r := rng.New(1).Rand()
	const tables = 20_000
	var best, defects float64
	for range tables {
		var shares [4]float64
		for i := range shares {
			shares[i] = float64(r.Float32())
		}
		// worth of what follows the outcomes CC, CD, DC, DD, its own action first: by the better action, and by defecting
		var free, bound [4]float64
		after := func(share float64, own int, v *[4]float64) float64 {
			return share*(float64(pays[own][cooperate])+v[own]) + (1-share)*(float64(pays[own][defect])+v[2+own])
		}
		for range 99 {
			var f, b [4]float64
			for at, share := range shares {
				f[at] = max(after(share, cooperate, &free), after(share, defect, &free))
				b[at] = after(share, defect, &bound)
			}
			free, bound = f, b
		}
		best += max(after(.5, cooperate, &free), after(.5, defect, &free)) / tables
		defects += after(.5, defect, &bound) / tables
	}
	if math.Abs(best-314) > 2 || math.Abs(defects-300) > 2 { // standard errors of .6
		t.Errorf("the best response has %.1f, defecting %.1f; the page says 314 and 300", best, defects)
	}
}
