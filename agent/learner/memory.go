package learner

import (
	"strings"

	"github.com/hop-marl/hop/num/nn"
)

// Part is a part of a run, and about what it takes of the memory.
type Part struct {
	Name   string
	Bytes  float64
	Fields []string // of the spec, that make it large, the best to lower first
}

// Sizes is how large a run is, for the estimate of its memory.
type Sizes struct{ Envs, Window, Workers int }

// RowBytes returns about what a network takes for each row that it computes: what its
// layers put out, which is as much as they have biases. A convolution puts it out for each
// of so many cells. To learn takes twice that, because of the gradients.
func RowBytes(p *nn.Params, cells int) float64 {
	n := 0
	for _, part := range p.Parts {
		switch {
		case len(part.Shape) > 1:
		case strings.HasPrefix(part.Name, "conv"):
			n += part.Len * cells
		default:
			n += part.Len
		}
	}
	return 4 * float64(n)
}
