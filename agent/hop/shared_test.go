package hop_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// Agents who share a network learn about their co-players each for itself, from what each saw,
// and such a run keeps every promise.
func TestAgentsWhoShareANetworkLearnAboutOthersApart(t *testing.T) {
	text := spectest.With(t, spectest.Planner, "own=ppo", "search.kind=none", "leaf.kind=net", "train.brains=[0]",
		"train.warm.windows=0", "train.warm.who=[]", "train.steps=600")
	f, err := safetensors.Parse(spectest.Promises(t, text, 1))
	if err != nil {
		t.Fatal(err)
	}
	learnt, models := map[string]bool{}, map[string]bool{}
	for _, x := range f.Tensors {
		for a := range 4 {
			at := fmt.Sprintf("agent/%d/moa/", a)
			switch _, name, ok := strings.Cut(x.Name, at); {
			case ok && name == "counters":
				learnt[at] = binary.LittleEndian.Uint64(x.Data) > 0 // its updates
			case ok && name == "net/body/0/w":
				models[string(x.Data)] = true
			}
		}
	}
	for a := range 4 {
		if at := fmt.Sprintf("agent/%d/moa/", a); len(models) != 4 || !learnt[at] {
			t.Errorf("%d different models of others in a checkpoint, want 4; agent %d's learnt: %v", len(models), a, learnt[at])
		}
	}
	run := spectest.Play(t, text, 1, 1)
	for _, p := range run.Seen {
		for _, row := range p.Rows {
			if row.Name == "moa/ce" {
				return
			}
		}
	}
	t.Error("nothing is said of how well they predict each other")
}
