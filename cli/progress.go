package cli

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"hop/cli/board"
	"hop/lab"
	"hop/page"
)

// progress shows how far a loop is, how fast it goes and the time left: a live line
// on a terminal, a plain line every ten seconds elsewhere. It keeps time itself, so
// that work whose parts take long is seen to go on.
type progress struct {
	w     io.Writer
	what  string
	tty   bool
	start time.Time
	quit  chan struct{}
	gone  sync.WaitGroup

	mu          sync.Mutex
	done, total int
	last        time.Time // when done grew
}

// progress begins to show work; end must be called.
func (a *app) progress(what string) *progress {
	p := &progress{w: a.err, what: what, tty: a.terminal(), start: time.Now(), quit: make(chan struct{})}
	every := 10 * time.Second
	if p.tty {
		every = 200 * time.Millisecond
	}
	p.gone.Go(func() {
		clock := time.NewTicker(every)
		defer clock.Stop()
		for {
			select {
			case <-p.quit:
				return
			case now := <-clock.C:
				p.show(now)
			}
		}
	})
	return p
}

// shared is a writer that goroutines may share, as a file is.
type shared struct {
	mu sync.Mutex
	io.Writer
}

// Write writes all of b before anybody else writes.
func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Writer.Write(b)
}

// terminal says whether progress goes to a terminal.
func (a *app) terminal() bool { return board.Terminal(a.err) }

// update takes in how much is done.
func (p *progress) update(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if done != p.done {
		p.last = time.Now()
	}
	p.done, p.total = done, total
}

func (p *progress) show(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tty {
		fmt.Fprintf(p.w, "\r\x1b[K%s", p.line(now, board.Width(p.w)-1)) // a longer one would not be cleared
		return
	}
	fmt.Fprintln(p.w, p.line(now, math.MaxInt))
}

// line says how far it is, more briefly if that has more than wide letters. The time
// left is counted from when the latest part was done.
func (p *progress) line(now time.Time, wide int) string {
	so := now.Sub(p.start).Round(time.Second)
	switch {
	case p.total == 0:
		return fmt.Sprintf("%s: %s so far", p.what, so)
	case p.done == 0:
		return fmt.Sprintf("0 of %s %s, %s so far", page.Thousands(p.total), p.what, so)
	}
	each := p.last.Sub(p.start) / time.Duration(p.done)
	left := time.Duration(p.total-p.done)*each - min(now.Sub(p.last), each) // the part under way may take longer than others
	speed := page.Short(float64(time.Second)/float64(max(each, 1))) + " a second"
	if each > time.Second {
		speed = each.Round(time.Second).String() + " each"
	}
	far := fmt.Sprintf("%s of %s", page.Thousands(p.done), page.Thousands(p.total))
	until := max(left, 0).Round(time.Second).String() + " left"
	for _, words := range [][]string{{far + " " + p.what, speed, until}, {far + " " + p.what, until}, {far, until}} {
		if line := strings.Join(words, ", "); len(line) <= wide {
			return line
		}
	}
	return until
}

// end stops showing and clears the live line.
func (p *progress) end() {
	close(p.quit)
	p.gone.Wait()
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
			b = board.New(board.Setup{Name: t.Spec.Name, Folder: t.Folder, Seeds: t.Seeds(), Cores: t.Cores(), Abort: abort}, a.in, a.err, n.Stop)
		case lab.Learnt:
			b.Update(n.Seed, n.Progress)
		case lab.Scoring:
			b.Scoring(n.Seed, n.At, n.Of)
		case lab.Scored:
			b.Done(n.Seed, n.Mean)
		case lab.Ended:
			b.End()
			b = nil
		case lab.Noted:
			if b == nil && count != nil && a.terminal() {
				fmt.Fprint(a.err, "\r\x1b[K")
			}
			if b == nil {
				fmt.Fprintln(a.err, "note:", n.Text)
				return
			}
			b.Note(n.Text)
		}
	}
}
