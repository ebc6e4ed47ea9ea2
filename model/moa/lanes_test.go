package moa

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

func TestLanesHoldEveryRowOnce(t *testing.T) {
	l := learner(t, nets["dense history"], DefaultLearning(), 2)
	r := rng.New(3).Rand()
	rows := l.Model.NewRows()
	seqs := fill(rows, 60, 30, &r)
	var p lanes
	for _, part := range [][]int32{seqs, seqs[:1], seqs[7:20], seqs} {
		p.pack(rows, part)
		times := map[int32]int{}
		for at, row := range p.row {
			if p.Alive[at] != (row >= 0) {
				t.Fatalf("place %d holds row %d and is alive: %v", at, row, p.Alive[at])
			}
			if row < 0 {
				continue
			}
			times[row]++
			if s := rows.Seqs[part[p.of[at]]]; row < s.Lo || row >= s.Hi || p.Reset[at] != (row == s.Lo) {
				t.Errorf("place %d: row %d of sequence %v, reset %v; want a row of it, reset at its first", at, row, s, p.Reset[at])
			}
		}
		want := 0
		for i, s := range part {
			for step := range int(rows.Seqs[s].Hi - rows.Seqs[s].Lo) {
				want++
				if row := rows.Seqs[s].Lo + int32(step); times[row] != 1 || p.row[p.at(i, step)] != row {
					t.Errorf("row %d lies in %d places, at its own is row %d; want one, itself", row, times[row], p.row[p.at(i, step)])
				}
			}
		}
		if full := float64(want) / float64(len(p.row)); len(times) != want || full < 0.8 {
			t.Errorf("%d sequences: %d of %d rows, %.2f of the rectangle is used; want all, at least 0.8", len(part), len(times), want, full)
		}
	}
}

func TestSequencesOfOneLaneDoNotMeet(t *testing.T) {
	l := learner(t, nets["dense history"], DefaultLearning(), 2)
	m := l.Model
	r := rng.New(3).Rand()
	rows := m.NewRows()
	seqs := fill(rows, 40, 12, &r)
	ws, dist := m.Work(1), nn.NewCategorical(actions, 1)
	var h []float32
	l.Each(rows, seqs, func(row int, p nn.Probs) {
		for _, s := range rows.Seqs {
			if int(s.Lo) == row {
				h = make([]float32, m.History) // an agent's first step
			}
		}
		ws.Reset()
		ws.AddFrom(&rows.X, row, rows.Goals[row*2:row*2+2])
		ws.Step(l.Params, h)
		dist.Set(ws.Logits, rows.Legal[row*actions:(row+1)*actions], 1)
		for k, v := range p {
			if d := math.Abs(float64(v - dist.P[k])); d > 1e-6 {
				t.Fatalf("row %d: action %d has %v in its lane, %v if its sequence is alone", row, k, v, dist.P[k])
			}
		}
	})
}

// Half of the agents stay at their first step and leave by it, the others go on.
// Batches of sequences of one length would hold either kind alone.
func TestShortLivesCountAsMuchAsLongOnes(t *testing.T) {
	cfg := DefaultLearning()
	cfg.Batch = 128
	l := learner(t, Config{Net: "dense", Frame: "egof", Hidden: []int{32, 32}, History: 8}, cfg, 0)
	r := rng.New(4).Rand()
	rows := l.Model.NewRows()
	var seqs []int32
	for i := range 3000 {
		seqs = append(seqs, int32(i))
		rows.Begin()
		if i%2 == 0 {
			rows.Add(look(&r, -1), nil, 4)
			continue
		}
		last := -1
		for range 2 + i/2%9 {
			obs := look(&r, last)
			if last = 0; obs[l.Model.LegalAt] == 0 {
				last = 1
			}
			rows.Add(obs, nil, int32(last))
		}
	}
	for _, lr := range []float64{3e-3, 3e-3, 1e-3, 1e-3, 3e-4} {
		if _, err := l.Epoch(rows, seqs, lr, &r, nil); err != nil {
			t.Fatal(err)
		}
	}
	sum, n := 0., 0
	l.Each(rows, seqs, func(row int, p nn.Probs) {
		for _, s := range rows.Seqs {
			if int(s.Lo) == row {
				sum, n = sum+float64(p[4]), n+1
			}
		}
	})
	if got := sum / float64(n); n != len(seqs) || math.Abs(got-0.5) > 0.03 {
		t.Errorf("at %d first steps staying has %.3f on average, want 0.5 as in the data", n, got)
	}
}
