package board

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/num/plot"
)

// Progress shows how far a loop is, how fast it goes and the time left: a live line
// on a terminal, a plain line every ten seconds elsewhere. It keeps time itself, so
// that work whose parts take long is seen to go on.
type Progress struct {
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
	list  []*Progress
	board bool // a training is shown, with all else that a terminal has room for
}

// set adds or removes one, and clears a terminal's live line.
func (l *lines) set(p *Progress, there bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if there {
		l.list = append(l.list, p)
		return
	}
	l.list = slices.DeleteFunc(l.list, func(q *Progress) bool { return q == p })
}

// clear clears a terminal's live line, if there is one, for others to write there.
func (l *lines) clear(w io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) > 0 && !l.board && Terminal(w) {
		fmt.Fprint(w, "\r\x1b[K")
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
func (l *lines) text(p *Progress, now time.Time, wide int) (string, bool) {
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

// Begin begins to show work; End must be called.
func Begin(w io.Writer, what string) *Progress { return begin(w, &lines{}, "", what) }

// begin is Begin beside other work, for a stage.
func begin(w io.Writer, all *lines, stage, what string) *Progress {
	p := &Progress{w: w, all: all, stage: stage, what: what, tty: Terminal(w), start: time.Now(), quit: make(chan struct{})}
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

// Shared is a writer that goroutines may share, as a file is.
type Shared struct {
	mu sync.Mutex
	io.Writer
}

// Write writes all of b before anybody else writes.
func (s *Shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Writer.Write(b)
}

// Update takes in how much is done.
func (p *Progress) Update(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if done != p.done {
		p.last = time.Now()
	}
	p.done, p.total = done, total
}

func (p *Progress) show(now time.Time) {
	if !p.tty {
		fmt.Fprintln(p.w, p.text(now, math.MaxInt))
		return
	}
	if text, mine := p.all.text(p, now, Width(p.w)-1); mine { // a longer one would not be cleared
		fmt.Fprintf(p.w, "\r\x1b[K%s", text)
	}
}

// text is its line, and whose it is.
func (p *Progress) text(now time.Time, wide int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stage == "" {
		return p.line(now, wide)
	}
	return p.stage + ": " + p.line(now, wide-len(p.stage)-2)
}

// line says how far it is, more briefly if that has more than wide letters. The time
// left is counted from when the latest part was done.
func (p *Progress) line(now time.Time, wide int) string {
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

// End stops showing and clears the live line.
func (p *Progress) End() {
	close(p.quit)
	p.gone.Wait()
	p.all.set(p, false)
	if p.tty {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// Watch returns what shows how a lab's work goes on w, stages beside each other. The live view
// of a training reads keys from in, and calls abort at the second wish to stop.
func Watch(in io.Reader, w io.Writer, abort func()) func(lab.News) {
	all, stages := &lines{}, map[string]*view{}
	var mu sync.Mutex
	return func(n lab.News) {
		mu.Lock()
		v := stages[n.Stage]
		if v == nil {
			v = &view{in: in, w: w, abort: abort, all: all, stage: n.Stage}
			stages[n.Stage] = v
		}
		mu.Unlock()
		v.news(n)
	}
}

// view is what is shown of a stage's work, or of work that is of none.
type view struct {
	in    io.Reader
	w     io.Writer
	abort func()
	all   *lines
	stage string
	board *Board
	count *Progress
}

func (v *view) news(n lab.News) {
	switch n.Kind {
	case lab.Counted:
		switch {
		case n.Of == 0 && v.count != nil:
			v.count.End()
			v.count = nil
		case n.Of > 0:
			if v.count == nil {
				v.count = begin(v.w, v.all, v.stage, n.Text)
			}
			v.count.Update(n.At, n.Of)
		}
	case lab.Said:
		v.all.clear(v.w)
		fmt.Fprintln(v.w, n.Text)
	case lab.Staged:
		v.all.clear(v.w)
		fmt.Fprintf(v.w, "[%d/%d] %-8s %s\n", n.At, n.Of, n.Name, n.Text)
	case lab.Begun:
		t := n.Training
		if v.all.clear(v.w); v.all.show(true) { // of trainings side by side, which are stages, the first is shown
			setup := Setup{Name: t.Spec.Name, Folder: t.Folder, Seeds: t.Seeds(), Cores: t.Cores(), Abort: v.abort}
			v.board = New(setup, v.in, v.w, n.Stop)
		}
	case lab.Noted:
		if v.board == nil {
			v.all.clear(v.w)
			fmt.Fprintln(v.w, "note:", n.Text)
			return
		}
		v.board.Note(n.Text)
	}
	if v.board == nil {
		return
	}
	switch n.Kind {
	case lab.Learnt:
		v.board.Update(n.Seed, n.Progress)
	case lab.Scoring:
		v.board.Scoring(n.Seed, n.At, n.Of)
	case lab.Scored:
		v.board.Done(n.Seed, n.Mean)
	case lab.Ended:
		v.board.End()
		v.all.show(false)
		v.board = nil
	}
}
