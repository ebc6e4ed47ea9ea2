package runlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Findings reach the disk at once, and a resumed run keeps those that its
// checkpoint knows of.
func TestFindingsAreCutBackOnResume(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run, err := Create(dir, []byte("name: x\n"), Info{})
	if err != nil {
		t.Fatal(err)
	}
	find := func(step int64) {
		t.Helper()
		if err := run.Find(Finding{Step: step, Check: "entropy collapse", Agent: 1, Says: "it is 0", Next: "raise ppo.entropy"}); err != nil {
			t.Fatal(err)
		}
	}
	find(10)
	if err := run.Checkpoint(20, []byte("body"), 0, Keep{}); err != nil {
		t.Fatal(err)
	}
	find(30)
	if got, err := ReadFindings(dir); err != nil || len(got) != 2 {
		t.Fatalf("before resuming: got %v, %v, want two findings", got, err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	if run, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if _, _, _, err := run.Resume(); err != nil {
		t.Fatal(err)
	}
	got, err := ReadFindings(dir)
	if err != nil || len(got) != 1 || got[0].Step != 10 {
		t.Errorf("after resuming at 20: got %v, %v, want the finding of step 10 alone", got, err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "log.txt"))
	if err != nil || !strings.Contains(string(log), "entropy collapse: it is 0; raise ppo.entropy") {
		t.Errorf("log.txt does not say what was found: %q, %v", log, err)
	}
}

func TestDamagedFindingsAreAnError(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "findings.json"), []byte("[{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFindings(dir); err == nil || !strings.Contains(err.Error(), "findings.json is damaged") {
		t.Errorf("got %v, want an error that names the damaged file", err)
	}
	if got, err := ReadFindings(filepath.Join(dir, "nothing")); err != nil || got != nil {
		t.Errorf("a folder without findings: got %v, %v, want none", got, err)
	}
}
