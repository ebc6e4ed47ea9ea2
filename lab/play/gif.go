package play

import (
	"context"
	"fmt"
	"image/color"
	"io"
	"os"
	"time"

	"github.com/hop-marl/hop/num/film"
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
	return c.record(film.NewGIF(w, c.Palette, c.w, c.h), frames, defaultDelay)
}

// record hands the pictures of all frames to a film.
func (m *camera) record(f film.Film, frames []Frame, delay time.Duration) error {
	for i := range frames {
		f.Add(m.shoot(&frames[i]), shownFor(frames, i, delay))
	}
	return f.Close()
}

// writeFilm writes the frames to the file that the options name.
func writeFilm(ctx context.Context, o Options, frames []Frame) error {
	c, err := newCamera(frames)
	if err != nil {
		return err
	}
	delay := max(o.Delay, fastest)
	f, err := film.Create(ctx, o.GIF, c.Palette, c.w, c.h, delay)
	if err == nil {
		err = c.record(f, frames, delay)
	}
	if err != nil {
		return fmt.Errorf("play: writing %s: %w", o.GIF, err)
	}
	info, err := os.Stat(o.GIF)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "wrote %s: %d frames, %d kB\n", o.GIF, len(frames), (info.Size()+999)/1000)
	return err
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

// newInks makes a palette from what the frames show: the flat colours, and
// between those that touch, as many shades as there is room for, because the
// edges of shapes and letters are blends.
func newInks(frames []Frame) *film.Inks {
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
	k := film.NewInks()
	for _, c := range flat {
		k.Add(c)
	}
	steps := max((256-len(k.Palette))/len(edges), 1)
	for i := 1; i <= steps; i++ {
		for _, e := range edges {
			k.Add(mix(e.a, e.b, float64(i)/float64(steps+1)))
		}
	}
	return k
}
