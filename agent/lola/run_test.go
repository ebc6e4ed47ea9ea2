package lola_test

import (
	"testing"

	"github.com/hop-marl/hop/train/spec/exptest"
)

// The pages of weights are among what is restored, and workers never meet on them.
func TestRunsKeepTheirPromises(t *testing.T) {
	text := "mind: lola\nlola: {eta: 1}\n" + exptest.Small("  standins: {share: 0.2, who: [ns]}\n")
	exptest.Promises(t, exptest.With(t, text, "train.steps=4000"), 3)
}
