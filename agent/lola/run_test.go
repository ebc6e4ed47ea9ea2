package lola_test

import (
	"testing"

	"github.com/hop-marl/hop/train/spec/spectest"
)

// The pages of weights are among what is restored, and workers never meet on them.
func TestRunsKeepTheirPromises(t *testing.T) {
	text := "mind: lola\nlola: {eta: 1}\n" + spectest.Small("  standins: {share: 0.2, who: [ns]}\n")
	spectest.Promises(t, spectest.With(t, text, "train.steps=4000"), 3)
}
