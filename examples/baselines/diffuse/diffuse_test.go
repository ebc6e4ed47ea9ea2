package diffuse

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
)

// toy is of one agent and two actions, and of plans whose first two tokens are alike, by half
// each of 0 and of 1, and that end then.
func toy(rows int) (*Model, []Row) {
	m := New(2, 1, 2, []int{32}, rows, rng.New(3))
	var data []Row
	for k := range int32(2) {
		plan := []int32{k, k}
		for len(plan) < m.Tokens {
			plan = append(plan, m.Gone())
		}
		data = append(data, Row{Obs: []float32{1, 0.5}, Level: Plenty, Plan: plan})
	}
	return m, data
}

func TestTheGradientIsThatOfTheHidden(t *testing.T) {
	m, data := toy(2)
	r := rng.New(1).Rand()
	noisy, levels := [][]int32{make([]int32, m.Tokens), make([]int32, m.Tokens)}, []int{0, 0}
	rows := []*Row{&data[0], &data[1]}
	for i, row := range rows {
		levels[i] = m.Noise(noisy[i], row, &r)
	}
	nntest.Check(t, nntest.Model{
		Params: []*nn.Params{m.Params},
		Loss: func() float64 {
			l := m.Gradient(rows, noisy, levels)
			m.Params.ZeroGrad()
			return l.Mean()
		},
		Grad: func() { m.Gradient(rows, noisy, levels) },
	})
}

// Uncovered one by one, the second token follows the first: the joint distribution is that of
// the data. Drawn at once, each by itself, the two agree by half.
func TestRoundsMakeThePlanOneOfThoseThatWereSeen(t *testing.T) {
	m, data := toy(64)
	r := rng.New(2).Rand()
	if _, err := m.Learn(data, 2500, &r); err != nil {
		t.Fatal(err)
	}
	for rounds, want := range map[int]float64{1: 0.5, m.Tokens: 1} {
		plans := make([][]int32, 64)
		for i := range plans {
			plans[i] = make([]int32, m.Tokens)
		}
		alike, ones, n := 0, 0, 0
		for range 20 {
			m.Draw(plans, data[0].Obs, Plenty, rounds, nil, &r)
			for _, p := range plans {
				if n++; p[0] == p[1] {
					alike++
				}
				if p[0] == 1 {
					ones++
				}
			}
		}
		share, half := float64(alike)/float64(n), float64(ones)/float64(n)
		if math.Abs(share-want) > 0.06 || math.Abs(half-0.5) > 0.08 {
			t.Errorf("in %d rounds %.3f of plans are alike and %.3f begin with 1, want %.1f and 0.5", rounds, share, half, want)
		}
	}
}

// Of who plays 3, then 4, then is gone beside one who plays 5 all along.
func TestPlansAreEgoFirstAndEnd(t *testing.T) {
	done := [][]int32{{5, 3}, {5, 4}, {5, -1}}
	got, gone := planOf(done, 1, 0, 7), int32(7)
	want := []int32{3, 4, gone, gone, gone, gone, gone, gone, 5, 5, 5, gone, gone, gone, gone, gone}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("the plan is %v, want %v", got, want)
		}
	}
}
