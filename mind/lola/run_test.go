package lola_test

import (
	"testing"

	"hop/exp/exptest"
)

// The pages of weights are among what is restored, and workers never meet on them.
func TestRunsKeepTheirPromises(t *testing.T) {
	exptest.Promises(t, "mind: lola\nlola: {eta: 1}\n"+exptest.Small("  standins: {share: 0.2, who: [ns]}\n"), 3)
}
