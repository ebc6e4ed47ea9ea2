package cli

import (
	"bytes"
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hop-marl/hop/game/pyenv"
	"github.com/hop-marl/hop/train/registry"
)

// Whatever is stopped says so once, with one way to go on where there is one, and
// exits with 1.
func TestAStopIsSaidOnce(t *testing.T) {
	stagesHere(t, stagedSpec)
	for _, c := range []struct{ command, next string }{
		{"train ppo-4x4 --seeds 1-2", "hop train --resume "},
		{"train s.yaml", "hop train --resume "},
		{"train --resume runs/s-001", "hop train --resume "},
		{"compare ppo-4x4 ppo-shared-4x4 --seeds 1-2", "the same command again"},
		{"zoo train --who selfish", "same command"},
		{"ladder hop-4x4", "hop train --resume "},
		{"adapt ns --vs ns,nh,nh", ""},
		{"crossplay ns nh", ""},
		{"eval --team ns", ""},
		{"oracle --vs ns,nh,nh", ""},
		{"audit ppo-4x4", ""},
		{"audit s.yaml", ""},
		{"collect --mix ns,nh --out data", "same command"},
		{"pretrain response --out response", "same command"},
	} {
		ctx, stop := context.WithCancel(context.Background())
		stop()
		var out, errs bytes.Buffer
		code := run(&app{ctx, registry.New(), strings.NewReader(""), &out, &errs, &ending{}}, strings.Fields(c.command))
		said := errs.String()
		once := strings.Count(said, "stopped") == 1 && strings.Contains(said, "hop: stopped") && !strings.Contains(said, "canceled")
		if code != 1 || !once || !strings.Contains(said, c.next) || c.next == "" && !strings.HasSuffix(said, "hop: stopped\n") {
			t.Errorf("hop %s: exit %d, want 1, and said once that it stopped, %q:\n%s", c.command, code, c.next, said)
		}
	}
}

// A signal that comes twice within a moment, as timeout(1) sends it, counts once; a second Ctrl-C ends the program.
func TestASignalSentTwiceCountsOnce(t *testing.T) {
	for _, c := range []struct {
		s     os.Signal
		after time.Duration
		want  bool
	}{
		{syscall.SIGTERM, time.Millisecond, true},
		{syscall.SIGTERM, 900 * time.Millisecond, true},
		{syscall.SIGTERM, 2 * time.Second, false},
		{os.Interrupt, 10 * time.Millisecond, true},
		{os.Interrupt, 300 * time.Millisecond, false},
	} {
		if got := echo(c.s, c.after); got != c.want {
			t.Errorf("%v after %v is an echo: %v, want %v", c.s, c.after, got, c.want)
		}
	}
}

// What Python is waited for is said when it takes long, and again at every doubling.
func TestSlowPythonIsSaid(t *testing.T) {
	said, number := map[int]pyenv.Wait{}, 1
	wait := func(s int, opening bool) []string {
		w := pyenv.Wait{Worker: 2, Number: number, For: time.Duration(s) * time.Second, Opening: opening, Text: "it"}
		return slow([]pyenv.Wait{w}, said)
	}
	for _, c := range []struct {
		after   int
		opening bool
		want    int
	}{{59, false, 0}, {60, false, 1}, {61, false, 0}, {119, false, 0}, {120, false, 1}, {240, false, 1}} {
		if got := wait(c.after, c.opening); len(got) != c.want {
			t.Errorf("after %d s %d lines are said, want %d", c.after, len(got), c.want)
		}
	}
	number++ // another question
	for after, want := range []int{0, 0, 0, 1, 0, 0, 1} {
		if got := wait(after, true); len(got) != want {
			t.Errorf("opening, after %d s %d lines are said, want %d", after, len(got), want)
		}
	}
}
