package train_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"hop/exp"
	"hop/registry"
	"hop/runlog"
	"hop/train"
)

// social are minds around PPO.
var social = map[string]string{
	"lola":      "lola: {on: true, eta: 1}\n",
	"influence": "influence: {on: true, hidden: [8], weight: 0.1, weight_end: 0}\n",
}

func TestSocialMindsDoNotDependOnWorkers(t *testing.T) {
	for name, block := range social {
		t.Run(name, func(t *testing.T) {
			text := block + small("  standins: {share: 0.2, who: [ns]}\n")
			_, one := play(t, text, 3, 1)
			_, two := play(t, text, 3, 2)
			if !bytes.Equal(last(t, one), last(t, two)) {
				t.Error("one and two workers end in different checkpoints")
			}
		})
	}
}

// Stopped every two updates and resumed, they go on as if nothing had happened:
// the pages of weights and the model of others among what is restored.
func TestSocialMindsResume(t *testing.T) {
	for name, block := range social {
		t.Run(name, func(t *testing.T) {
			text := block + small("")
			_, whole := play(t, text, 3, 1)
			s, err := registry.New().Parse([]byte(text), "test.yaml", "test", nil)
			if err != nil {
				t.Fatal(err)
			}
			run, err := runlog.Create(filepath.Join(t.TempDir(), "run"), nil, runlog.Info{})
			if err != nil {
				t.Fatal(err)
			}
			defer run.Close()
			var saved []byte
			for err = context.Canceled; err != nil; {
				loop, e := s.Build(3, exp.Machine{Workers: 1})
				if e != nil {
					t.Fatal(e)
				}
				if saved != nil {
					if e := loop.Load(saved); e != nil {
						t.Fatal(e)
					}
				}
				ctx, stop := context.WithCancel(context.Background())
				updates := 0
				err = loop.Run(ctx, run, func(*train.Progress) {
					if updates++; updates == 2 {
						stop()
					}
				})
				stop()
				if saved, e = loop.Save(); e != nil {
					t.Fatal(e)
				}
			}
			if !bytes.Equal(saved, last(t, whole)) {
				t.Error("a run stopped every two updates ends differently")
			}
		})
	}
}

// A network that reads no goals plays among planners whose windows hold some.
func TestFrozenNetworksPlayAmongPlanners(t *testing.T) {
	_, dir := play(t, small(""), 1, 1)
	at := strings.Index(planner, "  standins:")
	if at < 0 {
		t.Fatal("the planner has no stand-ins to replace")
	}
	seen, _ := play(t, planner[:at]+"  standins: {share: 0.5, who: ['"+filepath.ToSlash(dir)+"#0']}\n", 3, 1)
	if len(seen) == 0 {
		t.Error("no update was seen")
	}
}

// Somebody who plays tit for tat does next what I do now: the influence of an
// action is all of its surprise, -ln pi, whose mean is the policy's entropy. On
// somebody who always does the same I have none.
func TestInfluenceIsTheSurpriseOfWhatIsCopied(t *testing.T) {
	for _, c := range []struct {
		bot  string
		want float64
	}{{"tft", math.Ln2}, {"alld", 0}} {
		seen, _ := play(t, fmt.Sprintf(`
game: {name: matrix, matrix: pd, rounds: 10}
actor: {frame: board, hidden: [8]}
ppo: {lr: 1e-9}
influence: {on: true, hidden: [16], lr: 2e-2, weight: 0}
train: {envs: 32, window: 22, steps: 20000, team: [learn, %s]}
`, c.bot), 1, 1)
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
