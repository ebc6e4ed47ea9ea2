// Package replay plays episodes for people to look at step by step, with what everybody has
// in mind, and keeps seats for people to play.
//
// An episode is a function of what was asked for: a checkpoint, who sits where, a seed, and what
// a person played. It is played by the code of hop play (package play), once, when it is asked
// for, and read by any number of viewers from its first event on while it is still being
// played. When the last viewer of an episode that is not over goes away, the work ends.
//
// Work is bounded: so many episodes at a time, each with a limit of time, of memory for its
// agents and of what is kept of it. Everything ends with Close.
package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/serve/cache"
)

// Config says how much may be done at once. Zeros stand for what is written at each field.
type Config struct {
	Lab      *lab.Lab
	Workers  int           // episodes that are played at once; 0: 2
	Queue    int           // episodes that are played or wait for it; 0: 32
	Time     time.Duration // for an episode; 0: 3 minutes
	Memory   uint64        // bytes that the agents of a run may take; 0: 2 GiB
	Length   int           // bytes of an episode's events; 0: 64 MiB
	Cache    *cache.Cache  // in which episodes that are over are kept; nil: one of 64 MiB
	States   int           // that the oracle may meet before it gives up; 0: 200,000
	Sessions int           // people at seats; 0: 8
	Idle     time.Duration // after which a seat is given up; 0: 10 minutes
	Record   string        // the folder that episodes of people are written into; "": they are not
}

func (c Config) withDefaults() Config {
	or := func(v *int, x int) {
		if *v == 0 {
			*v = x
		}
	}
	or(&c.Workers, 2)
	or(&c.Queue, 32)
	or(&c.Length, 64<<20)
	or(&c.States, 200_000)
	or(&c.Sessions, 8)
	if c.Cache == nil {
		c.Cache = cache.New(64 << 20)
	}
	if c.Time == 0 {
		c.Time = 3 * time.Minute
	}
	if c.Memory == 0 {
		c.Memory = 2 << 30
	}
	if c.Idle == 0 {
		c.Idle = 10 * time.Minute
	}
	return c
}

// Theatre plays episodes and keeps seats. It is for any number of goroutines.
type Theatre struct {
	c      Config
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	places chan struct{} // one a worker

	mu       sync.Mutex
	episodes map[string]*Showing // that are being played or wait for it
	sessions map[string]*Session
	past     []*Session // the last that are over
}

// New returns an empty theatre. It must be closed.
func New(c Config) *Theatre {
	c = c.withDefaults()
	t := &Theatre{c: c, places: make(chan struct{}, c.Workers), episodes: map[string]*Showing{}, sessions: map[string]*Session{}}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// Close ends all work and gives up all seats, and waits for that.
func (t *Theatre) Close() {
	t.cancel()
	t.mu.Lock()
	var sessions []*Session
	for _, s := range t.sessions {
		sessions = append(sessions, s)
	}
	t.mu.Unlock()
	for _, s := range sessions {
		s.end("the server is closing")
	}
	t.work.Wait()
}

// Busy is the error of a theatre that has no room for more work now.
type Busy struct{ error }

// Event is something that a viewer is shown: a name and a JSON value.
type Event struct {
	Name string
	Data []byte
}

// Showing is an episode that is being played, or was.
type Showing struct {
	t      *Theatre
	key    string
	cancel context.CancelFunc

	mu      sync.Mutex
	events  []Event
	bytes   int
	over    bool
	err     error
	more    chan struct{} // closed when there is more
	viewers int
}

// Viewer reads an episode from its first event on. It is for one goroutine, and must be closed.
type Viewer struct {
	s      *Showing
	at     int
	closed bool
}

// Open returns a viewer of the episode that was asked for, which begins to be played if it is
// not known. What is wrong with what was asked for is found out then, and told by the viewer.
func (t *Theatre) Open(a Ask) (*Viewer, error) {
	if err := a.settle(); err != nil {
		return nil, err
	}
	key := a.key()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.ctx.Err(); err != nil {
		return nil, errors.New("the server is closing")
	}
	s := t.episodes[key]
	if known, ok := t.c.Cache.Get(cached(key)); s == nil && ok {
		s = known.(*Showing)
	}
	if s == nil {
		if running := len(t.episodes); running >= t.c.Queue {
			return nil, Busy{fmt.Errorf("%d episodes are being played or wait for it; try again when some are over", running)}
		}
		s = &Showing{t: t, key: key, more: make(chan struct{})}
		var ctx context.Context
		ctx, s.cancel = context.WithCancel(t.ctx)
		t.episodes[key] = s
		t.work.Go(func() {
			defer s.cancel()
			s.finish(t.perform(ctx, a, s))
		})
	}
	s.mu.Lock()
	s.viewers++
	s.mu.Unlock()
	return &Viewer{s: s}, nil
}

// perform waits for a place and plays.
func (t *Theatre) perform(ctx context.Context, a Ask, s *Showing) (err error) {
	select {
	case t.places <- struct{}{}:
		defer func() { <-t.places }()
	case <-ctx.Done():
		return ctx.Err()
	}
	timed, cancel := context.WithTimeout(ctx, t.c.Time)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the episode could not be played any further: %v", p)
		}
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = fmt.Errorf("the episode took longer than %v, and was ended there; what was played is shown. Planners are faster with "+
				"fewer simulations, and boards with fewer seats", t.c.Time)
		}
	}()
	return t.play(timed, a, s.add)
}

// add keeps an event and wakes whoever waits for one.
func (s *Showing) add(name string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes += len(data); s.bytes > s.t.c.Length {
		return fmt.Errorf("the episode was ended here: its steps take more than %d MiB to show", s.t.c.Length>>20)
	}
	s.events = append(s.events, Event{name, data})
	s.wake()
	return nil
}

// wake is called with the lock held.
func (s *Showing) wake() {
	close(s.more)
	s.more = make(chan struct{})
}

// finish says that there will be no more. An episode that ended well is kept; of what failed
// nothing is.
func (s *Showing) finish(err error) {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over, s.err = true, err
	s.wake()
	if s.t.episodes[s.key] != s {
		return // all viewers had left
	}
	delete(s.t.episodes, s.key)
	if err == nil {
		s.t.c.Cache.Put(cached(s.key), s, s.bytes)
	}
}

// cached is what an episode is called in the cache.
func cached(key string) string { return "episode " + key }

// Next returns events that the viewer has not seen, and waits for some. Without any, the
// episode is over: with nil it was played to its end, and with an error it was not.
func (v *Viewer) Next(ctx context.Context) ([]Event, error) {
	for {
		v.s.mu.Lock()
		events, over, err, more := v.s.events[v.at:], v.s.over, v.s.err, v.s.more
		v.s.mu.Unlock()
		if len(events) > 0 {
			v.at += len(events)
			return events, nil
		}
		if over {
			return nil, err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close says that the viewer is gone.
func (v *Viewer) Close() {
	if v.closed {
		return
	}
	v.closed = true
	s := v.s
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.viewers--; s.viewers > 0 || s.over {
		return
	}
	s.cancel()
	if s.t.episodes[s.key] == s {
		delete(s.t.episodes, s.key)
	}
}

// Texts plays an episode, or reads one that was, and returns its steps as text: as many as there
// are, also with an error.
func (t *Theatre) Texts(ctx context.Context, a Ask) (list []string, err error) {
	v, err := t.Open(a)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	for {
		events, err := v.Next(ctx)
		if err != nil || len(events) == 0 {
			return list, err
		}
		for _, e := range events {
			var x struct{ Text string }
			if e.Name != "step" {
				continue
			}
			if err := json.Unmarshal(e.Data, &x); err != nil {
				return list, err
			}
			list = append(list, x.Text)
		}
	}
}
