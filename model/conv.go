package model

import (
	"fmt"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
)

// Conv is the lower half of HOP's networks: 3x3 convolutions of 16, 32 and 32
// channels over the planes, flattened and followed by the rest of the row.
type Conv struct {
	Out          int // width of what comes out
	planes, flat int
	layer        [3]nn.Conv3x3
}

// NewConv adds the layers to p, called name/0 to name/2.
func NewConv(p *nn.Params, name string, in frame.Input) Conv {
	h, w := in.Height, in.Width
	c := Conv{planes: h * w * in.Planes, flat: h * w * 32}
	c.Out = c.flat + in.Rest + in.Extra
	for i, channels := range [3][2]int{{in.Planes, 16}, {16, 32}, {32, 32}} {
		c.layer[i] = p.Conv3x3(fmt.Sprintf("%s/%d", name, i), h, w, channels[0], channels[1], nn.ReLU)
	}
	return c
}

// ConvWork is one goroutine's memory for up to a number of rows.
type ConvWork struct {
	conv *nn.ConvWork
	x    [4][]float32 // [rows][H][W][channels] the planes, then each layer's output
	d    [4][]float32 // their gradients; that of the planes is not needed

	Y, DY []float32 // [rows][Out] after ForwardSparse, and where the caller puts its gradient
}

// Work allocates memory for up to rows rows.
func (c *Conv) Work(rows int) *ConvWork {
	ws := &ConvWork{conv: c.layer[0].Work(c.layer[1], c.layer[2]), Y: make([]float32, rows*c.Out), DY: make([]float32, rows*c.Out)}
	ws.x[0] = make([]float32, rows*c.planes)
	for i, l := range c.layer {
		n := rows * l.H * l.W * l.Out
		ws.x[i+1], ws.d[i+1] = make([]float32, n), make([]float32, n)
	}
	return ws
}

// ForwardSparse spreads the rows out again, runs the layers and writes Y.
func (c *Conv) ForwardSparse(p *nn.Params, ws *ConvWork, rows *f32.Sparse) {
	m, y := rows.Rows(), ws.Y
	clear(ws.x[0][:m*c.planes])
	clear(y[:m*c.Out])
	for i := range m {
		idx, val := rows.Row(i)
		for k, at := range idx {
			if at := int(at); at < c.planes {
				ws.x[0][i*c.planes+at] = val[k]
			} else {
				y[i*c.Out+c.flat+at-c.planes] = val[k]
			}
		}
	}
	for i, l := range c.layer {
		l.Forward(p, ws.conv, ws.x[i+1], ws.x[i], m)
	}
	for i := range m {
		copy(y[i*c.Out:], ws.x[3][i*c.flat:(i+1)*c.flat])
	}
}

// Backward adds the gradients of the last m rows to p.G, from DY.
func (c *Conv) Backward(p *nn.Params, ws *ConvWork, m int) {
	for i := range m {
		copy(ws.d[3][i*c.flat:(i+1)*c.flat], ws.DY[i*c.Out:])
	}
	for i := 2; i >= 0; i-- {
		c.layer[i].Backward(p, ws.conv, ws.d[i], ws.d[i+1], ws.x[i], ws.x[i+1], m)
	}
}
