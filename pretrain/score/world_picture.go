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

	"hop/model/world"
	"hop/page"
)

// The colours of the planes: agents first, then things, again and again.
var (
	agentColours = []color.RGBA{{31, 119, 180, 255}, {214, 39, 40, 255}, {44, 160, 44, 255}, {148, 103, 189, 255}}
	thingColours = []color.RGBA{{90, 90, 90, 255}, {140, 86, 75, 255}, {255, 152, 0, 255}, {23, 190, 207, 255}}
)

const (
	titleHeight = 16
	gap         = 12
)

// picture draws the worst rows, worst first: before, what came, what was
// predicted with raw probabilities as shades, and the error; then the same of the
// other model. A cell is a grid of small squares, one for each plane.
func (j *WorldScores) picture(m *world.Model) (*page.Figure, error) {
	side := max(24, min(48, 192/max(m.Height, m.Width)))
	titles := []string{"before", "true next", "predicted, raw", "error"}
	if j.Beside != nil {
		titles = append(titles, j.BesideName, "its error")
	}
	s, where := j.seen()
	cases := s.Worst
	wide, tall := m.Width*side+gap, m.Height*side+3*titleHeight+gap
	img := image.NewRGBA(image.Rect(0, 0, gap+wide*len(titles), titleHeight+gap+tall*max(len(cases), 1)))
	draw.Draw(img, img.Bounds(), image.White, image.Point{}, draw.Src)
	at := gap
	for i, name := range j.Planes {
		square(img, image.Rect(at, 3, at+10, 13), planeColour(m, i), 1)
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
				errorMap(img, at, m, side, errs[k], c.True)
			} else {
				boardMap(img, at, m, side, panels[k])
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, fmt.Errorf("pretrain: drawing the worst rows: %w", err)
	}
	return &page.Figure{
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

func planeColour(m *world.Model, i int) color.RGBA {
	if i < m.Agents {
		return agentColours[i%len(agentColours)]
	}
	return thingColours[(i-m.Agents)%len(thingColours)]
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

// boardMap draws planes.
func boardMap(img *image.RGBA, at image.Point, m *world.Model, side int, planes []float32) {
	per := int(math.Ceil(math.Sqrt(float64(m.Planes))))
	small := (side - 3) / per
	for cell := range m.Height * m.Width {
		x, y := at.X+cell%m.Width*side, at.Y+cell/m.Width*side
		edge(img, x, y, side)
		for i := range m.Planes {
			px, py := x+2+i%per*small, y+2+i/per*small
			square(img, image.Rect(px, py, px+small-1, py+small-1), planeColour(m, i), planes[cell*m.Planes+i])
		}
	}
}

// errorMap draws the largest error of each cell.
func errorMap(img *image.RGBA, at image.Point, m *world.Model, side int, got, want []float32) {
	for cell := range m.Height * m.Width {
		x, y := at.X+cell%m.Width*side, at.Y+cell/m.Width*side
		worst := float32(0)
		for i := cell * m.Planes; i < (cell+1)*m.Planes; i++ {
			worst = max(worst, got[i]-want[i], want[i]-got[i])
		}
		edge(img, x, y, side)
		square(img, image.Rect(x+1, y+1, x+side-1, y+side-1), color.RGBA{200, 0, 0, 255}, worst)
		if worst >= 0.005 {
			label(img, x+2, y+side/2+4, strings.TrimPrefix(fmt.Sprintf("%.2f", worst), "0"))
		}
	}
}

// edge draws a cell's border.
func edge(img *image.RGBA, x, y, side int) {
	square(img, image.Rect(x, y, x+side, y+side), color.RGBA{200, 200, 200, 255}, 1)
	square(img, image.Rect(x+1, y+1, x+side-1, y+side-1), color.RGBA{}, 0)
}
