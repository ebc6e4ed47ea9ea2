package runlog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// started returns a new run that is closed when the test ends.
func started(t *testing.T) *Run {
	t.Helper()
	r, err := Create(filepath.Join(t.TempDir(), "run"), toySpec, Info{Preset: "toy", Seed: 3, Command: []string{"hop", "train"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func steps(t *testing.T, dir string) []int64 {
	t.Helper()
	all, files, err := look(dir)
	if err != nil {
		t.Fatal(err)
	}
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
		best   int64
	}{
		{"all", Keep{}, []float64{1, 2, 3, 2}, []int64{10, 20, 30, 40}, 30},
		{"the last, which is the best", Keep{Last: 1}, []float64{1, 2, 3}, []int64{30}, 30},
		{"the last and the best", Keep{Last: 1}, []float64{1, 5, 3, 2}, []int64{20, 40}, 20},
		{"the newest of equally good ones", Keep{Last: 1}, []float64{5, 5, 3, 2}, []int64{20, 40}, 20},
		{"the last two", Keep{Last: 2}, []float64{1, 2, 3, 4, 5}, []int64{40, 50}, 50},
		{"every second too", Keep{Last: 1, Every: 2}, []float64{1, 2, 3, 4, 5, 6, 7}, []int64{20, 40, 60, 70}, 70},
		{"below zero", Keep{Last: 1}, []float64{-3, -1, -2, -4}, []int64{20, 40}, 20},
		{"no number is never the best", Keep{Last: 1}, []float64{nan, -7, nan, nan}, []int64{20, 40}, 20},
		{"infinitely good", Keep{Last: 1}, []float64{1, inf, 3, 2}, []int64{20, 40}, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := started(t)
			for i, score := range c.scores {
				step := int64(10 * (i + 1))
				if err := r.Checkpoint(step, []byte{byte(step)}, score, c.keep); err != nil {
					t.Fatal(err)
				}
			}
			if got := steps(t, r.Dir()); !slices.Equal(got, c.want) {
				t.Errorf("kept %v, want %v", got, c.want)
			}
			if b, step, err := Last(r.Dir()); err != nil || step != c.want[len(c.want)-1] || b[0] != byte(step) {
				t.Errorf("Last is %v of step %d, %v; want step %d", b, step, err, c.want[len(c.want)-1])
			}
			if b, step, err := Best(r.Dir()); err != nil || step != c.best || b[0] != byte(step) {
				t.Errorf("Best is %v of step %d, %v; want step %d", b, step, err, c.best)
			}
		})
	}
}

func TestTheSameStepTwiceIsOneCheckpoint(t *testing.T) {
	t.Parallel()
	r := started(t)
	keep := Keep{Last: 1, Every: 2}
	for _, step := range []int64{10, 20, 20, 30, 40} {
		if err := r.Checkpoint(step, []byte{byte(step)}, float64(step), keep); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := steps(t, r.Dir()), []int64{20, 40}; !slices.Equal(got, want) {
		t.Errorf("kept %v, want %v: numbers 2 and 4", got, want)
	}
}

func TestFilesOfTheUserStay(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := toyRun(dir, 4); err != nil {
		t.Fatal(err)
	}
	mine := []string{"notes.txt", "step-1.safetensors", "step-000000000009.json.bak", "step-000000000009.png", "step-x.json"}
	for _, name := range mine {
		if err := os.WriteFile(filepath.Join(dir, checkDir, name), []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{checkPath(dir, 3, sealKind), checkPath(dir, 3, bodyKind)} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := toyRun(dir, 12); err != nil { // from the start
		t.Fatal(err)
	}
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
		if err := r.Checkpoint(step, []byte{1}, 0, Keep{}); err != nil {
			t.Fatal(err)
		}
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
			if _, err := toyRun(dir, at); err != nil {
				t.Fatal(err)
			}
			path := checkPath(dir, newest, c.kind)
			if err := rewrite(path, c.do); err != nil {
				t.Fatal(err)
			}
			if _, step, err := Last(dir); err != nil || step != before {
				t.Errorf("Last: step %d, %v; want %d", step, err, before)
			}
			notes, err := toyRun(dir, toySteps)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(notes, "\n")
			for _, word := range []string{path, c.note, "at env step 18"} {
				if !strings.Contains(text, word) {
					t.Errorf("notes do not say %q:\n%s", word, text)
				}
			}
			same(t, c.name, exact(t, dir), want)
		})
	}
}

func TestARunWhoseCheckpointsAreAllDamagedStartsOver(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := toyRun(dir, 10); err != nil {
		t.Fatal(err)
	}
	for _, step := range steps(t, dir) {
		if err := os.Truncate(checkPath(dir, step, bodyKind), 5); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := Last(dir); err == nil || !strings.Contains(err.Error(), "no whole checkpoint") || !strings.Contains(err.Error(), "5 bytes") {
		t.Errorf("Last: %v, want one that names the damage", err)
	}
	notes, err := toyRun(dir, 12)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(notes, "\n"); !strings.Contains(text, "starting over") {
		t.Errorf("notes do not say that the run starts over:\n%s", text)
	}
	same(t, "all damaged", exact(t, dir), whole(t, 12))
}

func TestMetricsCutShortAreRefusedAndNothingIsLost(t *testing.T) {
	t.Parallel()
	for _, name := range []string{metricsFile, eventsFile} {
		dir := filepath.Join(t.TempDir(), "run")
		if _, err := toyRun(dir, 10); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.Truncate(path, 100); err != nil {
			t.Fatal(err)
		}
		before := exact(t, dir)
		r, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		_, _, _, err = r.Resume()
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "100 bytes") {
			t.Errorf("%s cut short: %v, want an error that names it and its length", name, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		same(t, name, exact(t, dir), before)
	}
}

func TestASecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	r := started(t)
	dir := r.Dir()
	busy := func(err error, pid int) {
		t.Helper()
		if err == nil {
			t.Fatal("a second process may write the run")
		}
		for _, word := range []string{"process " + strconv.Itoa(pid), dir, "stop it"} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("the refusal does not say %q: %v", word, err)
			}
		}
	}
	out, err := child(dir).CombinedOutput()
	if err == nil {
		t.Fatal("a second process wrote a run that is held")
	}
	busy(errors.New(string(out)), os.Getpid())
	_, err = Open(dir)
	busy(err, os.Getpid())
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err = Create(dir, toySpec, Info{}); err == nil || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("Create where a run is: %v, want a refusal that says how to resume", err)
	}

	cmd := child(dir, "RUNLOG_HOLD=1")
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for in := bufio.NewScanner(pipe); in.Scan() && in.Text() != "held"; {
	}
	_, err = Open(dir)
	busy(err, cmd.Process.Pid)
	if _, err := ReadMetrics(dir); err != nil {
		t.Errorf("a run that is held cannot be read: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	again, err := Open(dir)
	if err != nil {
		t.Fatalf("the lock outlived its process: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestCloseTwiceIsSafe(t *testing.T) {
	t.Parallel()
	r := started(t)
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Error(err)
	}
	if err := r.Finish("done"); err == nil {
		t.Error("a closed run was finished")
	}
}

func TestFoldersThatAreNoRunSaySo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, openErr := Open(dir)
	_, _, lastErr := Last(dir)
	_, metricsErr := ReadMetrics(dir)
	for name, err := range map[string]error{"Open": openErr, "Last": lastErr, "ReadMetrics": metricsErr} {
		if err == nil || !strings.Contains(err.Error(), dir+" is not a run's folder") {
			t.Errorf("%s: %v, want that it is no run's folder", name, err)
		}
	}
	r := started(t)
	if _, _, err := Last(r.Dir()); err == nil || !strings.Contains(err.Error(), "no checkpoint yet") {
		t.Errorf("Last of a fresh run: %v", err)
	}
}

func TestRowsComeBackExactly(t *testing.T) {
	t.Parallel()
	r := started(t)
	want := []Row{
		{0, "a", -1, 0, 0},
		{1, "return/mean", -1, 0.1, 12},
		{1, "return", 0, 1.0 / 3, 12},
		{math.MaxInt64, "x y", 63, math.SmallestNonzeroFloat64, math.MaxInt},
		{-5, "ünïcode", 7, -math.MaxFloat64, -1},
		{2, "inf", -1, math.Inf(-1), 1},
		{2, "minus zero", -1, math.Copysign(0, -1), 1},
	}
	if err := r.Log(want); err != nil {
		t.Fatal(err)
	}
	if err := r.Log([]Row{{3, "nan", -1, math.NaN(), 1}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "a,b", "a\nb", `a"b`, "a\rb"} {
		if err := r.Log([]Row{{3, "fine", -1, 1, 1}, {3, name, -1, 1, 1}}); err == nil || !strings.Contains(err.Error(), strconv.Quote(name)) {
			t.Errorf("a row named %q: %v, want an error that names it", name, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := ReadMetrics(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(want); len(got) != n+1 || !slices.Equal(got[:n], want) || !math.IsNaN(got[n].Value) || !math.Signbit(got[n-1].Value) {
		t.Errorf("got %v, want %v and a NaN", got, want)
	}
}

func TestMetricsThatAreDamagedNameTheLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"another header", "a,b\n", "line 1"},
		{"too few fields", header + "\n1,a,,2\n", "line 2: 4 fields"},
		{"too many fields", header + "\n1,a,,2,3\n1,a,b,,2,3\n", "line 3: 6 fields"},
		{"no step", header + "\nx,a,,2,3\n", "line 2"},
		{"no value", header + "\n1,a,,,3\n", "line 2"},
		{"an agent below zero", header + "\n1,a,-1,2,3\n", "agent -1"},
		{"no count", header + "\n1,a,,2,z\n", "line 2"},
	} {
		if rows, err := parseMetrics(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: rows %v, error %v; want an error with %q", c.name, rows, err, c.want)
		}
	}
	for _, text := range []string{"", "ste", header, header + "\n", header + "\n1,a,,2"} {
		if rows, err := parseMetrics(strings.NewReader(text)); err != nil || len(rows) != 0 {
			t.Errorf("%q, still being written: rows %v, error %v; want neither", text, rows, err)
		}
	}
}

func TestEnvAddsUpOverProcesses(t *testing.T) {
	t.Parallel()
	r := started(t)
	env, err := ReadEnv(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if env.Status != "running" || env.Seed != 3 || env.Go == "" || env.OS == "" || env.Cores < 1 || env.Started == "" {
		t.Errorf("env of a fresh run is %+v", env)
	}
	phases := map[string]float64{"learn": 2}
	r.SetPhases(phases)
	phases["learn"] = 3
	r.SetPhases(phases)
	phases["learn"] = 99
	if err := errors.Join(r.Finish("stopped"), r.Close()); err != nil {
		t.Fatal(err)
	}
	one, err := ReadEnv(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if one.Status != "stopped" || one.Phases["learn"] != 3 {
		t.Errorf("status %q, phases %v; want stopped, learn 3", one.Status, one.Phases)
	}
	r, err = Open(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if now, err := ReadEnv(r.Dir()); err != nil || now.Status != "running" {
		t.Errorf("a resumed run's status is %q (%v), want running", now.Status, err)
	}
	r.SetPhases(map[string]float64{"learn": 1, "collect": 4})
	if err := r.Finish("done"); err != nil {
		t.Fatal(err)
	}
	two, err := ReadEnv(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]float64{"learn": 4, "collect": 4}; two.Status != "done" || !maps.Equal(two.Phases, want) || two.Wall <= one.Wall || two.Started != one.Started {
		t.Errorf("after a second process: %+v; want phases %v, a later wall time and the same start", two, want)
	}
}

func TestLogHasLinesWithTheTime(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.Printf("one %d", 1)
	r.Printf("two")
	b, err := os.ReadFile(filepath.Join(r.Dir(), logFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")
	if len(lines) != 3 || !strings.HasSuffix(lines[0], "  one 1") || !strings.HasPrefix(lines[0], "20") || !strings.HasSuffix(lines[1], "  two") {
		t.Errorf("log is %q", b)
	}
}

func TestANegativeStepPanics(t *testing.T) {
	t.Parallel()
	r := started(t)
	defer func() {
		if fmt.Sprint(recover()) != "runlog: a negative step" {
			t.Error("no panic")
		}
	}()
	_ = r.Checkpoint(-1, nil, 0, Keep{})
}
