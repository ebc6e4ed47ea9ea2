package play

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hop/film"
)

// hold is how much longer an episode's last frame is shown.
const hold = 5

// GIF writes the frames as one animated picture, one image a frame, with one
// palette for all. The same frames give the same bytes.
func GIF(w io.Writer, frames []Frame) error {
	c, err := newCamera(frames)
	if err != nil {
		return err
	}
	return c.record(film.NewGIF(w, c.palette, c.w, c.h), frames, defaultDelay)
}

// record hands the pictures of all frames to a film.
func (m *camera) record(f interface {
	Add(picture []uint8, wait time.Duration)
	Close() error
}, frames []Frame, delay time.Duration) error {
	for i := range frames {
		f.Add(m.shoot(&frames[i]), shownFor(frames, i, delay))
	}
	return f.Close()
}

// writeFilm puts the file there whole or not at all: an MP4 if its name says so,
// or a GIF.
func writeFilm(ctx context.Context, o Options, frames []Frame) error {
	c, err := newCamera(frames)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(o.GIF), ".play-*"+filepath.Ext(o.GIF))
	if err != nil {
		return fmt.Errorf("play: writing the film: %w", err)
	}
	defer os.Remove(f.Name()) // gone already when all went well
	if o.mp4() {
		var m *film.MP4
		if m, err = film.NewMP4(ctx, f.Name(), c.palette, c.w, c.h, max(o.Delay, fastest)); err == nil {
			err = c.record(m, frames, max(o.Delay, fastest))
		}
	} else {
		err = c.record(film.NewGIF(f, c.palette, c.w, c.h), frames, o.Delay)
	}
	size := int64(0)
	if info, no := f.Stat(); no == nil {
		size = info.Size()
	}
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), o.GIF)
	}
	if err != nil {
		return fmt.Errorf("play: writing %s: %w", o.GIF, err)
	}
	_, err = fmt.Fprintf(o.Out, "wrote %s: %d frames, %d kB\n", o.GIF, len(frames), (size+999)/1000)
	return err
}

// mp4 reports whether the film is to be one.
func (o Options) mp4() bool { return strings.EqualFold(filepath.Ext(o.GIF), ".mp4") }

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
