package sweep_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// small mounts a disk of so many megabytes.
func (p place) small(dir string, mb int) {
	p.t.Helper()
	p.must(os.MkdirAll(p.path(dir), 0o755))
	if err := unix.Mount("tmpfs", p.path(dir), "tmpfs", 0, fmt.Sprintf("size=%dm", mb)); err != nil {
		p.t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	p.t.Cleanup(func() { _ = unix.Unmount(p.path(dir), unix.MNT_DETACH) })
}

// fill takes all room of a disk; the returned function gives it back.
func (p place) fill(dir string) (free func()) {
	p.t.Helper()
	name := p.path(dir + "/filler")
	f, err := os.Create(name)
	p.must(err)
	b := make([]byte, 64<<10)
	for err == nil {
		_, err = f.Write(b)
	}
	_ = f.Close()
	return func() { p.must(os.Remove(name)) }
}

// The coordinator's disk becomes full: it stops with a sentence, and goes on when there is room.
func TestTheCoordinatorsDiskIsFull(t *testing.T) {
	byHand(t)
	n := jobs(8)
	s := newStorm(t, about(), seeds(n))
	s.small("x", 300+2*n)
	s.begin()
	for range 2 {
		s.join(nil)
	}
	s.until("a job is done", s.out, func() bool { return s.doneJobs() > 0 })
	free := s.fill("x")
	_ = s.coord.Wait()
	if out := s.out.String(); !strings.Contains(out, "is full, or nearly") || !strings.Contains(out, "hop sweep resume") {
		t.Fatalf("with a full disk it says\n%s", out)
	}
	c, out := s.program(nil, "sweep", "resume", "x")
	if err := c.Run(); err == nil || !strings.Contains(out.String(), "Make room for at least") {
		t.Errorf("resumed without room: %v\n%s", err, out)
	}
	free()
	s.begin()
	s.end(n)
}

// A worker's disk becomes full: that is not the fault of its jobs. It says so, takes none, and goes on
// when there is room.
func TestAWorkersDiskIsFull(t *testing.T) {
	byHand(t)
	n := jobs(4)
	s := newStorm(t, strings.NewReplacer("steps: 2048, save: 512", "steps: 16384, save: 1024").Replace(tiny), seeds(n))
	s.small("w1", 100)
	s.begin()
	w := s.join(nil)
	s.until("a job works", w.out, func() bool {
		list, _ := filepath.Glob(s.path("w1/*/*/out/s-001/seed-*/checkpoints/step-*.json"))
		return len(list) > 0
	})
	free := s.fill("w1")
	s.until("the worker says that its disk is full", w.out, func() bool {
		return strings.Contains(w.out.String(), "no job is taken: the disk of")
	})
	time.Sleep(500 * time.Millisecond)
	free()
	s.end(n)
	for _, e := range s.index("x").Jobs {
		if e.Lost > 0 {
			t.Errorf("%s failed %d times: %s", e.Name, e.Lost, e.Why)
		}
	}
}

// A worker whose clock is an hour ahead, and one whose is an hour behind. The clock is that of Go's
// library, built with another time.Now, so this is by hand only.
func TestAWorkersClockIsAnHourOff(t *testing.T) {
	if os.Getenv("HOP_FAULTS") == "" {
		t.Skip("builds the program with another clock")
	}
	n := jobs(4)
	s := newStorm(t, about(), seeds(n))
	root, err := exec.Command("go", "env", "GOROOT").Output()
	s.must(err)
	src := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	b, err := os.ReadFile(src)
	s.must(err)
	const was = "\tsec, nsec, mono := runtimeNow()\n"
	if !strings.Contains(string(b), was) {
		t.Skip("this Go's time.Now is another one")
	}
	text := strings.Replace(string(b), was, was+"\tsec += offClock()\n", 1) + `
var clockRead, clockOff int64

func offClock() int64 {
	if clockRead == 0 {
		clockRead = 1
		if v, ok := syscall.Getenv("HOP_TEST_CLOCK"); ok {
			d, _ := ParseDuration(v)
			clockOff = int64(d / Second)
		}
	}
	return clockOff
}
`
	text = strings.Replace(text, "import (\n", "import (\n\t\"syscall\"\n", 1)
	s.write("time.go", text)
	over, err := json.Marshal(map[string]any{"Replace": map[string]string{src: s.path("time.go")}})
	s.must(err)
	s.write("overlay.json", string(over))
	program := s.path("hop")
	c := exec.Command("go", "build", "-overlay", s.path("overlay.json"), "-o", program, "hop/cmd/hop")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	s.exe = program
	s.begin()
	s.join([]string{"HOP_TEST_CLOCK=1h"})
	s.join([]string{"HOP_TEST_CLOCK=-1h"})
	s.join(nil)
	s.join(nil)
	s.end(n)
	ahead, behind := 0, 0
	for seed := 1; seed <= n; seed++ {
		var env struct{ Started time.Time }
		b, err := os.ReadFile(s.path(fmt.Sprintf("x/all/seed-%d/env.json", seed)))
		s.must(err)
		s.must(json.Unmarshal(b, &env))
		if d := time.Until(env.Started); d > 50*time.Minute {
			ahead++
		} else if d < -50*time.Minute {
			behind++
		}
	}
	if ahead == 0 || behind == 0 {
		t.Errorf("%d runs were begun an hour ahead, and %d an hour behind: the clocks were not off", ahead, behind)
	}
	t.Logf("%d of %d runs were begun an hour ahead, and %d an hour behind", ahead, n, behind)
}
