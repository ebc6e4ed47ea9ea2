package compare

import (
	"errors"
	"testing"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/train/registry"
)

// What was asked wrongly is told apart from what went wrong.
func TestMisuseIsAKindOfError(t *testing.T) {
	l := &lab.Lab{Reg: registry.New()}
	for _, variants := range [][]string{{"no-such"}, {"ppo-4x4", "ppo-4x4"}, {"ppo-4x4", "ppo-8x8"}} {
		var m lab.Misuse
		if _, err := Run(t.Context(), l, Config{Variants: variants}); !errors.As(err, &m) {
			t.Errorf("%v: %v is no Misuse", variants, err)
		}
	}
}
