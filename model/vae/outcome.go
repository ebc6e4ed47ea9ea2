package vae

import (
	"math"

	"github.com/hop-marl/hop/num/nn"
)

// Outcomes writes dst [rows][Actions], what z [rows][Width] alone says about the
// agent's last action of the episode. It panics unless Outcome is above 0.
func (m *Model) Outcomes(p *nn.Params, dst, z []float32, rows int) {
	if m.Config.Loss != "b" || m.Outcome <= 0 {
		panic("vae: the model was not taught outcomes")
	}
	k := m.Actions
	m.outcome.Forward(p, dst[:rows*k], z[:rows*m.Width()], rows)
	for i := range rows {
		row := dst[i*k : (i+1)*k]
		top, sum := row[0], float32(0)
		for _, x := range row {
			top = max(top, x)
		}
		for a, x := range row {
			row[a] = float32(math.Exp(float64(x - top)))
			sum += row[a]
		}
		for a := range row {
			row[a] /= sum
		}
	}
}
