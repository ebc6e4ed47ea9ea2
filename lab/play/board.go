package play

import (
	"image/color"
	"math"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game"
)

// fades is how many frames a leaving seat's ring is seen.
const fades = 3

// drawCell draws a cell: its tile, the trails that cross it, what stands on it,
// and what was earned nearby.
func (p *painter) drawCell(f *Frame, i int, trails []trail, rewards []bubble) {
	p.box(0, 0, p.cell, p.cell, 0, p.ground(f, i))
	for _, name := range f.Cells[i].Things {
		if t := thingOf(name); t.flat {
			t.shape(p, p.cell/2, p.cell/2, p.cell/2, t)
		}
	}
	for _, t := range trails {
		p.trail(t, i, f.Width)
	}
	p.drawThings(f, i)
	x, y := p.corner(f, i)
	for _, b := range rewards {
		p.box(b.x-x, b.y-y, b.w, b.h, b.h/2, white)
		p.text(b.text, b.x-x+b.w/2, b.y-y+b.h/2, 0.5, "bold", b.size, b.tone)
	}
}

// corner is where a cell begins, from the board's corner.
func (p *painter) corner(f *Frame, i int) (x, y float64) {
	return p.cell * float64(i%f.Width), p.cell * float64(i/f.Width)
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

// trail is where a seat came from: the cell beside the one it is on.
type trail struct {
	seat     game.Seat
	from, at int
}

// trails lists the seats that have just come from a neighbouring cell.
func (f *Frame) trails() []trail {
	var all []trail
	for s, pl := range f.Players {
		if pl.Left > 0 || pl.At < 0 || pl.From < 0 || f.Height == 0 || f.Find(game.Seat(s)) < 0 {
			continue
		}
		if dx, dy := pl.From%f.Width-pl.At%f.Width, pl.From/f.Width-pl.At/f.Width; dx*dx+dy*dy == 1 {
			all = append(all, trail{game.Seat(s), pl.From, pl.At})
		}
	}
	return all
}

// trail draws the part of a trail that lies in cell i.
func (p *painter) trail(t trail, i, wide int) {
	mid := func(v int) float64 { return (float64(v) + 0.5) * p.cell }
	x, y := i%wide, i/wide
	p.pen(mix(lookOf(t.seat).fill, tileA, 0.6), p.cell*0.09)
	p.dc.DrawLine(mid(t.from%wide-x), mid(t.from/wide-y), mid(t.at%wide-x), mid(t.at/wide-y))
	p.dc.Stroke()
}

// drawThings draws a cell's things and seats, and the rings of those who left here.
func (p *painter) drawThings(f *Frame, i int) {
	c := &f.Cells[i]
	var left []game.Seat
	age := fades
	for s, pl := range f.Players {
		if a := f.Step - pl.Left; pl.Left > 0 && pl.At == i && a < fades {
			left, age = append(left, game.Seat(s)), min(age, a)
		}
	}
	if len(left) > 0 {
		p.box(2, 2, p.cell-4, p.cell-4, p.cell*0.18, mix(good, p.ground(f, i), 0.72+0.1*float64(age)))
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
		cx, r := share*(float64(n)+0.5), min(share, p.cell)/2*0.84
		if crowd {
			t.shape(p, cx, p.cell*0.29, min(r, p.cell*0.27), t)
		} else {
			t.shape(p, cx, half, r, t)
		}
	}
	top := 0.
	if len(solid) > 0 || len(left) > 0 && age == 0 {
		top = 0.5
	}
	pack(len(c.Seats), 0, top*p.cell, p.cell, (1-top)*p.cell, func(n int, cx, cy, r float64) {
		p.disc(c.Seats[n], cx, cy, r)
	})
	if len(c.Seats) > 0 {
		return
	}
	pack(len(left), 0, 0.5*p.cell, p.cell, 0.5*p.cell, func(n int, cx, cy, r float64) {
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

// bubble is what was earned in a cell, in words, and where it is written from the
// board's corner; it may reach into other cells.
type bubble struct {
	cell       int
	text       string
	tone       color.RGBA
	size       float64
	x, y, w, h float64
}

// bubbles says what was just earned where it was earned, once a cell for equal
// amounts.
func (p *painter) bubbles(f *Frame) []bubble {
	var all []bubble
	for i := range f.Cells {
		var words []string
		sum := 0.
		for s := range f.Players {
			pl := &f.Players[s]
			if pl.At != i || pl.Reward == 0 {
				continue
			}
			sum += pl.Reward
			if w := signed(pl.Reward); !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
		if len(words) == 0 {
			continue
		}
		b := bubble{cell: i, text: strings.Join(words, " "), tone: tone(sum), size: math.Round(min(max(p.cell*0.34, 11), 20))}
		b.w, b.h = p.wide(b.text, "bold", b.size)+b.size*0.7, b.size*1.24
		x, y := p.corner(f, i)
		b.x = max(min(x+p.cell/2-b.w/2, p.board-b.w), 0)
		b.y = max(y+p.cell*0.24-b.h/2, 0)
		all = append(all, b)
	}
	return all
}

// over reports whether a bubble reaches into the cell at (x, y).
func (b *bubble) over(x, y, cell float64) bool {
	return b.x < x+cell && b.x+b.w > x && b.y < y+cell && b.y+b.h > y
}
