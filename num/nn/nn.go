// Package nn builds small networks with hand-written gradients.
//
// A model's weights are one flat slice with named parts, Params.W, and its
// gradients another of the same layout, Params.G. A layer is a small value that
// knows where its parts lie; it holds no numbers. So Forward and Backward take
// the Params to work on, and several goroutines can run one model, each with its
// own gradients (Params.Shard) and its own activations.
//
// The caller owns all activations: y is written, x is read, m says how many rows.
// Slices may be longer than needed, so one workspace made for the largest batch
// serves every smaller one. Backward adds to G and writes dx; dy is scratch after
// it. Losses add to their gradient. Nothing allocates after construction.
//
// Kernels run on one goroutine; a Trainer splits a batch over several with a fixed
// partition, so results do not depend on the number of cores.
package nn

import (
	"math"
	"slices"

	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/rng"
)

// Part is a named array inside Params.
type Part struct {
	Name  string
	Shape []int // the last is the number of outputs, the others multiply to the inputs
	Span

	init Init
}

// Span is where a part lies in Params.W and Params.G.
type Span struct{ Off, Len int }

// Params holds a model's weights and gradients. Its zero value is empty: add
// layers, then call Init, which allocates.
type Params struct {
	W, G  []float32 // [sum of parts], each part starting at a multiple of align
	Parts []Part

	first  *firstGrads // of a trainer's shard: where gradients of first layers on sparse rows go; nil: to G
	size   int
	smooth *bool // shared with the shards
}

// align keeps every part at the start of a cache line. The gaps are zero and
// stay zero.
const align = 16

// Add declares a part and returns its place. Layers call it; a model with a layer
// of its own may too. It panics after Init, for an empty shape and for a name
// used before.
func (p *Params) Add(name string, init Init, shape ...int) Span {
	if p.W != nil {
		panic("nn: a part was added after Init")
	}
	n := 1
	for _, d := range shape {
		n *= d
	}
	if n <= 0 || len(shape) == 0 {
		panic("nn: a part has an empty shape")
	}
	for _, q := range p.Parts {
		if q.Name == name {
			panic("nn: two parts have one name")
		}
	}
	s := Span{p.size, n}
	p.Parts = append(p.Parts, Part{name, slices.Clone(shape), s, init})
	p.size += roundUp(n)
	return s
}

func roundUp(n int) int { return (n + align - 1) / align * align }

// Init allocates weights and gradients if that has not been done, and draws every
// part from the stream of its own name below key: adding a layer does not change
// the numbers of the others. Gradients are zero after it.
func (p *Params) Init(key rng.Key) {
	p.alloc()
	for _, q := range p.Parts {
		r := key.Child(q.Name).Rand()
		q.init(p.w(q.Span), q.Shape, &r)
	}
	p.ZeroGrad()
}

func (p *Params) alloc() {
	if p.W == nil {
		p.W, p.G, p.smooth = make([]float32, p.size), make([]float32, p.size), new(bool)
	}
}

// Len returns the number of weights, without the gaps.
func (p *Params) Len() int {
	n := 0
	for _, q := range p.Parts {
		n += q.Len
	}
	return n
}

// ZeroGrad forgets the gradients.
func (p *Params) ZeroGrad() { clear(p.G) }

// Shard returns Params on the same weights with gradients of their own.
func (p *Params) Shard() *Params {
	return &Params{W: p.W, G: make([]float32, p.size), Parts: p.Parts, size: p.size, smooth: p.smooth}
}

// Clone returns a copy of the weights with gradients of its own: a target network,
// or a frozen opponent.
func (p *Params) Clone() *Params {
	q := p.Shard()
	q.W, q.smooth = make([]float32, p.size), new(bool)
	copy(q.W, p.W)
	return q
}

// CopyFrom copies the weights of q, which must have the same layout. It panics if
// the sizes differ.
func (p *Params) CopyFrom(q *Params) {
	if len(p.W) != len(q.W) || len(p.Parts) != len(q.Parts) {
		panic("nn: the two Params have different layouts")
	}
	copy(p.W, q.W)
}

// At returns the weights and gradients of a part, as views.
func (p *Params) At(s Span) (w, g []float32) { return p.w(s), p.g(s) }

// Find returns the part called name.
func (p *Params) Find(name string) (Part, bool) {
	for _, q := range p.Parts {
		if q.Name == name {
			return q, true
		}
	}
	return Part{}, false
}

func (p *Params) w(s Span) []float32 { return p.W[s.Off : s.Off+s.Len : s.Off+s.Len] }
func (p *Params) g(s Span) []float32 { return p.G[s.Off : s.Off+s.Len : s.Off+s.Len] }

// Act is a layer's activation, one whose derivative follows from its output.
type Act uint8

// The activations of a layer.
const (
	None Act = iota
	ReLU
	Tanh
)

// gain is the usual gain of the initial weights before this activation.
func (a Act) gain() float64 {
	switch a {
	case ReLU:
		return math.Sqrt2
	case Tanh:
		return 5. / 3
	}
	return 1
}

// Smooth makes every layer that runs on p, or on a shard of it, use Tanh in place
// of ReLU, until it is called with false. It is for nntest: differences tell
// nothing at a kink, and a large net has one near every point.
func (p *Params) Smooth(on bool) { *p.smooth = on }

// act returns the activation to use for a.
func (p *Params) act(a Act) Act {
	if a == ReLU && *p.smooth {
		return Tanh
	}
	return a
}

// fused returns the part of a that the product itself applies.
func (a Act) fused() f32.Act {
	if a == ReLU {
		return f32.ReLU
	}
	return f32.None
}

// finish applies the part of a that the product did not.
func (a Act) finish(y []float32) {
	if a == Tanh {
		f32.Tanh(y, y)
	}
}

// grad turns the gradient of the output y into that of the pre-activation.
func (a Act) grad(dy, y []float32) {
	switch a {
	case ReLU:
		f32.ReLUGrad(dy, y, dy)
	case Tanh:
		f32.TanhGrad(dy, y, dy)
	}
}
