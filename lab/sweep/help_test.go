//go:build unix

// Sweeps are held to what they promise, with the program itself as processes: that runs have the
// bytes of lone runs, whatever happens to workers, coordinator, network and disks on the way.
// These tests are small by default; HOP_FAULTS=200 has every fault injected at random over that
// many jobs (docs/sweep.md says what came of it).
package sweep_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hop-marl/hop/cmd/cli"
	"github.com/hop-marl/hop/lab/sweep"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// asProgram has this test binary be hop. Workers start it as such, since it is the executable.
const asProgram = "HOP_IS_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		poison()
		cli.Main(registry.New())
	}
	if text := os.Getenv(asNode); text != "" {
		serveNode(text)
	}
	os.Exit(m.Run())
}

// byHand leaves out what takes too long for every run of the tests: HOP_FAULTS=8 runs it small, 200 as docs/sweep.md
// has it.
func byHand(t *testing.T) {
	t.Helper()
	if os.Getenv("HOP_FAULTS") == "" {
		t.Skip("run by hand: HOP_FAULTS=8")
	}
}

// tiny is a training that takes a tenth of a second.
const tiny = `
game: {name: staghunt, size: 4, stags: 1, hares: 4, horizon: 12}
actor: {frame: egof, hidden: [8]}
train: {envs: 8, window: 16, steps: 2048, save: 512}
eval: {episodes: 5}
`

// place is a folder in which sweeps are run.
type place struct {
	t   *testing.T
	dir string
	exe string // the program
}

func newPlace(t *testing.T, spec string) place {
	t.Helper()
	if testing.Short() {
		t.Skip("runs processes")
	}
	p := place{t, t.TempDir(), os.Args[0]}
	p.write("s.yaml", spec)
	return p
}

func (p place) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func (p place) write(name, text string) {
	p.t.Helper()
	p.must(os.WriteFile(p.path(name), []byte(text), 0o644))
}

func (p place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// said collects what a process says, also while it runs.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// program prepares hop in the folder; env are more variables.
func (p place) program(env []string, args ...string) (*exec.Cmd, *said) {
	c := exec.Command(p.exe, args...)
	c.Env = append(append(os.Environ(), asProgram+"=1"), env...)
	c.Dir = p.dir
	out := &said{}
	c.Stdout, c.Stderr = out, out
	return c, out
}

// hop runs the program to its end and returns what it said.
func (p place) hop(args ...string) string {
	p.t.Helper()
	c, out := p.program(nil, args...)
	if err := c.Run(); err != nil {
		p.t.Fatalf("hop %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out.String()
}

// refused runs the program, which must refuse with these words.
func (p place) refused(code int, words string, args ...string) {
	p.t.Helper()
	c, out := p.program(nil, args...)
	_ = c.Run()
	if got := c.ProcessState.ExitCode(); got != code || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), words) {
		p.t.Errorf("hop %s: exit code %d, want %d with %q:\n%s", strings.Join(args, " "), got, code, words, out)
	}
}

// start starts the program and has it ended with the test.
func (p place) start(env []string, args ...string) (*exec.Cmd, *said) {
	p.t.Helper()
	c, out := p.program(env, args...)
	p.must(c.Start())
	p.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c, out
}

// until waits for something, and fails after a while.
func (p place) until(what string, out fmt.Stringer, ok func() bool) {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("%s: not within a minute\n%s", what, out)
		}
	}
}

// index reads how a sweep stands; an empty one while there is none.
func (p place) index(sw string) *sweep.Index {
	x, err := sweep.ReadIndex(p.path(sw))
	if err != nil {
		return &sweep.Index{}
	}
	return x
}

// phases counts jobs by kind and phase, such as "train done".
func (p place) phases(sw string) map[string]int {
	by := map[string]int{}
	for _, e := range p.index(sw).Jobs {
		by[string(e.Kind)+" "+string(e.Phase)]++
	}
	return by
}

// clocks are the lines of result.json that say how long something took, or where.
var clocks = regexp.MustCompile(`(?m)^\s*"(cpu_s|wall_s|run)": .*$`)

// bytesOf returns what must not depend on where and how a seed was trained: all files, but for env.json,
// the log, the record of checkpoints that were made on the way, and clocks.
func bytesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		switch {
		case rel == "env.json", rel == "log.txt", rel == "lock", filepath.Dir(rel) == "checkpoints":
			return nil
		}
		b, err := os.ReadFile(name)
		switch {
		case rel == "result.json":
			b = clocks.ReplaceAll(b, nil)
		case strings.HasPrefix(rel, "events."):
			b = spectest.Timeless(b)
		}
		files[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	body, step, err := runlog.Last(dir)
	if err != nil {
		t.Fatal(err)
	}
	files[fmt.Sprintf("checkpoint of env step %d", step)] = string(body)
	return files
}

// same compares a seed's folder with a lone run's.
func same(t *testing.T, got, want string) {
	t.Helper()
	g, w := bytesOf(t, got), bytesOf(t, want)
	for name, b := range w {
		if g[name] != b {
			t.Errorf("%s: %s has %d bytes, and a lone run %d", got, name, len(g[name]), len(b))
		}
	}
	if len(g) != len(w) {
		t.Errorf("%s has %d files, and a lone run %d", got, len(g), len(w))
	}
	if faults := sealed(got); faults != nil {
		t.Errorf("%s: %v", got, faults)
	}
}

// sealed says what is wrong with the sums of a run.
func sealed(dir string) error {
	rec, err := runlog.Read(dir)
	if err != nil {
		return err
	}
	return rec.Faults()
}

// lone trains one variant's seed with hop train, and returns the seed's folder.
func (p place) lone(seed int, sets ...string) string {
	p.t.Helper()
	plain := strings.NewReplacer("=", "-", ".", "-", "[", "", "]", "", ",", "-")
	out := fmt.Sprintf("lone-%d-%s", seed, plain.Replace(strings.Join(sets, "_")))
	args := []string{"train", "s.yaml", "--seeds", strconv.Itoa(seed), "--out", out, "--json"}
	for _, s := range sets {
		args = append(args, "--set", s)
	}
	if _, err := os.Stat(p.path(out)); err != nil {
		p.t.Chdir(p.dir)
		var o, e bytes.Buffer
		if code := cli.Run(context.Background(), registry.New(), args, strings.NewReader(""), &o, &e); code != 0 {
			p.t.Fatalf("hop %v: %d\n%s", args, code, e.String())
		}
	}
	return p.path(fmt.Sprintf("%s/s-001/seed-%d", out, seed))
}

// sweep reads what a sweep is.
func (p place) sweep(sw string) *sweep.Sweep {
	p.t.Helper()
	s, err := sweep.Read(p.path(sw))
	p.must(err)
	return s
}
