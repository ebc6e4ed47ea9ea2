package play

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"io"
	"time"
)

// hold is how much longer an episode's last frame is shown.
const hold = 5

// GIF writes the frames as one animated picture, one image a frame, with one
// palette for all. The same frames give the same bytes.
func GIF(w io.Writer, frames []Frame) error { return gifAt(w, frames, defaultDelay) }

func gifAt(w io.Writer, frames []Frame, delay time.Duration) error {
	if len(frames) == 0 {
		return errors.New("play: a GIF needs at least one frame; record an episode first")
	}
	p, err := newPainter(frames)
	if err != nil {
		return err
	}
	inks := newInks(frames)
	size := image.Rect(0, 0, p.w, p.h)
	now, before := image.NewPaletted(size, inks.palette), image.NewPaletted(size, inks.palette)
	out := &gif.GIF{Config: image.Config{ColorModel: inks.palette, Width: p.w, Height: p.h}}
	hundredths := max(int(delay/(10*time.Millisecond)), 2)
	for i := range frames {
		p.draw(&frames[i])
		inks.paint(now, p.img)
		wait := hundredths
		if frames[i].Over || i == len(frames)-1 {
			wait = max(hold*hundredths, 200)
		}
		var img *image.Paletted
		if i > 0 {
			img = changes(before, now, inks.clear)
		} else {
			img = image.NewPaletted(size, inks.palette)
			copy(img.Pix, now.Pix)
		}
		out.Image = append(out.Image, img)
		out.Delay = append(out.Delay, wait)
		out.Disposal = append(out.Disposal, gif.DisposalNone)
		now, before = before, now
	}
	if err := gif.EncodeAll(w, out); err != nil {
		return fmt.Errorf("play: writing the GIF: %w", err)
	}
	return nil
}

// changes returns the smallest part of now that differs from before, with what
// is alike left clear, which packs to almost nothing.
func changes(before, now *image.Paletted, empty uint8) *image.Paletted {
	r := image.Rectangle{}
	w := now.Stride
	for y := range now.Rect.Dy() {
		a, b := before.Pix[y*w:(y+1)*w], now.Pix[y*w:(y+1)*w]
		if bytes.Equal(a, b) {
			continue
		}
		from, to := 0, w
		for a[from] == b[from] {
			from++
		}
		for a[to-1] == b[to-1] {
			to--
		}
		r = r.Union(image.Rect(from, y, to, y+1))
	}
	if r.Empty() {
		r = image.Rect(0, 0, 1, 1)
	}
	out := image.NewPaletted(r, now.Palette)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			v := now.ColorIndexAt(x, y)
			if v == before.ColorIndexAt(x, y) {
				v = empty
			}
			out.SetColorIndex(x, y, v)
		}
	}
	return out
}

// names lists the names of the things on the board, with repetitions.
func (f *Frame) names() []string {
	var all []string
	for _, c := range f.Cells {
		all = append(all, c.Things...)
	}
	return all
}

// inks maps colours to a palette.
type inks struct {
	palette color.Palette
	clear   uint8
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

// paint writes src in the palette's colours.
func (k *inks) paint(dst *image.Paletted, src *image.RGBA) {
	last, v := color.RGBA{}, k.clear
	for i := range dst.Pix {
		p := src.Pix[4*i : 4*i+4 : 4*i+4]
		c := color.RGBA{p[0], p[1], p[2], 255}
		if c == last { // most pixels are like the one before
			dst.Pix[i] = v
			continue
		}
		var ok bool
		last = c
		v, ok = k.known[c]
		if !ok {
			v = uint8(k.palette[1:].Index(c) + 1)
			k.known[c] = v
		}
		dst.Pix[i] = v
	}
}
