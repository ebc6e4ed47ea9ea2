package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// The runs that are killed here. Each is small, saves often, and holds something
// that a checkpoint could forget.
const (
	plainSpec = `
game: {name: staghunt, size: 4, stags: 1, hares: 4, horizon: 35}
actor: {frame: egof, hidden: [32, 32]}
train: {envs: 32, window: 16, steps: 8000, save: 800}
eval: {episodes: 20}
`
	lstmSpec = `
game: {name: staghunt, size: 4, stags: 1, hares: 4, horizon: 35}
actor: {frame: egof, hidden: [32], lstm: 16}
train:
  {envs: 16, window: 16, steps: 6000, save: 600, team: [learn, learn, learn, switcher],
  standins: {share: 0.5, who: [ns, switcher]}}
eval: {episodes: 20}
`
	pastSpec = `
game: {name: staghunt, size: 4, stags: 1, hares: 4, horizon: 35}
actor: {frame: egof, hidden: [32]}
train:
  {envs: 16, window: 16, steps: 6000, save: 600, brains: [0, 0, 1, 2], standins: {share: 0.5, share_end: 0, who: [ns, past]},
  team: [learn, learn, switcher, learn], switch: [{at: 2000, agent: 2, to: learn}, {at: 3300, agent: 2, to: switcher}],
  stages: [{at: 1200, set: [game.horizon=25]}, {at: 2400, set: [game.horizon=30]}],
  goal_weight: [{goal: hare, from: 0.5, to: 1, over: 4000}]}
eval: {episodes: 20}
`
)

const events = "events.out.tfevents.0.hop"

// TestHopProcess is not a test: other tests run it as the program hop.
func TestHopProcess(t *testing.T) {
	args := os.Getenv("HOP_ARGS")
	if args == "" {
		t.Skip("started by other tests")
	}
	os.Args = append([]string{"hop"}, strings.Split(args, "\n")...)
	Main(registry.New())
}

// machine is what a process may use; none of it may reach a number.
type machine struct{ procs, workers int } // 0: as it comes

func (m machine) String() string {
	return fmt.Sprintf("GOMAXPROCS=%d --workers %d", m.procs, m.workers)
}

// process prepares one, whose stderr goes to a buffer.
func process(m machine, args ...string) (*exec.Cmd, *bytes.Buffer) {
	args = append(args, "--workers", strconv.Itoa(m.workers))
	cmd := exec.Command(os.Args[0], "-test.run=^TestHopProcess$")
	cmd.Env = append(os.Environ(), "HOP_ARGS="+strings.Join(args, "\n"))
	if m.procs > 0 {
		cmd.Env = append(cmd.Env, "GOMAXPROCS="+strconv.Itoa(m.procs))
	}
	said := &bytes.Buffer{}
	cmd.Stderr = said
	return cmd, said
}

// trial is one run of a spec, in a folder of its own.
type trial struct {
	t     *testing.T
	spec  string // file
	out   string
	steps int64
}

func newTrial(t *testing.T, spec string) *trial {
	t.Helper()
	out := t.TempDir()
	tr := &trial{t: t, spec: filepath.Join(out, "it.yaml"), out: filepath.Join(out, "runs")}
	if err := os.WriteFile(tr.spec, []byte(spec), 0o644); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(spec, " steps: ")
	number, _, _ := strings.Cut(rest, ",")
	var err error
	if tr.steps, err = strconv.ParseInt(number, 10, 64); err != nil {
		t.Fatal(err)
	}
	return tr
}

func (tr *trial) group() string { return filepath.Join(tr.out, "it-001") }
func (tr *trial) dir() string   { return filepath.Join(tr.group(), "seed-1") }

// process starts the run, or resumes it if it has begun.
func (tr *trial) process(m machine) (*exec.Cmd, *bytes.Buffer) {
	if _, err := os.Stat(filepath.Join(tr.dir(), "spec.yaml")); err == nil {
		return process(m, "train", "--resume", tr.group())
	}
	if err := os.RemoveAll(tr.out); err != nil { // it died before it was a run
		tr.t.Fatal(err)
	}
	return process(m, "train", tr.spec, "--out", tr.out)
}

// newest returns the step of the newest checkpoint, -1 if there is none.
func (tr *trial) newest() int64 {
	seals, err := filepath.Glob(filepath.Join(tr.dir(), "checkpoints", "step-*.json"))
	if err != nil {
		tr.t.Fatal(err)
	}
	if len(seals) == 0 {
		return -1
	}
	name := strings.TrimSuffix(filepath.Base(slices.Max(seals)), ".json")
	step, err := strconv.ParseInt(strings.TrimPrefix(name, "step-"), 10, 64)
	if err != nil {
		tr.t.Fatal(err)
	}
	return step
}

// until runs a process until something holds, then kills it. What comes after
// training (scoring, the report) is not tested here.
func (tr *trial) until(m machine, done func() bool) {
	tr.t.Helper()
	cmd, said := tr.process(m)
	if err := cmd.Start(); err != nil {
		tr.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for !done() {
		select {
		case err := <-ended:
			if !done() {
				tr.t.Fatalf("%v ended at env step %d: %v\n%s", m, tr.newest(), err, said)
			}
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
	_ = cmd.Process.Kill() // it may have ended by itself
	<-ended
}

// finish brings the run to its last checkpoint and returns the files that must
// not depend on what happened to it.
func (tr *trial) finish(m machine) map[string]string {
	tr.t.Helper()
	tr.until(m, func() bool { return tr.newest() >= tr.steps })
	return tr.exact()
}

func (tr *trial) exact() map[string]string {
	tr.t.Helper()
	files := map[string]string{}
	for _, name := range []string{"spec.yaml", "metrics.csv", events} {
		b, err := os.ReadFile(filepath.Join(tr.dir(), name))
		if err != nil {
			tr.t.Fatal(err)
		}
		files[name] = string(b)
	}
	// Of events, what the last checkpoint has: a run that has ended has its result behind
	// that. The clock is all that may differ.
	var seal struct {
		Events int `json:"events_bytes"`
	}
	b, err := os.ReadFile(filepath.Join(tr.dir(), "checkpoints", fmt.Sprintf("step-%012d.json", tr.newest())))
	if err == nil {
		err = json.Unmarshal(b, &seal)
	}
	if err != nil {
		tr.t.Fatal(err)
	}
	files[events] = string(spectest.Timeless([]byte(files[events][:seal.Events])))
	body, step, err := runlog.Last(tr.dir())
	if err != nil {
		tr.t.Fatal(err)
	}
	files[fmt.Sprintf("checkpoint of env step %d", step)] = string(body)
	return files
}

func (tr *trial) same(where string, got, want map[string]string) {
	tr.t.Helper()
	for name, b := range want {
		g := got[name]
		at := 0
		for at < min(len(g), len(b)) && g[at] == b[at] {
			at++
		}
		if g != b {
			tr.t.Errorf("%s: %s: %d bytes, want %d; they differ from byte %d", where, name, len(g), len(b), at)
		}
	}
}

// A run that is killed at any moment and resumed, on other machines too, leaves the bytes of one that was not. It takes 6 s of
// processor time: ten runs in processes of their own, seven of them killed three to five times.
func TestKilledAndResumedEqualsUninterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for tens of seconds")
	}
	machines := []machine{{1, 0}, {2, 0}, {8, 0}, {0, 1}, {0, 2}}
	for _, c := range []struct {
		name, spec string
		kills      int   // in each run
		due        int64 // an env step whose checkpoint must be tried
		machines   []machine
	}{
		{"plain", plainSpec, 3, 0, machines},
		{"LSTM, stand-ins and bots with memory", lstmSpec, 5, 0, []machine{{2, 2}}},
		{"past selves, switches and stages", pastSpec, 5, 2400, []machine{{8, 1}}}, // a stage is due, but not begun
	} {
		start := time.Now()
		want := newTrial(t, c.spec).finish(machine{})
		length := time.Since(start)
		for i, m := range c.machines {
			t.Run(c.name+" "+m.String(), func(t *testing.T) {
				t.Parallel()
				tr := newTrial(t, c.spec)
				r := rand.New(rand.NewPCG(7, uint64(i)))
				var at []int64
				for k := range c.kills {
					other := m
					if i == 0 {
						other = machines[r.IntN(len(machines))] // one machine begins, another goes on
					}
					begun := r.Int64N(tr.steps * int64(k+1) / int64(c.kills)) // with a checkpoint as late as this
					delay := time.Duration(r.Float64() * float64(length) / 8)
					switch {
					case k%3 == 0:
						begun, delay = -1, 2*delay // at any moment
					case k == 1 && c.due > 0:
						begun, delay = c.due, 0
					}
					over := time.Time{}
					tr.until(other, func() bool {
						if over.IsZero() && tr.newest() >= begun {
							over = time.Now().Add(delay)
						}
						return !over.IsZero() && time.Now().After(over) || tr.newest() >= tr.steps
					})
					at = append(at, tr.newest())
				}
				tr.same(fmt.Sprintf("killed when the newest checkpoint was %v", at), tr.finish(m), want)
				t.Logf("killed when the newest checkpoint was %v", at)
			})
		}
	}
}

func TestSignalsSaveAndSayHowToResume(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for seconds")
	}
	want := newTrial(t, plainSpec).finish(machine{})
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t, plainSpec)
			cmd, said := tr.process(machine{})
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for tr.newest() < 0 {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(30 * time.Millisecond) // somewhere between two checkpoints
			if err := cmd.Process.Signal(sig); err != nil {
				t.Skipf("this system cannot send %v: %v", sig, err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 1 {
				t.Fatalf("exit code %d, want 1\n%s", code, said)
			}
			if hint := "hop train --resume " + tr.group(); !strings.Contains(said.String(), hint) || !strings.Contains(said.String(), "saved") {
				t.Errorf("it does not say that all is saved and %q:\n%s", hint, said)
			}
			if env, err := runlog.ReadEnv(tr.dir()); err != nil || env.Status != "stopped" {
				t.Errorf("status %q (%v), want stopped", env.Status, err)
			}
			rows, err := runlog.ReadMetrics(tr.dir())
			if err != nil {
				t.Fatal(err)
			}
			if step, last := tr.newest(), rows[len(rows)-1].Step; step != last || step >= tr.steps {
				t.Errorf("saved at env step %d, played %d of %d: want all that was played, and not the end", step, last, tr.steps)
			}
			if sig == syscall.SIGINT {
				tr.same("interrupted", tr.finish(machine{}), want)
				return
			}
			cmd, said = tr.process(machine{})
			if out, err := cmd.Output(); err != nil || !bytes.Contains(out, []byte(tr.group())) {
				t.Fatalf("resumed to the end: %v\n%s%s", err, out, said)
			}
			tr.same("terminated, then run to the end", tr.exact(), want)
		})
	}
}

func TestADamagedCheckpointIsNamedAndThePreviousOneUsed(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for seconds")
	}
	tr := newTrial(t, pastSpec)
	want := tr.finish(machine{})
	bodies, err := filepath.Glob(filepath.Join(tr.dir(), "checkpoints", "*.safetensors"))
	if err != nil || len(bodies) < 2 {
		t.Fatalf("checkpoints %v, %v; want several", bodies, err)
	}
	damaged := slices.Max(bodies)
	if err := os.Truncate(damaged, 1234); err != nil {
		t.Fatal(err)
	}
	before := strings.TrimLeft(strings.TrimSuffix(filepath.Base(bodies[len(bodies)-2]), ".safetensors"), "step-0")
	cmd, said := tr.process(machine{})
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, word := range []string{damaged + " is damaged", "1234 bytes", "at env step " + before} {
		if !strings.Contains(said.String(), word) {
			t.Errorf("it does not say %q:\n%s", word, said)
		}
	}
	tr.same("after damage", tr.exact(), want)
}

func TestASecondProcessOnARunIsRefused(t *testing.T) {
	tr := newTrial(t, plainSpec)
	first, _ := tr.process(machine{})
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(tr.dir(), "spec.yaml")); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	second, said := process(machine{}, "train", "--resume", tr.group())
	_ = second.Run()
	for _, word := range []string{fmt.Sprintf("process %d,", first.Process.Pid), tr.dir(), "stop it"} {
		if !strings.Contains(said.String(), word) {
			t.Errorf("it does not say %q:\n%s", word, said)
		}
	}
	if code := second.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
}
