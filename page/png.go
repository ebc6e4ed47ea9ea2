package page

import (
	"bytes"
	"cmp"
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
// nearest of them where it has another, or nil if those are more than one pixel in ten.
func paletted(m *image.RGBA) *image.Paletted {
	counts := map[color.RGBA]int{}
	for c, n := range runs(m) {
		if c.A != 255 {
			return nil
		}
		counts[c] += n
	}
	list := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(counts[b]-counts[a], cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	few := list[:min(256, len(list))]
	others := m.Rect.Dx() * m.Rect.Dy()
	p, index := make(color.Palette, len(few)), make(map[color.RGBA]uint8, len(list))
	for i, c := range few {
		p[i], index[c] = c, uint8(i)
		others -= counts[c]
	}
	if 10*others > m.Rect.Dx()*m.Rect.Dy() {
		return nil
	}
	for _, c := range list[len(few):] {
		index[c] = uint8(nearest(few, c))
	}
	out, at := image.NewPaletted(m.Rect, p), 0
	for c, n := range runs(m) {
		i := index[c]
		for range n {
			out.Pix[at] = i
			at++
		}
	}
	return out
}

// nearest returns which of the colours differs least from another.
func nearest(list []color.RGBA, c color.RGBA) (at int) {
	least := math.MaxInt
	for i, l := range list {
		r, g, b := int(l.R)-int(c.R), int(l.G)-int(c.G), int(l.B)-int(c.B)
		if d := r*r + g*g + b*b; d < least {
			least, at = d, i
		}
	}
	return at
}

// runs yields a picture's colours in the order of its pixels, and how many follow each other.
func runs(m *image.RGBA) func(yield func(color.RGBA, int) bool) {
	return func(yield func(color.RGBA, int) bool) {
		for y := m.Rect.Min.Y; y < m.Rect.Max.Y; y++ {
			row := m.Pix[m.PixOffset(m.Rect.Min.X, y):m.PixOffset(m.Rect.Max.X, y)]
			for len(row) > 0 {
				n := 4
				for n < len(row) && [4]byte(row[n:]) == [4]byte(row) {
					n += 4
				}
				if !yield(color.RGBA{row[0], row[1], row[2], row[3]}, n/4) {
					return
				}
				row = row[n:]
			}
		}
	}
}
