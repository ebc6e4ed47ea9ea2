package actor

import (
	"hop/f32"
	"hop/nn"
)

// convNet is HOP's trunk: 3x3 convolutions of 16, 32 and 32 channels over the
// planes, then one layer of 512 over their output and the rest of the row.
type convNet struct {
	in     Input
	planes int // H*W*C
	flat   int // H*W*32
	rest   int // what follows the planes
	out    int
	layer  [3]nn.Conv3x3
	dense  nn.Dense
}

func newConvNet(p *nn.Params, in Input) convNet {
	h, w := in.Height, in.Width
	c := convNet{in: in, planes: h * w * in.Planes, flat: h * w * 32, rest: in.Rest + in.Extra, out: 512}
	c.layer[0] = p.Conv3x3("conv/0", h, w, in.Planes, 16, nn.ReLU)
	c.layer[1] = p.Conv3x3("conv/1", h, w, 16, 32, nn.ReLU)
	c.layer[2] = p.Conv3x3("conv/2", h, w, 32, 32, nn.ReLU)
	c.dense = p.Dense("dense", c.flat+c.rest, c.out, nn.ReLU)
	return c
}

type convWork struct {
	conv      *nn.ConvWork
	x         [4][]float32 // [rows][H][W][channels] the planes, then each layer's output
	d         [4][]float32 // their gradients; that of the planes is not needed
	cat, dcat []float32    // [rows][flat+rest]
	y, dy     []float32    // [rows][out]
}

func (c *convNet) work(rows int) convWork {
	ws := convWork{conv: c.layer[0].Work(c.layer[1], c.layer[2])}
	cells := c.in.Height * c.in.Width
	ws.x[0] = make([]float32, rows*c.planes)
	for i, l := range c.layer {
		ws.x[i+1], ws.d[i+1] = make([]float32, rows*cells*l.Out), make([]float32, rows*cells*l.Out)
	}
	ws.cat, ws.dcat = make([]float32, rows*(c.flat+c.rest)), make([]float32, rows*(c.flat+c.rest))
	ws.y, ws.dy = make([]float32, rows*c.out), make([]float32, rows*c.out)
	return ws
}

// forward spreads the rows out again and runs the layers.
func (ws *convWork) forward(p *nn.Params, c *convNet, rows *f32.Sparse) []float32 {
	m, width := rows.Rows(), c.flat+c.rest
	clear(ws.x[0][:m*c.planes])
	clear(ws.cat[:m*width])
	for i := range m {
		idx, val := rows.Row(i)
		for k, at := range idx {
			if at := int(at); at < c.planes {
				ws.x[0][i*c.planes+at] = val[k]
			} else {
				ws.cat[i*width+c.flat+at-c.planes] = val[k]
			}
		}
	}
	for i, l := range c.layer {
		l.Forward(p, ws.conv, ws.x[i+1], ws.x[i], m)
	}
	for i := range m {
		copy(ws.cat[i*width:], ws.x[3][i*c.flat:(i+1)*c.flat])
	}
	c.dense.Forward(p, ws.y, ws.cat, m)
	return ws.y
}

func (ws *convWork) backward(p *nn.Params, c *convNet, m int) {
	width := c.flat + c.rest
	c.dense.Backward(p, ws.dcat, ws.dy, ws.cat, ws.y, m)
	for i := range m {
		copy(ws.d[3][i*c.flat:(i+1)*c.flat], ws.dcat[i*width:])
	}
	for i := 2; i >= 0; i-- {
		dx := ws.d[i]
		c.layer[i].Backward(p, ws.conv, dx, ws.d[i+1], ws.x[i], ws.x[i+1], m)
	}
}
