package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// short is a name for a value: equal values have equal names.
func short(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a struct of strings and numbers
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// Attempt is a job in the hands of a worker.
type Attempt struct {
	Job
	Number   int
	From     string // the file to go on from; empty: from the start
	Sum      string // of File, once it is in the store
	q        *Queue
	revision uint64
	state    State
}

// Asks returns what jobs of the sweep ask for, in no order.
func (q *Queue) Asks(ctx context.Context) (list []Ask, err error) {
	names := q.jobs.ListConsumers(ctx)
	for info := range names.Info() {
		var a Ask
		if json.Unmarshal([]byte(info.Config.Description), &a) == nil && a.class() == info.Name {
			list = append(list, a)
		}
	}
	return list, ended(names.Err())
}

// ended makes ErrGone of what a server says about a sweep that was taken from it.
func ended(err error) error {
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrConsumerNotFound) ||
		errors.Is(err, jetstream.ErrConsumerDeleted) {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return err
}

// ErrNone says that no job was there to take.
var ErrNone = errors.New("sweep: no job waits")

// Holder is who has a job: a worker's name, and the key with which it signs.
type Holder struct{ Worker, Key string }

// Take gives a job that asks for this to a worker, waiting no longer than patience.
func (q *Queue) Take(ctx context.Context, a Ask, who Holder, patience time.Duration) (*Attempt, error) {
	cons, err := q.find(ctx, a)
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if wait.Err() != nil {
			return nil, ErrNone
		}
		msg, err := cons.Next(jetstream.FetchContext(wait))
		if errors.Is(err, jetstream.ErrNoMessages) || errors.Is(err, nats.ErrTimeout) || wait.Err() != nil && msg == nil {
			return nil, ErrNone
		}
		if err != nil {
			q.mu.Lock()
			delete(q.doors, a.class()) // found anew the next time
			q.mu.Unlock()
			return nil, ended(err)
		}
		at, err := q.claim(ctx, msg, who)
		if at != nil || err != nil && ctx.Err() != nil {
			return at, err
		}
		if err != nil {
			_ = msg.NakWithDelay(time.Second)
			return nil, err
		}
	}
}

// find returns where jobs that ask for this are handed out.
func (q *Queue) find(ctx context.Context, a Ask) (jetstream.Consumer, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c := q.doors[a.class()]; c != nil {
		return c, nil
	}
	c, err := q.jobs.Consumer(ctx, a.class())
	if err != nil {
		return nil, ended(err)
	}
	q.doors[a.class()] = c
	return c, nil
}

// claim makes a message an attempt; nil if there is nothing to do for it any more.
func (q *Queue) claim(ctx context.Context, msg jetstream.Msg, who Holder) (*Attempt, error) {
	at := &Attempt{q: q}
	refuse := func(format string, args ...any) error {
		q.log("a job is refused: "+format, args...)
		return msg.TermWithReason("refused")
	}
	err := q.unseal(jobSeal, msg.Data(), &at.Job)
	if err == nil {
		err = at.Validate()
	}
	if err != nil {
		return nil, refuse("%v", err)
	}
	e, err := q.state.Get(ctx, at.ID)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, refuse("%s is none that was put here", at.Name)
	}
	if err != nil {
		return nil, err
	}
	s, err := q.decode(e)
	if err != nil {
		return nil, err
	}
	about, err := msg.Metadata()
	if err != nil {
		return nil, err
	}
	number := about.Sequence.Stream
	if s.Phase.Ended() && s.Message != 0 && s.Message != number {
		return nil, refuse("%s was put again and is %s", at.Name, s.Phase)
	}
	if s.Phase.Ended() { // its acknowledgement was lost, or it was cancelled before anybody had it
		return nil, msg.Ack()
	}
	if s.Phase == Running {
		if s.Message != number { // it was put twice, and somebody has the other one
			return nil, msg.Ack()
		}
		s.Silent++ // handed out before: that worker has been silent for too long
		s.Why = fmt.Sprintf("worker %s fell silent", s.Worker)
	}
	if s.Silent >= Silences {
		s.Phase = Failed
		if err := q.set(ctx, at.ID, s, e.Revision()); err != nil {
			return nil, dropLost(err)
		}
		return nil, msg.TermWithReason("given up")
	}
	s.Message = number
	s.Phase, s.Worker, s.By, s.Reply = Running, who.Worker, who.Key, msg.Reply()
	s.Attempt++
	at.Number, at.From = s.Attempt, s.File
	if at.revision, err = q.swap(ctx, at.ID, s, e.Revision()); err != nil {
		return nil, dropLost(err)
	}
	at.state = s
	return at, nil
}

// dropLost passes over a job that another worker took in the same moment.
func dropLost(err error) error {
	if errors.Is(err, ErrLost) {
		return nil
	}
	return err
}

// swap is set, and returns the new revision.
func (q *Queue) swap(ctx context.Context, id string, s State, revision uint64) (uint64, error) {
	n, err := q.state.Update(ctx, id, q.seal(stateSeal+id, s), revision)
	if wrongRevision(err) {
		err = fmt.Errorf("%w: %w", ErrLost, err)
	}
	return n, err
}

// Beat says that the attempt is alive. The error is ErrLost if the job is not its own any
// more: then it stops and throws away what it has.
func (a *Attempt) Beat(ctx context.Context) error {
	if err := a.q.nc.Publish(a.state.Reply, []byte("+WPI")); err != nil {
		return err
	}
	e, err := a.q.state.Get(ctx, a.ID)
	if err != nil {
		return err
	}
	if e.Revision() != a.revision {
		return ErrLost
	}
	return nil
}

// File is what the attempt's folder is called in the store.
func (a *Attempt) File() string { return fileOf(a.ID, a.Number) }

func fileOf(id string, number int) string { return fmt.Sprintf("%s.%d", id, number) }

// Finish makes the attempt's folder, which is in the store under File, the job's result.
func (a *Attempt) Finish(ctx context.Context, cost Cost) error {
	s := a.state
	s.Phase, s.File, s.Sum, s.Cost, s.Why, s.Log = Done, a.File(), a.Sum, cost, "", ""
	return a.end(ctx, s, a.ack)
}

// Fail says that the attempt failed. The job is tried again, unless that was the last try or
// trying again is of no use.
func (a *Attempt) Fail(ctx context.Context, why, log string, useless bool) error {
	s := a.state
	s.Lost++
	s.Why, s.Log = why, log
	if useless || s.Lost >= Tries {
		s.Phase = Failed
		return a.end(ctx, s, a.ack)
	}
	s.Phase = Queued
	return a.end(ctx, s, a.nak)
}

// Move gives the job back for another worker to go on with, from the folder that is in the
// store under File if there is something to go on from.
func (a *Attempt) Move(ctx context.Context, stored bool) error {
	s := a.state
	s.Phase = Queued
	if stored {
		s.File, s.Sum = a.File(), a.Sum
	}
	return a.end(ctx, s, a.nak)
}

// end swaps the last state of the attempt in, then answers the stream. A server that died in between may
// have swapped without saying so: then the state is this attempt's own already.
func (a *Attempt) end(ctx context.Context, s State, answer func(context.Context) error) error {
	s.Reply = ""
	revision, err := a.q.swap(ctx, a.ID, s, a.revision)
	if errors.Is(err, ErrLost) {
		e, got := a.q.state.Get(ctx, a.ID)
		if got != nil {
			return got
		}
		is, got := a.q.decode(e)
		if got != nil {
			return got
		}
		if is.Phase != s.Phase || is.Attempt != s.Attempt || is.Worker != s.Worker {
			return err
		}
		revision, err = e.Revision(), nil
	}
	if err != nil {
		return err
	}
	a.revision = revision
	return answer(ctx)
}

// ack tells the stream that the job has ended, and waits until it knows.
func (a *Attempt) ack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := a.q.nc.RequestWithContext(ctx, a.state.Reply, []byte("+ACK"))
	return err
}

// nak tells the stream to hand the job out again.
func (a *Attempt) nak(context.Context) error { return a.q.nc.Publish(a.state.Reply, []byte("-NAK")) }

// attempt finds the attempt that has a job again; ErrLost if that is another one by now.
func (q *Queue) attempt(ctx context.Context, id string, number int, key string) (*Attempt, error) {
	e, err := q.state.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	s, err := q.decode(e)
	if err != nil {
		return nil, err
	}
	if s.Attempt != number || s.By != key {
		return nil, ErrLost
	}
	return &Attempt{Job: Job{ID: id}, Number: number, q: q, revision: e.Revision(), state: s}, nil
}
