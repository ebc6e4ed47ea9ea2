package nn

import "github.com/hop-marl/hop/num/f32"

// Conv3x3 is a 3 by 3 convolution over images in NHWC order with stride 1, zeros
// beyond the edge and a fused activation. With stride 1 a transposed convolution
// is a convolution too, so it also serves decoders: Dense to [H][W][C], then this.
type Conv3x3 struct {
	H, W, In, Out int
	Act           Act

	w, b Span // [3][3][In][Out], [Out]
}

// Conv3x3 adds a layer with parts name/w and name/b on images of h by w cells. The
// weights start as Kaiming's.
func (p *Params) Conv3x3(name string, h, w, in, out int, act Act) Conv3x3 {
	return Conv3x3{h, w, in, out, act, p.Add(name+"/w", Kaiming(act.gain()), 3, 3, in, out), p.Add(name+"/b", Zeros, out)}
}

// Convolution is a layer over images: Conv3x3 or Strided.
type Convolution interface {
	// Sizes returns how many numbers an image has, and what comes out of it.
	Sizes() (in, out int)
	Forward(p *Params, ws *ConvWork, y, x []float32, m int)
	Backward(p *Params, ws *ConvWork, dx, dy, x, y []float32, m int)
	reserve(ws *ConvWork)
}

// ConvWork is the scratch of convolutions; layers that run one after another may
// share one.
type ConvWork struct {
	x, d    []float32 // an image, or its gradient: within zeros [H+2][W+2][channels], or its patches
	flipped []float32 // [3][3][Out][In]
}

// NewConvWork allocates scratch for all of the layers given, for any batch.
func NewConvWork(layers ...Convolution) *ConvWork {
	ws := &ConvWork{}
	for _, l := range layers {
		l.reserve(ws)
	}
	return ws
}

// room makes its memory at least that large.
func (ws *ConvWork) room(x, d, flipped int) {
	ws.x = append(ws.x, make([]float32, max(0, x-len(ws.x)))...)
	ws.d = append(ws.d, make([]float32, max(0, d-len(ws.d)))...)
	ws.flipped = append(ws.flipped, make([]float32, max(0, flipped-len(ws.flipped)))...)
}

// Work allocates scratch for the layer, for any batch.
func (c Conv3x3) Work() *ConvWork { return NewConvWork(c) }

// Spans returns where its weights and its biases lie.
func (c Conv3x3) Spans() (w, b Span) { return c.w, c.b }

// Sizes returns how many numbers an image has, and what comes out of it.
func (c Conv3x3) Sizes() (in, out int) { return c.H * c.W * c.In, c.H * c.W * c.Out }

func (c Conv3x3) reserve(ws *ConvWork) {
	cells := (c.H + 2) * (c.W + 2)
	ws.room(cells*c.In, cells*c.Out, 9*c.In*c.Out)
}

// Forward writes y[m][H][W][Out] from x[m][H][W][In].
func (c Conv3x3) Forward(p *Params, ws *ConvWork, y, x []float32, m int) {
	act, in, out := p.act(c.Act), c.H*c.W*c.In, c.H*c.W*c.Out
	px := c.border(ws.x, c.In)
	for i := range m {
		c.pad(px, x[i*in:(i+1)*in])
		f32.Conv3x3(y[i*out:(i+1)*out], px, p.w(c.w), p.w(c.b), c.H, c.W, c.In, c.Out, act.fused())
	}
	act.finish(y[:m*out])
}

// Backward takes dy, the gradient of Forward's y, adds the gradients of the
// weights to p.G and writes that of x to dx, unless dx is nil. dy is overwritten.
func (c Conv3x3) Backward(p *Params, ws *ConvWork, dx, dy, x, y []float32, m int) {
	act, in, out := p.act(c.Act), c.H*c.W*c.In, c.H*c.W*c.Out
	px, pd := c.border(ws.x, c.In), c.border(ws.d, c.Out)
	flipped := ws.flipped[:9*c.Out*c.In]
	if dx != nil {
		c.flip(flipped, p.w(c.w))
	}
	for i := range m {
		d := dy[i*out : (i+1)*out]
		act.grad(d, y[i*out:(i+1)*out])
		c.pad(px, x[i*in:(i+1)*in])
		f32.Conv3x3Grad(p.g(c.w), px, d, c.H, c.W, c.In, c.Out)
		f32.SumRows(p.g(c.b), d, c.H*c.W, c.Out)
		if dx != nil {
			c.pad(pd, d)
			f32.Conv3x3(dx[i*in:(i+1)*in], pd, flipped, nil, c.H, c.W, c.Out, c.In, f32.None)
		}
	}
}

// border returns a padded image of ch channels in buf, all zero.
func (c Conv3x3) border(buf []float32, ch int) []float32 {
	buf = buf[:(c.H+2)*(c.W+2)*ch]
	clear(buf)
	return buf
}

// pad copies the image x into the zeros of dst.
func (c Conv3x3) pad(dst, x []float32) {
	row, ch := len(x)/c.H, len(x)/(c.H*c.W)
	for r := range c.H {
		copy(dst[((r+1)*(c.W+2)+1)*ch:], x[r*row:(r+1)*row])
	}
}

// flip writes the kernel of the backward convolution: turned by 180 degrees, with
// inputs and outputs swapped.
func (c Conv3x3) flip(dst, w []float32) {
	for k := range 9 {
		for i := range c.In {
			for o := range c.Out {
				dst[((8-k)*c.Out+o)*c.In+i] = w[(k*c.In+i)*c.Out+o]
			}
		}
	}
}
