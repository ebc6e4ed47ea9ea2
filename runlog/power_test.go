package runlog

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hop/check"
	"hop/internal/disk"
)

// powerDisk is a disk that remembers what was synced. A file's bytes survive the loss of
// power once the file is synced, its name once its folder is.
type powerDisk struct {
	now, safe map[string]*inode // by name
}

type inode struct{ now, safe []byte }

func (d *powerDisk) change(c disk.Change) {
	f := d.now[c.Name]
	switch c.Op {
	case disk.Written:
		if f == nil {
			f = &inode{}
			d.now[c.Name] = f
		}
		f.now = append(slices.Clip(f.now), c.Data...)
	case disk.Cut:
		if f != nil {
			f.now = f.now[:min(int(c.Bytes), len(f.now))]
		}
	case disk.Renamed:
		delete(d.now, c.Name)
		d.now[c.To] = f
	case disk.Removed:
		delete(d.now, c.Name)
	case disk.Synced:
		if f != nil {
			f.safe = f.now
			return
		}
		in := func(name string, _ *inode) bool { return filepath.Dir(name) == filepath.Clean(c.Name) }
		maps.DeleteFunc(d.safe, in)
		for name, f := range d.now {
			if in(name, f) {
				d.safe[name] = f
			}
		}
	}
}

// left returns what may be on the disk when the power comes back: the names as they
// are or as they were synced, each with its bytes as they are or as they were synced.
func (d *powerDisk) left() []map[string][]byte {
	var list []map[string][]byte
	for _, names := range []map[string]*inode{d.safe, d.now} {
		safe, now := map[string][]byte{}, map[string][]byte{}
		for name, f := range names {
			safe[name], now[name] = f.safe, f.now
		}
		list = append(list, safe, now)
	}
	return list
}

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
	const killed, end, longer = 5, 6, 8
	root, err := os.MkdirTemp("/dev/shm", "runlog") // where syncing costs nothing
	if err != nil {
		root = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	dir := filepath.Join(root, "run")
	d := &powerDisk{now: map[string]*inode{}, safe: map[string]*inode{}}
	var states []map[string][]byte
	seen := map[[sha256.Size]byte]bool{}
	add := func() {
		for _, files := range d.left() {
			h := sha256.New()
			for _, name := range slices.Sorted(maps.Keys(files)) {
				fmt.Fprintf(h, "%s %q\n", name, files[name])
			}
			if sum := [sha256.Size]byte(h.Sum(nil)); !seen[sum] {
				seen[sum] = true
				states = append(states, files)
			}
		}
	}
	disk.Trace(func(c disk.Change) error {
		if strings.HasPrefix(c.Name, root) {
			d.change(c)
			add()
		}
		return nil
	})
	err = errors.Join(powerRun(dir, end, killed), powerRun(dir, end, 0), powerRun(dir, longer, 0))
	disk.Trace(nil)
	must(t, err)
	straight := filepath.Join(t.TempDir(), "run")
	must(t, powerRun(straight, longer, 0))
	want := exact(t, straight)
	same(t, "without a loss", exact(t, dir), want)

	for i, files := range states {
		must(t, os.RemoveAll(dir))
		must(t, os.MkdirAll(filepath.Join(dir, checkDir), 0o755))
		for name, b := range files {
			must(t, os.WriteFile(name, b, 0o644))
		}
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
			left := slices.Sorted(maps.Keys(files))
			t.Fatalf("left were %v", left)
		}
	}
	t.Logf("%d states", len(states))
}
