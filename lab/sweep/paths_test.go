//go:build unix

package sweep_test

import (
	"os"
	"strings"
	"testing"
)

// Every run of a sweep has the bytes of a lone run, and what is there is not computed again, also
// when the sweep grows.
func TestRunsOfASweepHaveTheBytesOfLoneRuns(t *testing.T) {
	p := newPlace(t, tiny)
	args := []string{"sweep", "s.yaml", "--set", "game.stags=1,2", "--set", "train.steps=1024", "--seeds", "1-2", "--out", "x"}
	if out := p.hop(append(args, "--dry-run")...); !strings.Contains(out, "4 jobs would run:") || !strings.Contains(out, "stags=2/seed-2") {
		t.Errorf("a dry run says\n%s", out)
	}
	if _, err := os.Stat(p.path("x")); err == nil {
		t.Error("a dry run has left something")
	}
	p.hop(args...)
	same(t, p.path("x/stags=1/seed-1"), p.lone(1, "game.stags=1", "train.steps=1024"))
	same(t, p.path("x/stags=2/seed-2"), p.lone(2, "game.stags=2", "train.steps=1024"))
	stamp := func(name string) string {
		b, err := os.ReadFile(p.path(name))
		p.must(err)
		return string(b)
	}
	env := stamp("x/stags=1/seed-1/env.json")
	p.hop("sweep", "resume", "x")
	args[7] = "1-3"
	p.hop(args...) // another seed: the others stay
	for _, e := range p.index("x").Jobs {
		if again := e.Attempt > 0; again != (e.Seed == 3) || e.Phase != "done" {
			t.Errorf("%s is %s after %d attempts", e.Name, e.Phase, e.Attempt)
		}
	}
	if stamp("x/stags=1/seed-1/env.json") != env {
		t.Error("a run that was there has been touched")
	}
	args[3] = "game.stags=1,3"
	p.refused(2, "holds another sweep", args...)
	out := p.hop("train", "--resume", "x/stags=1") // an ordinary folder of runs
	if !strings.Contains(out, "report") {
		t.Errorf("hop train --resume of a variant says\n%s", out)
	}
}

const staged = `
game: {name: staghunt, size: 4, horizon: 12}
actor: {hidden: [8]}
train: {envs: 8, window: 16, steps: 1024}
eval: {episodes: 5}
imagine: {on: true, world: "{world}"}
prepare:
  - {name: data, collect: {mix: [ns, nh], rows: 500, seed: 7}}
  - {name: world, pretrain world: {data: ["{data}"], model: {hidden: [8]}, epochs: 1, probe: 50, plays: 2}}
follow:
  - {name: adapt, adapt: {vs: [ns, ns, ns], steps: 40, last: 20, lives: 1, starts: 1}}
`

// Stages are done once for all variants, what follows a training has all its seeds, and commands
// over the runs read them. It takes 5 s of processor time: every job is a process.
func TestStagesAreSharedAndCommandsFollow(t *testing.T) {
	p := newPlace(t, staged)
	p.write("sweep.yaml", `
base: s.yaml
grid: {ppo.lr: [0.001, 0.002]}
seeds: 2
then: ["adapt {run} --vs ns,ns,ns --lives 1 --steps 40 --last 20 --every 20"]
after: ["crossplay {variants} --episodes 3", "compare {specs} --reuse in --seeds 2"]
`)
	p.hop("sweep", "sweep.yaml", "--out", "x")
	want := map[string]int{"stage done": 2, "train done": 2, "follow done": 2, "then done": 2, "after done": 2}
	if got := p.phases("x"); !equal(got, want) {
		t.Errorf("jobs %v, want %v", got, want)
	}
	same(t, p.path("x/lr=0.002/seed-2"), p.lone(2, "ppo.lr=0.002"))
	for _, name := range []string{"lr=0.001/stages.json", "lr=0.001/follow", "after/1-crossplay", "after/2-compare",
		"then/1-adapt/lr=0.002/seed-2", "lr=0.001/group.json"} {
		if _, err := os.Stat(p.path("x/" + name)); err != nil {
			t.Error(err)
		}
	}
	p.hop("sweep", "resume", "x")
	for _, e := range p.index("x").Jobs {
		if e.Attempt > 0 || e.Phase != "done" {
			t.Errorf("%s is %s after %d more attempts", e.Name, e.Phase, e.Attempt)
		}
	}
}

func equal(a, b map[string]int) bool {
	for k := range b {
		if a[k] != b[k] {
			return false
		}
	}
	return len(a) == len(b)
}

// Variants are stopped early, and those that went on have the bytes of runs that were never stopped.
// Going on with a sweep that has ended decides the same and computes nothing.
func TestWhatGoesOnAfterARungIsAsIfItHadNeverStopped(t *testing.T) {
	p := newPlace(t, tiny)
	p.write("sweep.yaml", `
base: s.yaml
random:
  ppo.lr: {from: 0.0001, to: 0.01, log: true}
  game.stags: [1, 2]
draws: 4
seeds: 2
halving: {metric: return/mean, rungs: [500, 1000, 2048], keep: 2}
then: ["adapt {run} --vs ns,ns,ns --lives 1 --steps 40 --last 20 --every 20"]
after: ["crossplay {variants} ns --episodes 3"]
`)
	out := p.hop("sweep", "sweep.yaml", "--out", "x")
	got := p.phases("x")
	if got["train done"] < 4+2+1 || got["then done"] == 0 || got["after done"] != 1 || len(got) != 3 {
		t.Fatalf("jobs %v\n%s", got, out)
	}
	last := ""
	scores := map[string]float64{}
	for _, e := range p.index("x").Jobs {
		if e.Kind == "train" {
			if e.Score == nil {
				t.Fatalf("%s has no score", e.Name)
			}
			scores[e.Name] = *e.Score
			if e.Rung == 2 {
				last = e.Variant
			}
		}
	}
	var sets []string
	for _, v := range p.sweep("x").Variants {
		if v.Name == last {
			for _, s := range v.Settings {
				sets = append(sets, s.Path+"="+s.Value)
			}
		}
	}
	same(t, p.path("x/"+last+"/seed-2"), p.lone(2, sets...))
	p.hop("sweep", "resume", "x")
	for _, e := range p.index("x").Jobs {
		if e.Attempt > 0 || e.Phase != "done" {
			t.Errorf("%s is %s after %d more attempts", e.Name, e.Phase, e.Attempt)
		}
		if e.Kind == "train" && (e.Score == nil || *e.Score != scores[e.Name]) {
			t.Errorf("the score of %s has changed", e.Name)
		}
	}
	if again := p.phases("x"); !equal(got, again) {
		t.Errorf("jobs %v, and after going on %v", got, again)
	}
}

// A job that fails is given up, the others go on, and it stays given up until somebody wants it tried
// again; then so is what reads it.
func TestGivenUpCancelledAndTriedAgain(t *testing.T) {
	byHand(t)
	p := newPlace(t, tiny)
	p.write("sweep.yaml", "{base: s.yaml, grid: {game.stags: [1, 2]}, seeds: 1-2, after: ['crossplay {variants} --episodes 2']}")
	c, out := p.program([]string{"HOP_TEST_POISON=2=panic"}, "sweep", "sweep.yaml", "--out", "x")
	_ = c.Run()
	want := map[string]int{"train done": 2, "train failed": 2, "after cancelled": 1}
	if got := p.phases("x"); !equal(got, want) || c.ProcessState.ExitCode() != 1 || !strings.Contains(out.String(), "2 jobs given up") {
		t.Fatalf("jobs %v, want %v\n%s", got, want, out)
	}
	b, err := os.ReadFile(p.path("x/failed/stags=1_seed-2.txt"))
	if err != nil || !strings.Contains(string(b), "panic: planted") || !strings.Contains(string(b), "goroutine 1") {
		t.Errorf("why a job was given up is not said: %v\n%s", err, b)
	}
	c, out = p.program(nil, "sweep", "resume", "x")
	_ = c.Run()
	if got := p.phases("x"); !equal(got, want) {
		t.Errorf("after going on: jobs %v, want %v\n%s", got, want, out)
	}
	p.hop("sweep", "retry", "x", "stags=1/seed-2")
	p.hop("sweep", "retry", "x", "stags=1/seed-2") // twice is once
	c, out = p.program(nil, "sweep", "resume", "x")
	_ = c.Run()
	want = map[string]int{"train done": 3, "train failed": 1, "after cancelled": 1}
	if got := p.phases("x"); !equal(got, want) {
		t.Errorf("after a retry of one: jobs %v, want %v\n%s", got, want, out)
	}
	p.hop("sweep", "retry", "x")
	p.hop("sweep", "cancel", "x")
	p.hop("sweep", "cancel", "x")
	p.hop("sweep", "resume", "x") // takes it back
	want = map[string]int{"train done": 4, "after done": 1}
	if got := p.phases("x"); !equal(got, want) {
		t.Errorf("in the end: jobs %v, want %v", got, want)
	}
	if _, err := os.Stat(p.path("x/failed/stags=1_seed-2.txt")); err == nil {
		t.Error("a job that was done in the end is still among those that were given up")
	}
}

// A sweep that is cancelled ends, and one whose budget is spent begins nothing new.
func TestCancelAndBudget(t *testing.T) {
	byHand(t)
	p := newPlace(t, tiny)
	c, out := p.start([]string{"HOP_TEST_POISON=2=hang"}, "sweep", "s.yaml", "--seeds", "1-4", "--out", "x")
	p.until("a job is done and one hangs", out, func() bool { return p.phases("x")["train done"] >= 2 })
	p.hop("sweep", "cancel", "x")
	p.must(c.Wait())
	if got := p.phases("x"); got["train cancelled"] < 1 || got["train running"] > 0 {
		t.Errorf("a cancelled sweep ends with %v\n%s", got, out)
	}
	p.hop("sweep", "resume", "x")
	if got := p.phases("x"); got["train done"] != 4 {
		t.Errorf("after going on: %v", got)
	}
	p.write("runs.yaml", "{base: s.yaml, grid: {game.stags: [1, 2]}, seeds: 1-2, budget: {runs: 2}}")
	p.hop("sweep", "runs.yaml", "--out", "y")
	if got := p.phases("y"); got["train done"] != 2 || len(got) != 1 {
		t.Errorf("with a budget of two runs: %v", got)
	}
	p.write("cpu.yaml", "{base: s.yaml, seeds: 1-40, budget: {cpu_hours: 0.00001}}")
	p.hop("sweep", "cpu.yaml", "--out", "z")
	if got := p.phases("z"); got["train done"] < 1 || got["train cancelled"] < 20 || !strings.Contains(p.index("z").Spent, "processor hours") {
		t.Errorf("with a small budget of processor time: %v, %q", got, p.index("z").Spent)
	}
}
