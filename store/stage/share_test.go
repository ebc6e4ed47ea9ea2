package stage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestMain lets this program be the other training, which begins a stage and never ends it.
func TestMain(m *testing.M) {
	root := os.Getenv("HOP_TEST_STAGES")
	if root == "" {
		os.Exit(m.Run())
	}
	do := func(context.Context, string, string) error {
		fmt.Println("begun")
		time.Sleep(time.Minute)
		return errors.New("nobody stopped this process")
	}
	r := Runner{Root: root}
	_, err := r.Run(context.Background(), stages(do, list[:1]...))
	fmt.Println(err)
	os.Exit(1)
}

// other starts the other training and returns when it is in the stage.
func other(t *testing.T, root string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "HOP_TEST_STAGES="+root)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "begun\n" {
		t.Fatalf("the other process said %q, %v", line, err)
	}
	return c
}

// Two trainings that want the same stage at the same time: one does it, the other waits, says so,
// and finds it done.
func TestAStageThatAnotherTrainingDoesIsWaitedFor(t *testing.T) {
	root := t.TempDir()
	var first, second fake
	begun, goOn := make(chan bool), make(chan bool)
	slow := Runner{Root: root}
	do := func(ctx context.Context, command, dir string) error {
		close(begun)
		<-goOn
		return first.do(ctx, command, dir)
	}
	ended := make(chan error)
	go func() {
		_, err := slow.Run(context.Background(), stages(do, list[:1]...))
		ended <- err
	}()
	<-begun
	var seen []State
	release := sync.OnceFunc(func() { close(goOn) })
	r := Runner{Root: root, Now: func(s Status) {
		if seen = append(seen, s.State); s.State == Waiting {
			if s.Owner != strconv.Itoa(os.Getpid()) {
				t.Errorf("it waits for process %q, want this one, %d", s.Owner, os.Getpid())
			}
			release()
		}
	}}
	all, err := r.Run(t.Context(), stages(second.do, list[:1]...))
	release() // also if it did not wait
	if err := errors.Join(err, <-ended); err != nil {
		t.Fatal(err)
	}
	if len(first.ran) != 1 || len(second.ran) > 0 || all[0].State != Reused || fmt.Sprint(seen) != fmt.Sprint([]State{Waiting, Reused}) {
		t.Errorf("the first ran %v, the second %v and saw %v; want one run, then waiting and reuse", first.ran, second.ran, seen)
	}
}

// To wait ends when it is stopped, and when the other process dies: then the stage is done by whoever waited.
func TestNobodyWaitsForTheDead(t *testing.T) {
	root := t.TempDir()
	c := other(t, root)
	var f fake
	ctx, stop := context.WithCancel(t.Context())
	r := Runner{Root: root, Now: func(s Status) {
		if s.State == Waiting {
			stop()
		}
	}}
	if _, err := r.Run(ctx, stages(f.do, list[:1]...)); !errors.Is(err, context.Canceled) || len(f.ran) > 0 {
		t.Fatalf("stopped while it waited: %v, ran %v; want the stop and no run", err, f.ran)
	}
	var owner string
	r.Now = func(s Status) {
		if s.State == Waiting {
			owner = s.Owner
			c.Process.Kill()
		}
	}
	all, err := r.Run(t.Context(), stages(f.do, list[:1]...))
	if err != nil || len(f.ran) != 1 || all[0].State != Done || owner != strconv.Itoa(c.Process.Pid) {
		t.Errorf("after process %q died (want %d): %v, ran %v", owner, c.Process.Pid, err, f.ran)
	}
}
