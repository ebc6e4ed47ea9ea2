package model

import (
	"fmt"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
)

// Conv is convolutions over the first numbers of a row, planes or a picture, flattened and
// followed by the rest of the row.
type Conv struct {
	Out          int // width of what comes out
	planes, flat int
	layer        [3]nn.Convolution
}

// NewConv adds the lower half of HOP's networks to p, layers called name/0 to name/2: 3x3
// convolutions of 16, 32 and 32 channels over the planes.
func NewConv(p *nn.Params, name string, in frame.Input) Conv {
	h, w := in.Height, in.Width
	c := Conv{planes: h * w * in.Planes, flat: h * w * 32}
	c.Out = c.flat + in.Rest + in.Extra
	for i, channels := range [3][2]int{{in.Planes, 16}, {16, 32}, {32, 32}} {
		c.layer[i] = p.Conv3x3(fmt.Sprintf("%s/%d", name, i), h, w, channels[0], channels[1], nn.ReLU)
	}
	return c
}

// SmallestPicture is the least height and width that NewPicture can read.
const SmallestPicture = 36

// NewPicture adds the convolutions of Mnih et al. (2015) to p, layers called name/0 to name/2,
// for rows that begin with a picture of h by w cells with so many channels: 32 of 8x8 every 4
// cells, 64 of 4x4 every 2, 64 of 3x3.
func NewPicture(p *nn.Params, name string, h, w, channels int, in frame.Input) Conv {
	c := Conv{planes: h * w * channels}
	for i, l := range [3]struct{ out, k, stride int }{{32, 8, 4}, {64, 4, 2}, {64, 3, 1}} {
		s := p.Strided(fmt.Sprintf("%s/%d", name, i), h, w, channels, l.out, l.k, l.stride, nn.ReLU)
		c.layer[i], h, w, channels = s, s.OutH, s.OutW, s.Out
	}
	c.flat = h * w * channels
	c.Out = c.flat + in.Rest - c.planes + in.Extra
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
	ws := &ConvWork{conv: nn.NewConvWork(c.layer[:]...), Y: make([]float32, rows*c.Out), DY: make([]float32, rows*c.Out)}
	ws.x[0] = make([]float32, rows*c.planes)
	for i, l := range c.layer {
		_, n := l.Sizes()
		ws.x[i+1], ws.d[i+1] = make([]float32, rows*n), make([]float32, rows*n)
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
