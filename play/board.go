package play

import (
	"image/color"
	"math"
	"strings"

	"hop/game"
)

// fades is how many frames a leaving seat's ring is seen.
const fades = 3

// drawBoard draws the cells, then what moves across them.
func (p *painter) drawBoard(f *Frame, x0, y0 float64) {
	d := p.dc
	for i := range f.Cells {
		x, y := x0+p.cell*float64(i%f.Width), y0+p.cell*float64(i/f.Width)
		p.box(x, y, p.cell, p.cell, 0, p.ground(f, i))
		for _, name := range f.Cells[i].Things {
			if t := thingOf(name); t.flat {
				t.shape(p, x+p.cell/2, y+p.cell/2, p.cell/2, t)
			}
		}
	}
	for s := range f.Players {
		p.trail(f, game.Seat(s), x0, y0)
	}
	for i := range f.Cells {
		p.drawCell(f, i, x0+p.cell*float64(i%f.Width), y0+p.cell*float64(i/f.Width))
	}
	d.SetColor(hair)
	d.SetLineWidth(1)
	d.DrawRectangle(x0-0.5, y0-0.5, p.cell*float64(f.Width)+1, p.cell*float64(f.Height)+1)
	d.Stroke()
	p.rewards(f, x0, y0)
}

// ground is the colour of a cell's tile.
func (p *painter) ground(f *Frame, i int) color.RGBA {
	g := tileA
	if (i/f.Width+i%f.Width)%2 == 1 {
		g = tileB
	}
	for _, name := range f.Cells[i].Things {
		if t := thingOf(name); t.flat {
			g = t.ground
		}
	}
	return g
}

// trail draws where a seat came from, if that is a neighbouring cell.
func (p *painter) trail(f *Frame, s game.Seat, x0, y0 float64) {
	pl := &f.Players[s]
	if pl.Left > 0 || pl.At < 0 || pl.From < 0 || f.Find(s) < 0 {
		return
	}
	ax, ay, bx, by := pl.From%f.Width, pl.From/f.Width, pl.At%f.Width, pl.At/f.Width
	if dx, dy := ax-bx, ay-by; dx*dx+dy*dy != 1 {
		return
	}
	mid := func(v int) float64 { return (float64(v) + 0.5) * p.cell }
	p.pen(mix(lookOf(s).fill, tileA, 0.6), p.cell*0.09)
	p.dc.DrawLine(x0+mid(ax), y0+mid(ay), x0+mid(bx), y0+mid(by))
	p.dc.Stroke()
}

// drawCell draws a cell's things and seats, and the rings of those who left here.
func (p *painter) drawCell(f *Frame, i int, x, y float64) {
	c := &f.Cells[i]
	var left []game.Seat
	age := fades
	for s, pl := range f.Players {
		if a := f.Step - pl.Left; pl.Left > 0 && pl.At == i && a < fades {
			left, age = append(left, game.Seat(s)), min(age, a)
		}
	}
	if len(left) > 0 {
		p.box(x+2, y+2, p.cell-4, p.cell-4, p.cell*0.18, mix(good, p.ground(f, i), 0.72+0.1*float64(age)))
	}
	var solid []thing
	for _, name := range c.Things {
		if t := thingOf(name); !t.flat {
			solid = append(solid, t)
		}
	}
	half := p.cell / 2
	crowd := len(c.Seats) > 0 || len(left) > 0 && age == 0
	for n, t := range solid {
		share := p.cell / float64(len(solid))
		cx, r := x+share*(float64(n)+0.5), min(share, p.cell)/2*0.84
		if crowd {
			t.shape(p, cx, y+p.cell*0.29, min(r, p.cell*0.27), t)
		} else {
			t.shape(p, cx, y+half, r, t)
		}
	}
	top := 0.
	if len(solid) > 0 || len(left) > 0 && age == 0 {
		top = 0.5
	}
	pack(len(c.Seats), x, y+top*p.cell, p.cell, (1-top)*p.cell, func(n int, cx, cy, r float64) {
		p.disc(c.Seats[n], cx, cy, r)
	})
	if len(c.Seats) > 0 {
		return
	}
	pack(len(left), x, y+0.5*p.cell, p.cell, 0.5*p.cell, func(n int, cx, cy, r float64) {
		a := f.Step - f.Players[left[n]].Left
		p.ring(left[n], cx, cy, r, mix(lookOf(left[n]).fill, p.ground(f, i), float64(a)*0.36))
	})
}

// pack calls draw with the place of each of n discs in a box, in rows of equal
// discs that do not touch.
func pack(n int, x, y, w, h float64, draw func(i int, cx, cy, r float64)) {
	if n == 0 {
		return
	}
	best, cols := 0., 1
	for c := 1; c <= n; c++ {
		rows := (n + c - 1) / c
		if r := min(w/float64(c), h/float64(rows)); r >= best {
			best, cols = r, c
		}
	}
	rows := (n + cols - 1) / cols
	r := min(best/2*0.88, max(w, h)*0.33)
	for i := range n {
		row := i / cols
		inRow := min(cols, n-row*cols)
		cx := x + w/2 + best*(float64(i%cols)-float64(inRow-1)/2)
		cy := y + h/2 + best*(float64(row)-float64(rows-1)/2)
		draw(i, cx, cy, r)
	}
}

// rewards writes what was just earned where it was earned, once a cell for
// equal amounts.
func (p *painter) rewards(f *Frame, x0, y0 float64) {
	for i := range f.Cells {
		var words []string
		sum := 0.
		for s := range f.Players {
			pl := &f.Players[s]
			if pl.At != i || pl.Reward == 0 {
				continue
			}
			sum += pl.Reward
			if w := signed(pl.Reward); !strings.Contains(strings.Join(words, " ")+" ", w+" ") {
				words = append(words, w)
			}
		}
		if len(words) == 0 {
			continue
		}
		s := strings.Join(words, " ")
		cx, cy := x0+p.cell*(float64(i%f.Width)+0.5), y0+p.cell*(float64(i/f.Width)+0.24)
		size := math.Round(min(max(p.cell*0.34, 11), 20))
		p.dc.SetFontFace(p.face("bold", size))
		w, _ := p.dc.MeasureString(s)
		w += size * 0.7
		cx = min(max(cx, x0+w/2), x0+p.board-w/2)
		p.box(cx-w/2, cy-size*0.62, w, size*1.24, size*0.62, white)
		p.text(s, cx, cy, 0.5, "bold", size, tone(sum))
	}
}
