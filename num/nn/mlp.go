package nn

import (
	"strconv"

	"github.com/hop-marl/hop/num/f32"
)

// MLP is dense layers one after another, all with the same activation, the last
// one too: a trunk for heads to stand on.
type MLP struct{ Layers []Dense }

// MLP adds layers called name/0, name/1, ... from sizes[0] inputs over the hidden
// widths to the last. It panics if there are fewer than two sizes.
func (p *Params) MLP(name string, act Act, sizes ...int) MLP {
	if len(sizes) < 2 {
		panic("nn: an MLP needs an input and an output size")
	}
	var n MLP
	for i, out := range sizes[1:] {
		n.Layers = append(n.Layers, p.Dense(name+"/"+strconv.Itoa(i), sizes[i], out, act))
	}
	return n
}

// MLPWork holds the activations of one MLP and their gradients.
type MLPWork struct {
	Y, DY []float32 // [m][out] views of the last layer: its output, and where the caller puts its gradient

	y, d [][]float32 // [layer][rows][out]
}

// Work allocates for batches of up to rows.
func (n MLP) Work(rows int) *MLPWork {
	ws := &MLPWork{}
	for _, l := range n.Layers {
		ws.y = append(ws.y, make([]float32, rows*l.Out))
		ws.d = append(ws.d, make([]float32, rows*l.Out))
	}
	return ws
}

// Forward computes ws.Y[m][out] from x[m][in].
func (n MLP) Forward(p *Params, ws *MLPWork, x []float32, m int) {
	n.Layers[0].Forward(p, ws.y[0], x, m)
	n.rest(p, ws, m)
}

// ForwardSparse is Forward for the rows of x.
func (n MLP) ForwardSparse(p *Params, ws *MLPWork, x *f32.Sparse) {
	n.Layers[0].ForwardSparse(p, ws.y[0], x)
	n.rest(p, ws, x.Rows())
}

func (n MLP) rest(p *Params, ws *MLPWork, m int) {
	for i, l := range n.Layers[1:] {
		l.Forward(p, ws.y[i+1], ws.y[i], m)
	}
	last := len(n.Layers) - 1
	out := m * n.Layers[last].Out
	ws.Y, ws.DY = ws.y[last][:out], ws.d[last][:out]
}

// Backward goes back through the batch of the last Forward from ws.DY, which it
// overwrites, and writes the gradient of x to dx, unless that is nil.
func (n MLP) Backward(p *Params, ws *MLPWork, dx, x []float32, m int) {
	n.restBack(p, ws, m)
	n.Layers[0].Backward(p, dx, ws.d[0], x, ws.y[0], m)
}

// BackwardSparse is Backward after ForwardSparse.
func (n MLP) BackwardSparse(p *Params, ws *MLPWork, x *f32.Sparse) {
	n.restBack(p, ws, x.Rows())
	first := n.Layers[0]
	if p.first == nil {
		first.BackwardSparse(p, ws.d[0], x, ws.y[0])
		return
	}
	first.biasSparse(p, ws.d[0], x, ws.y[0])
	ws.d[0] = p.first.add(first, x, ws.d[0])
}

// First returns where the weights of the first layer lie, without the biases.
func (n MLP) First() Span { return n.Layers[0].w }

func (n MLP) restBack(p *Params, ws *MLPWork, m int) {
	for i := len(n.Layers) - 1; i > 0; i-- {
		n.Layers[i].Backward(p, ws.d[i-1], ws.d[i], ws.y[i-1], ws.y[i], m)
	}
}
