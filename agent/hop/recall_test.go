package hop

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
)

// recalling returns an agent's update by a window of hare hunters beside a record of stag
// hunters.
func recalling(t *testing.T, share, slow float64) (*Mind, *update) {
	t.Helper()
	g := hunt(t, 12)
	m, _ := makeMind(t, g, 0, 8, func(c *Config) { c.MOA.Recorded, c.MOA.Slow = share, slow })
	shape := batch.Shape{Steps: 40, Envs: 8}
	team := func(name string) *batch.Rollout {
		return collect(t, rollout.Config{Game: g}, shape, []string{name, name, name, name}, nil)
	}
	u := labelled(m, &learner.Window{Rollout: team("nh"), Recorded: team("ns")})
	m.goals.Recall(u)
	if u.known == nil || u.known.steps == 0 || u.steps == 0 {
		t.Fatal("nothing is labelled")
	}
	return m, u
}

// What known players did is drawn until it is the share that is wanted; what was played is
// learnt from once, unless the record is all.
func TestRecordsAreTheShareThatIsWanted(t *testing.T) {
	for _, share := range []float64{0, .25, .75, 1} {
		m, u := recalling(t, share, 0)
		rows, _ := m.others.rows(u)
		steps, played := rows.Len(), int32(len(rows.Seqs))
		n, own, longest := 0, 0, 0
		for _, s := range m.others.recall(rows, u) {
			size := int(rows.Seqs[s].Hi - rows.Seqs[s].Lo)
			if n, longest = n+size, max(longest, size); s < played {
				own += size
			}
		}
		got, most := 1-float64(own)/float64(n), float64(longest)/float64(n)
		if share < 1 && own != steps || got < share || got > share+most {
			t.Errorf("%v of what is learnt from are records, want %v; %d of %d played steps", got, share, own, steps)
		}
	}
}

// Slow weights are between those of before a window's passes and those after.
func TestSlowWeightsStopHalf(t *testing.T) {
	at := func(slow float64) []float32 {
		m, u := recalling(t, .5, slow)
		m.others.Fit(u)
		if u.err != nil {
			t.Fatal(u.err)
		}
		return slices.Clone(m.others.model.Params.W)
	}
	still, fast, half := at(1), at(0), at(.5)
	moved := 0.
	for i := range fast {
		want := still[i] + (fast[i]-still[i])/2
		if moved += math.Abs(float64(fast[i] - still[i])); math.Abs(float64(half[i]-want)) > 1e-6 {
			t.Fatalf("weight %d is %v, want %v, half way between %v and %v", i, half[i], want, still[i], fast[i])
		}
	}
	if moved == 0 {
		t.Error("the passes moved nothing")
	}
}
