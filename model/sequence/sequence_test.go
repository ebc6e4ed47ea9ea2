package sequence

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// toy is a model of agents that see three numbers and have two actions; "gru code" is a GRU whose
// heads read a code.
func toy(t testing.TB, history string) (*Model, *nn.Params) {
	t.Helper()
	c := Default()
	history, coded := strings.CutSuffix(history, " code")
	if coded {
		c.Code, c.Untyped = 3, history == "gru"
	}
	c.History, c.Width, c.Heads, c.Up, c.Window = history, 8, 2, 8, 6
	c.Head = moa.Config{Net: "dense", Frame: "board", Hidden: []int{8, 8}}
	in := Input{Input: moa.Input{Input: frame.Input{Rest: 3}, Actions: 2, LegalAt: -1, LastAt: -1, Seats: 2},
		Goals: []string{"a", "b"}, Kinds: []string{"a", "b", "random"}}
	m, p, err := New(c, in, rng.New(3))
	if err != nil {
		t.Fatal(err)
	}
	return m, p
}

// some returns histories of random steps, some of which the observer did not see.
func some(m *Model, n, steps int) *Lives {
	l, r := m.NewLives(), rng.New(5).Rand()
	for i := range n {
		l.Begin(int32(i % 3))
		for k := range steps + i {
			tok := Token{Obs: []float32{float32(r.Norm()), float32(k % 4), 1}, Action: int32(r.IntN(2)), Start: k%4 == 0,
				Left: k%4 == 3, Reached: r.IntN(3) - 1}
			l.Add(tok, int32(r.IntN(3)-1), k%5 != 4)
		}
	}
	return l
}

func TestGradientsOfEveryHead(t *testing.T) {
	for _, history := range []string{"attention", "gru", "none", "gru code", "attention code"} {
		t.Run(history, func(t *testing.T) {
			m, p := toy(t, history)
			for i := range p.W { // heads start small: nothing would be seen behind them
				if p.W[i] != 0 {
					p.W[i] += 0.2 * float32(math.Sin(float64(i)))
				}
			}
			l, ws := some(m, 3, 9), m.Work()
			part, known := []int32{2, 0, 1}, []int32{-1, 0, 1}
			if m.Untyped {
				known = nil
			}
			ws.load(l, part, known)
			nntest.Check(t, nntest.Model{
				Params: []*nn.Params{p},
				Loss: func() float64 {
					ws.forward(p)
					rows := nn.Rows{N: ws.Act.Rows()}
					loss := ws.act.CrossEntropy(nil, ws.target, nil, rows).Mean() + 0.5*ws.class.CrossEntropy(nil, ws.goals, nil, rows).Mean()
					if history != "none" {
						loss += 0.5 * ws.kind.CrossEntropy(nil, ws.kinds, nil, rows).Mean()
					}
					return loss
				},
				Grad: func() { ws.learn(p, 0.5, ws.Act.Rows()) },
			})
		})
	}
}

// What is read token by token, kept by place and, in the middle, in a file, gives the
// predictions of the whole history.
func TestReadingInPlayEqualsTheWholeHistory(t *testing.T) {
	for _, history := range []string{"attention", "gru", "gru code"} {
		m, p := toy(t, history)
		l := some(m, 3, 20)
		part, width := []int32{0, 1, 2}, m.Act.GoalLen
		var want [][]float32 // [rows] probabilities of the action, then of the kind
		m.Work().Each(p, l, part, func(row int, by Predicted) {
			want = append(want, slices.Concat([]float32(by.Action), []float32(by.Kind)))
		})
		mem, ws, head := m.Memory(p, 5), m.Work(), m.Act.Work(1)
		ws.Room(4)
		for _, i := range part {
			place := int(i) + 1
			ws.Reset() // somebody else was here before
			ws.Add(Token{Obs: []float32{3, 2, 1}})
			ws.Read(p, mem, []int{place})
			mem.Forget(place)
			for row := int(l.Rows.Seqs[i].Lo); row < int(l.Rows.Seqs[i].Hi); row++ {
				goal := append(slices.Clone(mem.At(place)), make([]float32, width-m.ReadLen())...)
				head.Reset()
				head.AddFrom(&l.Rows.X, row, goal)
				head.Forward(p)
				got := make(nn.Probs, 2)
				nn.Softmax(got, head.Logits, 1, 2)
				kinds := make([]float32, 3)
				ws.KindsOf(p, kinds, mem.At(place))
				for k, v := range slices.Concat([]float32(got), kinds) {
					if math.Abs(float64(v-want[row][k])) > 1e-5 {
						t.Fatalf("%s, history %d, row %d: in play %v and %v, the whole history gives %v", history, i, row, got, kinds, want[row])
					}
				}
				last := row+1 == int(l.Rows.Seqs[i].Hi)
				if !last && l.Before[row+1] == l.Before[row]+1 || last && l.Tokens[i].Len > int(l.Before[row]) {
					ws.Reset()
					ws.X.AppendFrom(&l.X, l.Tokens[i].Off+int(l.Before[row]))
					ws.Read(p, mem, []int{place})
				}
				if row == int(l.Rows.Seqs[i].Lo)+7 {
					f := &safetensors.File{}
					mem.Save(f, "m/")
					mem = m.Memory(p, 5)
					if err := mem.Load(p, f, "m/"); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		obs := []float32{1, 2, 3}
		if n := testing.AllocsPerRun(5, func() {
			ws.Reset()
			ws.Add(Token{Obs: obs, Action: 1})
			ws.Read(p, mem, []int{2})
		}); n != 0 {
			t.Errorf("%s: reading a token allocates %v times, want 0", history, n)
		}
	}
}

// Agents of two kinds always do one thing, and what they see does not tell which. Who
// remembers knows from the second step on, and that is all there is to know: the
// cross-entropy of the first step is log 2, of all others 0.
func TestOneStepTellsTheKind(t *testing.T) {
	for _, history := range []string{"attention", "gru", "none"} {
		m, p := toy(t, history)
		l := m.NewLives()
		const lives, steps = 40, 6
		for i := range lives {
			kind := int32(i % 2)
			l.Begin(kind)
			for k := range steps {
				l.Add(Token{Obs: []float32{1, 0, 0}, Action: kind, Start: k%3 == 0}, kind, true)
			}
		}
		learner, err := NewLearner(m, p, Learning{LR: 1e-2, Batch: lives * steps, Share: 1, Shards: 2}, 150, rng.New(1))
		if err != nil {
			t.Fatal(err)
		}
		all := make([]int32, lives)
		for i := range all {
			all[i] = int32(i)
		}
		r := rng.New(2).Rand()
		for range 150 {
			if _, err := learner.Step(l, all, &r); err != nil {
				t.Fatal(err)
			}
		}
		var ce [steps]float64
		right := [steps]float64{}
		learner.Each(l, all, func(row int, by Predicted) {
			k, was := row%steps, l.Rows.Action[row]
			ce[k] -= math.Log(float64(by.Action[was])) / lives
			right[k] += float64(by.Kind[was]) / lives
		})
		for k, got := range ce {
			want, sure := 0., 1.
			if k == 0 || history == "none" {
				want, sure = math.Log(2), 0.5
			}
			if history == "none" {
				sure = right[k] // nothing is said of kinds
			}
			if math.Abs(got-want) > 0.05 || math.Abs(right[k]-sure) > 0.1 {
				t.Errorf("%s: step %d has a cross-entropy of %.3f, want %.3f; the kind has probability %.3f, want %.1f",
					history, k, got, want, right[k], sure)
			}
		}
	}
}

func TestWrongSettingsAreNamed(t *testing.T) {
	c := Default()
	c.Heads, c.Head.History = 3, 4
	err := fmt.Sprint(c.Validate())
	for _, want := range []string{"heads is 3, want a divisor of width", "head.history is 4, want 0"} {
		if !strings.Contains(err, want) {
			t.Errorf("error %q, want one with %q", err, want)
		}
	}
}
