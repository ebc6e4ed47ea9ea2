package plot

import (
	"bytes"
	"image"
	"image/color"
	"math/rand/v2"
	"testing"

	"golang.org/x/image/draw"
	"golang.org/x/image/math/f64"
)

// Letters come out to the byte as draw.BiLinear draws them: upright or turned, moved by parts of a pixel, over
// the edge of the picture, in colours that one sees through.
func TestLettersAreDrawnAsBefore(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	mask := image.NewAlpha(image.Rect(0, 0, 20, 16))
	for i := range mask.Pix {
		mask.Pix[i] = uint8(max(r.IntN(400)-100, 0))
	}
	for i, m := range []f64.Aff3{
		{1, 0, 7, 0, 1, 9}, {1, 0, -3, 0, 1, 22}, {1, 0, 28, 0, 1, -5}, {1, 0, 7.25, 0, 1, 9}, {0, -1, 20, 1, 0, 5}, {1, 0, 7, 0, -1, 25},
	} {
		for _, ink := range []color.Color{color.Black, color.RGBA{10, 90, 30, 128}, color.NRGBA{200, 7, 99, 255}} {
			var got [2]*image.RGBA
			for k, how := range []draw.Interpolator{upright, draw.BiLinear} {
				got[k] = image.NewRGBA(image.Rect(0, 0, 32, 32))
				for at := range got[k].Pix {
					got[k].Pix[at] = uint8(at*at>>3 | at&3/3*255)
				}
				how.Transform(got[k], m, image.NewUniform(ink), image.Rect(0, 0, 13, 12), draw.Over,
					&draw.Options{SrcMask: mask, SrcMaskP: image.Pt(4, 2)})
			}
			if !bytes.Equal(got[0].Pix, got[1].Pix) {
				t.Errorf("case %d in %v differs", i, ink)
			}
		}
	}
}
