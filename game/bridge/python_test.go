package bridge

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The interpreter is the one that is named, else that of HOP_PYTHON, of VIRTUAL_ENV, or
// the system's.
func TestTheInterpreterIsFound(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "bin", "python3")
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VIRTUAL_ENV", dir)
	t.Setenv("HOP_PYTHON", "")
	if got, err := interpreter(""); err != nil || got != name {
		t.Errorf("got %s %v, want that of VIRTUAL_ENV", got, err)
	}
	t.Setenv("HOP_PYTHON", "other")
	if got, _ := interpreter(""); got != "other" {
		t.Errorf("got %s, want that of HOP_PYTHON", got)
	}
	if got, _ := interpreter("mine"); got != "mine" {
		t.Errorf("got %s, want the one that is named", got)
	}
	t.Setenv("HOP_PYTHON", "")
	t.Setenv("VIRTUAL_ENV", "")
	t.Setenv("PATH", "")
	if _, err := interpreter(""); err == nil || !strings.Contains(err.Error(), "no Python here") {
		t.Errorf("got %v, want that there is none", err)
	}
	if _, err := exec.LookPath("go"); err == nil {
		t.Fatal("the path is not empty: nothing was tested")
	}
}
