package nn

import (
	"fmt"
	"math"

	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/safetensors"
)

// Transformer is a stack of attention blocks with the norms before the layers
// (Xiong et al. 2020):
//
//	x = x + Attention(Norm(x));  x = x + relu(Norm(x) u + bu) d + bd
//
// and a norm at the end. Row i of a sequence depends on rows up to i alone.
type Transformer struct {
	D, Up  int
	blocks []block
	last   Norm
}

type block struct {
	before, between Norm
	att             Attention
	up, down        Dense
}

// Transformer adds layers of name/0, name/1, ...; up is the width between the two
// dense layers of a block.
func (p *Params) Transformer(name string, layers, d, up, heads, window int) Transformer {
	n := Transformer{D: d, Up: up}
	small := 1 / math.Sqrt(2*float64(layers))
	for i := range layers {
		at := fmt.Sprintf("%s/%d", name, i)
		n.blocks = append(n.blocks, block{
			p.Norm(at+"/before", d), p.Norm(at+"/between", d), p.Attention(at, d, heads, window),
			p.Dense(at+"/up", d, up, ReLU), p.Dense(at+"/down", up, d, None, Orthogonal(small)),
		})
	}
	n.last = p.Norm(name+"/last", d)
	return n
}

// TransformerWork holds the activations of sequences and their gradients.
type TransformerWork struct {
	X, DX []float32 // [rows][D]: the caller fills X before Forward; DX is its gradient after Backward
	Y, DY []float32 // [rows][D]: the outputs, and where the caller puts their gradients

	blocks []blockWork
	d1, d2 []float32 // [rows][D]
	du     []float32 // [rows][Up]
}

type blockWork struct {
	x, norm, a, mid, norm2, down []float32 // [rows][D] input, before attention, after, their sum, before the dense layers, after
	u                            []float32 // [rows][Up]
	att                          *AttentionWork
}

// Work allocates for up to rows rows, of sequences of at most longest.
func (n Transformer) Work(rows, longest int) *TransformerWork {
	f := func() []float32 { return make([]float32, rows*n.D) }
	ws := &TransformerWork{DX: f(), Y: f(), DY: f(), d1: f(), d2: f(), du: make([]float32, rows*n.Up)}
	for _, b := range n.blocks {
		ws.blocks = append(ws.blocks, blockWork{x: f(), norm: f(), a: f(), mid: f(), norm2: f(), down: f(),
			u: make([]float32, rows*n.Up), att: b.att.Work(rows, longest)})
	}
	ws.blocks = append(ws.blocks, blockWork{x: f()})
	ws.X = ws.blocks[0].x
	return ws
}

// Forward computes ws.Y from ws.X, whose sequences are the spans of seqs, one after
// the other.
func (n Transformer) Forward(p *Params, ws *TransformerWork, seqs []Span) {
	rows := 0
	for _, s := range seqs {
		rows += s.Len
	}
	n.run(p, ws, rows, seqs, nil, nil)
}

// run goes through the blocks, for whole sequences or, with a cache, for a row of each.
func (n Transformer) run(p *Params, ws *TransformerWork, m int, seqs []Span, c *TransformerCache, places []int) {
	k := m * n.D
	for i, b := range n.blocks {
		w, next := &ws.blocks[i], ws.blocks[i+1].x
		b.before.Forward(p, w.norm, w.x, m)
		if c == nil {
			b.att.Forward(p, w.att, w.a, w.norm, seqs)
		} else {
			b.att.Step(p, w.att, c.blocks[i], w.a, w.norm, places)
		}
		f32.Add(w.mid[:k], w.x[:k], w.a[:k])
		b.between.Forward(p, w.norm2, w.mid, m)
		b.up.Forward(p, w.u, w.norm2, m)
		b.down.Forward(p, w.down, w.u, m)
		f32.Add(next[:k], w.mid[:k], w.down[:k])
	}
	n.last.Forward(p, ws.Y, ws.blocks[len(n.blocks)].x, m)
}

// Backward goes back through the last Forward from ws.DY, adds the gradients of the
// weights to p.G and writes that of X to ws.DX. DY is overwritten.
func (n Transformer) Backward(p *Params, ws *TransformerWork, seqs []Span) {
	m := 0
	for _, s := range seqs {
		m += s.Len
	}
	k := m * n.D
	d := ws.DX[:k]
	n.last.Backward(p, d, ws.DY, ws.blocks[len(n.blocks)].x, m)
	for i := len(n.blocks) - 1; i >= 0; i-- {
		b, w := n.blocks[i], &ws.blocks[i]
		copy(ws.d1, d)
		b.down.Backward(p, ws.du, ws.d1, w.u, w.down, m)
		b.up.Backward(p, ws.d1, ws.du, w.norm2, w.u, m)
		b.between.Backward(p, ws.d1, ws.d1, w.mid, m)
		f32.Add(d, d, ws.d1[:k])
		copy(ws.d1, d)
		b.att.Backward(p, w.att, ws.d2, ws.d1, w.norm, w.a, seqs)
		b.before.Backward(p, ws.d2, ws.d2, w.x, m)
		f32.Add(d, d, ws.d2[:k])
	}
}

// TransformerCache is what is kept of sequences that go on side by side, a place each.
type TransformerCache struct{ blocks []*AttentionCache }

// Cache returns empty caches.
func (n Transformer) Cache(places int) *TransformerCache {
	c := &TransformerCache{}
	for _, b := range n.blocks {
		c.blocks = append(c.blocks, b.att.Cache(places))
	}
	return c
}

// Forget empties one place: a sequence begins there.
func (c *TransformerCache) Forget(place int) {
	for _, b := range c.blocks {
		b.n[place] = 0
	}
}

// Step is Forward for the next row of each sequence in places, no place twice: from
// ws.X[len(places)][D] to ws.Y, at the cost of a row each.
func (n Transformer) Step(p *Params, ws *TransformerWork, c *TransformerCache, places []int) {
	n.run(p, ws, len(places), nil, c, places)
}

// Save adds the caches to f under prefix; Load restores those of as many places.
func (c *TransformerCache) Save(f *safetensors.File, prefix string) {
	for i, b := range c.blocks {
		at, n := fmt.Sprintf("%s%d/", prefix, i), make([]int64, len(b.n))
		for j, v := range b.n {
			n[j] = int64(v)
		}
		f.PutFloat32(at+"k", b.k, len(b.k))
		f.PutFloat32(at+"v", b.v, len(b.v))
		f.PutInt64(at+"n", n, len(n))
	}
}

// Load restores what Save stored.
func (c *TransformerCache) Load(f *safetensors.File, prefix string) error {
	for i, b := range c.blocks {
		at, n := fmt.Sprintf("%s%d/", prefix, i), make([]int64, len(b.n))
		if err := f.Float32(b.k, at+"k", len(b.k)); err != nil {
			return err
		}
		if err := f.Float32(b.v, at+"v", len(b.v)); err != nil {
			return err
		}
		if err := f.Int64(n, at+"n", len(n)); err != nil {
			return err
		}
		for j, v := range n {
			if v < 0 || v > math.MaxInt32/2 {
				return fmt.Errorf("nn: tensor %q holds %d rows read; the checkpoint is damaged", at+"n", v)
			}
			b.n[j] = int32(v)
		}
	}
	return nil
}
