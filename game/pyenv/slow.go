package pyenv

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hop-marl/hop/game/bridge"
	"github.com/hop-marl/hop/num/cpu"
)

// Wait is something that Python has not answered yet.
type Wait struct {
	Worker  int           // its number, from 1
	Number  int           // of the question
	For     time.Duration // how long ago it was asked
	Opening bool          // it is to make the environment
	Text    string        // all of it, in words
}

// hired are the workers of all games that were opened.
var hired struct {
	sync.Mutex
	list []*worker
}

// ask remembers that a worker is asked something: to open an environment, or to play.
func (w *worker) ask(opening string) {
	hired.Lock()
	w.opening, w.since, w.waits = opening, cpu.Start(), true
	w.questions++
	hired.Unlock()
}

// answered forgets it.
func (w *worker) answered() {
	hired.Lock()
	w.waits = false
	hired.Unlock()
}

// Waiting returns what Python has not answered yet, for how long, and where it is.
func Waiting() (list []Wait) {
	hired.Lock()
	defer hired.Unlock()
	for _, w := range hired.list {
		if !w.waits {
			continue
		}
		_, wall := w.since.Spent()
		x := Wait{Worker: w.id, Number: w.questions, For: time.Duration(wall * float64(time.Second)), Opening: w.opening != ""}
		if s := x.For.Round(time.Second); x.Opening {
			x.Text = fmt.Sprintf("opening %s in Python takes %v so far", w.opening, s)
		} else {
			x.Text = fmt.Sprintf("%s has not answered for %v%s", w.name(), s, w.where())
		}
		list = append(list, x)
	}
	return list
}

// Lenient returns how much was put up with so far, of environments that are played leniently.
func Lenient() (many int64) {
	hired.Lock()
	defer hired.Unlock()
	for _, w := range hired.list {
		for _, b := range w.blocks {
			many += b.at[3]
		}
	}
	return many
}

// name says which worker it is.
func (w *worker) name() string {
	if w.peer == nil {
		return fmt.Sprintf("worker %d", w.id)
	}
	return fmt.Sprintf("worker %d (pid %d)", w.id, w.peer.Pid())
}

// where says which copy a worker plays just now, or played last; "": none yet.
func (w *worker) where() string {
	last := ""
	for _, b := range w.blocks {
		i, t, seed, how := b.at[0], b.at[1], b.at[2], "in"
		if i < 0 {
			i, how = -i, "after"
		}
		if i < 1 || int(i) > len(b.number) {
			continue
		}
		at := fmt.Sprintf(" %s step %d of env %d, whose episode has seed %d", how, t, b.number[i-1], seed)
		if t == 0 {
			at = fmt.Sprintf(" %s the reset of env %d with seed %d", how, b.number[i-1], seed)
		}
		if how == "in" {
			return at
		}
		last = at
	}
	return last
}

// lost says where a worker was that is gone.
func (w *worker) lost(err error) error {
	var said *bridge.Refusal
	if at := w.where(); err != nil && at != "" && !errors.As(err, &said) {
		return fmt.Errorf("%s was lost%s: %w", w.name(), at, err)
	}
	return bridge.Traced(err)
}
