package runlog

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The toy run: its only state is a number that each step changes, so whatever
// goes wrong shows in every later row.
const (
	toySteps = 36
	toySave  = 3
)

var (
	toyKeep = Keep{Last: 2, Every: 4}
	toySpec = []byte("name: toy\n")
)

func toyNext(x uint64) uint64 { return x*6364136223846793005 + 1442695040888963407 }

// toyRows are the rows of a step, enough that buffers flush between checkpoints.
func toyRows(step int64, x uint64) []Row {
	rows := []Row{{step, "mean", -1, float64(int64(x)) / 3, 7}}
	for a := range 300 {
		rows = append(rows, Row{step, "return", a, float64(x%1000) / float64(a+1), int(x % 50)})
	}
	return rows
}

func toyBody(x uint64) []byte {
	var b []byte
	for range 4000 {
		b = binary.LittleEndian.AppendUint64(b, x)
		x = toyNext(x)
	}
	return b
}

// toyRun starts or resumes the run in dir and brings it to its end, or to step
// until, where it stops without a word.
func toyRun(dir string, until int64) (notes []string, err error) {
	var r *Run
	step, x := int64(0), uint64(1)
	if _, serr := ReadSpec(dir); serr != nil {
		r, err = Create(dir, toySpec, Info{Preset: "toy", Seed: 3})
	} else {
		r, err = Open(dir)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var body []byte
	if body, step, notes, err = r.Resume(); err != nil {
		return notes, err
	}
	if body != nil {
		x = binary.LittleEndian.Uint64(body)
	}
	for step < until {
		step, x = step+1, toyNext(x)
		if err := r.Log(toyRows(step, x)); err != nil {
			return notes, err
		}
		if step%toySave == 0 {
			if err := r.Checkpoint(step, toyBody(x), float64(x%997), toyKeep); err != nil {
				return notes, err
			}
		}
	}
	if until < toySteps {
		return notes, nil // as if it had been killed
	}
	return notes, r.Finish("done")
}

// play is toyRun for runs that must not fail.
func play(t *testing.T, dir string, until int64) (notes []string) {
	t.Helper()
	notes, err := toyRun(dir, until)
	must(t, err)
	return notes
}

// opened is Open of a run that is there and free.
func opened(t *testing.T, dir string) *Run {
	t.Helper()
	r, err := Open(dir)
	must(t, err)
	return r
}

// says checks that an error names what failed.
func says(t *testing.T, where string, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("%s: no error", where)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: the error does not say %q: %v", where, word, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestChild is not a test: other tests run it as a process of its own.
func TestChild(t *testing.T) {
	dir := os.Getenv("RUNLOG_CHILD")
	if dir == "" {
		t.Skip("started by other tests")
	}
	limitChild(t)
	fmt.Println("begun")
	if os.Getenv("RUNLOG_HOLD") != "" {
		if _, err := Open(dir); err != nil {
			t.Fatal(err)
		}
		fmt.Println("held")
		time.Sleep(time.Minute)
	}
	play(t, dir, toySteps)
}

func child(dir string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
	cmd.Env = append(os.Environ(), append(env, "RUNLOG_CHILD="+dir)...)
	return cmd
}

// begin starts a child and returns when it is at work.
func begin(t *testing.T, cmd *exec.Cmd) time.Time {
	t.Helper()
	r, w, err := os.Pipe()
	must(t, err)
	cmd.Stdout = w
	must(t, errors.Join(cmd.Start(), w.Close()))
	in := bufio.NewScanner(r)
	for in.Scan() && in.Text() != "begun" {
	}
	start := time.Now()
	go func() { // what else it says, until it ends
		defer r.Close()
		for in.Scan() {
		}
	}()
	return start
}

// exact returns the files that must not depend on what happened to a run; of events,
// all but the clock.
func exact(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(dir, checkDir, "*"))
	must(t, err)
	for _, name := range []string{specFile, metricsFile, eventsFile, findingsFile, resultFile} {
		if exists(dir, name) {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		must(t, err)
		name, err := filepath.Rel(dir, path)
		must(t, err)
		files[name] = string(b)
	}
	files[eventsFile] = timeless(t, files[eventsFile])
	return files
}

// same compares two runs' exact files.
func same(t *testing.T, where string, got, want map[string]string) {
	t.Helper()
	for name, b := range want {
		g, ok := got[name]
		if !ok {
			t.Errorf("%s: %s is missing", where, name)
			continue
		}
		at := 0
		for at < min(len(g), len(b)) && g[at] == b[at] {
			at++
		}
		if g != b {
			t.Errorf("%s: %s has %d bytes, want %d; they differ from byte %d", where, name, len(g), len(b), at)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is there, an uninterrupted run has none", where, name)
		}
	}
}

// whole returns the exact files of an uninterrupted toy run.
func whole(t *testing.T, until int64) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	play(t, dir, until)
	return exact(t, dir)
}

func TestKilledAtRandomMomentsEndsInTheSameBytes(t *testing.T) {
	t.Parallel()
	want := whole(t, toySteps)
	cmd := child(filepath.Join(t.TempDir(), "run"))
	start := begin(t, cmd)
	must(t, cmd.Wait())
	length := time.Since(start) // at work; how long a child takes to start says nothing
	r := rand.New(rand.NewPCG(1, 2))
	kills, runs := 0, 0
	for kills < 30 {
		dir := filepath.Join(t.TempDir(), strconv.Itoa(runs), "run")
		for all := kills + 12; ; { // then it may end: a slow machine might never get beyond resuming
			cmd := child(dir)
			var said bytes.Buffer
			cmd.Stderr = &said
			begin(t, cmd)
			if kills == all {
				must(t, cmd.Wait())
				break
			}
			timer := time.AfterFunc(time.Duration(r.Float64()*float64(length)/3), func() { _ = cmd.Process.Kill() })
			err := cmd.Wait()
			killed := !timer.Stop()
			if err == nil {
				break
			}
			// Windows gives whom it kills the exit code 1.
			if code := cmd.ProcessState.ExitCode(); code != -1 && !(runtime.GOOS == "windows" && killed) {
				t.Fatalf("after %d kills the run cannot be resumed: %v: %s", kills, err, &said)
			}
			kills++
		}
		runs++
		same(t, fmt.Sprintf("run %d, after %d kills in all", runs, kills), exact(t, dir), want)
	}
	t.Logf("%d kills in %d runs of %v", kills, runs, length.Round(time.Millisecond))
}

// TestEveryHalfDoneStateResumes makes by hand what a kill can leave behind.
func TestEveryHalfDoneStateResumes(t *testing.T) {
	t.Parallel()
	want, early := whole(t, toySteps), whole(t, toySave)
	add := func(name, text string) func(string) error {
		return func(dir string) error {
			f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				return err
			}
			if _, err := f.WriteString(text); err != nil {
				return err
			}
			return f.Close()
		}
	}
	rm := func(name string) func(string) error {
		return func(dir string) error { return os.Remove(filepath.Join(dir, name)) }
	}
	bringBack := func(dir string) error { // the first checkpoint, removed long ago
		for _, kind := range []string{sealKind, bodyKind} {
			path := checkPath(dir, toySave, kind)
			if _, err := os.Stat(path); err == nil {
				return fmt.Errorf("%s was not removed; choose another one for this test", path)
			}
			if err := os.WriteFile(path, []byte(early[filepath.Join(checkDir, filepath.Base(path))]), 0o644); err != nil {
				return err
			}
		}
		return nil
	}
	const newest, older = "checkpoints/step-000000000021", "checkpoints/step-000000000018"
	for _, c := range []struct {
		name string
		at   int64 // the step at which the run stops
		do   func(dir string) error
	}{
		{"rows after the checkpoint", 22, func(string) error { return nil }},
		{"a line cut off", 22, add(metricsFile, "22,mean,,0.")},
		{"an event cut off", 22, add(eventsFile, "\x10\x00\x00")},
		{"a body being written", 22, add("checkpoints/step-000000000024.safetensors.tmp", "abc")},
		{"a body without a seal", 22, add("checkpoints/step-000000000024.safetensors", "abc")},
		{"a seal being written", 22, add("checkpoints/step-000000000024.json.tmp", "{")},
		{"the newest without its seal", 22, rm(newest + ".json")},
		{"the newest without its body", 22, rm(newest + ".safetensors")},
		{"an older one half removed", 22, rm(older + ".json")},
		{"an older one not yet removed", 22, bringBack},
		{"an older one not yet removed at the end", toySteps, bringBack},
		{"a body being written at the end", toySteps, add("checkpoints/step-000000000024.safetensors.tmp", "abc")},
		{"env.json being written", 22, add("env.json.tmp", "{")},
		{"no checkpoint yet", 2, func(string) error { return nil }},
		{"no checkpoint any more", 22, func(dir string) error { return os.RemoveAll(filepath.Join(dir, checkDir)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // most of the time goes into waiting for the disk
			dir := filepath.Join(t.TempDir(), "run")
			play(t, dir, c.at)
			must(t, c.do(dir))
			play(t, dir, toySteps)
			same(t, c.name, exact(t, dir), want)
		})
	}
}

func TestCreateAfterADeathBeforeTheSpecStartsClean(t *testing.T) {
	t.Parallel()
	want := whole(t, 6)
	dir := filepath.Join(t.TempDir(), "run")
	play(t, dir, 2)
	must(t, os.Remove(filepath.Join(dir, specFile)))
	play(t, dir, 6)
	same(t, "a folder without a spec", exact(t, dir), want)
	must(t, os.Remove(filepath.Join(dir, specFile)))
	_, err := toyRun(dir, 6)
	says(t, "a run that has lost its spec", err, filepath.Join(dir, specFile)+" is missing", "step-000000000006.json")
}
