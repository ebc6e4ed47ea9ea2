package film

import (
	"encoding/binary"
	"image"
	"image/color"
)

// Inks maps colours to a palette of at most 256, whose first is clear.
type Inks struct {
	Palette color.Palette
	known   map[color.RGBA]uint8
}

// NewInks returns inks that have only the clear one.
func NewInks() *Inks {
	return &Inks{Palette: color.Palette{color.RGBA{}}, known: map[color.RGBA]uint8{}}
}

// Add adds a colour unless it is there or the palette is full.
func (k *Inks) Add(c color.RGBA) {
	if _, ok := k.known[c]; !ok && len(k.Palette) < 256 {
		k.known[c] = uint8(len(k.Palette))
		k.Palette = append(k.Palette, c)
	}
}

// Paint returns src, which is clear nowhere, in the palette's colours.
func (k *Inks) Paint(src *image.RGBA) []uint8 {
	dst := make([]uint8, len(src.Pix)/4)
	last, v := uint32(0), uint8(0)
	for i := range dst {
		c := binary.LittleEndian.Uint32(src.Pix[4*i:])
		if c != last { // most pixels are like the one before
			last, v = c, k.nearest(color.RGBA{uint8(c), uint8(c >> 8), uint8(c >> 16), 255})
		}
		dst[i] = v
	}
	return dst
}

// nearest is the palette's colour that is nearest to c, never the clear one.
func (k *Inks) nearest(c color.RGBA) uint8 {
	v, ok := k.known[c]
	if !ok {
		v = uint8(k.Palette[1:].Index(c) + 1)
		k.known[c] = v
	}
	return v
}

// Picture is made of patches. A patch is painted once for all that it ever shows,
// and copied wherever that is shown again.
type Picture struct {
	*Inks
	Pix     []uint8 // [high][wide]
	wide    int
	shown   map[image.Rectangle]string // what the patches show
	painted map[string][]uint8         // patches by what they show
}

// NewPicture returns a picture that is clear.
func NewPicture(inks *Inks, wide, high int) *Picture {
	p := &Picture{Inks: inks, Pix: make([]uint8, wide*high), wide: wide}
	p.Forget()
	return p
}

// Forget makes all patches be painted anew.
func (p *Picture) Forget() {
	p.shown, p.painted = map[image.Rectangle]string{}, map[string][]uint8{}
}

// Shows reports whether a patch shows what a key says.
func (p *Picture) Shows(r image.Rectangle, key string) bool {
	was, ok := p.shown[r]
	return ok && was == key
}

// Patch shows at r what a key says: all that is to be seen there, after what kind
// of patch it is; patches of a kind are of one size. Only if that was never painted
// before, draw draws it.
func (p *Picture) Patch(r image.Rectangle, key string, draw func() *image.RGBA) {
	if p.Shows(r, key) {
		return
	}
	p.shown[r] = key
	pix, ok := p.painted[key]
	if !ok {
		pix = p.Paint(draw())
		p.painted[key] = pix
	}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		copy(p.Pix[y*p.wide+r.Min.X:][:r.Dx()], pix)
		pix = pix[r.Dx():]
	}
}
