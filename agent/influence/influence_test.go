package influence_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/hop-marl/hop/train/spec/spectest"
)

// The model of others is among what is restored.
func TestRunsKeepTheirPromises(t *testing.T) {
	block := "mind: influence\ninfluence: {hidden: [8], weight: 0.1, weight_end: 0}\n"
	text := block + spectest.Small("  standins: {share: 0.2, who: [ns]}\n")
	spectest.Promises(t, spectest.With(t, text, "train.steps=4000"), 3)
}

// Somebody who plays tit for tat does next what I do now: the influence of an
// action is all of its surprise, -ln pi, whose mean is the policy's entropy. On
// somebody who always does the same I have none.
func TestInfluenceIsTheSurpriseOfWhatIsCopied(t *testing.T) {
	for _, c := range []struct {
		bot  string
		want float64
	}{{"tft", math.Ln2}, {"alld", 0}} {
		seen := spectest.Play(t, fmt.Sprintf(`
game: {name: matrix, matrix: pd, rounds: 10}
mind: influence
actor: {frame: board, hidden: [8]}
ppo: {lr: 1e-9}
influence: {hidden: [16], lr: 2e-2, weight: 0}
train: {envs: 32, window: 22, steps: 20000, team: [learn, %s]}
`, c.bot), 1, 1).Seen
		got := math.NaN()
		for _, st := range seen[len(seen)-1].Stats[0] {
			if st.Name == "influence/nats" {
				got = st.Value
			}
		}
		if !(math.Abs(got-c.want) < 0.03) {
			t.Errorf("against %s the mean influence is %.3f nats, want %.3f", c.bot, got, c.want)
		}
	}
}
