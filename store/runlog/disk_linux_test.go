package runlog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hop-marl/hop/num/disk"
)

// full has writing fail as on a full disk, of files whose name, or the one that they
// are given in the end, ends so.
func full(t *testing.T, dir, end string) {
	var writing string
	disk.Trace(func(c disk.Change) error {
		if c.Op == disk.Written {
			writing = c.Name
		}
		if strings.HasPrefix(c.Name, dir) && (c.Op == disk.Written && strings.HasSuffix(c.Name, end) ||
			c.Op == disk.Renamed && c.Name == writing && strings.HasSuffix(c.To, end)) {
			return &os.PathError{Op: "write", Path: c.Name, Err: syscall.ENOSPC}
		}
		return nil
	})
	t.Cleanup(func() { disk.Trace(nil) })
}

func TestFullDiskIsExplainedAndNothingIsLost(t *testing.T) {
	for _, file := range []string{"checkpoints/step-000000000012.safetensors", "checkpoints/step-000000000012.json", "env.json"} {
		dir := filepath.Join(t.TempDir(), "run")
		play(t, dir, 9)
		r := opened(t, dir)
		_, _, _, err := r.Resume()
		must(t, err)
		full(t, dir, file)
		err = r.Checkpoint(12, []byte("body"), 0, toyKeep)
		disk.Trace(nil)
		says(t, file, err, filepath.Join(dir, file), "no space left", "the disk is full", "hop train --resume")
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		for _, d := range []string{dir, filepath.Join(dir, checkDir)} {
			if left, err := disk.Match(d, disk.Unfinished+"*"); err != nil || len(left) > 0 {
				t.Errorf("%s: what could not be written still takes room: %v, %v", file, left, err)
			}
		}
		if _, step, err := Last(dir); err != nil || step < 9 {
			t.Errorf("%s: the last whole checkpoint is of step %d (%v), want 9 or later", file, step, err)
		}
		if file == "env.json" {
			continue // the checkpoint itself, which is no toy's, was written
		}
		if _, err := toyRun(dir, 12); err != nil {
			t.Fatalf("%s: with room again: %v", file, err)
		}
		same(t, file, exact(t, dir), whole(t, 12))
	}
}

func TestFullDiskUnderMetricsIsSaidOnce(t *testing.T) {
	for _, name := range []string{metricsFile, eventsFile} {
		r := started(t)
		dir := r.Dir()
		path := filepath.Join(dir, name)
		full(t, dir, name)
		if err := r.Log([]Row{{1, "a", -1, 1, 1}}); name == metricsFile {
			says(t, name, err, path, "the disk is full")
		} else {
			must(t, err) // still in the buffer
		}
		says(t, name, r.Checkpoint(1, nil, 0, Keep{}), path, "the disk is full")
		says(t, name, r.Checkpoint(2, nil, 0, Keep{}), path, "the disk is full")
		if got := steps(t, dir); len(got) != 0 {
			t.Errorf("checkpoints %v were sealed although %s was not written", got, name)
		}
		if err := r.Close(); err != nil {
			t.Errorf("Close repeats what was said: %v", err)
		}
	}
}

func TestFileSizeLimitIsExplained(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, limit, file string }{
		{"metrics grow too large", "100000", metricsFile},
		{"a body is too large", "30000", "step-000000000003.safetensors"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		out, err := child(dir, "RUNLOG_FSIZE="+c.limit).CombinedOutput()
		if err == nil {
			t.Fatalf("%s: no error", c.name)
		}
		says(t, c.name, errors.New(string(out)), c.file, "file too large", "ulimit")
		if _, err := toyRun(dir, toySteps); err != nil {
			t.Fatalf("%s: with the limit gone: %v", c.name, err)
		}
		same(t, c.name, exact(t, dir), whole(t, toySteps))
	}
}

func TestSmallDiskFillsUpAndTheRunGoesOnAfterwards(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "disk")
	must(t, os.Mkdir(at, 0o755))
	if err := syscall.Mount("tmpfs", at, "tmpfs", 0, "size=250k"); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(at, 0); err != nil {
			t.Error(err)
		}
	}()
	dir := filepath.Join(at, "run")
	out, err := child(dir).CombinedOutput()
	if err == nil {
		t.Fatal("a run that is larger than its disk was finished")
	}
	says(t, "small disk", errors.New(string(out)), dir, "the disk is full")
	if _, step, err := Last(dir); err != nil || step < toySave {
		t.Errorf("the last whole checkpoint is of step %d (%v)", step, err)
	}
	must(t, syscall.Mount("tmpfs", at, "tmpfs", syscall.MS_REMOUNT, "size=20m"))
	if out, err := child(dir).CombinedOutput(); err != nil {
		t.Fatalf("with room: %v\n%s", err, out)
	}
	same(t, "small disk", exact(t, dir), whole(t, toySteps))
}

func TestFoldersThatCannotBeWrittenAreExplained(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	file := filepath.Join(base, "file")
	must(t, os.WriteFile(file, nil, 0o644))
	_, err := Create(filepath.Join(file, "run"), toySpec, Info{})
	says(t, "below a file", err, file, "a part of the path is a file", "--out")

	closed := filepath.Join(base, "closed")
	must(t, os.Mkdir(closed, 0o755))
	for dir := base; dir != os.TempDir() && len(dir) > 1; dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
	must(t, os.Chmod(closed, 0o555))
	out, err := child(filepath.Join(closed, "run"), "RUNLOG_NOBODY=1").CombinedOutput()
	if os.Getuid() != 0 {
		_, err = Create(filepath.Join(closed, "run"), toySpec, Info{})
		out = []byte(err.Error())
	}
	if err == nil {
		t.Fatal("a run was made where nothing may be written")
	}
	says(t, "a folder that cannot be written", errors.New(string(out)), closed, "permission denied", "choose another folder with --out")
}
