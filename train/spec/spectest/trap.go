package spectest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/registry"
)

// Trap is a program that somebody else's folders name as the one that plays their game: it
// leaves a trace if anything starts it. No Python is needed.
type Trap struct {
	Python string // the program
	trace  string
}

// NewTrap makes one. The user of the test has settings of their own, and trusts nobody yet.
func NewTrap(t testing.TB) *Trap {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the program that leaves a trace is a shell script")
	}
	t.Setenv("HOP_CONFIG", t.TempDir())
	dir := t.TempDir()
	x := &Trap{Python: filepath.Join(dir, "python"), trace: filepath.Join(dir, "trace")}
	must(t, os.WriteFile(x.Python, []byte("#!/bin/sh\n: > '"+x.trace+"'\n"), 0o755))
	return x
}

// Sprung reports whether something was started since it was last asked.
func (x *Trap) Sprung() bool { return os.Remove(x.trace) == nil }

// Sets are those that make any spec one of the trap.
func (x *Trap) Sets() []string {
	return []string{"game.name=python", "game.env=os:makedirs", "game.kwargs=" + `{"name": "` + x.trace + `"}`, "game.python=" + x.Python}
}

// Spec returns the text of a spec that names the trap; what follows goes below it.
func (x *Trap) Spec(more string) string {
	s, err := registry.New().Load("ppo-env", append(x.Sets(), "actor.frame=board", "train.steps=1000"))
	if err != nil {
		panic(err) // reading starts nothing, and the preset is sound
	}
	text, err := s.YAML()
	if err != nil {
		panic(err)
	}
	return string(text) + more
}

// Run makes the folder of a training of one seed as a stranger could: whole and sealed,
// with a checkpoint, naming the trap. status is how it ended: done or stopped.
func (x *Trap) Run(t testing.TB, dir, status string) {
	t.Helper()
	var f safetensors.File
	f.PutInt64("x", []int64{1}, 1)
	body, err := f.AppendBinary(nil)
	must(t, err)
	run(t, dir, status, "ppo-env", x.Spec(""), body)
}

// Among makes one in a game of ours whose team names a policy in Python, with the checkpoint of a run of
// the same preset. The user's Python is the trap.
func (x *Trap) Among(t testing.TB, from, dir, status, preset string) {
	t.Helper()
	t.Setenv("HOP_PYTHON", x.Python)
	s, err := registry.New().Load(preset, []string{"train.team=[learn, learn, learn, py:evil:act]", "train.steps=1000"})
	must(t, err)
	text, err := s.YAML()
	must(t, err)
	last, err := (*runlog.Reader)(nil).Last(from)
	must(t, err)
	run(t, dir, status, preset, string(text), last.Body)
}

// run writes the folder.
func run(t testing.TB, dir, status, preset, spec string, body []byte) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	must(t, runlog.Group{Preset: preset, Seeds: []uint64{1}, Spec: spec}.Write(dir))
	info := runlog.Info{Preset: preset, Seed: 1, Build: runlog.NewBuild("dev", f32.Kernels())}
	run, err := runlog.Create(runlog.SeedDir(dir, 1), []byte(spec), info)
	must(t, err)
	must(t, run.Log([]runlog.Row{{Step: 500, Name: "return", Agent: 0, Value: 1, N: 1}}))
	must(t, run.Checkpoint(500, body, 1, runlog.Keep{}))
	if status == "done" {
		must(t, run.SetResult([]byte(`{"seed": 1, "mean": 1, "se": 0.1, "greedy_mean": 1, "agents": [1, 1], "env_steps": 1000}`)))
	}
	must(t, errors.Join(run.Finish(status), run.Close()))
}

// Data makes a dataset, of which from is one of another game, such that it is of the trap's.
func (x *Trap) Data(t testing.TB, from, dir string) {
	t.Helper()
	must(t, os.CopyFS(dir, os.DirFS(from)))
	name := filepath.Join(dir, "manifest.json")
	text, err := os.ReadFile(name)
	must(t, err)
	var m dataset.Manifest
	must(t, json.Unmarshal(text, &m))
	m.Game = json.RawMessage(`{"name": "python", "env": "os:makedirs", "python": ` + strconv.Quote(x.Python) + `}`)
	m.Checksum = ""
	text, err = json.Marshal(m)
	must(t, err)
	sum := sha256.Sum256(text)
	m.Checksum = hex.EncodeToString(sum[:])
	text, err = json.Marshal(m)
	must(t, err)
	must(t, os.WriteFile(name, text, 0o644))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
