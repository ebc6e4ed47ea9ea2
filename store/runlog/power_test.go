package runlog

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/disk/disktest"
)

// powerRun is a small run with all that a run can have. It is brought to an end, from
// wherever it is, at so many steps; if it had ended before at fewer, it is made longer.
// fail, if not 0, is the step after which it is killed.
func powerRun(dir string, steps, fail int64) error {
	spec := fmt.Appendf(nil, "steps: %d\n", steps)
	r, err := Open(dir)
	if errors.Is(err, ErrNoRun) {
		r, err = Create(dir, spec, Info{Preset: "toy", Seed: 3})
	}
	if err != nil {
		return err
	}
	defer r.Close()
	if !bytes.Equal(r.Spec(), spec) {
		if err := errors.Join(r.RemoveResult(), r.SetSpec(spec)); err != nil {
			return err
		}
	}
	_, step, notes, err := r.Resume()
	if err != nil || len(notes) > 0 {
		return fmt.Errorf("notes %q: %w", notes, err)
	}
	for step++; step <= steps; step++ {
		if err := r.Log([]Row{{step, "mean", -1, float64(step) / 3, 1}, {step, "return", 0, 1 / float64(step), 1}}); err != nil {
			return err
		}
		if step%3 == 0 {
			if err := r.Find(check.Finding{Step: int(step), Check: "entropy", Says: "it is 0"}); err != nil {
				return err
			}
		}
		if step%2 == 0 {
			if err := r.Checkpoint(step, []byte(strings.Repeat(strconv.Itoa(int(step)), 20)), float64(step%4), Keep{Last: 2}); err != nil {
				return err
			}
		}
		if step == fail {
			return nil
		}
	}
	return errors.Join(r.SetResult([]byte("{}")), r.Finish("done"))
}

// TestAnyLossOfPowerIsSurvived lets the power fail at every change that a run makes to
// the disk, of a run that is killed, gone on with, ends and is made longer. Whatever was
// not synced may then be gone. What is left is never taken for damage, and the run ends
// in the same bytes.
func TestAnyLossOfPowerIsSurvived(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("folders are not synced there: Windows keeps renames without it, which this model of losses does not know")
	}
	const killed, end, longer = 5, 6, 8
	root, remove, err := disktest.Folder()
	must(t, err)
	t.Cleanup(remove)
	dir := filepath.Join(root, "run")
	states, last, err := disktest.Losses(root, func() error {
		return errors.Join(powerRun(dir, end, killed), powerRun(dir, end, 0), powerRun(dir, longer, 0))
	})
	must(t, err)
	straight := filepath.Join(t.TempDir(), "run")
	must(t, powerRun(straight, longer, 0))
	want := exact(t, straight)
	same(t, "without a loss", exact(t, dir), want)
	must(t, last.Restore())
	for name, b := range want { // what was removed may be back
		if exact(t, dir)[name] != b {
			t.Errorf("a loss after the end: %s is lost", name)
		}
	}

	for i, left := range states {
		must(t, left.Restore())
		where := fmt.Sprintf("loss %d of %d", i+1, len(states))
		if rec, err := Read(dir); !errors.Is(err, ErrNoRun) {
			if err == nil {
				err = rec.Faults()
			}
			if err == nil && rec.Env.Record.Checkpoint != nil {
				_, _, err = Last(dir)
			}
			must(t, err)
		}
		if err := powerRun(dir, longer, 0); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		same(t, where, exact(t, dir), want)
		if t.Failed() {
			t.Fatalf("left were\n%s", left)
		}
	}
	t.Logf("%d states", len(states))
}
