package nn

// Strided is a convolution over images in NHWC order without a border: patches of K by K
// cells, Stride cells apart, each of which a Dense layer reads.
type Strided struct {
	Dense
	H, W, Channels int // of an image
	K, Stride      int
	OutH, OutW     int
}

// Strided adds a layer with parts name/w [K][K][Channels][out] and name/b on images of h by w
// cells, which must be at least k. The weights start orthogonal.
func (p *Params) Strided(name string, h, w, channels, out, k, stride int, act Act) Strided {
	return Strided{p.Dense(name, k*k*channels, out, act), h, w, channels, k, stride, (h-k)/stride + 1, (w-k)/stride + 1}
}

// Sizes returns how many numbers an image has, and what comes out of it.
func (c Strided) Sizes() (in, out int) { return c.H * c.W * c.Channels, c.OutH * c.OutW * c.Out }

// reserve makes room for the patches of an image.
func (c Strided) reserve(ws *ConvWork) {
	ws.room(c.OutH*c.OutW*c.In, c.OutH*c.OutW*c.In, 0)
}

// Forward writes y[m][OutH][OutW][Out] from x[m][H][W][Channels].
func (c Strided) Forward(p *Params, ws *ConvWork, y, x []float32, m int) {
	in, out := c.Sizes()
	for i := range m {
		c.patches(ws.x, x[i*in:(i+1)*in])
		c.Dense.Forward(p, y[i*out:(i+1)*out], ws.x, c.OutH*c.OutW)
	}
}

// Backward takes dy, the gradient of Forward's y, adds the gradients of the weights to p.G
// and writes that of x to dx, unless dx is nil. dy is overwritten.
func (c Strided) Backward(p *Params, ws *ConvWork, dx, dy, x, y []float32, m int) {
	in, out := c.Sizes()
	for i := range m {
		c.patches(ws.x, x[i*in:(i+1)*in])
		if dx == nil {
			c.Dense.Backward(p, nil, dy[i*out:(i+1)*out], ws.x, y[i*out:(i+1)*out], c.OutH*c.OutW)
			continue
		}
		c.Dense.Backward(p, ws.d, dy[i*out:(i+1)*out], ws.x, y[i*out:(i+1)*out], c.OutH*c.OutW)
		c.spread(dx[i*in:(i+1)*in], ws.d)
	}
}

// patches writes the patches of an image x, [OutH][OutW][K][K][Channels].
func (c Strided) patches(dst, x []float32) {
	row := c.K * c.Channels
	for r := range c.OutH {
		for s := range c.OutW {
			for k := range c.K {
				from := ((r*c.Stride+k)*c.W + s*c.Stride) * c.Channels
				dst = dst[copy(dst[:row], x[from:]):]
			}
		}
	}
}

// spread writes to dx, an image, what each cell's patches sum to.
func (c Strided) spread(dx, d []float32) {
	clear(dx)
	row := c.K * c.Channels
	for r := range c.OutH {
		for s := range c.OutW {
			for k := range c.K {
				to := dx[((r*c.Stride+k)*c.W+s*c.Stride)*c.Channels:][:row]
				for i, v := range d[:row] {
					to[i] += v
				}
				d = d[row:]
			}
		}
	}
}
