package train_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// recordedSpec is a planner that is shown records of three kinds of bots.
func recordedSpec(t *testing.T, sets ...string) string {
	return spectest.With(t, spectest.Planner, append([]string{
		"train.recorded.windows=2", "train.recorded.who=[ns, nh, random]", "train.strangers.every=0"}, sets...)...)
}

// others returns the weights of models of others that a run ends with.
func others(t *testing.T, r spectest.Run) (all []byte) {
	t.Helper()
	f, err := safetensors.Parse(r.Last(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range f.Tensors {
		if strings.Contains(x.Name, "/moa/") && strings.HasSuffix(x.Name, "/w") {
			all = append(all, x.Data...)
		}
	}
	if len(all) == 0 {
		t.Fatal("a checkpoint without models of others")
	}
	return all
}

// Records are nobody's play: a model of others that learns from them alone is the same
// however the agents play, and one that learns from play as well is not.
func TestModelsThatLearnFromRecordsAloneDoNotSeePlay(t *testing.T) {
	for share, same := range map[string]bool{"moa.recorded=1": true, "moa.recorded=0.5": false} {
		a := others(t, spectest.Play(t, recordedSpec(t, share), 1, 1))
		b := others(t, spectest.Play(t, recordedSpec(t, share, "search.act=q"), 1, 2))
		if bytes.Equal(a, b) != same {
			t.Errorf("%s: models of others of agents who play differently are the same: %v, want %v", share, !same, same)
		}
	}
}

// A run that is shown records keeps every promise: it resumes to the byte.
func TestRunsThatAreShownRecordsResume(t *testing.T) {
	spectest.Promises(t, recordedSpec(t, "moa.recorded=0.5", "moa.slow=0.5"), 1)
}

func TestRecordsOfNobodyAreRefused(t *testing.T) {
	spectest.Refused(t, "recorded.who", spectest.Planner, "train.recorded.windows=2")
	spectest.Refused(t, "moa.recorded", spectest.Planner, "moa.recorded=0.5")
}
