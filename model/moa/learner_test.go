package moa

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func accuracy(l *Learner, rows *Rows, seqs []int32) float64 {
	hit, n := 0, 0
	l.Each(rows, seqs, func(row int, p nn.Probs) {
		best := 0
		for k := range p {
			if p[k] > p[best] {
				best = k
			}
		}
		if n++; best == int(rows.Action[row]) {
			hit++
		}
	})
	return float64(hit) / float64(n)
}

// A model told the goal learns both policies; one that remembers finds out by
// itself after a step; one that knows neither cannot.
func TestConditionAndHistorySeparatePolicies(t *testing.T) {
	for _, tc := range []struct {
		name           string
		history, goals int
		augment        string
		lo, hi         float64
	}{
		{"told", 0, 2, "none", .93, 1},
		{"told, turned, of a hunter who prefers rows to columns", 0, 2, "all", .8, .92},
		{"remembers", 16, 0, "none", .8, .95},
		{"neither", 0, 0, "none", .5, .9},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := DefaultLearning()
			cfg.Augment, cfg.Batch = tc.augment, 128
			l := learner(t, Config{Net: "dense", Frame: "egof", Hidden: []int{32, 32}, History: tc.history}, cfg, tc.goals)
			r := rng.New(4).Rand()
			rows := l.Model.NewRows()
			seqs, held := fill(rows, 600, 10, &r), fill(rows, 200, 10, &r)
			for range 8 {
				if _, err := l.Epoch(rows, seqs, 3e-3, &r, nil); err != nil {
					t.Fatal(err)
				}
			}
			if got := accuracy(l, rows, held); got < tc.lo || got > tc.hi {
				t.Errorf("top-1 is %.3f, want %v to %v", got, tc.lo, tc.hi)
			}
			if rows.Wrong != 0 || rows.Steps == 0 || rows.Left != 0 || rows.Illegal != 0 {
				t.Errorf("good rows are said to be bad: %d of %d wrong, %d left, %d illegal", rows.Wrong, rows.Steps, rows.Left, rows.Illegal)
			}
		})
	}
}

func TestRowsOfAgentsThatLeftAreRefused(t *testing.T) {
	l := learner(t, nets["dense"], DefaultLearning(), 0)
	r := rng.New(1).Rand()
	noMask, noSelf, illegal := look(&r, -1), look(&r, -1), look(&r, -1)
	clear(noMask[l.Model.LegalAt : l.Model.LegalAt+actions])
	for c := range side * side {
		noSelf[c*planes] = 0
	}
	illegal[l.Model.LegalAt+2] = 0
	for _, tc := range []struct {
		name            string
		obs             []float32
		action          int32
		left, illegal   int
		keep, wantTaken bool
	}{
		{"empty mask", noMask, 4, 1, 0, false, false},
		{"not on the board", noSelf, 4, 1, 0, false, false},
		{"no action", look(&r, -1), -1, 1, 0, false, false},
		{"illegal", illegal, 2, 0, 1, false, false},
		{"kept for an audit", noMask, 4, 1, 0, true, true},
		{"alive", look(&r, -1), 4, 0, 0, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rows := l.Model.NewRows()
			rows.Keep = tc.keep
			rows.Begin()
			if got := rows.Add(tc.obs, nil, tc.action); got != tc.wantTaken || (rows.Len() == 1) != tc.wantTaken {
				t.Errorf("taken in: %v with %d rows, want %v", got, rows.Len(), tc.wantTaken)
			}
			if rows.Left != tc.left || rows.Illegal != tc.illegal {
				t.Errorf("left %d, illegal %d, want %d, %d", rows.Left, rows.Illegal, tc.left, tc.illegal)
			}
		})
	}
}

// The last joint action in seat order, planes ego-first.
func TestSeatOrderIsNoticed(t *testing.T) {
	l := learner(t, nets["dense"], DefaultLearning(), 0)
	r := rng.New(1).Rand()
	rows := l.Model.NewRows()
	rows.Begin()
	last := int32(-1)
	for range 20 {
		obs := look(&r, int(last))
		tail := obs[l.Model.LastAt:]
		for k := range actions { // the agent sits on seat 1: seat order starts with someone else
			tail[k], tail[actions+k] = tail[actions+k], tail[k]
		}
		a := chase(obs, 0)
		rows.Add(obs, nil, a)
		last = a
	}
	if rows.Wrong == 0 || rows.Steps != 19 {
		t.Errorf("%d of %d rows are said to be wrong, want some of 19", rows.Wrong, rows.Steps)
	}
}

// Weights that stand still are named, before and after loading.
func TestWeightsThatDoNotLearnAreNamed(t *testing.T) {
	l := learner(t, nets["dense"], DefaultLearning(), 0)
	if still := l.Still(); len(still) != len(l.Params.Parts) {
		t.Errorf("before any step %v are still, want all", still)
	}
	r := rng.New(1).Rand()
	rows := l.Model.NewRows()
	if _, err := l.Epoch(rows, fill(rows, 50, 5, &r), 1e-2, &r, nil); err != nil {
		t.Fatal(err)
	}
	if still := l.Still(); len(still) != 0 {
		t.Errorf("after an epoch %v are still, want none", still)
	}
	for _, part := range l.Params.Parts {
		if strings.HasPrefix(part.Name, "body") {
			copy(l.Params.W[part.Off:part.Off+part.Len], l.start[part.Off:])
		}
	}
	if still := l.Still(); !slices.Equal(still, []string{"body/0/w", "body/0/b"}) {
		t.Errorf("%v are still, want the body", still)
	}
	again, err := NewLearner(nets["dense"], DefaultLearning(), input(0), rng.New(9))
	must(t, err)
	must(t, again.Load(parse(t, body(t, func(f *safetensors.File) { l.Save(f, "") })), ""))
	if still := again.Still(); !slices.Equal(still, []string{"body/0/w", "body/0/b"}) || again.Moved() != l.Moved() {
		t.Errorf("after loading %v are still, moved %v; want the body, %v", still, again.Moved(), l.Moved())
	}
}

func TestBalanceWeighsRareActions(t *testing.T) {
	cfg := DefaultLearning()
	cfg.Balance = true
	l := learner(t, nets["dense"], cfg, 0)
	r := rng.New(1).Rand()
	rows := l.Model.NewRows()
	seqs := fill(rows, 100, 8, &r)
	l.weigh(rows, seqs)
	counts := rows.Counts(seqs)
	sum, n := 0., 0
	for k, c := range counts {
		sum += float64(l.class[k]) * float64(c)
		n += c
		if math.Abs(float64(l.class[k])*float64(c)-float64(l.class[0])*float64(counts[0])) > 1e-2 {
			t.Errorf("class %d weighs %v in all, class 0 %v; want alike", k, float64(l.class[k])*float64(c), float64(l.class[0])*float64(counts[0]))
		}
	}
	if math.Abs(sum/float64(n)-1) > 1e-5 {
		t.Errorf("a row weighs %v on average, want 1", sum/float64(n))
	}
}

func body(t *testing.T, save func(f *safetensors.File)) []byte {
	t.Helper()
	f := &safetensors.File{}
	save(f)
	b, err := f.AppendBinary(nil)
	must(t, err)
	return b
}

func parse(t *testing.T, b []byte) *safetensors.File {
	t.Helper()
	f, err := safetensors.Parse(b)
	must(t, err)
	return f
}

func TestEpochsDoNotDependOnMemory(t *testing.T) {
	run := func(history int) []float32 {
		l := learner(t, Config{Net: "dense", Frame: "egof", Hidden: []int{8, 8}, History: history}, DefaultLearning(), 0)
		r := rng.New(5).Rand()
		rows := l.Model.NewRows()
		seqs := fill(rows, 80, 6, &r)
		for range 2 {
			if _, err := l.Epoch(rows, seqs, 1e-3, &r, nil); err != nil {
				t.Fatal(err)
			}
			accuracy(l, rows, seqs[:5])
		}
		return l.Params.W
	}
	for _, h := range []int{0, 4} {
		if !slices.Equal(run(h), run(h)) {
			t.Errorf("history %d: two equal runs end with different weights", h)
		}
	}
}
