//go:build amd64 || arm64

package f32

// A cell's three neighbours above, beside and below lie side by side in the padded
// image, so that the product kernels run over it as it is: three segments of k.
func conv3x3(dst, x, k, bias []float32, h, w, in, out int, from start, act Act) {
	if active == generic {
		conv3x3Generic(dst, x, k, bias, h, w, in, out, from, act)
		return
	}
	t := tile{
		m: w, k: 3 * in, segments: 3, aRow: 4 * in, aStep: 4, aJump: 4 * (w - 1) * in,
		bStep: 4 * out, dstRow: 4 * out, from: from, floor: floorOf(act),
	}
	for r := range h {
		t.a = &x[r*(w+2)*in]
		mulStrips(&t, dst[r*w*out:], k, bias, out, limitFor(w))
	}
}

// The gradient of each third of the kernel is one product, whose k steps over the
// cells have a segment for each row.
func conv3x3Grad(dk, x, dy []float32, h, w, in, out int) {
	if active == generic {
		conv3x3GradGeneric(dk, x, dy, h, w, in, out)
		return
	}
	t := tile{
		m: 3 * in, k: w, segments: h, aRow: 4, aStep: 4 * in, aJump: 8 * in,
		bStep: 4 * out, dstRow: 4 * out, from: fromDst, floor: floorOf(None),
	}
	for r := range 3 {
		t.a = &x[r*(w+2)*in]
		mulStrips(&t, dk[r*3*in*out:], dy, nil, out, limitFor(3*in))
	}
}
