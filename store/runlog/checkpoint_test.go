package runlog

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func steps(t *testing.T, dir string) []int64 {
	t.Helper()
	all, files, err := look(dir)
	must(t, err)
	var list []int64
	for _, f := range all {
		list = append(list, f.Step)
	}
	if len(files) != 2*len(list) {
		t.Errorf("%d checkpoints have files %v, want a body and a seal each", len(list), files)
	}
	return list
}

func TestRightCheckpointsAreKept(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name   string
		keep   Keep
		scores []float64 // of steps 10, 20, ...
		want   []int64
	}{
		{"all", Keep{}, []float64{1, 2, 3, 2}, []int64{10, 20, 30, 40}},
		{"the last, which is the best", Keep{Last: 1}, []float64{1, 2, 3}, []int64{30}},
		{"the last and the best", Keep{Last: 1}, []float64{1, 5, 3, 2}, []int64{20, 40}},
		{"the newest of equally good ones", Keep{Last: 1}, []float64{5, 5, 3, 2}, []int64{20, 40}},
		{"the last two", Keep{Last: 2}, []float64{1, 2, 3, 4, 5}, []int64{40, 50}},
		{"every second too", Keep{Last: 1, Every: 2}, []float64{1, 2, 3, 4, 5, 6, 7}, []int64{20, 40, 60, 70}},
		{"below zero", Keep{Last: 1}, []float64{-3, -1, -2, -4}, []int64{20, 40}},
		{"no number is never the best", Keep{Last: 1}, []float64{nan, -7, nan, nan}, []int64{20, 40}},
		{"infinitely good", Keep{Last: 1}, []float64{1, inf, 3, 2}, []int64{20, 40}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := started(t)
			for i, score := range c.scores {
				step := int64(10 * (i + 1))
				must(t, r.Checkpoint(step, []byte{byte(step)}, score, c.keep))
			}
			if got := steps(t, r.Dir()); !slices.Equal(got, c.want) {
				t.Errorf("kept %v, want %v", got, c.want)
			}
			if b, step, err := Last(r.Dir()); err != nil || step != c.want[len(c.want)-1] || b[0] != byte(step) {
				t.Errorf("Last is %v of step %d, %v; want step %d", b, step, err, c.want[len(c.want)-1])
			}
		})
	}
}

func TestTheSameStepTwiceIsOneCheckpoint(t *testing.T) {
	t.Parallel()
	r := started(t)
	keep := Keep{Last: 1, Every: 2}
	for _, step := range []int64{10, 20, 20, 30, 40} {
		must(t, r.Checkpoint(step, []byte{byte(step)}, float64(step), keep))
	}
	if got, want := steps(t, r.Dir()), []int64{20, 40}; !slices.Equal(got, want) {
		t.Errorf("kept %v, want %v: numbers 2 and 4", got, want)
	}
}

func TestFilesOfTheUserStay(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	play(t, dir, 4)
	mine := []string{"notes.txt", "step-1.safetensors", "step-000000000009.json.bak", "step-000000000009.png", "step-x.json"}
	for _, name := range mine {
		must(t, os.WriteFile(filepath.Join(dir, checkDir, name), []byte("mine"), 0o644))
	}
	for _, path := range []string{checkPath(dir, 3, sealKind), checkPath(dir, 3, bodyKind)} {
		must(t, os.Remove(path))
	}
	play(t, dir, 12) // from the start
	for _, name := range mine {
		if _, err := os.Stat(filepath.Join(dir, checkDir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestStepsSortByNumberNotByName(t *testing.T) {
	t.Parallel()
	r := started(t)
	for _, step := range []int64{0, 999_999_999_999, 1_000_000_000_000} {
		must(t, r.Checkpoint(step, []byte{1}, 0, Keep{}))
	}
	if _, step, err := Last(r.Dir()); err != nil || step != 1_000_000_000_000 {
		t.Errorf("the last is step %d (%v), want 1000000000000", step, err)
	}
}

// TestDamagedCheckpointsAreNamed also shows that the run then ends in the bytes
// of an undamaged one.
func TestDamagedCheckpointsAreNamed(t *testing.T) {
	t.Parallel()
	const newest, before, at = 21, 18, 22
	want := whole(t, toySteps)
	rewrite := func(path string, do func([]byte) []byte) error {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, do(b), 0o644)
	}
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }
	flip := func(b []byte) []byte { b[len(b)/2] ^= 1; return b }
	for _, c := range []struct {
		name, kind, note string
		do               func([]byte) []byte
	}{
		{"a body cut short", bodyKind, "bytes", cut(1000)},
		{"an empty body", bodyKind, "bytes", cut(0)},
		{"one bit of a body", bodyKind, "changed", flip},
		{"a longer body", bodyKind, "bytes", func(b []byte) []byte { return append(b, 0) }},
		{"a seal cut short", sealKind, "JSON", cut(40)},
		{"an empty seal", sealKind, "JSON", cut(0)},
		{"a seal of zeros", sealKind, "invalid", func(b []byte) []byte { return make([]byte, len(b)) }},
		{"a seal of another step", sealKind, "env step 18", func(b []byte) []byte { return bytes.Replace(b, []byte("21"), []byte("18"), 1) }},
		{"a seal without numbers", sealKind, "cannot be", func([]byte) []byte { return []byte(`{"step":21}`) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "run")
			play(t, dir, at)
			path := checkPath(dir, newest, c.kind)
			must(t, rewrite(path, c.do))
			_, _, err := Last(dir)
			says(t, "Last", err, path, c.note, "step 18", "--accept-older")
			accepts := &Reader{AcceptOlder: true}
			got, err := accepts.Last(dir)
			must(t, err)
			if used := accepts.Used(); got.Step != before || got.Newest || len(used) != 1 || !strings.Contains(used[0].String(), path) {
				t.Errorf("step %d, and it is said that %v was read; want step %d and why not a newer one", got.Step, used, before)
			}
			notes := play(t, dir, toySteps)
			says(t, c.name, errors.New(strings.Join(notes, "\n")), path, c.note, "at env step 18")
			same(t, c.name, exact(t, dir), want)
		})
	}
}

func TestARunWhoseCheckpointsAreAllDamagedStartsOver(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	play(t, dir, 10)
	for _, step := range steps(t, dir) {
		must(t, os.Truncate(checkPath(dir, step, bodyKind), 5))
	}
	_, _, err := Last(dir)
	says(t, "Last", err, "no whole checkpoint", "5 bytes")
	says(t, "notes", errors.New(strings.Join(play(t, dir, 12), "\n")), "starting over")
	same(t, "all damaged", exact(t, dir), whole(t, 12))
}

func TestADamagedFirstCheckpointIsRemoved(t *testing.T) {
	t.Parallel()
	r := started(t)
	must(t, errors.Join(r.Checkpoint(0, []byte("abc"), 0, toyKeep), os.Truncate(checkPath(r.Dir(), 0, bodyKind), 1)))
	if body, step, notes, err := r.Resume(); body != nil || step != 0 || len(notes) != 2 || err != nil {
		t.Errorf("body %q, step %d, notes %q, error %v; want none, 0, two, none", body, step, notes, err)
	}
	if got := steps(t, r.Dir()); len(got) != 0 {
		t.Errorf("checkpoints %v are left", got)
	}
}

// TestACheckpointThatCannotBeReadIsNotTakenForDamage puts a folder in its place,
// which fails to be read as a bad disk would.
func TestACheckpointThatCannotBeReadIsNotTakenForDamage(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{bodyKind, sealKind} {
		r := started(t)
		for step := range int64(3) {
			must(t, r.Checkpoint(step, []byte("abc"), 0, Keep{}))
		}
		path := checkPath(r.Dir(), 2, kind)
		must(t, errors.Join(os.Remove(path), os.Mkdir(path, 0o755)))
		_, _, _, err := r.Resume()
		says(t, "a checkpoint that cannot be read", err, path)
		if entries, err := os.ReadDir(filepath.Join(r.Dir(), checkDir)); err != nil || len(entries) != 6 {
			t.Errorf("%d of 6 files are left (%v)", len(entries), err)
		}
	}
}

func TestMetricsCutShortAreRefusedAndNothingIsLost(t *testing.T) {
	t.Parallel()
	for _, name := range []string{metricsFile, eventsFile} {
		dir := filepath.Join(t.TempDir(), "run")
		play(t, dir, 10)
		path := filepath.Join(dir, name)
		must(t, os.Truncate(path, 100))
		before := exact(t, dir)
		_, err := Open(dir)
		says(t, name+" cut short", err, path, "100 bytes")
		same(t, name, exact(t, dir), before)
	}
}
