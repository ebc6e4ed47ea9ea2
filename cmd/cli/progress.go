package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hop-marl/hop/cmd/cli/board"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/num/plot"
)

// progress shows how far a loop is, how fast it goes and the time left: a live line
// on a terminal, a plain line every ten seconds elsewhere. It keeps time itself, so
// that work whose parts take long is seen to go on.
type progress struct {
	w     io.Writer
	all   *lines // what is shown beside it
	stage string // whose work it is, "" for none
	what  string
	tty   bool
	start time.Time
	quit  chan struct{}
	gone  sync.WaitGroup

	mu          sync.Mutex
	done, total int
	last        time.Time // when done grew
}

// lines are what is counted at the same time: stages run side by side.
type lines struct {
	mu    sync.Mutex
	list  []*progress
	board bool // a training is shown, with all else that a terminal has room for
}

type shown struct{} // where in a context they are

// linesOf returns what is counted by the work of a context, and that context.
func linesOf(ctx context.Context) (context.Context, *lines) {
	if l, ok := ctx.Value(shown{}).(*lines); ok {
		return ctx, l
	}
	l := &lines{}
	return context.WithValue(ctx, shown{}, l), l
}

// set adds or removes one, and clears a terminal's live line.
func (l *lines) set(p *progress, there bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if there {
		l.list = append(l.list, p)
		return
	}
	l.list = slices.DeleteFunc(l.list, func(q *progress) bool { return q == p })
}

// clear clears a terminal's live line, if there is one, for others to write there.
func (l *lines) clear(a *app) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) > 0 && !l.board && a.terminal() {
		fmt.Fprint(a.err, "\r\x1b[K")
	}
}

// show takes the terminal for the view of a training, and reports whether it was free.
func (l *lines) show(board bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.board
	l.board = board
	return !was
}

// text is the live line, if p is who writes it: the first of all.
func (l *lines) text(p *progress, now time.Time, wide int) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.board || len(l.list) == 0 || l.list[0] != p {
		return "", false
	}
	var parts []string
	for _, q := range l.list {
		parts = append(parts, q.text(now, wide/len(l.list)-3))
	}
	return strings.Join(parts, " | "), true
}

// progress begins to show work; end must be called.
func (a *app) progress(what string) *progress { return a.count(&lines{}, "", what) }

// count is progress beside other work, for a stage.
func (a *app) count(all *lines, stage, what string) *progress {
	p := &progress{w: a.err, all: all, stage: stage, what: what, tty: a.terminal(), start: time.Now(), quit: make(chan struct{})}
	all.set(p, true)
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
	if !p.tty {
		fmt.Fprintln(p.w, p.text(now, math.MaxInt))
		return
	}
	if text, mine := p.all.text(p, now, board.Width(p.w)-1); mine { // a longer one would not be cleared
		fmt.Fprintf(p.w, "\r\x1b[K%s", text)
	}
}

// text is its line, and whose it is.
func (p *progress) text(now time.Time, wide int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stage == "" {
		return p.line(now, wide)
	}
	return p.stage + ": " + p.line(now, wide-len(p.stage)-2)
}

// line says how far it is, more briefly if that has more than wide letters. The time
// left is counted from when the latest part was done.
func (p *progress) line(now time.Time, wide int) string {
	so := now.Sub(p.start).Round(time.Second)
	switch {
	case p.total == 0:
		return fmt.Sprintf("%s: %s so far", p.what, so)
	case p.done == 0:
		return fmt.Sprintf("0 of %s %s, %s so far", plot.Thousands(p.total), p.what, so)
	}
	each := p.last.Sub(p.start) / time.Duration(p.done)
	left := time.Duration(p.total-p.done)*each - min(now.Sub(p.last), each) // the part under way may take longer than others
	speed := plot.Short(float64(time.Second)/float64(max(each, 1))) + " a second"
	if each > time.Second {
		speed = each.Round(time.Second).String() + " each"
	}
	far := fmt.Sprintf("%s of %s", plot.Thousands(p.done), plot.Thousands(p.total))
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
	p.all.set(p, false)
	if p.tty {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// view returns what shows how a lab's work goes, beside what is shown of other stages.
func (a *app) view(all *lines, stage string) func(lab.News) {
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
					count = a.count(all, stage, n.Text)
				}
				count.update(n.At, n.Of)
			}
		case lab.Said:
			all.clear(a)
			fmt.Fprintln(a.err, n.Text)
		case lab.Staged:
			all.clear(a)
			fmt.Fprintf(a.err, "[%d/%d] %-8s %s\n", n.At, n.Of, n.Name, n.Text)
		case lab.Begun:
			t := n.Training
			if all.clear(a); all.show(true) { // of trainings side by side, which are stages, the first is shown
				b = board.New(board.Setup{Name: t.Spec.Name, Folder: t.Folder, Seeds: t.Seeds(), Cores: t.Cores(), Abort: endNow}, a.in, a.err,
					n.Stop)
			}
		case lab.Noted:
			if b == nil {
				all.clear(a)
				fmt.Fprintln(a.err, "note:", n.Text)
				return
			}
			b.Note(n.Text)
		}
		if b == nil {
			return
		}
		switch n.Kind {
		case lab.Learnt:
			b.Update(n.Seed, n.Progress)
		case lab.Scoring:
			b.Scoring(n.Seed, n.At, n.Of)
		case lab.Scored:
			b.Done(n.Seed, n.Mean)
		case lab.Ended:
			b.End()
			all.show(false)
			b = nil
		}
	}
}
