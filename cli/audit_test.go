package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// audited is what scripts rely on.
type audited struct {
	Verdict, Module, Says, Page string
	Findings                    []struct {
		Check, Status, Module string
		Effect                *float64
		CI                    []*float64
	}
}

func auditOf(t *testing.T, args ...string) audited {
	t.Helper()
	code, out, errs := hop(t, append(append([]string{"audit"}, args...), "--episodes", "60", "--json")...)
	if code != 0 {
		t.Fatalf("hop audit %s: exit %d\n%s", strings.Join(args, " "), code, errs)
	}
	var x audited
	if err := json.Unmarshal([]byte(out), &x); err != nil {
		t.Fatal(err)
	}
	return x
}

func TestAuditOfAPresetSaysPassAndWritesAPage(t *testing.T) {
	t.Chdir(t.TempDir())
	x := auditOf(t, "ppo-matrix", "--updates", "4", "--seeds", "1-2")
	if x.Verdict != "pass" || x.Module != "" || len(x.Findings) < 20 {
		t.Errorf("got %s in %q from %d findings: %s", x.Verdict, x.Module, len(x.Findings), x.Says)
	}
	for _, f := range x.Findings {
		if f.Check == "" || f.Status != "pass" || f.Effect == nil || len(f.CI) != 2 {
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

// A run is judged by what it recorded too: here the counter of agent 1 stands
// still from the middle on.
func TestAuditOfARunReadsItsRecord(t *testing.T) {
	t.Chdir(t.TempDir())
	if code, _, errs := hop(t, "train", "ppo-matrix", "--set", "train.steps=8000", "--set", "eval.episodes=20", "--set",
		"train.save=4000"); code != 0 {
		t.Fatal(errs)
	}
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
	if x := auditOf(t, run); x.Verdict != "fault" || x.Module != "ppo" || !strings.HasPrefix(x.Says, "Agent 1 of seed 1 was updated 3 times") {
		t.Errorf("got %s in %s: %s", x.Verdict, x.Module, x.Says)
	}
}

func TestAuditSaysWhatIsWrongWithItsArguments(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ args, want string }{
		{"nothing-there", "there is no preset and no file"},
		{"ppo-matrix --seeds x", "--seeds x"},
		{"ppo-matrix --updates 2", "want 0 or at least 3"},
		{"ppo-matrix --episodes 1", "want at least 20"},
	} {
		if code, _, errs := hop(t, append([]string{"audit"}, strings.Fields(c.args)...)...); code != 2 || !strings.Contains(errs, c.want) {
			t.Errorf("hop audit %s: exit %d, %s; want 2 and %q", c.args, code, errs, c.want)
		}
	}
}
