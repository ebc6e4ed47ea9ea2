package score

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// The colours of the planes: agents first, then things, again and again.
var (
	agentColours = []color.RGBA{{31, 119, 180, 255}, {214, 39, 40, 255}, {44, 160, 44, 255}, {148, 103, 189, 255}}
	thingColours = []color.RGBA{{90, 90, 90, 255}, {140, 86, 75, 255}, {255, 152, 0, 255}, {23, 190, 207, 255}}
)

// sketch says what a board looks like: its size, its planes, those of agents first, and how many
// pixels a cell is wide.
type sketch struct{ Height, Width, Planes, Agents, Side int }

// colour returns the colour of a plane.
func (b sketch) colour(plane int) color.RGBA {
	if plane < b.Agents {
		return agentColours[plane%len(agentColours)]
	}
	return thingColours[(plane-b.Agents)%len(thingColours)]
}

// square fills a rectangle with a share of a colour.
func square(img *image.RGBA, r image.Rectangle, c color.RGBA, share float32) {
	a := min(max(share, 0), 1)
	mix := func(v uint8) uint8 { return uint8(255 - a*(255-float32(v)) + 0.5) }
	draw.Draw(img, r, image.NewUniform(color.RGBA{mix(c.R), mix(c.G), mix(c.B), 255}), image.Point{}, draw.Src)
}

// label writes text and returns where it ends.
func label(img *image.RGBA, x, y int, text string) int {
	d := font.Drawer{Dst: img, Src: image.NewUniform(color.Gray{40}), Face: basicfont.Face7x13, Dot: fixed.P(x, y)}
	d.DrawString(text)
	return d.Dot.X.Ceil()
}

// paint draws planes [Height][Width][Planes].
func (b sketch) paint(img *image.RGBA, at image.Point, planes []float32) {
	per := int(math.Ceil(math.Sqrt(float64(b.Planes))))
	small := (b.Side - 3) / per
	for cell := range b.Height * b.Width {
		x, y := at.X+cell%b.Width*b.Side, at.Y+cell/b.Width*b.Side
		b.edge(img, x, y)
		for i := range b.Planes {
			px, py := x+2+i%per*small, y+2+i/per*small
			square(img, image.Rect(px, py, px+small-1, py+small-1), b.colour(i), planes[cell*b.Planes+i])
		}
	}
}

// errors draws the largest error of each cell.
func (b sketch) errors(img *image.RGBA, at image.Point, got, want []float32) {
	for cell := range b.Height * b.Width {
		x, y := at.X+cell%b.Width*b.Side, at.Y+cell/b.Width*b.Side
		worst := float32(0)
		for i := cell * b.Planes; i < (cell+1)*b.Planes; i++ {
			worst = max(worst, got[i]-want[i], want[i]-got[i])
		}
		b.edge(img, x, y)
		square(img, image.Rect(x+1, y+1, x+b.Side-1, y+b.Side-1), color.RGBA{200, 0, 0, 255}, worst)
		if worst >= 0.005 {
			label(img, x+2, y+b.Side/2+4, strings.TrimPrefix(fmt.Sprintf("%.2f", worst), "0"))
		}
	}
}

// edge draws a cell's border.
func (b sketch) edge(img *image.RGBA, x, y int) {
	square(img, image.Rect(x, y, x+b.Side, y+b.Side), color.RGBA{200, 200, 200, 255}, 1)
	square(img, image.Rect(x+1, y+1, x+b.Side-1, y+b.Side-1), color.RGBA{}, 0)
}
