package play

import (
	"math"

	"git.sr.ht/~sbinet/gg"
)

// shape draws a thing around (cx, cy) within r to each side.
type shape func(p *painter, cx, cy, r float64, t thing)

// unit runs draw with (0, 0) in the middle and 1 as r; strokes do not scale.
func unit(d *gg.Context, cx, cy, r float64, draw func()) {
	d.Push()
	d.Translate(cx, cy)
	d.Scale(r, r)
	draw()
	d.Pop()
}

func drawBlock(p *painter, cx, cy, r float64, t thing) {
	r = min(r/0.84, p.cell/2) - 1 // a block fills its cell
	p.box(cx-r, cy-r, 2*r, 2*r, r*0.22, t.fill)
	p.box(cx-r, cy-r, 2*r, 2*r*0.8, r*0.22, mix(t.fill, white, 0.12))
}

// drawStag is a stag's head from the front: antlers, ears, a long face.
func drawStag(p *painter, cx, cy, r float64, t thing) {
	d := p.dc
	unit(d, cx, cy, r, func() {
		dark := mix(t.fill, ink, 0.35)
		p.pen(dark, max(r*0.13, 1.6))
		for _, side := range []float64{-1, 1} {
			d.MoveTo(side*0.18, -0.1)
			d.CubicTo(side*0.85, -0.2, side*0.8, -0.65, side*0.62, -0.98)
			d.Stroke()
			d.MoveTo(side*0.52, -0.24)
			d.QuadraticTo(side*0.4, -0.45, side*0.3, -0.85)
			d.Stroke()
			d.MoveTo(side*0.7, -0.45)
			d.QuadraticTo(side*0.95, -0.5, side*1, -0.8)
			d.Stroke()
		}
		d.SetColor(t.fill)
		for _, side := range []float64{-1, 1} {
			d.Push()
			d.Translate(side*0.48, 0.1)
			d.Rotate(side * 0.35)
			d.DrawEllipse(0, 0, 0.26, 0.12)
			d.Fill()
			d.Pop()
		}
		d.MoveTo(-0.34, -0.08)
		d.QuadraticTo(0, -0.28, 0.34, -0.08)
		d.CubicTo(0.38, 0.3, 0.22, 0.5, 0.2, 0.75)
		d.QuadraticTo(0, 1.08, -0.2, 0.75)
		d.CubicTo(-0.22, 0.5, -0.38, 0.3, -0.34, -0.08)
		d.ClosePath()
		d.Fill()
		p.oval(0, 0.8, 0.14, 0.1, dark)
		p.oval(-0.17, 0.18, 0.07, 0.07, white)
		p.oval(0.17, 0.18, 0.07, 0.07, white)
	})
}

// drawHare is a hare's head from the front: two long ears above a round face.
func drawHare(p *painter, cx, cy, r float64, t thing) {
	d := p.dc
	unit(d, cx, cy, r, func() {
		for _, side := range []float64{-1, 1} {
			d.Push()
			d.Translate(side*0.24, -0.36)
			d.Rotate(side * 0.16)
			p.oval(0, 0, 0.19, 0.58, t.fill)
			p.oval(0, 0.03, 0.08, 0.4, mix(t.fill, white, 0.7))
			d.Pop()
		}
		p.oval(0, 0.42, 0.52, 0.46, t.fill)
		p.oval(0, 0.6, 0.25, 0.2, mix(t.fill, white, 0.7))
		p.oval(-0.21, 0.33, 0.075, 0.075, ink)
		p.oval(0.21, 0.33, 0.075, 0.075, ink)
		p.oval(0, 0.53, 0.08, 0.06, ink)
	})
}

// drawDrift is a heap of snow.
func drawDrift(p *painter, cx, cy, r float64, t thing) {
	d := p.dc
	heap := func() {
		d.MoveTo(-0.95, 0.65)
		d.CubicTo(-0.85, 0.1, -0.55, 0.05, -0.4, 0.1)
		d.CubicTo(-0.25, -0.6, 0.35, -0.6, 0.45, 0.0)
		d.CubicTo(0.7, -0.1, 0.9, 0.2, 0.95, 0.65)
		d.ClosePath()
	}
	unit(d, cx, cy, r, func() {
		heap()
		d.SetColor(white)
		d.FillPreserve()
		d.SetColor(t.fill)
		d.SetLineWidth(max(r*0.1, 1.4))
		d.Stroke()
		p.oval(-0.1, 0.48, 0.6, 0.09, mix(t.fill, white, 0.35))
		d.SetColor(t.fill)
		for _, at := range [][2]float64{{-0.6, -0.5}, {0.7, -0.6}, {-0.1, -0.85}} {
			d.DrawCircle(at[0], at[1], 0.1)
			d.Fill()
		}
	})
}

func drawCoin(p *painter, cx, cy, r float64, t thing) {
	d := p.dc
	p.oval(cx, cy, r*0.8, r*0.8, t.fill)
	d.SetColor(mix(t.fill, white, 0.7))
	d.SetLineWidth(max(r*0.1, 1.2))
	d.DrawCircle(cx, cy, r*0.58)
	d.Stroke()
	if t.level != "" {
		p.text(t.level, cx, cy, 0.5, "bold", math.Round(r*0.7), white)
		return
	}
	d.SetColor(mix(t.fill, white, 0.7))
	d.DrawRegularPolygon(4, cx, cy, r*0.3, 0)
	d.Fill()
}

func drawApple(p *painter, cx, cy, r float64, t thing) {
	d := p.dc
	unit(d, cx, cy, r, func() {
		p.pen(mix(t.fill, ink, 0.35), max(r*0.12, 1.4))
		d.MoveTo(0, -0.35)
		d.QuadraticTo(0.02, -0.7, 0.16, -0.86)
		d.Stroke()
		d.SetColor(rgb(0x8fae6b))
		d.Push()
		d.Translate(0.36, -0.62)
		d.Rotate(-0.5)
		d.DrawEllipse(0, 0, 0.26, 0.12)
		d.Fill()
		d.Pop()
		d.SetColor(t.fill)
		d.MoveTo(0, -0.36)
		d.CubicTo(0.35, -0.62, 0.85, -0.4, 0.78, 0.15)
		d.CubicTo(0.72, 0.65, 0.35, 0.95, 0, 0.8)
		d.CubicTo(-0.35, 0.95, -0.72, 0.65, -0.78, 0.15)
		d.CubicTo(-0.85, -0.4, -0.35, -0.62, 0, -0.36)
		d.ClosePath()
		d.Fill()
		if t.level == "" {
			p.oval(-0.38, 0, 0.11, 0.2, mix(t.fill, white, 0.35))
		}
	})
	if t.level != "" {
		p.text(t.level, cx, cy+r*0.2, 0.5, "bold", math.Round(r*0.9), white)
	}
}

func drawWaves(p *painter, cx, cy, r float64, t thing) {
	d := p.dc
	p.pen(mix(t.fill, white, 0.35), max(r*0.08, 1))
	for _, at := range [][2]float64{{-0.75, -0.45}, {-0.15, 0.1}, {-0.75, 0.6}} {
		x, y := cx+at[0]*r, cy+at[1]*r
		d.MoveTo(x, y)
		d.QuadraticTo(x+0.2*r, y-0.25*r, x+0.4*r, y)
		d.QuadraticTo(x+0.6*r, y+0.25*r, x+0.8*r, y)
		d.Stroke()
	}
}

func drawWaste(p *painter, cx, cy, r float64, t thing) {
	d := p.dc
	d.SetColor(t.fill)
	for _, b := range [][3]float64{{-0.45, -0.35, 0.26}, {0.4, -0.5, 0.16}, {0.3, 0.3, 0.3}, {-0.5, 0.5, 0.17}} {
		d.DrawCircle(cx+b[0]*r, cy+b[1]*r, b[2]*r)
		d.Fill()
	}
}

func drawGrass(p *painter, cx, cy, r float64, t thing) {
	d := p.dc
	p.pen(t.fill, max(r*0.07, 1))
	for _, at := range [][2]float64{{-0.5, -0.3}, {0.45, -0.5}, {0.1, 0.5}, {-0.55, 0.65}, {0.65, 0.4}} {
		x, y := cx+at[0]*r, cy+at[1]*r
		d.DrawLine(x, y, x-0.09*r, y-0.22*r)
		d.DrawLine(x, y, x+0.09*r, y-0.22*r)
		d.Stroke()
	}
}

// drawMark is a thing of which only the name is known: its first letter.
func drawMark(p *painter, cx, cy, r float64, t thing) {
	p.box(cx-r*0.85, cy-r*0.85, r*1.7, r*1.7, r*0.3, mix(t.fill, white, 0.7))
	p.text(string(t.sign)+t.level, cx, cy, 0.5, "bold", math.Round(r*1.05), t.fill)
}
