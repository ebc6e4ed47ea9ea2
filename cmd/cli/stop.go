package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/hop-marl/hop/cmd/cli/board"
	"github.com/hop-marl/hop/game/pyenv"
)

// patience is how long the first signal may take before it is said what a second one does.
const patience = time.Second

// killed is the exit code of a program that a signal has ended, as shells have it.
const killed = 130

// stops are the signals that ask for an end: Ctrl-C, a polite kill, and a terminal that
// is gone. Under nohup the last is ignored, as whoever wrote nohup wants it.
func stops() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// listen returns a context that the first signal ends: what is running saves and stops.
// A second signal ends the program at once.
func listen(out io.Writer) (ctx context.Context, stop func()) {
	screen, _ = term.GetState(int(os.Stdin.Fd()))
	ctx, cancel := context.WithCancelCause(context.Background())
	signals, done := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, stops()...)
	go watchPython(out, done)
	go func() {
		var first time.Time
		select {
		case s := <-signals:
			first = time.Now()
			cancel(fmt.Errorf("%v signal received", s))
		case <-done:
			return
		}
		late := time.After(patience)
		for {
			select {
			case s := <-signals:
				if !echo(s, time.Since(first)) {
					endNow()
				}
			case <-done:
				return
			case <-late:
				fmt.Fprintln(out, "hop: stopping; a second signal ends it at once, and what is not saved is then lost")
				for _, w := range pyenv.Waiting() {
					if w.For > patience/2 {
						fmt.Fprintf(out, "hop: %s; a second signal ends it\n", w.Text)
					}
				}
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

// echo reports whether a second signal is the first one once more: timeout(1) sends its signal to the
// program and then to its group, within a moment. Nobody presses Ctrl-C twice as fast.
func echo(s os.Signal, after time.Duration) bool {
	return after < 100*time.Millisecond || s != os.Interrupt && after < time.Second
}

// How long Python may take before it is said, once and at every doubling: to make an environment, and to answer.
const (
	slowOpening = 3 * time.Second
	slowAnswer  = 60 * time.Second
)

// watchPython says what Python is waited for.
func watchPython(out io.Writer, done <-chan struct{}) {
	said := map[int]pyenv.Wait{}
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Second / 2):
		}
		for _, w := range slow(pyenv.Waiting(), said) {
			fmt.Fprintf(out, "note: %s\n", w)
		}
	}
}

// slow returns what is to be said of what is waited for; said is what was, by worker.
func slow(list []pyenv.Wait, said map[int]pyenv.Wait) (lines []string) {
	for _, w := range list {
		least := slowAnswer
		if w.Opening {
			least = slowOpening
		}
		if was := said[w.Worker]; was.Number == w.Number && was.Worker != 0 {
			least = 2 * was.For
		}
		if w.For >= least {
			said[w.Worker] = w
			lines = append(lines, w.Text)
		}
	}
	return lines
}

// orphaned ends a program whose starter has died: nobody waits for what it would save.
func orphaned() { os.Exit(killed) }

// screen is how the terminal was when the program began; nil: there is none.
var screen *term.State

// endNow ends the program, which somebody has asked for a second time.
func endNow() {
	if screen != nil { // the live view reads single keys and hides the cursor
		_ = term.Restore(int(os.Stdin.Fd()), screen)
	}
	if board.Terminal(os.Stderr) {
		fmt.Fprint(os.Stderr, "\x1b[?25h")
	}
	fmt.Fprintln(os.Stderr, "\nhop: ended at once, as asked a second time; what was not saved is lost, and what was saved is whole")
	os.Exit(killed)
}
