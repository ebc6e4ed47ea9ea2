package score

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/plot"
)

const (
	titleHeight = 16
	gap         = 12
)

// picture draws the worst rows, worst first: before, what came, what was
// predicted with raw probabilities as shades, and the error; then the same of the
// other model. A cell is a grid of small squares, one for each plane.
func (j *WorldScores) picture(m *world.Model) (*plot.Figure, error) {
	side := max(24, min(48, 192/max(m.Height, m.Width)))
	titles := []string{"before", "true next", "predicted, raw", "error"}
	if j.Beside != nil {
		titles = append(titles, j.BesideName, "its error")
	}
	s, where := j.seen()
	cases := s.Worst
	board := sketch{Height: m.Height, Width: m.Width, Planes: m.Planes, Agents: m.Agents, Side: side}
	wide, tall := m.Width*side+gap, m.Height*side+3*titleHeight+gap
	img := image.NewRGBA(image.Rect(0, 0, gap+wide*len(titles), titleHeight+gap+tall*max(len(cases), 1)))
	draw.Draw(img, img.Bounds(), image.White, image.Point{}, draw.Src)
	at := gap
	for i, name := range j.Planes {
		square(img, image.Rect(at, 3, at+10, 13), board.colour(i), 1)
		at = label(img, at+14, 12, name) + 12
	}
	for i, c := range cases {
		y := titleHeight + gap + i*tall
		label(img, gap, y+10, fmt.Sprintf("%d: actions %v, rewards %s, expected %s", i+1, c.Joint, short32(c.Reward), short32(c.Mean)))
		label(img, gap, y+titleHeight+10, cmp.Or(c.What, "right"))
		panels := [][]float32{c.Before, c.True, c.Raw, nil}
		errs := [][]float32{nil, nil, nil, c.Raw}
		if j.Beside != nil {
			panels, errs = append(panels, j.Beside[i], nil), append(errs, nil, j.Beside[i])
		}
		for k, title := range titles {
			x := gap + k*wide
			label(img, x, y+2*titleHeight+10, title)
			at := image.Pt(x, y+3*titleHeight)
			if errs[k] != nil {
				board.errors(img, at, errs[k], c.True)
			} else {
				board.paint(img, at, panels[k])
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, fmt.Errorf("pretrain: drawing the worst rows: %w", err)
	}
	return &plot.Figure{
		Name: "worst", Title: "The worst rows of " + where + ", worst first", Image: b.Bytes(),
		Caption: "Each cell holds a small square for each plane, as dark as its raw probability, never rounded. " +
			"The error is the largest difference of any plane of the cell.",
	}, nil
}

// short32 writes a few numbers.
func short32(xs []float32) string {
	s := ""
	for i, x := range xs {
		if i > 0 {
			s += " "
		}
		s += fmt.Sprintf("%.3g", x)
	}
	return s
}

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
