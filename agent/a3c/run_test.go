package a3c_test

import (
	"testing"

	"github.com/hop-marl/hop/train/spec/spectest"
)

// The mean squares are among what is restored.
func TestRunsKeepTheirPromises(t *testing.T) {
	text := "mind: a3c\na3c: {n: 5}\n" + spectest.Small("  standins: {share: 0.2, who: [ns]}\n")
	spectest.Promises(t, spectest.With(t, text, "train.steps=4000"), 3)
}

// What it cannot learn with is refused by name.
func TestWhatCannotBeIsRefused(t *testing.T) {
	spectest.Refused(t, "actor.lstm is 8, want 0, because mind is a3c", "mind: a3c", "actor.lstm=8")
	spectest.Refused(t, "a3c.decay is 1, want below 1", "mind: a3c", "a3c.decay=1")
	spectest.Refused(t, "imagine.on", "mind: a3c", "imagine.on=true")
}
