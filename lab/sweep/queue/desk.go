package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hop-marl/hop/lab/sweep/hub"
)

// Desk answers workers, for the coordinator. It is the only way to a sweep's jobs, states and folders, and decides who
// may do what: anybody with a worker's token may take jobs and read folders; only who has taken a job may hand something
// in for it.
type Desk struct {
	Queue  *Queue
	Keys   *hub.Keys
	News   func(News)    // hears how jobs go; may be nil
	Refuse func(Refusal) // hears which workers take no jobs; may be nil

	ctx     context.Context
	handing context.Context // then no more jobs are handed out
	asked   sync.RWMutex    // read by every request that is being answered
	mu      sync.Mutex
	uploads map[string]*upload // by file
	turns   chan struct{}
	heard   map[string]time.Time // when refusals were last logged
}

// Workers take turns at sending folders. A thousand that send at once would fill the server's memory with what
// it has not yet on its disk, and mix the parts of their folders in its files, so that each is slow to read and to
// remove.
const (
	turnsAtOnce = 8
	turnWait    = 20 * time.Second // then the worker asks again
	turnLasts   = 30 * time.Second // without a part: its worker may have died
)

// upload is a folder that is being sent.
type upload struct {
	key  string
	w    *io.PipeWriter
	last uint64 // the last part that was taken
	done chan error
	sum  string
	idle *time.Timer
	mu   sync.Mutex // one part at a time
}

// patient is the longest that a worker may have the desk wait for a job.
const patient = 10 * time.Second

// parting is how long a desk that closes takes for those that have asked already.
const parting = 6 * time.Second // an acknowledgement takes five at most

// Answer hands out jobs until the context ends, and takes back what workers have until it is closed. Who asked before
// that is answered first: a worker that hears nothing goes on asking.
func (d *Desk) Answer(ctx context.Context) (shut func(), err error) {
	handing, noMore := context.WithCancel(ctx)
	answering, end := context.WithCancel(context.WithoutCancel(ctx))
	shut = func() { noMore(); end() }
	d.ctx, d.handing = answering, handing
	d.uploads, d.turns, d.heard = map[string]*upload{}, make(chan struct{}, turnsAtOnce), map[string]time.Time{}
	nc := d.Queue.nc
	desk, err := nc.Subscribe(hub.Desk(d.Queue.Sweep), func(m *nats.Msg) {
		d.asked.RLock()
		go func() {
			defer d.asked.RUnlock()
			d.handle(m)
		}()
	})
	if err != nil {
		return shut, err
	}
	who, err := nc.Subscribe(hub.Who, func(m *nats.Msg) {
		if d.answerable(m) {
			_ = m.Respond(answer(reply{Sweep: d.Queue.Sweep, Wait: d.Queue.Wait}, nil, m.Data, d.Keys.Sign))
		}
	})
	if err != nil {
		return shut, err
	}
	return func() {
		noMore()
		_, _ = desk.Unsubscribe(), who.Unsubscribe()
		late := time.AfterFunc(parting, end)
		d.asked.Lock()
		late.Stop()
		end()
		d.asked.Unlock()
	}, nc.Flush()
}

// answerable refuses requests whose answer would go anywhere but to who asked: the coordinator may write where a worker
// may not.
func (d *Desk) answerable(m *nats.Msg) bool {
	if strings.HasPrefix(m.Reply, nats.InboxPrefix) {
		return true
	}
	d.refused("a request is refused: its answer is to go to %.100q", m.Reply)
	return false
}

// refused logs what was refused, the same no more than once a minute, and not too many: a stranger could fill the disk.
func (d *Desk) refused(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	d.mu.Lock()
	fresh := time.Since(d.heard[line]) > time.Minute && (len(d.heard) < 1000 || !d.heard[line].IsZero())
	if fresh {
		d.heard[line] = time.Now()
	}
	d.mu.Unlock()
	if fresh {
		d.Queue.log("%s", line)
	}
}

func (d *Desk) handle(m *nats.Msg) {
	if !d.answerable(m) {
		return
	}
	r, with, key, err := verify(d.Queue.Sweep, m.Data, d.Keys.Hello())
	if err != nil {
		d.refused("a request is refused: %v", err)
		return
	}
	rep, out, err := d.do(r, with, key)
	if err != nil {
		rep = failed(err)
	}
	_ = m.Respond(answer(rep, out, m.Data, d.Keys.Sign))
}

// do does what a worker asks.
func (d *Desk) do(r request, with []byte, key string) (rep reply, out []byte, err error) {
	q, ctx := d.Queue, d.ctx
	switch r.Op {
	case opAsks:
		rep.Asks, err = q.Asks(ctx)
		return rep, nil, err
	case opTake:
		return d.take(r, key)
	case opState:
		s, err := q.State(ctx, r.ID)
		s.Log, s.Why, s.By, s.Reply = "", "", "", ""
		return reply{State: &s}, nil, err
	case opRead:
		return q.read(ctx, r.File, r.Object, r.Number)
	case opNews:
		if d.News != nil {
			d.News(News{ID: r.ID, Worker: r.Worker, Attempt: r.Attempt, Line: r.Line, Progress: r.Progress, key: key})
		}
		return rep, nil, nil
	case opRefuse:
		if d.Refuse != nil && r.Worker != "" {
			d.Refuse(Refusal{Worker: r.Worker, Why: r.Why})
		}
		return rep, nil, nil
	}
	at, err := q.attempt(ctx, r.ID, r.Attempt, key)
	if errors.Is(err, ErrLost) && r.Op != opBeat && r.Op != opDiscard {
		d.refused("worker %.100q wants to %.20s job %.100q, attempt %d, which it does not hold: refused", r.Worker, r.Op, r.ID, r.Attempt)
	}
	if err != nil && !(errors.Is(err, ErrLost) && r.Op == opDiscard) {
		return rep, nil, err
	}
	return rep, nil, d.held(at, r, with, key)
}

// held does what only who holds a job may ask.
func (d *Desk) held(at *Attempt, r request, with []byte, key string) error {
	ctx := d.ctx
	if at != nil {
		at.Sum = r.Sum
	}
	switch r.Op {
	case opBeat:
		if at.state.Phase != Running {
			return ErrLost
		}
		return at.Beat(ctx)
	case opOpen:
		return d.open(at, key)
	case opPart, opClose:
		return d.part(at.File(), r, with, key)
	case opFinish, opFail, opMove:
		return d.ended(at, r)
	case opDiscard:
		return d.Queue.discard(ctx, r.ID, r.Attempt, at != nil)
	}
	d.refused("a request is refused: worker %.100q asks for %.50q, which there is not", r.Worker, r.Op)
	return fmt.Errorf("sweep: there is no request %.50q", r.Op)
}

// ended ends an attempt. One that has ended already hears the same again: the first answer may have been lost.
func (d *Desk) ended(at *Attempt, r request) error {
	switch phase := at.state.Phase; {
	case phase == Cancelled || phase == Queued && r.Op == opFinish:
		return ErrLost
	case phase != Running:
		return nil
	case r.Op == opFinish:
		return at.Finish(d.ctx, r.Cost)
	case r.Op == opMove:
		return at.Move(d.ctx, r.Stored)
	}
	return at.Fail(d.ctx, r.Why, r.Log, r.Useless)
}

// take gives a worker a job.
func (d *Desk) take(r request, key string) (reply, []byte, error) {
	if r.Ask == nil || r.Worker == "" {
		return reply{}, nil, errors.New("sweep: a worker takes a job without saying who it is and what it asks for")
	}
	at, err := d.Queue.Take(d.handing, *r.Ask, Holder{r.Worker, key}, min(max(r.Patience, 0), patient))
	if err != nil {
		return reply{}, nil, err
	}
	return reply{Job: &at.Job, Number: at.Number, From: at.From, Sum: at.state.Sum}, nil, nil
}

// open begins a folder; one that was begun before by the same attempt is thrown away.
func (d *Desk) open(at *Attempt, key string) error {
	if at.state.Phase != Running {
		return ErrLost
	}
	d.end(at.File(), errors.New("sweep: the folder is sent anew"))
	select {
	case d.turns <- struct{}{}:
	case <-time.After(turnWait):
		return errNoTurn
	case <-d.ctx.Done():
		return d.ctx.Err()
	}
	r, w := io.Pipe()
	u := &upload{key: key, w: w, done: make(chan error, 1)}
	u.idle = time.AfterFunc(turnLasts, func() { w.CloseWithError(errors.New("sweep: its worker sent no more of it")) })
	go func() {
		var err error
		u.sum, err = d.Queue.put(d.ctx, at.File(), r)
		r.CloseWithError(errors.Join(err, io.ErrClosedPipe))
		u.idle.Stop()
		<-d.turns
		u.done <- err
	}()
	d.mu.Lock()
	d.uploads[at.File()] = u
	d.mu.Unlock()
	return nil
}

// errNoTurn says that too many send at the moment.
var errNoTurn = errors.New("sweep: others are sending; wait for a turn")

// end forgets a folder that is being sent.
func (d *Desk) end(file string, why error) {
	d.mu.Lock()
	u := d.uploads[file]
	delete(d.uploads, file)
	d.mu.Unlock()
	if u != nil {
		u.w.CloseWithError(why)
	}
}

// part takes a part of a folder, or its end.
func (d *Desk) part(file string, r request, with []byte, key string) error {
	d.mu.Lock()
	u := d.uploads[file]
	d.mu.Unlock()
	if u == nil || u.key != key {
		return errors.New("sweep: the folder is not being sent; begin again")
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.idle.Reset(turnLasts)
	if r.Op == opClose {
		_ = u.w.Close()
		err := <-u.done
		u.done <- err // for one who asks again, since the answer was lost
		if err == nil && u.sum != r.Sum {
			err = errors.New("sweep: the folder arrived changed; begin again")
		}
		return err
	}
	switch r.Number {
	case u.last: // the answer was lost
		return nil
	case u.last + 1:
		u.last++
		_, err := u.w.Write(with)
		return err
	}
	return errors.New("sweep: a part of the folder was lost; begin again")
}

// read returns a part of a folder: of this writing of it, from this number on. Without a writing it is the first.
func (q *Queue) read(ctx context.Context, file, object string, number uint64) (reply, []byte, error) {
	if object == "" {
		info, err := q.files.GetInfo(ctx, file)
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			err = ErrGone
		}
		if err != nil {
			return reply{}, nil, err
		}
		return reply{Object: info.NUID, Sum: info.Digest, Next: 1}, nil, nil
	}
	store, err := q.store(ctx)
	if err != nil {
		return reply{}, nil, err
	}
	m, err := store.GetMsg(ctx, number, jetstream.WithGetMsgSubject(q.chunks(object)))
	if errors.Is(err, jetstream.ErrMsgNotFound) { // that was the last one
		return reply{}, nil, nil
	}
	if err != nil {
		return reply{}, nil, err
	}
	return reply{Next: m.Sequence + 1}, m.Data, nil
}

// discard takes the folder of an attempt from the store that has lost its job, unless the job's state names it.
func (q *Queue) discard(ctx context.Context, id string, number int, held bool) error {
	s, err := q.State(ctx, id)
	file := fileOf(id, number)
	if err != nil || s.File == file || !held && number >= s.Attempt {
		return err
	}
	return q.Drop(ctx, file)
}
