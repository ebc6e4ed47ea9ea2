package spec_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// mixed is a spec of a short run of three kinds of learners and a bot.
const mixed = `
game: {stags: 2}
actor: {hidden: [16]}
train: {envs: 6, window: 24, steps: 900, save: 300, team: [learn, learn, learn, ns]}
minds:
  slow: {agents: [1], ppo: {lr: 0.0001, gamma: 0.9, reward_scale: 0.5, prosocial: 1}}
  planner: {agents: [2], base: hop-4x4, actor: {hidden: [16]}, moa: {hidden: [16, 16]}, search: {trees: 2, sims: 6}}
`

// A run of several kinds of learners keeps what every run promises.
func TestKindsKeepThePromises(t *testing.T) {
	spectest.Promises(t, mixed, 3)
	spectest.Promises(t, spectest.With(t, spectest.Small(""), "train.steps=1000", "minds.aware.agents=[1,3]", "minds.aware.mind=lola"), 3)
}

// Agents that a kind gives nothing of their own are the agents of a run without kinds, to
// the byte: streams, brains and shards are by a mind's number in the run.
func TestAKindWithoutSettingsChangesNothing(t *testing.T) {
	for _, text := range []string{spectest.Small("  brains: [0, 1, 1, 2]\n"), spectest.Planner} {
		sets := []string{"train.steps=600", "train.warm.windows=0", "train.team=[learn,learn,learn,ns]"} // a guard compares agents that are alike
		want := spectest.Play(t, spectest.With(t, text, sets...), 2, 1)
		got := spectest.Play(t, spectest.With(t, text, append(sets, "minds.same.agents=[1,2]")...), 2, 1)
		if !bytes.Equal(want.Last(t), got.Last(t)) {
			t.Error("a kind without settings changes the run of", text)
		}
	}
}

// A mind learns from its own rows with its own settings: with the others' settings and
// minds changed beside it, its first update is the same to the byte.
func TestKindsLearnFromTheirOwnRowsAlone(t *testing.T) {
	first := func(sets ...string) (weights [][]float32) {
		s := spectest.Parse(t, mixed, append(sets, "train.steps=100")...)
		parts, err := s.Parts(5, spec.Machine{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range parts.Minds {
			a, _ := learner.As[learner.Acting](m)
			_, p := a.Actor()
			weights = append(weights, p.W)
		}
		loop, err := train.NewSelfPlay(s.Train, s.Rewards(), parts)
		if err != nil {
			t.Fatal(err)
		}
		run, err := runlog.Create(filepath.Join(t.TempDir(), "run"), nil, runlog.Info{})
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		if err := loop.Run(t.Context(), run, nil); err != nil {
			t.Fatal(err)
		}
		return weights
	}
	plain := first()
	for _, c := range []struct {
		of  int
		set string
	}{
		{0, "ppo.lr=0.1"}, {0, "ppo.reward_scale=3"}, {1, "minds.slow.ppo.gamma=0.5"},
		{1, "minds.slow.ppo.prosocial=0"}, {2, "minds.planner.ppo.lr=0.1"},
	} {
		for a, w := range first(c.set) {
			if same := fmt.Sprint(w) == fmt.Sprint(plain[a]); same == (a == c.of) && a < 3 {
				t.Errorf("%s: agent %d's first update is the same: %t", c.set, a, same)
			}
		}
	}
}

// Returns are reported by kind: each kind's is the mean of its agents', bots apart.
func TestReturnsAreReportedByKind(t *testing.T) {
	r := spectest.Play(t, mixed, 3, 1)
	seen := 0
	for _, p := range r.Seen {
		of := map[string]float64{}
		for _, row := range p.Rows {
			if name, ok := strings.CutPrefix(row.Name, train.KindMetric); ok {
				of[name] = row.Value
			}
		}
		if p.Episodes == 0 {
			continue
		}
		seen++
		for a, name := range []string{"ppo", "slow", "planner", "ns"} {
			if of[name] != p.Return[a].Mean() || len(of) != 4 {
				t.Fatalf("agent %d, of kind %s, returned %v; by kind that is %v", a, name, p.Return[a].Mean(), of)
			}
		}
	}
	if seen == 0 {
		t.Fatal("no episode ended")
	}
}

// The agents of such a run are loaded as what they are: by seat, as one agent on all seats,
// as newcomers of their kind.
func TestAgentsOfKindsAreLoaded(t *testing.T) {
	reg := registry.New()
	dir := spectest.Play(t, mixed, 3, 1).Dir
	x, err := reg.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for id := range 3 {
		if _, err := x.Seated(id, false); err != nil {
			t.Error(err)
		}
		n, err := reg.LoadNewcomer(dir, []string{"game.stags=1"}, id, spec.LearnNothing)
		if err != nil {
			t.Fatal(err)
		}
		if n.Models != (id == 2) {
			t.Errorf("agent %d models others: %t", id, n.Models)
		}
		if _, err := n.Member(nil); err != nil {
			t.Error(err)
		}
		if got := n.Spec.LearnsAs(agent.ID(id)).PPO.Gamma; got != []float64{0.99, 0.9, 0.99}[id] {
			t.Errorf("agent %d has discount %v", id, got)
		}
	}
	if list, err := x.Predictions(); err != nil || len(list) != 1 {
		t.Error("of three learners one models others, found", len(list), err)
	}
}

// A resolved spec is read as what it was, and so is one of a base.
func TestKindsAreWrittenOut(t *testing.T) {
	s := spectest.Parse(t, mixed)
	once, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	twice, err := spectest.Parse(t, string(once)).YAML()
	if err != nil || !bytes.Equal(once, twice) {
		t.Errorf("a resolved spec is read as another: %v\n%s\n%s", err, once, twice)
	}
	dir := t.TempDir()
	base, over := filepath.Join(dir, "base.yaml"), filepath.Join(dir, "over.yaml")
	variant := "base: " + base + "\nminds: {slow: {ppo: {lr: 0.5}}}"
	if err := errors.Join(os.WriteFile(base, []byte(mixed), 0o644), os.WriteFile(over, []byte(variant), 0o644)); err != nil {
		t.Fatal(err)
	}
	v, err := registry.New().Load(over, nil)
	if err != nil {
		t.Fatal(err)
	}
	v.Name = spectest.Parse(t, mixed).Name
	changes := spectest.Parse(t, mixed).Diff(&v)
	if len(changes) != 1 || changes[0].Path != "minds.slow.ppo.lr" {
		t.Errorf("a variant of one line differs in %v", changes)
	}
}

// What cannot be is refused with a sentence.
func TestKindsAreRefused(t *testing.T) {
	const plain = "train: {team: [learn, learn, ns, learn]}\n"
	for _, c := range []struct{ want, text string }{
		{"minds.slow.train", plain + "minds: {slow: {agents: [1], train: {envs: 3}}}"},
		{"minds.slow.ppo.lr", plain + "minds: {slow: {agents: [1], ppo: {lr: -1}}}"},
		{"minds.slow.ppo.rate", plain + "minds: {slow: {agents: [1], ppo: {rate: 1}}}"},
		{"minds.slow.agents is [2], want agents that learn; 2 is played by ns", plain + "minds: {slow: {agents: [2]}}"},
		{"minds.slow.agents", plain + "minds: {slow: {agents: [4]}}"},
		{"minds.slow.agents", plain + "minds: {slow: {ppo: {lr: 0.1}}}"},
		{"minds.slow.agents", plain + "minds: {slow: {agents: many}}"},
		{"1 is of slow", plain + "minds: {slow: {agents: [1]}, fast: {agents: [1]}}"},
		{"minds.slow.search", plain + "minds: {slow: {agents: [1], search: {sims: 3}}}"},
		{"minds.slow.mind", plain + "minds: {slow: {agents: [1], mind: hope}}"},
		{"minds.slow.base", plain + "minds: {slow: {agents: [1], base: hope}}"},
		{"minds.Slow.name", plain + "minds: {Slow: {agents: [1]}}"},
		{"minds.ppo.name", plain + "minds: {ppo: {agents: [1]}}"},
		{"minds is", "minds: [1]"},
		{"minds.slow is", "minds: {slow: 1}"},
		{"train.brains", "train: {brains: [0, 0, 1, 1]}\nminds: {slow: {agents: [1]}}"},
		{"imagine.on", "imagine: {on: true}\nminds: {slow: {agents: [1]}}"},
		{"train.warm.windows", "train: {warm: {windows: 1, who: [ns, nh]}}\nminds: {planner: {agents: [1], base: hop-4x4}}"},
		{"stages are the run's", "minds: {planner: {agents: [1], base: hop+types}}"},
		{"minds.other.models", "base: hop+types\nminds: {other: {agents: [1], models: {world: elsewhere}}}"},
		{"no past selves", "train: {standins: {share: 0.1, who: [past]}}\nminds: {memory: {agents: [1], actor: {lstm: 4}}}"},
	} {
		spectest.Refused(t, c.want, c.text)
	}
	spectest.Refused(t, "the only ones of mind lola", "minds: {aware: {agents: [1], mind: lola}}")
	spectest.Refused(t, "minds.slow.train.envs", plain, "minds.slow.train.envs=3")
	spectest.Refused(t, "minds.slow.agents", plain, "minds.slow.ppo.lr=1e-4")
}
