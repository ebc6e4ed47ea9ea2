package nn_test

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// attentionTwin is the layer's definition: every row of a sequence reads those of its
// window, one head after the other.
func attentionTwin(l nn.Attention, at func(string) []float64, x []float64, seqs []nn.Span) []float64 {
	rows := len(x) / l.D
	t := &reference.Tape{}
	qkv := t.Affine(mat(x, rows), mat(at("l/qkv/w"), l.D), mat(at("l/qkv/b"), 1)).V
	n, o := l.D/l.Heads, make([]float64, rows*l.D)
	for _, s := range seqs {
		for i := range s.Len {
			for h := range l.Heads {
				score, sum := map[int]float64{}, 0.
				for j := max(0, i-l.Window+1); j <= i; j++ {
					dot := 0.
					for k := range n {
						dot += qkv[(s.Off+i)*3*l.D+h*n+k] * qkv[(s.Off+j)*3*l.D+l.D+h*n+k]
					}
					score[j] = math.Exp(dot/math.Sqrt(float64(n)) - math.Pow(2, -8*float64(h+1)/float64(l.Heads))*float64(i-j))
					sum += score[j]
				}
				for j, e := range score {
					for k := range n {
						o[(s.Off+i)*l.D+h*n+k] += e / sum * qkv[(s.Off+j)*3*l.D+2*l.D+h*n+k]
					}
				}
			}
		}
	}
	return t.Affine(mat(o, rows), mat(at("l/out/w"), l.D), mat(at("l/out/b"), 1)).V
}

func TestAttentionIsItsDefinition(t *testing.T) {
	const d, heads, window = 8, 2, 9
	seqs := []nn.Span{{Off: 0, Len: 70}, {Off: 70, Len: 5}} // longer than a block of queries, and shorter than the window
	const rows = 75
	p := &nn.Params{}
	l := p.Attention("l", d, heads, window)
	p.Init(rng.New(1))
	jitter(p)
	ws, y, dy := l.Work(rows+3, 70), make([]float32, rows*d), make([]float32, rows*d)
	x, dx, c := random(rows*d, "x"), make([]float32, rows*d), random(rows*d, "c")
	grad := func() {
		l.Forward(p, ws, y, x, seqs)
		copy(dy, c)
		l.Backward(p, ws, dx, dy, x, y, seqs)
	}
	grad() // a used workspace must do too
	nntest.Check(t, nntest.Model{
		Params: []*nn.Params{p}, Inputs: []nntest.Input{input("x", x, dx)}, Grad: grad,
		Loss: func() float64 { l.Forward(p, ws, y, x, seqs); return weigh(y, c) },
		Twin: func(at func(string) []float64) float64 { return weigh64(attentionTwin(l, at, at("x"), seqs), c) },
	})
}

func TestNormIsItsDefinition(t *testing.T) {
	const d, rows = 6, 4
	p := &nn.Params{}
	l := p.Norm("l", d)
	p.Init(rng.New(1))
	jitter(p)
	y, dy, x, dx, c := make([]float32, rows*d), make([]float32, rows*d), random(rows*d, "x"), make([]float32, rows*d), random(rows*d, "c")
	nntest.Check(t, nntest.Model{
		Params: []*nn.Params{p}, Inputs: []nntest.Input{input("x", x, dx)},
		Loss: func() float64 { l.Forward(p, y, x, rows); return weigh(y, c) },
		Grad: func() { copy(dy, c); l.Backward(p, dx, dy, x, rows) },
		Twin: func(at func(string) []float64) float64 {
			var out []float64
			for i := range rows {
				row := at("x")[i*d : (i+1)*d]
				mean, square := 0., 0.
				for _, v := range row {
					mean += v / d
				}
				for _, v := range row {
					square += (v - mean) * (v - mean) / d
				}
				for j, v := range row {
					out = append(out, at("l/g")[j]*(v-mean)/math.Sqrt(square+1e-5)+at("l/b")[j])
				}
			}
			return weigh64(out, c)
		},
	})
}

// transformer is a small one with some sequences in its workspace.
func transformer(lengths ...int) (*nn.Params, nn.Transformer, *nn.TransformerWork, []nn.Span) {
	p := &nn.Params{}
	n := p.Transformer("t", 2, 8, 12, 2, 5)
	p.Init(rng.New(1))
	jitter(p)
	var seqs []nn.Span
	rows := 0
	for _, k := range lengths {
		seqs = append(seqs, nn.Span{Off: rows, Len: k})
		rows += k
	}
	ws := n.Work(rows, slices.Max(lengths))
	copy(ws.X, random(rows*n.D, "x"))
	return p, n, ws, seqs
}

func TestTransformerGradients(t *testing.T) {
	p, n, ws, seqs := transformer(7, 3)
	c := random(len(ws.Y), "c")
	nntest.Check(t, nntest.Model{
		Params: []*nn.Params{p}, Inputs: []nntest.Input{input("x", ws.X, ws.DX)},
		Loss: func() float64 { n.Forward(p, ws, seqs); return weigh(ws.Y, c) },
		Grad: func() { n.Forward(p, ws, seqs); copy(ws.DY, c); n.Backward(p, ws, seqs) },
	})
}

// A sequence that is read row by row, with what was read kept in a ring and, in the
// middle, in a file, gives what the whole sequence gives, also when it is several
// windows long.
func TestStepsOfATransformerEqualItsSequences(t *testing.T) {
	p, n, ws, seqs := transformer(17, 17, 17)
	x := slices.Clone(ws.X)
	n.Forward(p, ws, seqs)
	want := slices.Clone(ws.Y)
	cache, places := n.Cache(4), []int{3, 0, 2}
	for range 8 { // a place that was used before and is forgotten
		n.Step(p, ws, cache, places)
	}
	for _, at := range places {
		cache.Forget(at)
	}
	for i := range 17 {
		if i == 9 {
			f := &safetensors.File{}
			cache.Save(f, "c/")
			cache = n.Cache(4)
			if err := cache.Load(f, "c/"); err != nil {
				t.Fatal(err)
			}
		}
		for k, s := range seqs {
			copy(ws.X[k*n.D:(k+1)*n.D], x[(s.Off+i)*n.D:])
		}
		n.Step(p, ws, cache, places)
		for k, s := range seqs {
			for j := range n.D {
				if got, want := ws.Y[k*n.D+j], want[(s.Off+i)*n.D+j]; math.Abs(float64(got-want)) > 1e-5 {
					t.Fatalf("row %d of sequence %d, number %d: step by step %v, at once %v", i, k, j, got, want)
				}
			}
		}
	}
}

func TestTransformersAllocateNothing(t *testing.T) {
	p, n, ws, seqs := transformer(70, 3)
	cache, places := n.Cache(2), []int{1, 0}
	if k := testing.AllocsPerRun(5, func() {
		n.Forward(p, ws, seqs)
		n.Backward(p, ws, seqs)
		n.Step(p, ws, cache, places)
	}); k != 0 {
		t.Errorf("%v allocations, want 0", k)
	}
}
