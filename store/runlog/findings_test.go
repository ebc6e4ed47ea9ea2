package runlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/check"
)

// Findings reach the disk at once, and a resumed run keeps those that its
// checkpoint knows of.
func TestFindingsAreCutBackOnResume(t *testing.T) {
	run := started(t)
	dir := run.Dir()
	find := func(step int) {
		t.Helper()
		must(t, run.Find(check.Finding{Step: step, Check: "entropy collapse", Status: check.Suspect, Who: []int{1}, Says: "it is 0",
			Next: "raise ppo.entropy"}))
	}
	find(10)
	if got, err := ReadFindings(dir); err != nil || len(got) != 1 {
		t.Fatalf("before the first checkpoint: got %v, %v, want one finding", got, err)
	}
	must(t, run.Checkpoint(20, []byte("body"), 0, Keep{}))
	find(30)
	if got, err := ReadFindings(dir); err != nil || len(got) != 2 {
		t.Fatalf("before resuming: got %v, %v, want two findings", got, err)
	}
	must(t, run.Close())
	run = opened(t, dir)
	defer run.Close()
	_, _, _, err := run.Resume()
	must(t, err)
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
	must(t, os.WriteFile(filepath.Join(dir, "findings.json"), []byte("[{"), 0o644))
	_, err := readFindings(dir)
	says(t, "a damaged file", err, "findings.json is damaged")
	if got, err := readFindings(filepath.Join(dir, "nothing")); err != nil || got != nil {
		t.Errorf("a folder without findings: got %v, %v, want none", got, err)
	}
}
