package play

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"os"
	"time"

	"github.com/hop-marl/hop/game"
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

// camera makes pictures of frames, one after the other. Their patches are the
// cells, a row a seat, and the head; from a frame to the next most of them stay.
type camera struct {
	*painter
	*film.Picture
}

func newCamera(frames []Frame) (*camera, error) {
	if len(frames) == 0 {
		return nil, errors.New("play: a picture needs at least one frame; record an episode first")
	}
	p, err := newPainter(frames)
	if err != nil {
		return nil, err
	}
	return &camera{p, film.NewPicture(newInks(frames), p.w, p.h)}, nil
}

// shoot returns the picture of a frame, [h][w], valid until the next one.
func (m *camera) shoot(f *Frame) []uint8 {
	const x, y = margin, headTall + margin
	board := int(m.board)
	layout := fmt.Sprint("layout", f.Height, f.Width, len(f.Players))
	if whole := image.Rect(0, 0, m.w, m.h); !m.Shows(whole, layout) {
		m.Forget() // nothing that was there stays
		m.patch(whole, layout, func() { m.frame(f, x, y) })
	}
	m.patch(image.Rect(0, 0, m.w-m.time, 43), "title"+f.Title+"\n"+f.Episode, func() { m.title(f) })
	m.patch(image.Rect(m.w-m.time, 0, m.w, 43), "time"+f.time(), func() {
		m.text(f.time(), float64(m.time-margin), 24, 1, "bold", 15, ink)
	})
	m.patch(image.Rect(0, 43, m.w, 50), fmt.Sprint("bar", f.Step, "/", f.Horizon), func() { m.bar(f, 1) })
	if f.Height > 0 {
		m.cells(f, x, y)
	} else {
		m.patch(image.Rect(x, y, x+board, y+wordsTall), "words"+f.Words, func() { m.drawWords(f) })
	}
	left, top := x+board+margin, y
	right := left + stripWide + margin/2 // a letter may reach over its end
	rows := listed(len(f.Players))
	for s := range rows {
		pl, last := &f.Players[s], s == len(f.Players)-1
		key := fmt.Sprint("row", s, pl.Name, "\n", pl.Return, pl.Reward, pl.Left > 0, pl.status(40), last)
		m.patch(image.Rect(left, top, right, top+seatTall), key, func() { m.row(game.Seat(s), pl, last) })
		top += seatTall
	}
	if rows < len(f.Players) {
		key := "rest"
		for _, pl := range f.Players[rows:] {
			key += fmt.Sprint(" ", pl.Return)
		}
		m.patch(image.Rect(left, top, right, top+seatTall), key, func() { m.rest(f, rows) })
		top += seatTall
	}
	if top += 12; top < m.h {
		all, key := f.legend(), "legend"
		for _, t := range all {
			key += fmt.Sprint(t.word, t.fill, "\n")
		}
		m.patch(image.Rect(left, top, right, m.h), key, func() { m.legend(all, float64(m.h-top)) })
	}
	if m.minds {
		m.patch(image.Rect(right, y, m.w, m.h), fmt.Sprintf("mind%+v", f.Mind), func() {
			if f.Mind != nil {
				m.mind(f.Mind, 2*margin-margin/2, 0)
			}
		})
	}
	return m.Pix
}

// frame draws the line around the board.
func (m *camera) frame(f *Frame, x, y float64) {
	if f.Height == 0 {
		return
	}
	m.dc.SetColor(hair)
	m.dc.SetLineWidth(1)
	m.dc.DrawRectangle(x-0.5, y-0.5, m.cell*float64(f.Width)+1, m.cell*float64(f.Height)+1)
	m.dc.Stroke()
}

// cells shows the board, whose corner is at (x, y).
func (m *camera) cells(f *Frame, x, y int) {
	trails, bubbles := f.trails(), m.bubbles(f)
	var key []byte
	for i := range f.Cells {
		c := &f.Cells[i]
		key = fmt.Appendf(key[:0], "cell%d%q%v", (i/f.Width+i%f.Width)%2, c.Things, c.Seats)
		for s, pl := range f.Players {
			if a := f.Step - pl.Left; pl.Left > 0 && pl.At == i && a < fades {
				key = fmt.Append(key, "left", s, a)
			}
		}
		var crossing []trail
		for _, t := range trails {
			if t.at == i || t.from == i {
				crossing = append(crossing, t)
				key = fmt.Append(key, "trail", t.seat, t.from-i, t.at-i)
			}
		}
		var near []bubble
		cx, cy := m.corner(f, i)
		for _, b := range bubbles {
			if b.over(cx, cy, m.cell) {
				near = append(near, b)
				key = fmt.Append(key, "earned", b.text, b.x-cx, b.y-cy)
			}
		}
		at := image.Rect(0, 0, int(m.cell), int(m.cell)).Add(image.Pt(x+int(cx), y+int(cy)))
		m.patch(at, string(key), func() { m.drawCell(f, i, crossing, near) })
	}
}

// patch shows at r what the key says; draw draws it, from (0, 0).
func (m *camera) patch(r image.Rectangle, key string, draw func()) {
	m.Patch(r, key, func() *image.RGBA {
		m.begin(r.Size())
		draw()
		return m.img
	})
}

// Pixels returns the frame's picture as red, green and blue bytes, [high][wide][3]. All
// frames of an episode without thoughts have the same size.
func Pixels(f *Frame) (rgb []uint8, wide, high int, err error) {
	m, err := newCamera([]Frame{*f})
	if err != nil {
		return nil, 0, 0, err
	}
	rgb = make([]uint8, 0, 3*m.w*m.h)
	for _, i := range m.shoot(f) {
		r, g, b, _ := m.Palette[i].RGBA()
		rgb = append(rgb, uint8(r>>8), uint8(g>>8), uint8(b>>8))
	}
	return rgb, m.w, m.h, nil
}
