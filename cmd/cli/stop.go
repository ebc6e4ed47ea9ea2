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
	go func() {
		select {
		case s := <-signals:
			cancel(fmt.Errorf("%v signal received", s))
		case <-done:
			return
		}
		select {
		case <-signals:
			endNow()
		case <-done:
			return
		case <-time.After(patience):
			fmt.Fprintln(out, "hop: stopping; a second signal ends it at once, and what is not saved is then lost")
		}
		select {
		case <-signals:
			endNow()
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
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
