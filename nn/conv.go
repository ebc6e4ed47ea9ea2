package nn

import "hop/f32"

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

// ConvWork is the scratch of convolutions; layers that run one after another may
// share one.
type ConvWork struct {
	patches []float32 // [images at a time][H][W][9*channels]
	flipped []float32 // [3][3][Out][In]
}

// patchRows is about how many cells are multiplied at a time: enough for the
// product to reach its speed, few enough for their patches to stay in the cache.
const patchRows = 128

// images returns how many images are multiplied at a time.
func (c Conv3x3) images() int { return max(1, patchRows/(c.H*c.W)) }

// Work allocates scratch for all of the layers given, for any batch.
func (c Conv3x3) Work(others ...Conv3x3) *ConvWork {
	ws := &ConvWork{}
	for _, l := range append(others, c) {
		n := l.images() * l.H * l.W * 9 * max(l.In, l.Out)
		ws.patches = append(ws.patches, make([]float32, max(0, n-len(ws.patches)))...)
		ws.flipped = append(ws.flipped, make([]float32, max(0, 9*l.In*l.Out-len(ws.flipped)))...)
	}
	return ws
}

// Forward writes y[m][H][W][Out] from x[m][H][W][In].
func (c Conv3x3) Forward(p *Params, ws *ConvWork, y, x []float32, m int) {
	cells, act := c.H*c.W, p.act(c.Act)
	c.chunks(m, func(lo, hi int) {
		rows := (hi - lo) * cells
		a := patches(ws.patches, x[lo*cells*c.In:hi*cells*c.In], c.H, c.W, c.In)
		out := y[lo*cells*c.Out : hi*cells*c.Out]
		f32.Affine(out, a, p.w(c.w), p.w(c.b), rows, 9*c.In, c.Out, act.fused())
		act.finish(out)
	})
}

// Backward takes dy, the gradient of Forward's y, adds the gradients of the
// weights to p.G and writes that of x to dx, unless dx is nil. dy is overwritten.
func (c Conv3x3) Backward(p *Params, ws *ConvWork, dx, dy, x, y []float32, m int) {
	cells, act := c.H*c.W, p.act(c.Act)
	if dx != nil {
		c.flip(ws.flipped, p.w(c.w))
	}
	c.chunks(m, func(lo, hi int) {
		rows := (hi - lo) * cells
		d := dy[lo*cells*c.Out : hi*cells*c.Out]
		act.grad(d, y[lo*cells*c.Out:hi*cells*c.Out])
		a := patches(ws.patches, x[lo*cells*c.In:hi*cells*c.In], c.H, c.W, c.In)
		f32.MulTN(p.g(c.w), a, d, 9*c.In, rows, c.Out, true)
		f32.SumRows(p.g(c.b), d, rows, c.Out)
		if dx != nil {
			b := patches(ws.patches, d, c.H, c.W, c.Out)
			f32.MulNN(dx[lo*cells*c.In:hi*cells*c.In], b, ws.flipped[:9*c.Out*c.In], rows, 9*c.Out, c.In, false)
		}
	})
}

// chunks calls do for ranges of images in order.
func (c Conv3x3) chunks(m int, do func(lo, hi int)) {
	for lo := 0; lo < m; lo += c.images() {
		do(lo, min(lo+c.images(), m))
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

// patches writes the 3 by 3 neighbourhood of every cell of the images in x, a row
// of 9*ch numbers each, and returns them.
func patches(dst, x []float32, h, w, ch int) []float32 {
	row, third := 9*ch, 3*ch
	dst = dst[:len(x)/ch*row]
	out := 0
	for img := 0; img < len(x); img += h * w * ch {
		for r := range h {
			for k := r - 1; k <= r+1; k++ { // the three input rows of output row r
				at := out + (k-r+1)*third
				if k < 0 || k >= h {
					for range w {
						clear(dst[at : at+third])
						at += row
					}
					continue
				}
				in := x[img+k*w*ch : img+(k+1)*w*ch]
				left := dst[at : at+third] // the first cell has no left neighbour
				clear(left[:ch])
				clear(left[ch+copy(left[ch:], in):])
				at += row
				for q := third; q <= len(in); q += ch {
					copy(dst[at:at+third], in[q-third:q])
					at += row
				}
				if w > 1 { // the last cell has no right neighbour
					right := dst[at : at+third]
					copy(right, in[len(in)-2*ch:])
					clear(right[2*ch:])
				}
			}
			out += w * row
		}
	}
	return dst
}
