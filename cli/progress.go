package cli

import (
	"fmt"
	"io"
	"time"

	"hop/cli/board"
	"hop/lab"
	"hop/page"
)

// progress shows how far a loop is: a live line on a terminal, a plain line
// every ten seconds elsewhere.
type progress struct {
	w     io.Writer
	what  string
	tty   bool
	start time.Time
	shown time.Time
}

func (a *app) progress(what string) *progress {
	now := time.Now()
	return &progress{w: a.err, what: what, tty: a.terminal(), start: now, shown: now}
}

// terminal says whether progress goes to a terminal.
func (a *app) terminal() bool { return board.Terminal(a.err) }

func (p *progress) update(done, total int) {
	every := 10 * time.Second
	if p.tty {
		every = 100 * time.Millisecond
	}
	now := time.Now()
	if done == 0 || now.Sub(p.shown) < every {
		return
	}
	p.shown = now
	spent := now.Sub(p.start)
	rate := float64(done) / spent.Seconds()
	left := time.Duration(float64(total-done) / rate * float64(time.Second)).Round(time.Second)
	line := fmt.Sprintf("%d of %d %s, %s a second, %s left", done, total, p.what, page.Short(rate), left)
	if p.tty {
		fmt.Fprintf(p.w, "\r\x1b[K%s", line)
		return
	}
	fmt.Fprintln(p.w, line)
}

// end clears the live line.
func (p *progress) end() {
	if p.tty {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// view returns what shows how a lab's work goes.
func (a *app) view() func(lab.News) {
	var b *board.Board
	var count *progress
	return func(n lab.News) {
		switch n.Kind {
		case lab.Counted:
			switch {
			case n.Of == 0 && count != nil:
				count.end()
				count = nil
			case n.Of > 0:
				if count == nil {
					count = a.progress(n.Text)
				}
				count.update(n.At, n.Of)
			}
		case lab.Said:
			fmt.Fprintln(a.err, n.Text)
		case lab.Staged:
			fmt.Fprintf(a.err, "[%d/%d] %-8s %s\n", n.At, n.Of, n.Name, n.Text)
		case lab.Begun:
			t := n.Training
			b = board.New(board.Setup{Name: t.Spec.Name, Folder: t.Folder, Seeds: t.Seeds(), Cores: t.Cores()}, a.in, a.err, n.Stop)
		case lab.Learnt:
			b.Update(n.Seed, n.Progress)
		case lab.Scored:
			b.Done(n.Seed, n.Mean)
		case lab.Ended:
			b.End()
			b = nil
		case lab.Noted:
			if b == nil {
				fmt.Fprintln(a.err, "note:", n.Text)
				return
			}
			b.Note(n.Text)
		}
	}
}
