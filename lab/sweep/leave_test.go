//go:build unix

package sweep_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A sweep whose last job is given up ends at once: its worker is answered before the desk closes.
func TestASweepWhoseLastJobFailsEndsAtOnce(t *testing.T) {
	p := newPlace(t, tiny)
	c, out := p.start([]string{"HOP_TEST_POISON=1=panic"}, "sweep", "s.yaml", "--seeds", "1", "--out", "x", "--slots", "1")
	p.until("the job is given up", out, func() bool { return strings.Contains(out.String(), "is given up after 3 tries") })
	given := time.Now()
	_ = c.Wait()
	if took := time.Since(given); took > 25*time.Second || strings.Contains(out.String(), "giving it back") {
		t.Errorf("it ends %v after its last job was given up\n%s", took, out)
	}
}

// Ctrl-C ends a sweep after its own worker has handed back what its jobs have saved, and they go on from there.
func TestAStoppedSweepKeepsWhatItsJobsHaveSaved(t *testing.T) {
	p := newPlace(t, strings.NewReplacer("steps: 2048, save: 512", "steps: 32768, save: 1024").Replace(tiny))
	c, out := p.start(nil, "sweep", "s.yaml", "--seeds", "1", "--out", "x", "--slots", "2")
	p.until("the job has saved something", out, func() bool {
		list, _ := filepath.Glob(p.path("x/.work/*/*/out/s-001/seed-1/checkpoints/step-*.json"))
		return len(list) > 0
	})
	p.must(c.Process.Signal(syscall.SIGINT))
	stopped := time.Now()
	_ = c.Wait()
	if took := time.Since(stopped); took > 25*time.Second || !strings.Contains(out.String(), "moves on to another worker") {
		t.Errorf("it ends %v after Ctrl-C\n%s", took, out)
	}
	p.hop("sweep", "resume", "x")
	e := p.index("x").Jobs[0]
	b, err := os.ReadFile(p.path("x/all/seed-1/log.txt"))
	if err != nil || e.Attempt != 2 || e.Lost+e.Silent != 0 || !strings.Contains(string(b), "resumed") {
		t.Errorf("attempt %d, %d lost, %d silent: %v\n%s", e.Attempt, e.Lost, e.Silent, err, b)
	}
}
