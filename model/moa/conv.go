package moa

import (
	"hop/f32"
	"hop/frame"
	"hop/nn"
)

// convNet is the lower half of HOP's net: 3x3 convolutions of 16, 32 and 32
// channels over the planes, flattened and followed by the rest of the row. The
// layer of 512 above it is the body's, where the goal joins.
type convNet struct {
	planes, flat, rest, out int
	layer                   [3]nn.Conv3x3
}

func newConvNet(p *nn.Params, in frame.Input) convNet {
	h, w := in.Height, in.Width
	c := convNet{planes: h * w * in.Planes, flat: h * w * 32, rest: in.Rest + in.Extra}
	c.out = c.flat + c.rest
	c.layer[0] = p.Conv3x3("conv/0", h, w, in.Planes, 16, nn.ReLU)
	c.layer[1] = p.Conv3x3("conv/1", h, w, 16, 32, nn.ReLU)
	c.layer[2] = p.Conv3x3("conv/2", h, w, 32, 32, nn.ReLU)
	return c
}

type convWork struct {
	conv *nn.ConvWork
	x    [4][]float32 // [rows][H][W][channels] the planes, then each layer's output
	d    [4][]float32 // their gradients; that of the planes is not needed
}

func (c *convNet) work(rows int) convWork {
	ws := convWork{conv: c.layer[0].Work(c.layer[1], c.layer[2])}
	ws.x[0] = make([]float32, rows*c.planes)
	for i, l := range c.layer {
		ws.x[i+1], ws.d[i+1] = make([]float32, rows*l.H*l.W*l.Out), make([]float32, rows*l.H*l.W*l.Out)
	}
	return ws
}

// forward spreads the sparse rows out again, runs the layers and writes
// f[m][flat+rest].
func (ws *convWork) forward(p *nn.Params, c *convNet, f []float32, rows *f32.Sparse) {
	m := rows.Rows()
	clear(ws.x[0][:m*c.planes])
	clear(f[:m*c.out])
	for i := range m {
		for k := rows.Ptr[i]; k < rows.Ptr[i+1]; k++ {
			if at := int(rows.Idx[k]); at < c.planes {
				ws.x[0][i*c.planes+at] = rows.Val[k]
			} else {
				f[i*c.out+c.flat+at-c.planes] = rows.Val[k]
			}
		}
	}
	for i, l := range c.layer {
		l.Forward(p, ws.conv, ws.x[i+1], ws.x[i], m)
	}
	for i := range m {
		copy(f[i*c.out:], ws.x[3][i*c.flat:(i+1)*c.flat])
	}
}

func (ws *convWork) backward(p *nn.Params, c *convNet, df []float32, m int) {
	for i := range m {
		copy(ws.d[3][i*c.flat:(i+1)*c.flat], df[i*c.out:])
	}
	for i := 2; i >= 0; i-- {
		c.layer[i].Backward(p, ws.conv, ws.d[i], ws.d[i+1], ws.x[i], ws.x[i+1], m)
	}
}
