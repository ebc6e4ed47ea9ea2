//go:build unix

package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hop-marl/hop/store/runlog"
)

// heard is what a process has said so far. The buffer is not embedded: its ReadFrom, which
// needs no lock, would be used in place of Write.
type heard struct {
	sync.Mutex
	text bytes.Buffer
}

func (h *heard) Write(b []byte) (int, error) {
	h.Lock()
	defer h.Unlock()
	return h.text.Write(b)
}

func (h *heard) String() string {
	h.Lock()
	defer h.Unlock()
	return h.text.String()
}

const nohup = "nohup"

// begun starts the program in the working folder, if its first word is nohup without an
// ear for hangups, and waits until ready is true.
func begun(t *testing.T, ready func(said string) bool, args ...string) (cmd *exec.Cmd, said *heard, ended chan error) {
	t.Helper()
	words := []string{os.Args[0], "-test.run=^TestHopProcess$"}
	if args[0] == nohup { // a process inherits what its parent ignores
		words, args = append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`}, words...), args[1:]
	}
	cmd = exec.Command(words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "HOP_ARGS="+strings.Join(args, "\n"), "GOMAXPROCS=1")
	said, ended = &heard{}, make(chan error, 1)
	cmd.Stderr, cmd.Stdout = said, io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended if all is well
	go func() { ended <- cmd.Wait() }()
	for late := time.After(20 * time.Second); !ready(said.String()); {
		select {
		case err := <-ended:
			t.Fatalf("hop %s ended by itself: %v\n%s", strings.Join(args, " "), err, said)
		case <-late:
			t.Fatalf("hop %s has not begun:\n%s", strings.Join(args, " "), said)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return cmd, said, ended
}

// within returns the exit code of a process that ends soon, and fails if it does not.
func within(t *testing.T, cmd *exec.Cmd, said *heard, ended chan error, d time.Duration) int {
	t.Helper()
	select {
	case <-ended:
		return cmd.ProcessState.ExitCode()
	case <-time.After(d):
		t.Fatalf("it runs on %v after the signal:\n%s", d, said)
	}
	return 0
}

// What takes minutes and knows of no context is stopped by the first signal all the
// same: making a network, and solving a start.
func TestTheFirstSignalIsHeardEverywhere(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	there := func(name string) func(string) bool {
		return func(string) bool { _, err := os.Stat(name); return err == nil }
	}
	for _, c := range []struct {
		name  string
		ready func(string) bool
		args  []string
	}{
		{"a large first layer", there(out + "/ppo-8x8-001/seed-1/spec.yaml"),
			[]string{"train", "ppo-8x8", "--set", "actor.hidden=[4096,4096]", "--out", out, "--workers", "1"}},
		{"a start that takes long", func(said string) bool { return true },
			[]string{"oracle", "--vs", "random,random,random", "--episodes", "1"}},
		{"a decision that takes long", func(said string) bool { return true },
			[]string{"eval", "--team", "br,random,random,random", "--episodes", "1", "--workers", "1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for wait := 300 * time.Millisecond; ; wait *= 4 { // until it is at its work
				cmd, said, ended := begun(t, c.ready, c.args...)
				time.Sleep(wait)
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				code := within(t, cmd, said, ended, 5*time.Second)
				if code == -1 && wait < 4*time.Second { // a slow machine had not begun to listen
					continue
				}
				if code != 1 || !strings.Contains(said.String(), "hop: stopped") {
					t.Errorf("exit %d, want 1 and that it stopped:\n%s", code, said)
				}
				return
			}
		})
	}
}

// A second signal ends the program, whatever it is doing: here, a window of searches
// that would take an hour to its end.
func TestTheSecondSignalEndsTheProgram(t *testing.T) {
	t.Parallel()
	begin := func(said string) bool { return strings.Contains(said, "seed 1") || strings.Contains(said, "training") }
	for wait := 200 * time.Millisecond; ; wait *= 4 { // a slow machine may not have come to its first window yet
		cmd, said, ended := begun(t, begin, "train", "hop-4x4", "--out", t.TempDir(), "--workers", "1", "--set", "train.warm.windows=0",
			"--set", "search.trees=1", "--set", "search.sims=100000", "--set", "train.envs=1", "--set", "train.window=4096",
			"--set", "eval.episodes=1")
		time.Sleep(wait)
		for range 2 {
			_ = cmd.Process.Signal(syscall.SIGINT) // the first may have ended it
			for range 300 {                        // until it says what a second one does
				if strings.Contains(said.String(), "a second signal ends it at once") {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			time.Sleep(50 * time.Millisecond)
		}
		code := within(t, cmd, said, ended, 5*time.Second)
		if code == 1 && wait < 4*time.Second {
			continue
		}
		if code != killed || !strings.Contains(said.String(), "hop: ended at once") {
			t.Errorf("exit %d, want %d and a sentence:\n%s", code, killed, said)
		}
		return
	}
}

// A terminal that is closed loses nothing: the hangup saves as a polite kill does, and
// the run goes on. Whoever starts hop with nohup wants it to run on, and it does.
func TestAHangupSavesUnlessItIsIgnored(t *testing.T) {
	t.Parallel()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // else what is begun under nohup ignores it too
	for _, ignored := range []bool{false, true} {
		out := t.TempDir()
		begin := func(said string) bool { return strings.Contains(said, "seed 1") || strings.Contains(said, "training") }
		args := []string{"train", "ppo-4x4", "--out", out, "--workers", "1", "--set", "train.steps=100000000"}
		if ignored {
			args = append([]string{nohup}, args...)
		}
		cmd, said, ended := begun(t, begin, args...)
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if ignored {
			select {
			case err := <-ended:
				t.Fatalf("under nohup it ended: %v\n%s", err, said)
			case <-time.After(500 * time.Millisecond):
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
		code := within(t, cmd, said, ended, 10*time.Second)
		if code != 1 || !strings.Contains(said.String(), "everything is saved") {
			t.Errorf("ignored %v: exit %d, want 1 and that it saved:\n%s", ignored, code, said)
		}
		env, err := runlog.ReadEnv(filepath.Join(out, "ppo-4x4-001", "seed-1"))
		if err != nil || env.Status != "stopped" {
			t.Errorf("ignored %v: the run is %q, want stopped: %v", ignored, env.Status, err)
		}
	}
}
