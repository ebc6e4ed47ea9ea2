package plot

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math"
	"slices"
)

// encode returns a picture as PNG. Figures are a few colours and the edges of letters and
// lines: as palettes they are smaller and take a fifth of the time. Others stay as they are.
func encode(m *image.RGBA) ([]byte, error) {
	var b bytes.Buffer
	var pic image.Image = m
	if p := paletted(m); p != nil {
		pic = p
	}
	err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, pic)
	return b.Bytes(), err
}

// paletted returns an opaque picture in the 256 colours that most of it has, with the
// nearest of them where it has another, or nil if that is more than one pixel in ten.
// Colours are kept as a pixel's four bytes.
func paletted(m *image.RGBA) *image.Paletted {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	row := func(y int) []byte { return m.Pix[y*m.Stride : y*m.Stride+4*w] }
	counts := map[uint32]int{}
	for y, times := 0, 0; y < h; y += times {
		for times = 1; y+times < h && bytes.Equal(row(y), row(y+times)); times++ { // rows are often like the one above
		}
		for c, n := range runs(row(y)) {
			counts[c] += n * times
		}
	}
	list := slices.SortedFunc(maps.Keys(counts), func(a, b uint32) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	few, others := list[:min(256, len(list))], w*h
	palette, index := make(color.Palette, len(few)), make(map[uint32]uint8, len(list))
	for i, c := range few {
		palette[i], index[c] = color.RGBA{uint8(c), uint8(c >> 8), uint8(c >> 16), uint8(c >> 24)}, uint8(i)
		others -= counts[c]
	}
	if 10*others > w*h || slices.ContainsFunc(list, func(c uint32) bool { return c>>24 != 255 }) {
		return nil
	}
	for _, c := range list[len(few):] {
		index[c] = nearest(few, c)
	}
	out, at := image.NewPaletted(image.Rect(0, 0, w, h), palette), 0
	for y := range h {
		if y > 0 && bytes.Equal(row(y), row(y-1)) {
			at += copy(out.Pix[at:], out.Pix[at-w:at])
			continue
		}
		for c, n := range runs(row(y)) {
			i := index[c]
			for k := range n {
				out.Pix[at+k] = i
			}
			at += n
		}
	}
	return out
}

// nearest returns which of the colours differs least from another.
func nearest(list []uint32, c uint32) (at uint8) {
	least := math.MaxInt
	for i, l := range list {
		d := 0
		for shift := 0; shift < 24; shift += 8 {
			x := int(uint8(l>>shift)) - int(uint8(c>>shift))
			d += x * x
		}
		if d < least {
			least, at = d, uint8(i)
		}
	}
	return at
}

// runs yields the colours of a row of pixels, and how many of them follow each other.
func runs(row []byte) func(yield func(uint32, int) bool) {
	return func(yield func(uint32, int) bool) {
		for from, to := 0, 0; from < len(row); from = to {
			c := binary.LittleEndian.Uint32(row[from:])
			for to = from + 4; to < len(row) && binary.LittleEndian.Uint32(row[to:]) == c; to += 4 {
			}
			if !yield(c, (to-from)/4) {
				return
			}
		}
	}
}
