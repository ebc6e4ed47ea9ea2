package lab

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/train/registry"
)

// A run of before whose stage this program cannot do is still read and written as it is; to do
// the stage is refused with how stages are written now.
func TestStagesOfBeforeThatCannotBeDone(t *testing.T) {
	text := []byte("follow: [{name: cross, run: 'crossplay {run} ns --episodes 5'}]\n")
	l, dir := &Lab{Reg: registry.New()}, t.TempDir()
	sp, err := l.Reg.Parse(text, filepath.Join(dir, "spec.yaml"), "run", nil)
	if err != nil {
		t.Fatalf("a folder's spec: %v", err)
	}
	if written, err := sp.YAML(); err != nil || !strings.Contains(string(written), "run: crossplay {run} ns --episodes 5") {
		t.Errorf("it is written as\n%s, %v", written, err)
	}
	_, err = l.Prepare(t.Context(), &sp, dir)
	var m Misuse
	if !errors.As(err, &m) || !strings.Contains(err.Error(), "stage cross") || !strings.Contains(err.Error(), "{name: data, collect: ") {
		t.Errorf("to do it: %v", err)
	}
}
