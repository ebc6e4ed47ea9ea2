package score

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/draw"
	"image/png"

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
