package moa

import (
	"fmt"

	"github.com/hop-marl/hop/num/nn"
)

// Widen puts the weights of a model of others that knows width goals alone into
// one that is also told doubt and whom it models: those have no weight at first. Its
// weights lie under prefix.
func (l *Learner) Widen(from *nn.Params, prefix string, width int) error {
	extra := l.Model.GoalLen - width
	for _, part := range l.Params.Parts {
		old, ok := from.Find(prefix + part.Name)
		if !ok || len(old.Shape) != len(part.Shape) {
			return fmt.Errorf("moa: the model of others in models.moa has no part %s; give it the net of the spec's moa, such as "+
				"--set model.hidden=%s", part.Name, fmt.Sprint(l.Model.Hidden))
		}
		src, _ := from.At(old.Span)
		dst, _ := l.Params.At(part.Span)
		clear(dst)
		switch {
		case len(dst) == len(src):
		case part.Name == "body/0/w" && part.Shape[0] == old.Shape[0]+extra && part.Shape[1] == old.Shape[1]:
			// goals come last, and what is added comes after them
		default:
			return fmt.Errorf("moa: part %s of the model of others in models.moa is %v, here %v; give it the net of the spec's "+
				"moa and the game's goals", part.Name, old.Shape, part.Shape)
		}
		copy(dst, src)
	}
	return nil
}
