package replay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/lab/play"
	"github.com/hop-marl/hop/store/played"
)

// Session is a person at a seat. The others choose each step before they know what the person
// does, and the person sees what they did and not what they had in mind: that is shown when the
// episode is over, by an Ask with the person's moves.
type Session struct {
	ID  string
	t   *Theatre
	ask Ask

	mu    sync.Mutex // held while a step is played
	ep    *play.Episode
	scene *scene
	head  head
	seen  map[string]bool
	moves []int32
	kept  *played.Episode // what is recorded; nil: nothing
	timer *time.Timer

	log    sync.Mutex // of what viewers read; never held while a step is played
	events []Event
	ended  string // why the session is over before the episode; "": it is not
	over   bool   // the episode is
	more   chan struct{}
}

// Gone is the error of a session that there is not any more.
type Gone struct{ error }

// turn is a step as the person at the seat sees it.
type turn struct {
	step
	Legal []bool  `json:"legal,omitempty"` // what the person may do; none: there is nothing to choose
	Moves []int32 `json:"moves"`           // what the person did so far
}

// Join seats a person. What cannot be played is refused.
func (t *Theatre) Join(ctx context.Context, a Ask) (*Session, error) {
	a.Moves = nil
	if a.Human <= play.NoHuman {
		return nil, errors.New("a seat must be chosen to join")
	}
	if t.c.Record == "" {
		a.Person = ""
	} else if err := played.Name(a.Person); err != nil {
		return nil, Unreadable{fmt.Errorf("what is played here is recorded under a name: %w", err)}
	}
	if err := a.settle(); err != nil {
		return nil, err
	}
	s := &Session{ID: rand.Text(), t: t, ask: a, seen: map[string]bool{}, more: make(chan struct{}), moves: []int32{}}
	t.mu.Lock()
	if len(t.sessions) >= t.c.Sessions || t.ctx.Err() != nil {
		t.mu.Unlock()
		return nil, Busy{fmt.Errorf("all %d seats for people are taken; one is free again when an episode is over, or after %v without a move",
			t.c.Sessions, t.c.Idle)}
	}
	t.sessions[s.ID] = s
	t.work.Add(1)
	t.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.begin(ctx)
	if err != nil {
		s.leave()
		return nil, err
	}
	s.timer = time.AfterFunc(t.c.Idle, func() { s.end(fmt.Sprintf("nobody moved for %v, so the seat was given up", t.c.Idle)) })
	if t.ctx.Err() != nil {
		go s.end("the server is closing")
	}
	return s, nil
}

// begin gets the team ready and shows the first slot.
func (s *Session) begin(ctx context.Context) (err error) {
	defer caught(&err)
	if s.scene, err = s.t.guarded(s.t.ctx, s.ask); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.ep, err = play.NewEpisode(s.scene.options); err != nil {
		return err
	}
	if s.ask.Person != "" {
		if s.kept, err = played.New(s.scene.game, s.ask.Human, s.scene.names); err != nil {
			return err
		}
	}
	s.head = s.scene.head(s.ask, s.ep.Frame(), make([]*world, len(s.scene.names)))
	if err := emitter(s.add).send("head", s.head); err != nil {
		return err
	}
	return s.show()
}

// caught turns a panic of a mind or a game into an error.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the episode could not be played any further: %v", p)
	}
}

// show sends the slot that has been come to, without thoughts.
func (s *Session) show() error {
	f := *s.ep.Frame()
	f.Minds = nil
	v := turn{step: viewOf(&f, s.scene.scales, s.seen), Moves: s.moves}
	if s.ep.Waits() {
		v.Legal = append([]bool(nil), s.ep.Legal()...)
	}
	return emitter(s.add).send("turn", v)
}

// add keeps an event for viewers.
func (s *Session) add(name string, data []byte) error {
	s.log.Lock()
	defer s.log.Unlock()
	s.events = append(s.events, Event{name, data})
	close(s.more)
	s.more = make(chan struct{})
	return nil
}

// Act plays the person's action at a step. A move that was made already, because its answer
// was lost, is not made twice. When the person has left, the others play on to the end.
func (s *Session) Act(at int, act int32) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ep == nil {
		return s.gone()
	}
	if at == len(s.moves)-1 && s.moves[at] == act {
		return nil
	}
	if at != len(s.moves) {
		return fmt.Errorf("this move is for step %d, and the episode has come to step %d", at, len(s.moves))
	}
	if legal := s.ep.Legal(); act < 0 || int(act) >= len(legal) || !legal[act] {
		return fmt.Errorf("that is not legal now; choose one of the actions that can be pressed")
	}
	s.timer.Reset(s.t.c.Idle)
	s.moves = append(s.moves, act)
	if err := s.play(act); err != nil {
		s.finish(err.Error())
		return err
	}
	return nil
}

// play plays the person's step, and those after which the person has nothing to choose.
func (s *Session) play(act int32) (err error) {
	defer caught(&err)
	if s.kept != nil {
		if err := s.kept.Add(s.ep.State(), act); err != nil {
			return err
		}
	}
	for {
		if err := s.ep.Step(act); err != nil {
			return err
		}
		if err := s.show(); err != nil {
			return err
		}
		if s.ep.Frame().Over {
			if s.kept != nil {
				if err := s.kept.Write(s.t.c.Record, s.ask.Person, s.ID); err != nil {
					return fmt.Errorf("the episode is over, and it could not be recorded: %w", err)
				}
			}
			s.finish("")
			return nil
		}
		if s.ep.Waits() {
			return nil
		}
		if err := s.t.ctx.Err(); err != nil {
			return errors.New("the server is closing")
		}
		act = game.NoAction
	}
}

// end gives the seat up.
func (s *Session) end(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ep != nil {
		s.finish(why)
	}
}

// finish ends the session: with "" because the episode is over. What was shown can still be read
// for a while.
func (s *Session) finish(why string) {
	func() {
		var err error
		defer caught(&err)
		s.ep.Close()
	}()
	s.ep, s.scene = nil, nil
	if s.timer != nil {
		s.timer.Stop()
	}
	s.log.Lock()
	s.ended, s.over = why, true
	close(s.more)
	s.more = make(chan struct{})
	s.log.Unlock()
	s.leave()
}

// leave frees the seat. A few of those who left last are remembered, so that a lost connection
// finds out how it ended.
func (s *Session) leave() {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	delete(s.t.sessions, s.ID)
	if s.over {
		s.t.past = append(s.t.past, s)
		s.t.past = s.t.past[max(len(s.t.past)-s.t.c.Sessions, 0):]
	}
	s.t.work.Done()
}

// gone says why nothing can be played any more.
func (s *Session) gone() error {
	s.log.Lock()
	defer s.log.Unlock()
	if s.ended != "" {
		return Gone{errors.New(s.ended)}
	}
	return Gone{errors.New("the episode is over")}
}

// Session returns the session of that name.
func (t *Theatre) Session(id string) (*Session, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.sessions[id]; s != nil {
		return s, nil
	}
	for _, s := range t.past {
		if s.ID == id {
			return s, nil
		}
	}
	return nil, Gone{errors.New("there is no such seat any more: its episode is over, or nobody moved for too long. Take a seat again")}
}

// Next returns the events from number at on, and waits for some. Without any and without an
// error, the episode is over.
func (s *Session) Next(ctx context.Context, at int) ([]Event, error) {
	for {
		s.log.Lock()
		events, over, ended, more := s.events[min(max(at, 0), len(s.events)):], s.over, s.ended, s.more
		s.log.Unlock()
		switch {
		case len(events) > 0:
			return events, nil
		case ended != "":
			return nil, Gone{errors.New(ended)}
		case over:
			return nil, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Leave gives the seat up.
func (s *Session) Leave() { s.end("the seat was given up") }
