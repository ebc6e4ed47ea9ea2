package play

import (
	"encoding/binary"
	"image"
	"image/color"
	"io"
	"time"

	"hop/film"
)

// hold is how much longer an episode's last frame is shown.
const hold = 5

// GIF writes the frames as one animated picture, one image a frame, with one
// palette for all. The same frames give the same bytes.
func GIF(w io.Writer, frames []Frame) error { return gifAt(w, frames, defaultDelay) }

func gifAt(w io.Writer, frames []Frame, delay time.Duration) error {
	c, err := newCamera(frames)
	if err != nil {
		return err
	}
	g := film.NewGIF(w, c.palette, c.w, c.h)
	for i := range frames {
		g.Add(c.shoot(&frames[i]), shownFor(frames, i, delay))
	}
	return g.Close()
}

// shownFor is how long a frame is shown: longer where an episode ends.
func shownFor(frames []Frame, i int, delay time.Duration) time.Duration {
	if frames[i].Over || i == len(frames)-1 {
		return max(hold*delay, 2*time.Second)
	}
	return delay
}

// names lists the names of the things on the board, with repetitions.
func (f *Frame) names() []string {
	var all []string
	for _, c := range f.Cells {
		all = append(all, c.Things...)
	}
	return all
}

// inks maps colours to a palette, whose first is clear.
type inks struct {
	palette color.Palette
	known   map[color.RGBA]uint8
}

// newInks makes a palette from what the frames show: the flat colours, and
// between those that touch, as many shades as there is room for, because the
// edges of shapes and letters are blends.
func newInks(frames []Frame) *inks {
	flat := []color.RGBA{paper, tileA, tileB, ink, faint, hair, good, bad, white, accent}
	type pair struct{ a, b color.RGBA }
	edges := []pair{{ink, paper}, {faint, paper}, {good, paper}, {bad, paper}, {good, white}, {bad, white}, {good, tileA}, {good, tileB}}
	grounds := []color.RGBA{tileA, tileB}
	seats := 0
	seen := map[string]bool{}
	for i := range frames {
		seats = max(seats, len(frames[i].Players))
		for _, name := range frames[i].names() {
			if seen[name] {
				continue
			}
			seen[name] = true
			t := thingOf(name)
			flat = append(flat, t.fill, mix(t.fill, ink, 0.35), mix(t.fill, white, 0.35), mix(t.fill, white, 0.7))
			edges = append(edges, pair{t.fill, tileA}, pair{t.fill, tileB})
			if t.flat {
				grounds = append(grounds, t.ground)
				flat = append(flat, t.ground)
			}
		}
	}
	for s := range min(seats, len(seatLooks)) {
		k := seatLooks[s]
		flat = append(flat, k.fill)
		edges = append(edges, pair{k.fill, k.ink}, pair{k.fill, paper})
		for _, g := range grounds {
			edges = append(edges, pair{k.fill, g})
		}
	}
	k := &inks{palette: color.Palette{color.RGBA{}}, known: map[color.RGBA]uint8{}}
	add := func(c color.RGBA) {
		if _, ok := k.known[c]; !ok && len(k.palette) < 256 {
			k.known[c] = uint8(len(k.palette))
			k.palette = append(k.palette, c)
		}
	}
	for _, c := range flat {
		add(c)
	}
	steps := max((256-len(k.palette))/len(edges), 1)
	for i := 1; i <= steps; i++ {
		for _, e := range edges {
			add(mix(e.a, e.b, float64(i)/float64(steps+1)))
		}
	}
	return k
}

// paint returns src, which covers all it is on, in the palette's colours.
func (k *inks) paint(src *image.RGBA) []uint8 {
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
func (k *inks) nearest(c color.RGBA) uint8 {
	v, ok := k.known[c]
	if !ok {
		v = uint8(k.palette[1:].Index(c) + 1)
		k.known[c] = v
	}
	return v
}
