package serve

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/registry"
)

var manyDir = flag.String("many", "", "the folder that TestManyAreWritten writes runs into")

// TestManyAreWritten writes two thousand runs for internal/browsertest: five settings, five seeds of
// each combination, a hundred windows of twenty numbers.
func TestManyAreWritten(t *testing.T) {
	if *manyDir == "" {
		t.Skip("-args -many DIR")
	}
	many(t, *manyDir, 2000, 100)
}

// many writes runs that differ in five settings, each with its own return.
func many(t testing.TB, root string, n, windows int) {
	t.Helper()
	must(t, os.MkdirAll(root, 0o755))
	r, reg := rng.New(39).Rand(), registry.New()
	var text []byte
	for i := range n {
		k := i / 5 // five seeds of each
		if i%5 == 0 {
			pick := func(list []string, every int) string { return list[k/every%len(list)] }
			spec, err := reg.Load("ppo-4x4", []string{"ppo.lr=" + pick([]string{"0.0003", "0.001", "0.003", "0.01"}, 1),
				"ppo.gamma=" + pick([]string{"0.9", "0.95", "0.99", "0.995", "1"}, 4), "ppo.lambda=" + pick([]string{"0.8", "0.9", "0.95", "1"}, 20),
				"ppo.clip=" + pick([]string{"0.1", "0.2", "0.3"}, 80), "ppo.entropy=" + pick([]string{"0", "0.01"}, 240)})
			must(t, err)
			text, err = spec.YAML()
			must(t, err)
		}
		run, err := runlog.Create(filepath.Join(root, fmt.Sprintf("run-%04d", i), fmt.Sprint("seed-", i%5+1)), text,
			runlog.Info{Preset: "ppo-4x4", Seed: uint64(i%5 + 1)})
		must(t, err)
		seconds := 0.
		run.Measure(func() (float64, float64) { seconds += 0.5; return seconds, seconds })
		last := 0.
		for w := range windows {
			last = 3 * float64(w) / float64(windows) * float64(k%4+1) / 4
			step := int64(3840 * (w + 1))
			rows := []runlog.Row{{Step: step, Name: "return/mean", Agent: -1, Value: last + 0.2*r.Float64(), N: 256},
				{Step: step, Name: "episode/steps", Agent: -1, Value: 12 * r.Float64(), N: 256}}
			for a := range 4 {
				for j, name := range []string{"return", "ppo/entropy", "ppo/explained", "count/rows"} {
					v := [...]float64{last, 1.4 - last/3, last / 4, float64(900 * (w + 1))}[j]
					if j < 3 {
						v += 0.2 * r.Float64()
					}
					rows = append(rows, runlog.Row{Step: step, Name: name, Agent: a, Value: v, N: 60})
				}
			}
			must(t, run.Log(rows))
		}
		finish(t, run, last)
	}
}
