package plot

import (
	"image"
	"math"

	"golang.org/x/image/draw"
	"golang.org/x/image/math/f64"
)

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
