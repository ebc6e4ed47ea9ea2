package pr2_test

import (
	"fmt"
	"testing"

	"github.com/hop-marl/hop/train/spec/spectest"
)

// Q, the model of answers and the stream are among what is restored.
func TestRunsKeepTheirPromises(t *testing.T) {
	text := "mind: pr2\npr2: {hidden: [8], alpha: 0.1, alpha_end: 0.01}\n" + spectest.Small("  standins: {share: 0.2, who: [ns]}\n")
	spectest.Promises(t, spectest.With(t, text, "train.steps=3000"), 3)
}

// What it cannot learn with is refused by name.
func TestWhatCannotBeIsRefused(t *testing.T) {
	spectest.Refused(t, "actor.lstm is 8, want 0, because mind is pr2", "mind: pr2", "actor.lstm=8")
	spectest.Refused(t, "train.brains", "mind: pr2", "train.brains=[0,0,1,2]")
	spectest.Refused(t, "pr2.alpha_end is 0, want above 0, or -1", "mind: pr2", "pr2.alpha_end=0")
	spectest.Refused(t, "pr2.hidden", "mind: pr2", "pr2.hidden=[]")
	spectest.Refused(t, "imagine.on", "mind: pr2", "imagine.on=true")
}

// Of the two equilibria of the stag hunt played once, gradients that take the other for
// part of the world find the safe one, hare and hare at 2; reasoning about its answer finds
// the one that pays, stag and stag at 4. It is the paper's differential game with two actions
// in place of a line: the better hill is the narrower one.
func TestTheBetterEquilibriumIsFound(t *testing.T) {
	for mind, want := range map[string]float64{"ppo": 2, "pr2": 4} {
		block := ""
		if mind == "pr2" {
			block = "pr2: {hidden: [16], alpha: 0.1, alpha_end: 0.01, lr: 5e-3}\n"
		}
		seen := spectest.Play(t, fmt.Sprintf(`
game: {name: matrix, matrix: staghunt, rounds: 1, memory: false}
mind: %s
actor: {frame: board, hidden: [16]}
ppo: {lr: 5e-3}
%strain: {envs: 32, window: 20, steps: 16000}
`, mind, block), 1, 1).Seen
		got := 0.
		for _, r := range seen[len(seen)-1].Rows {
			if r.Name == "return/mean" {
				got = r.Value
			}
		}
		if got < want-0.2 || got > want+0.2 {
			t.Errorf("two %s learners earn %.2f at the stag hunt, want %.0f", mind, got, want)
		}
	}
}
