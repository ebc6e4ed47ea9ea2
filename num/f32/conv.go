package f32

// Conv3x3 computes one image of a 3 by 3 convolution with stride 1,
// dst[h][w][out] = act(x * k[3][3][in][out] + bias[out]), from x[h+2][w+2][in], the
// image within a border of zeros. Each element is one chain over the kernel in
// index order. A nil bias is zero. It panics if a length does not match its shape.
func Conv3x3(dst, x, k, bias []float32, h, w, in, out int, act Act) {
	checkConv(dst, x, k, h, w, in, out)
	from := fromZero
	if bias != nil {
		if len(bias) != out {
			panic("f32: bias length does not match the columns")
		}
		from = fromBias
	}
	conv3x3(dst, x, k, bias, h, w, in, out, from, act)
}

// Conv3x3Grad adds the gradient of the kernel to dk[3][3][in][out], from dy, that of
// Conv3x3's dst before its activation. It panics if a length does not match its
// shape.
func Conv3x3Grad(dk, x, dy []float32, h, w, in, out int) {
	checkConv(dy, x, dk, h, w, in, out)
	conv3x3Grad(dk, x, dy, h, w, in, out)
}

func checkConv(y, x, k []float32, h, w, in, out int) {
	if h < 1 || w < 1 || in < 1 || out < 1 {
		panic("f32: an image has no size")
	}
	if len(y) != h*w*out || len(x) != (h+2)*(w+2)*in || len(k) != 9*in*out {
		panic("f32: slice lengths do not match the image sizes")
	}
}

func conv3x3Generic(dst, x, k, bias []float32, h, w, in, out int, from start, act Act) {
	third := 3 * in // three cells of a row lie side by side
	for i := range h * w {
		cell := dst[i*out : (i+1)*out]
		f, a := from, None
		for r := range 3 {
			if r == 2 {
				a = act
			}
			at := ((i/w+r)*(w+2) + i%w) * in
			mulNNGeneric(cell, x[at:at+third], k[r*third*out:], bias, 1, third, out, f, a)
			f = fromDst
		}
	}
}

func conv3x3GradGeneric(dk, x, dy []float32, h, w, in, out int) {
	third := 3 * in
	for i := range h * w {
		for r := range 3 {
			at := ((i/w+r)*(w+2) + i%w) * in
			mulTNGeneric(dk[r*third*out:(r+1)*third*out], x[at:at+third], dy[i*out:(i+1)*out], third, 1, out, true)
		}
	}
}
