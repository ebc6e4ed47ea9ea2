package vector_test

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/model/vector"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
)

var input = vector.Input{Agents: 2, Actions: 3, Width: 2, Masks: true, Timed: true}

// walks is steps of two who walk on a line: each sees where it is and how far the other is, action 1 goes up and 2
// down by a quarter, being close pays, above 1 nobody goes up, and who is above 1.5 has left. The first step of a walk
// lies anywhere.
func walks(rows int, seed uint64) *vector.Batch {
	r, b := rng.New(seed).Rand(), vector.NewBatch(input, rows)
	for i := range rows {
		at := [2]float32{3 * (r.Float32() - 0.5), 3 * (r.Float32() - 0.5)}
		then := at
		for a := range 2 {
			b.Joint[2*i+a] = int32(r.IntN(3))
			then[a] += []float32{0, 0.25, -0.25}[b.Joint[2*i+a]]
		}
		for a := range 2 {
			copy(b.Obs[4*i+2*a:], []float32{at[a], at[1-a] - at[a]})
			copy(b.Next[4*i+2*a:], []float32{then[a], then[1-a] - then[a]})
			if b.Reward[2*i+a] = 20; math.Abs(float64(then[0]-then[1])) < 0.5 {
				b.Reward[2*i+a] = 27
			}
			if then[a] < 1.5 {
				b.Stays[2*i+a], b.Legal[2*i+a] = vector.Stays, 0b111
				if then[a] > 1 {
					b.Legal[2*i+a] = 0b101
				}
			}
		}
		if i%9 == 0 { // who has left is nobody's loss
			b.Joint[2*i+1] = -1
		}
	}
	return b
}

func TestGradients(t *testing.T) {
	m, p, err := vector.New(vector.Config{Hidden: []int{6, 5}}, input, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	b, s := walks(40, 1), vector.NewScale(input)
	s.Add(b)
	b.Stays[0] = vector.Unknown
	ws := m.Work(40)
	nntest.Check(t, nntest.Model{
		Params: []*nn.Params{p},
		Loss: func() float64 {
			l := ws.Learn(p.Shard(), s, b, 40)
			return (l.Next.Sum + l.Reward.Sum + l.Stays.Sum + l.Legal.Sum/3) / 80
		},
		Grad: func() { ws.Learn(p, s, b, 40) },
	})
}

// What is learnt from steps holds for others of the same game: where everybody is, who is paid, who leaves, and what
// is legal.
func TestAGameIsLearnt(t *testing.T) {
	m, p, err := vector.New(vector.Config{Hidden: []int{32, 32}}, input, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	data, s, ws := walks(4000, 1), vector.NewScale(input), m.Work(100)
	s.Add(data)
	train := nn.NewTrainer[*vector.Work, vector.Losses](p, nn.TrainerConfig{Clip: 1}, nn.Linear(5e-3, 2e-4, 2000), []*vector.Work{ws})
	for step := range 2000 {
		var sum vector.Losses
		if _, err := train.Step(100, &sum, func(part *nn.Shard[*vector.Work]) vector.Losses {
			lo := step % 40 * 100
			return part.Work.Learn(part.Params, s, data.Part(input, lo+part.Lo, lo+part.Hi), 100)
		}); err != nil {
			t.Fatal(err)
		}
	}
	truth := walks(1000, 2)
	got := truth.Question(input)
	ws.Step(p, s, got)
	seats, off, wrong := 0., 0., 0.
	for at := range truth.Joint {
		if truth.Joint[at] < 0 {
			if got.Stays[at] != vector.Left || got.Legal[at] != 0 || got.Next[2*at] != truth.Obs[2*at] {
				t.Fatalf("step %d: who has left does something", at/2)
			}
			continue
		}
		seats++
		off += math.Abs(float64(got.Next[2*at]-truth.Next[2*at])) / 0.25
		if math.Abs(float64(got.Reward[at]-truth.Reward[at])) > 3.5 || got.Stays[at] != truth.Stays[at] || got.Legal[at] != truth.Legal[at] {
			wrong++
		}
	}
	if off/seats > 0.06 || wrong/seats > 0.06 {
		t.Errorf("places are off by %.3f of a step, want at most .06; %.3f of rewards, ends and masks are wrong, want at most .06",
			off/seats, wrong/seats)
	}
}

// Who stays may do something, and a number of few values has one of them, however little is known.
func TestWhoStaysMayDoSomething(t *testing.T) {
	m, p, err := vector.New(vector.Config{Hidden: []int{4}}, input, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	clear(p.W)
	b, s := vector.NewBatch(input, 1), vector.NewScale(input)
	b.Obs[0], b.Next[0] = 1, 3
	s.Add(b)
	b.Obs[0] = 1.9
	m.Work(1).Step(p, s, b)
	if b.Stays[0] != vector.Stays || b.Legal[0] == 0 || b.Next[0] != 1 {
		t.Errorf("stays %d with mask %b at %v, want a mask that is not empty, at 1", b.Stays[0], b.Legal[0], b.Next[0])
	}
}
