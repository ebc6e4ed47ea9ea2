package plot

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"sync"

	"golang.org/x/image/draw"
	"golang.org/x/image/math/f64"
)

// encode returns a picture as PNG. Figures are a few colours and the edges of letters and
// lines: as palettes they are smaller and take a fifth of the time. Others stay as they are.
func encode(m *image.RGBA) ([]byte, error) {
	var b bytes.Buffer
	var pic image.Image = m
	if p := paletted(m); p != nil {
		pic = p
	}
	err := (&png.Encoder{CompressionLevel: png.BestSpeed, BufferPool: &encoders}).Encode(&b, pic)
	return b.Bytes(), err
}

// encoders keeps what encoding needs, a megabyte, for the next picture.
var encoders pool

type pool struct{ sync.Pool }

func (p *pool) Get() *png.EncoderBuffer {
	b, _ := p.Pool.Get().(*png.EncoderBuffer)
	return b
}

func (p *pool) Put(b *png.EncoderBuffer) { p.Pool.Put(b) }

// run is pixels of one colour that follow each other.
type run struct{ color, n int32 }

// seen numbers the colours of a picture, and keeps their pixels' four bytes and how many have them.
type seen struct {
	number map[uint32]int32
	recent [1024]struct { // at a place by its bytes, in front of the map
		bytes uint32
		next  int32 // its number and one; 0: nothing is here
	}
	bytes  []uint32
	counts []int
}

func (s *seen) of(bytes uint32) int32 {
	at := &s.recent[bytes*0x9e3779b1>>22]
	if at.bytes == bytes && at.next > 0 {
		return at.next - 1
	}
	n, ok := s.number[bytes]
	if !ok {
		n = int32(len(s.bytes))
		s.number[bytes] = n
		s.bytes, s.counts = append(s.bytes, bytes), append(s.counts, 0)
	}
	at.bytes, at.next = bytes, n+1
	return n
}

// paletted returns an opaque picture in the 256 colours that most of it has, with the
// nearest of them where it has another, or nil if that is more than one pixel in ten.
// Colours are kept as a pixel's four bytes.
func paletted(m *image.RGBA) *image.Paletted {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	row := func(y int) []byte { return m.Pix[y*m.Stride : y*m.Stride+4*w] }
	all, runs := seen{number: map[uint32]int32{}}, make([]run, 0, 8*h)
	for y, times := 0, 0; y < h; y += times {
		for times = 1; y+times < h && bytes.Equal(row(y), row(y+times)); times++ { // rows are often like the one above
		}
		from := len(runs)
		runs = appendRuns(runs, row(y), &all)
		for _, r := range runs[from:] {
			all.counts[r.color] += int(r.n) * times
		}
	}
	order := make([]int32, len(all.bytes))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(all.counts[b]-all.counts[a], cmp.Compare(all.bytes[a], all.bytes[b]))
	})
	few, others := make([]uint32, min(256, len(order))), w*h
	palette, index := make(color.Palette, len(few)), make([]uint8, len(order))
	for i := range few {
		c := all.bytes[order[i]]
		few[i], palette[i], index[order[i]] = c, color.RGBA{uint8(c), uint8(c >> 8), uint8(c >> 16), uint8(c >> 24)}, uint8(i)
		others -= all.counts[order[i]]
	}
	if 10*others > w*h || slices.ContainsFunc(all.bytes, func(c uint32) bool { return c>>24 != 255 }) {
		return nil
	}
	for _, n := range order[len(few):] {
		index[n] = nearest(few, all.bytes[n])
	}
	out, at := image.NewPaletted(image.Rect(0, 0, w, h), palette), 0
	for y := range h {
		if y > 0 && bytes.Equal(row(y), row(y-1)) {
			at += copy(out.Pix[at:], out.Pix[at-w:at])
			continue
		}
		for end := at + w; at < end; runs = runs[1:] {
			for i, k := index[runs[0].color], runs[0].n; k > 0; k-- {
				out.Pix[at] = i
				at++
			}
		}
	}
	return out
}

// appendRuns appends the runs of a row of pixels.
func appendRuns(list []run, row []byte, all *seen) []run {
	for from, to := 0, 0; from < len(row); from = to {
		c := binary.LittleEndian.Uint32(row[from:])
		for to = from + 4; to < len(row) && binary.LittleEndian.Uint32(row[to:]) == c; to += 4 {
		}
		list = append(list, run{all.of(c), int32((to - from) / 4)})
	}
	return list
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

// letters draws as draw.BiLinear does, and what is neither turned nor stretched nor moved by parts of a
// pixel, as letters that stand upright are, to the same bytes in a tenth of the time.
type letters struct{ draw.Interpolator }

var upright = letters{draw.BiLinear}

// Transform draws a source through a mask.
func (l letters) Transform(dst draw.Image, m f64.Aff3, src image.Image, sr image.Rectangle, op draw.Op, o *draw.Options) {
	to, isRGBA := dst.(*image.RGBA)
	ink, isUniform := src.(*image.Uniform)
	var mask *image.Alpha
	if o != nil && o.DstMask == nil {
		mask, _ = o.SrcMask.(*image.Alpha)
	}
	x, y := math.Trunc(m[2]), math.Trunc(m[5])
	if !isRGBA || !isUniform || mask == nil || op != draw.Over || m != (f64.Aff3{1, 0, x, 0, 1, y}) {
		l.Interpolator.Transform(dst, m, src, sr, op, o)
		return
	}
	by := image.Pt(int(x), int(y))
	r := sr.Add(by).Intersect(to.Rect)
	from := o.SrcMaskP.Sub(by)
	var color [4]uint32
	color[0], color[1], color[2], color[3] = ink.RGBA()
	for py := r.Min.Y; py < r.Max.Y; py++ {
		for px := r.Min.X; px < r.Max.X; px++ {
			alpha := uint32(mask.AlphaAt(px+from.X, py+from.Y).A) * 0x101
			if alpha == 0 {
				continue
			}
			rest := 0xffff - color[3]*alpha/0xffff
			pixel := to.Pix[to.PixOffset(px, py):][:4]
			for i, c := range color {
				pixel[i] = uint8((uint32(pixel[i])*0x101*rest/0xffff + c*alpha/0xffff) >> 8)
			}
		}
	}
}
