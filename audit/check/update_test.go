package check

import (
	"testing"

	"github.com/hop-marl/hop/audit/reference"
)

// A layer is lifeless only if the definition never moved it, and not before anything was held
// against the definition.
func TestLifelessIsWhatTheDefinitionDoesNotMoveEither(t *testing.T) {
	p := &Learner{}
	if p.Lifeless("trunk/0/w") {
		t.Error("lifeless before anything was looked at")
	}
	net := func(a, b float64) reference.Net {
		n := reference.Net{"trunk/0/w": reference.NewMat(1, 1), "head/b": reference.NewMat(1, 1)}
		n["trunk/0/w"].V[0], n["head/b"].V[0] = a, b
		return n
	}
	p.note(net(0.5, 0.1), net(0.5+1e-12, 0.2)) // less than float32 shows
	if !p.Lifeless("trunk/0/w") || p.Lifeless("head/b") {
		t.Errorf("the definition moved %v", p.moves)
	}
	p.note(net(0.5, 0.2), net(0.5001, 0.2))
	if p.Lifeless("trunk/0/w") || p.Lifeless("head/b") {
		t.Errorf("after another window the definition moved %v", p.moves)
	}
}
