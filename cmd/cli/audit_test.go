package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/npz"
)

// audited is what scripts rely on.
type audited struct {
	Verdict, Module, Says, Page string
	Findings                    []struct {
		Check, Status, Module, Says string
		Effect                      *float64
		CI                          []*float64
	}
}

func auditOf(t *testing.T, args ...string) (x audited) {
	t.Helper()
	into(t, &x, append(append([]string{"audit"}, args...), "--episodes", "60")...)
	return x
}

func TestAuditOfAPresetSaysPassAndWritesAPage(t *testing.T) {
	t.Chdir(t.TempDir())
	x := auditOf(t, "ppo-matrix", "--updates", "4", "--seeds", "1-2")
	if x.Verdict != "pass" || x.Module != "" || len(x.Findings) < 20 {
		t.Errorf("got %s in %q from %d findings: %s", x.Verdict, x.Module, len(x.Findings), x.Says)
	}
	for _, f := range x.Findings {
		if f.Check == "" || f.Status != "pass" && f.Status != "not asked" || f.Effect == nil || len(f.CI) != 2 {
			t.Errorf("a finding lacks what --json promises: %+v", f)
		}
	}
	page, err := os.ReadFile(x.Page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Verdict: pass", "Who learns from whose rows", "prefers-color-scheme: dark",
		"hop audit ppo-matrix --seeds 1-2"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(string(page), "://") {
		t.Error("the page points to something outside")
	}
}

// A run is scored by what it recorded too: here the counter of agent 1 stands
// still from the middle on.
func TestAuditOfARunReadsItsRecord(t *testing.T) {
	t.Chdir(t.TempDir())
	ok(t, "train", "ppo-matrix", "--set", "train.steps=8000", "--set", "eval.episodes=20", "--set", "train.save=4000")
	const run = "runs/ppo-matrix-001"
	if x := auditOf(t, run); x.Verdict != "pass" {
		t.Fatalf("got %s in %s: %s", x.Verdict, x.Module, x.Says)
	}
	path := filepath.Join(run, "seed-1", "metrics.csv")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, line := range strings.Split(string(text), "\n") {
		if parts := strings.Split(line, ","); len(parts) == 5 && parts[1] == "count/updates" && parts[2] == "1" {
			parts[3] = "3"
			line = strings.Join(parts, ",")
		}
		out = append(out, line)
	}
	if err := os.WriteFile(path, []byte(strings.Join(out, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := hop(t, "audit", run); code != 1 || !strings.Contains(errs, "metrics.csv is damaged") {
		t.Errorf("a record that was changed: exit %d, %s", code, errs)
	}
	unseal(t, filepath.Join(run, "seed-1")) // as if the program itself had counted so
	if x := auditOf(t, run); x.Verdict != "fault" || x.Module != "ppo" || !strings.HasPrefix(x.Says, "Agent 1 of seed 1 was updated 3 times") {
		t.Errorf("got %s in %s: %s", x.Verdict, x.Module, x.Says)
	}
}

// unseal makes a run one of a program that sealed nothing but the bodies of checkpoints.
func unseal(t *testing.T, dir string) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "checkpoints", "*.json"))
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	kept := []string{"format", "step", "score", "number", "bytes", "sha256", "metrics_bytes", "events_bytes", "keep"}
	for _, path := range append(list, filepath.Join(dir, "env.json")) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var all map[string]any
		if err := json.Unmarshal(b, &all); err != nil {
			t.Fatal(err)
		}
		for key := range all {
			if strings.HasSuffix(path, "env.json") && (key == "record" || key == "check") ||
				!strings.HasSuffix(path, "env.json") && !slices.Contains(kept, key) {
				delete(all, key)
			}
		}
		if b, err = json.Marshal(all); err == nil {
			err = os.WriteFile(path, b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Trajectories of other code are audited; a damaged file is wrong usage.
func TestAuditReadsTrajectories(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name string, left int64) {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := npz.Write(f, []npz.Array{
			{Name: "rewards", Shape: []int{3, 2}, Data: []float32{0, 1, 0, 0, 1, 0}},
			{Name: "actions", Shape: []int{3, 2}, Data: []int64{0, 1, 1, left, 0, left}},
			{Name: "dones", Shape: []int{3, 2}, Data: []bool{false, true, false, false, true, false}},
			{Name: "episode", Shape: []int{3}, Data: []int64{0, 0, 0}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	write("good.npz", -1)
	write("bad.npz", 3)
	if code, out, err := hop(t, "audit", "--trajectories", "good.npz", "--json"); code != 0 || !strings.Contains(out, `"verdict": "pass"`) ||
		!strings.Contains(err, "not asked: Seats are not recorded") {
		t.Errorf("good: exit %d, %s, %s", code, out, err)
	}
	if code, out, _ := hop(t, "audit", "--trajectories", "bad.npz", "--json"); code != 0 || !strings.Contains(out, `"module": "buffers"`) ||
		!strings.Contains(out, "2 rows of agent 1") {
		t.Errorf("bad: exit %d, %s", code, out)
	}
	if err := os.WriteFile("text.npz", []byte("no"), 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, "audit --trajectories text.npz", "text.npz")
	refused(t, "audit --data . --trajectories good.npz", "choose one")
}

// A run that has converged is not accused: where the policy is saturated nothing can make an action likelier, and its
// ratios are 1 to the last bit. Only the seeds that were asked for are looked at.
func TestAFinishedRunIsNotAccused(t *testing.T) {
	t.Chdir(t.TempDir())
	ok(t, "train", "ppo-matrix", "--seeds", "1-2", "--set", "ppo.lr=0.01", "--set", "train.steps=80000", "--set", "eval.episodes=10")
	const run = "runs/ppo-matrix-001"
	for _, only := range [][]string{nil, {"--seeds", "2"}} {
		x := auditOf(t, append([]string{run}, only...)...)
		said := false
		for _, f := range x.Findings {
			said = said || strings.Contains(f.Says, "was not asked: the policy is saturated")
		}
		if x.Verdict != "pass" || !said {
			t.Errorf("%v: %s, %s; said to be saturated: %v", only, x.Verdict, x.Says, said)
		}
		page, err := os.ReadFile(x.Page)
		if err != nil {
			t.Fatal(err)
		}
		if both := strings.Contains(string(page), "seed-1"); both != (only == nil) {
			t.Errorf("%v: seed 1 was looked at: %v", only, both)
		}
	}
	if code, _, errs := hop(t, "audit", run, "--seeds", "7"); code == 0 || !strings.Contains(errs, "has no seed 7") {
		t.Errorf("a seed that there is not: %d, %s", code, errs)
	}
}
