package play

import (
	"errors"
	"fmt"
	"image"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/film"
)

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
	for s := range f.Players {
		pl, last := &f.Players[s], s == len(f.Players)-1
		key := fmt.Sprint("row", s, pl.Name, "\n", pl.Return, pl.Reward, pl.Left > 0, pl.status(40), last)
		m.patch(image.Rect(left, top, right, top+seatTall), key, func() { m.row(game.Seat(s), pl, last) })
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
