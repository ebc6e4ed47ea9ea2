package runlog

import (
	"bufio"
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
	"time"

	"github.com/hop-marl/hop/num/disk"
)

// started returns a new run that is closed when the test ends.
func started(t *testing.T) *Run {
	t.Helper()
	info := Info{Preset: "toy", Seed: 3, Command: []string{"hop", "train"}, Build: NewBuild("dev", "plain")}
	r, err := Create(filepath.Join(t.TempDir(), "run"), toySpec, info)
	must(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

func TestASecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	r := started(t)
	dir := r.Dir()
	busy := func(err error, pid int) {
		t.Helper()
		says(t, "a second process", err, "process "+strconv.Itoa(pid), dir, "stop it")
	}
	out, err := child(dir).CombinedOutput()
	if err == nil {
		t.Fatal("a second process wrote a run that is held")
	}
	busy(errors.New(string(out)), os.Getpid())
	_, err = Open(dir)
	busy(err, os.Getpid())
	must(t, r.Close())
	_, err = Create(dir, toySpec, Info{})
	says(t, "Create where a run is", err, "--resume")

	cmd := child(dir, "RUNLOG_HOLD=1")
	pipe, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	for in := bufio.NewScanner(pipe); in.Scan() && in.Text() != "held"; {
	}
	_, err = Open(dir)
	busy(err, cmd.Process.Pid)
	if _, err := ReadMetrics(dir); err != nil {
		t.Errorf("a run that is held cannot be read: %v", err)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()                  // killed
	must(t, opened(t, dir).Close()) // the lock has not outlived its process
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
		says(t, name, err, dir+" is not a run's folder")
	}
	_, _, err := Last(started(t).Dir())
	says(t, "Last of a fresh run", err, "no checkpoint yet")
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
	must(t, r.Log(want))
	must(t, r.Log([]Row{{3, "nan", -1, math.NaN(), 1}}))
	for _, name := range []string{"", "a,b", "a\nb", `a"b`, "a\rb"} {
		says(t, "a row with a bad name", r.Log([]Row{{3, "fine", -1, 1, 1}, {3, name, -1, 1, 1}}), strconv.Quote(name))
	}
	must(t, r.Close())
	got, err := ReadMetrics(r.Dir())
	must(t, err)
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
		{"an agent that no game has", header + "\n1,a,2000000000,2,3\n", "line 2: agent 2000000000, want one from 0 to 1023"},
		{"a row without an end", header + "\n" + strings.Repeat("1", 1<<20), "line 2: it goes on after 65536 bytes"},
		{"no count", header + "\n1,a,,2,z\n", "line 2"},
	} {
		_, err := parseMetrics(strings.NewReader(c.text))
		says(t, c.name, err, c.want)
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
	must(t, err)
	if env.Status != "running" || env.Seed != 3 || env.Go == "" || env.OS == "" || env.Cores < 1 || env.Started == "" || env.Peak < 1<<20 {
		t.Errorf("env of a fresh run is %+v", env)
	}
	cpu, wall := 0., 0.
	part := func() (float64, float64) { return cpu, wall }
	r.Measure(part)
	cpu, wall = 2, 1.5
	phases := map[string]float64{"learn": 2}
	r.SetPhases(phases, nil, 2)
	phases["learn"] = 3
	r.SetPhases(phases, map[string]float64{"learn": 4}, 2) // two workers, six core seconds
	phases["learn"] = 99
	must(t, errors.Join(r.Finish("stopped"), r.Close()))
	one, err := ReadEnv(r.Dir())
	must(t, err)
	if one.Status != "stopped" || one.Phases["learn"] != 3 || one.Spent != (Spent{2, 1.5}) {
		t.Errorf("status %q, phases %v, spent %+v; want stopped, learn 3, and 2 and 1.5 s", one.Status, one.Phases, one.Spent)
	}
	r = opened(t, r.Dir())
	defer r.Close()
	if now, err := ReadEnv(r.Dir()); err != nil || now.Status != "running" {
		t.Errorf("a resumed run's status is %q (%v), want running", now.Status, err)
	}
	r.Measure(part)
	cpu, wall = 1, 0.25
	if got, want := r.Spent(), (Spent{3, 1.75}); got != want {
		t.Errorf("the second part has spent %+v, want %+v", got, want)
	}
	r.SetPhases(map[string]float64{"learn": 1, "collect": 4}, map[string]float64{"learn": 2}, 4)
	must(t, r.Finish("done"))
	two, err := ReadEnv(r.Dir())
	must(t, err)
	want := map[string]float64{"learn": 4, "collect": 4}
	if waits := map[string]Waited{"learn": {10, 4, 0.4}}; !maps.Equal(two.Waits, waits) {
		t.Errorf("workers waited %v, want %v", two.Waits, waits)
	}
	if two.Status != "done" || !maps.Equal(two.Phases, want) || two.Spent != (Spent{3, 1.75}) ||
		two.Started != one.Started {
		t.Errorf("after a second process: %+v; want phases %v, 3 and 1.75 s, and the same start", two, want)
	}
}

func TestLogHasLinesWithTheTime(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.Printf("one %d", 1)
	r.Printf("two")
	b, err := os.ReadFile(filepath.Join(r.Dir(), logFile))
	must(t, err)
	lines := strings.Split(string(b), "\n")
	if len(lines) != 3 || !strings.HasSuffix(lines[0], "  one 1") || !strings.HasPrefix(lines[0], "20") ||
		!strings.HasSuffix(lines[1], "  two") {
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

// Seeds are listed by their numbers, whoever lists them.
func TestSeedsAreInTheOrderOfTheirNumbers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"seed-10", "seed-9", "seed-2", "seed-x", "report"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	list, err := Seeds(dir)
	must(t, err)
	if want := []string{SeedDir(dir, 2), SeedDir(dir, 9), SeedDir(dir, 10)}; !slices.Equal(list, want) {
		t.Errorf("got %v, want %v", list, want)
	}
}

// The log says what going on throws away.
func TestGoingOnSaysWhatIsLost(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	play(t, dir, 8)
	play(t, dir, 9)
	b, err := os.ReadFile(filepath.Join(dir, logFile))
	must(t, err)
	if want := "resumed at env step 6; 2 env steps that were played after it are thrown away"; !strings.Contains(string(b), want) {
		t.Errorf("the log does not say %q:\n%s", want, b)
	}
}

// One line says which program it is, and env.json the same.
func TestEnvSaysWhichProgramItIs(t *testing.T) {
	t.Parallel()
	env, err := ReadEnv(started(t).Dir())
	must(t, err)
	if b := NewBuild("dev", "plain"); env.Build != b || b.Commit == "" {
		t.Errorf("env.json has %+v, want %+v", env.Build, b)
	}
	b := Build{Version: "1.2", Commit: "abc", Dirty: true, Go: "go1.26", OS: "linux", Arch: "amd64", Kernels: "avx2"}
	if got, want := b.Line(), "hop 1.2, commit abc (dirty), go1.26, linux/amd64, avx2 kernels"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Builds of one version are told apart by the commit, or where that does not say all by
// the executable itself, and a run remembers all that went on with it.
func TestBuildsAreDistinguished(t *testing.T) {
	t.Parallel()
	clean := Build{Version: "dev", Commit: "abc", Go: "go1.26", OS: "linux", Arch: "amd64", Kernels: "avx2"}
	with := func(change func(*Build)) Build {
		b := clean
		change(&b)
		return b
	}
	dirty := with(func(b *Build) { b.Dirty, b.Program = true, "1" })
	for name, c := range map[string]struct {
		a, b Build
		same bool
	}{
		"the same":          {clean, clean, true},
		"another commit":    {clean, with(func(b *Build) { b.Commit = "abd" }), false},
		"other kernels":     {clean, with(func(b *Build) { b.Kernels = "plain" }), false},
		"another Go":        {clean, with(func(b *Build) { b.Go = "go1.27" }), false},
		"files had changed": {clean, dirty, false},
		"the same changes":  {dirty, dirty, true},
		"other changes":     {dirty, with(func(b *Build) { b.Dirty, b.Program = true, "2" }), false},
		"a program that did not say": {
			with(func(b *Build) { b.Commit = "unknown" }), with(func(b *Build) { b.Commit, b.Program = "unknown", "1" }), false,
		},
	} {
		if err := c.a.Same(c.b); (err == nil) != c.same {
			t.Errorf("%s: error %v, want the same %v", name, err, c.same)
		} else if err != nil {
			says(t, name, err, c.a.Line(), c.b.Line(), "--accept-build")
		}
	}
	this := NewBuild("dev", "plain")
	if this.Program == "" || this != NewBuild("dev", "plain") {
		t.Errorf("a test is a program without a commit, and is called %q", this.Program)
	}
	r := started(t)
	must(t, r.GoOn(this))
	must(t, r.GoOn(clean))
	must(t, r.GoOn(clean))
	env, err := ReadEnv(r.Dir())
	must(t, err)
	if env.Build != this || len(env.Later) != 1 || env.Last() != clean {
		t.Errorf("env.json has %+v and %+v", env.Build, env.Later)
	}
}

// An executable's name is Go's hash of what it was made from where it has one.
func TestBuildIDIsFound(t *testing.T) {
	t.Parallel()
	for want, head := range map[string]string{
		"a/b": "MZ..\xff Go build ID: \"a/b\"\n \xff...",
		"c/d": "\x7fELF..\x04\x00\x00\x00\x03\x00\x00\x00\x04\x00\x00\x00Go\x00\x00c/dxx",
		"":    "\x7fELF..\x04\x00\x00\x00\xff\xff\x00\x00\x04\x00\x00\x00Go\x00\x00c/dxx",
	} {
		if got := buildID([]byte(head)); string(got) != want {
			t.Errorf("%q: %q, want %q", head, got, want)
		}
	}
	path, err := os.Executable()
	must(t, err)
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	head := make([]byte, 1<<16)
	if _, err := f.Read(head); err != nil || len(buildID(head)) < 20 {
		t.Errorf("this test has the build ID %q (%v)", buildID(head), err)
	}
}

func TestARunIsSeenWhileItGrows(t *testing.T) {
	r := started(t)
	dir := r.Dir()
	lock := filepath.Join(dir, disk.LockFile)
	old := time.Now().Add(-time.Hour)
	for step := range int64(3) {
		must(t, os.Chtimes(lock, old, old))
		r.beat = time.Time{}
		must(t, r.Log([]Row{{step, "a", -1, 1, 1}, {step, "b", 0, 2, 1}}))
		rows, err := ReadMetrics(dir)
		if must(t, err); len(rows) != 2*int(step+1) {
			t.Fatalf("step %d: %d rows on the disk", step, len(rows))
		}
		h, err := disk.Held(dir)
		if must(t, err); !h.Held || h.PID != os.Getpid() || time.Since(h.Seen) > time.Minute {
			t.Errorf("step %d: %+v", step, h)
		}
	}
	must(t, os.Chtimes(lock, old, old))
	must(t, r.Log([]Row{{9, "a", -1, 1, 1}}))
	if h, _ := disk.Held(dir); time.Since(h.Seen) < time.Minute {
		t.Error("a sign of life more than once a second")
	}
	must(t, r.Close())
	if h, err := disk.Held(dir); err != nil || h.Held {
		t.Errorf("closed: %+v %v", h, err)
	}
}
