package lab

import (
	"context"
	"fmt"

	"github.com/hop-marl/hop/train"
)

// News is what a lab says while it works.
type News struct {
	Kind     Kind
	Text     string
	Stage    string             // within which it happens; "": none
	Name     string             // of a stage
	At, Of   int                // of a stage: its number, and how many there are; of a count: how far, of how many
	Training *Training          // that has begun
	Stop     context.CancelFunc // of it
	Seed     uint64
	Progress *train.Progress // of the seed; its memory is the loop's
	Mean     float64         // what the seed's final agents get
}

// Kind is a kind of news.
type Kind int

const (
	Said    Kind = iota // Text, by the way
	Noted               // Text, which should not be missed
	Staged              // Text about stage Name, At and Of
	Begun               // Training has begun, Stop stops it
	Learnt              // Seed has learnt from a window: Progress
	Scoring             // Seed's final agents are being scored: At of Of episodes
	Scored              // Seed's final agents were scored: Mean
	Ended               // the training has ended
	Counted             // At of Of, in units of Text; Of is 0 when the loop has ended
)

func (l *Lab) news(n News) {
	if l.Watch != nil {
		l.Watch(n)
	}
}

// Say says something by the way.
func (l *Lab) Say(format string, args ...any) {
	l.news(News{Kind: Said, Text: fmt.Sprintf(format, args...)})
}

// Note says what should not be missed.
func (l *Lab) Note(format string, args ...any) {
	l.news(News{Kind: Noted, Text: fmt.Sprintf(format, args...)})
}

// Counting returns what says how far a loop is, in some unit such as rows, and what
// says that it has ended.
func (l *Lab) Counting(unit string) (update func(done, total int), end func()) {
	update = func(done, total int) { l.news(News{Kind: Counted, Text: unit, At: done, Of: total}) }
	return update, func() { update(0, 0) }
}
