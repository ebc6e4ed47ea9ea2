// Package queue hands jobs to workers and keeps what became of each, on NATS JetStream.
//
// A sweep has three things on the server, all named after it: a stream of jobs that wait
// (work queue: a job is removed when it is acknowledged), a bucket with the state of every
// job, and a store of files, the folders that jobs read and write, in parts and with sums.
//
// A job may be handed out more than once: its worker may have died, or only be cut off. So
// every hand-out is an attempt with a number, which is taken by comparing and swapping the job's
// state, and a result counts only if it is swapped in by the attempt that holds the job. A
// worker that comes back late finds another number there and throws its result away.
// That is at-least-once work with exactly one result, and no clock of any machine is compared
// with another's: a silent worker is told by the server's own timer.
//
// A job is acknowledged after its result is durable. In between, the worker says that it is alive
// three times within the wait.
//
// All of that is the coordinator's (Queue), which seals what it leaves with the server. Workers reach nothing of it
// themselves: they ask the coordinator's desk (Answer, Remote), signed both ways, so that it does not depend on
// a server's permissions who may do what.
package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Tries is how often a job may fail before it is given up.
const Tries = 3

// Silences is how often a job's worker may fall silent before the job is given up. That is seldom
// the job's fault: a machine was switched off, a network was cut. There is a limit all
// the same, since a job may take its worker down with it.
const Silences = 100

// Need is a job whose folder another job reads.
type Need struct {
	ID  string `json:"id"`
	Sub string `json:"sub,omitempty"` // the part of its folder that is read; empty: all of it
	At  string `json:"at"`            // where that is put, below the folder of the job that reads it
}

// Ask is what a worker must have to be given a job. Workers whose build differs would
// compute something else, so the build is part of it.
type Ask struct {
	Build  string   `json:"build"` // runlog.Build.ID, which includes the kernel set
	Cores  int      `json:"cores"`
	Memory int64    `json:"memory_bytes"`
	Labels []string `json:"labels,omitempty"`
}

// Phase says how far a job is.
type Phase string

// The phases of a job.
const (
	Queued    Phase = "queued"
	Running   Phase = "running"
	Done      Phase = "done"
	Failed    Phase = "failed" // given up
	Cancelled Phase = "cancelled"
)

// Ended reports whether nothing more happens to a job in this phase by itself.
func (p Phase) Ended() bool { return p == Done || p == Failed || p == Cancelled }

// State is what became of a job so far.
type State struct {
	Phase   Phase  `json:"phase"`
	Attempt int    `json:"attempt"`          // how often it was handed out
	Worker  string `json:"worker,omitempty"` // who has it, or had it last
	File    string `json:"file,omitempty"`   // its folder in the store: of Done the result, of Queued what to go on from
	Why     string `json:"why,omitempty"`    // what went wrong the last time
	Log     string `json:"log,omitempty"`    // the end of what it said then
	Lost    int    `json:"lost,omitempty"`   // attempts that failed; moving on is none
	Silent  int    `json:"silent,omitempty"` // attempts whose worker fell silent
	Cost    Cost   `json:"cost"`
	Kept    bool   `json:"kept,omitempty"` // the coordinator has the result in its folder
	Sum     string `json:"sum,omitempty"`  // of File, by which a folder that was put in its place is told
	// By is the key of the worker that has it, with which it signs what it says of it, and Reply where the stream is
	// told how it goes.
	By    string `json:"by,omitempty"`
	Reply string `json:"reply,omitempty"`
	// Message is the number of the message by which it was handed out. A job that was put twice
	// has two: the other one says nothing about the worker that has the job.
	Message uint64 `json:"message,omitempty"`
}

// Cost is what the attempt that succeeded took.
type Cost struct {
	Wall   float64 `json:"wall_s"`
	CPU    float64 `json:"cpu_s"`
	Memory int64   `json:"peak_memory_bytes"`
}

// Queue is one sweep's on a server.
type Queue struct {
	Sweep string
	Wait  time.Duration // how long a silent worker keeps a job
	js    jetstream.JetStream
	nc    *nats.Conn
	jobs  jetstream.Stream
	state jetstream.KeyValue
	files jetstream.ObjectStore
	key   []byte // of seals
	log   func(format string, args ...any)

	mu    sync.Mutex
	doors map[string]jetstream.Consumer // where jobs are handed out, by what they ask for
}

// Options are how a sweep is kept on a server.
type Options struct {
	Wait     time.Duration // 0: 30 s
	Replicas int           // of a cluster's servers that keep it; 0: one
	Most     int64         // bytes of files at once; 0: as many as the server has room for
	Seal     []byte        // the coordinator's key: what it leaves with the server is sealed with it
	// Log hears of what is refused; nil: nobody does.
	Log func(format string, args ...any)
}

// dedupe is how long the server knows a job that was put twice; states tell it for ever.
const dedupe = 2 * time.Minute

// Open makes what a sweep needs on the server, or finds it there.
func Open(ctx context.Context, nc *nats.Conn, sweep string, o Options) (*Queue, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	q := &Queue{Sweep: sweep, Wait: o.Wait, js: js, nc: nc, doors: map[string]jetstream.Consumer{}, key: o.Seal, log: o.Log}
	if q.log == nil {
		q.log = func(string, ...any) {}
	}
	if q.Wait == 0 {
		q.Wait = 30 * time.Second
	}
	replicas := max(o.Replicas, 1)
	q.jobs, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: "hop-" + sweep, Description: "jobs of a sweep of hop that wait", Subjects: []string{"hop." + sweep + ".job.>"},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Duplicates: dedupe, Replicas: replicas,
	})
	if err != nil {
		return nil, fmt.Errorf("sweep: making the stream of jobs: %w", err)
	}
	q.state, err = js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: "hop-" + sweep, Description: "states of a sweep of hop", History: 1, Storage: jetstream.FileStorage, Replicas: replicas,
	})
	if err != nil {
		return nil, fmt.Errorf("sweep: making the bucket of states: %w", err)
	}
	most := o.Most
	if most == 0 {
		most = -1
	}
	q.files, err = js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket: "hop-" + sweep, Description: "folders of a sweep of hop", Storage: jetstream.FileStorage, Replicas: replicas, MaxBytes: most,
	})
	if err != nil {
		return nil, fmt.Errorf("sweep: making the store of files: %w", err)
	}
	return q, nil
}

// Remove takes everything of the sweep from the server.
func (q *Queue) Remove(ctx context.Context) error {
	return errors.Join(q.js.DeleteStream(ctx, "hop-"+q.Sweep), q.js.DeleteKeyValue(ctx, "hop-"+q.Sweep),
		q.js.DeleteObjectStore(ctx, "hop-"+q.Sweep))
}

// class is the subject's last word for what is asked of a worker, one for equal asks.
func (a Ask) class() string { return short(a) }

func (q *Queue) subject(a Ask) string { return "hop." + q.Sweep + ".job." + a.class() }

// door makes the place where jobs that ask for the same are handed out, once.
func (q *Queue) door(ctx context.Context, a Ask) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.doors[a.class()] != nil {
		return nil
	}
	about, err := json.Marshal(a)
	if err != nil {
		return err
	}
	c, err := q.jobs.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: a.class(), Description: string(about), FilterSubject: q.subject(a),
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.Wait, MaxDeliver: -1, MaxAckPending: 1 << 20, MaxWaiting: 1 << 14,
	})
	if err != nil {
		return err
	}
	q.doors[a.class()] = c
	return nil
}

// Put lets a job wait for a worker. A job that was put before stays as it is: put again, one that
// waits is made sure to be in the stream too, since whoever put it may have died in between.
func (q *Queue) Put(ctx context.Context, j Job) error {
	if err := q.door(ctx, j.Ask); err != nil {
		return err
	}
	if err := j.Validate(); err != nil {
		return err
	}
	revision, err := q.state.Create(ctx, j.ID, q.seal(stateSeal+j.ID, State{Phase: Queued}))
	if errors.Is(err, jetstream.ErrKeyExists) {
		e, err := q.state.Get(ctx, j.ID)
		if err != nil {
			return err
		}
		s, err := q.decode(e)
		if err != nil || s.Phase != Queued {
			return err
		}
		revision = e.Revision()
	} else if err != nil {
		return err
	}
	_, err = q.js.Publish(ctx, q.subject(j.Ask), q.seal(jobSeal, j), jetstream.WithMsgID(fmt.Sprintf("%s.%d", j.ID, revision)))
	return err
}

// Again takes back that a job has ended, whatever became of it; it has all its tries when it is put.
func (q *Queue) Again(ctx context.Context, id string) error {
	err := q.change(ctx, id, func(s *State) bool {
		if !s.Phase.Ended() {
			return false
		}
		*s = State{Phase: Queued, Attempt: s.Attempt}
		return true
	})
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil
	}
	return err
}

// Adopt notes that a job's result is there already, made before by the same program.
func (q *Queue) Adopt(ctx context.Context, id string, c Cost) error {
	err := q.set(ctx, id, State{Phase: Done, Kept: true, Cost: c}, 0)
	if errors.Is(err, ErrLost) {
		return nil
	}
	return err
}

// Lend notes under which name a result that was kept is in the store again, for jobs that read it.
func (q *Queue) Lend(ctx context.Context, id, file, sum string) error {
	return q.change(ctx, id, func(s *State) bool {
		if s.Phase != Done || s.File == file {
			return false
		}
		s.File, s.Sum = file, sum
		return true
	})
}

// Cancel ends a job that has not ended. Its worker notices with its next sign of life.
func (q *Queue) Cancel(ctx context.Context, id, why string) error {
	return q.change(ctx, id, func(s *State) bool {
		if s.Phase.Ended() {
			return false
		}
		s.Phase, s.Why = Cancelled, why
		return true
	})
}

// Keep notes that the coordinator has the result. If nobody else reads it, the store need not
// have it any longer.
func (q *Queue) Keep(ctx context.Context, id string, read bool) error {
	file := ""
	err := q.change(ctx, id, func(s *State) bool {
		if s.Phase != Done || s.Kept {
			return false
		}
		if s.Kept = true; !read {
			file, s.File = s.File, ""
		}
		return true
	})
	if err != nil || file == "" {
		return err
	}
	return q.Drop(ctx, file)
}

// change swaps a job's state for another, anew if somebody else was faster; f says
// whether there is something to change.
func (q *Queue) change(ctx context.Context, id string, f func(*State) bool) error {
	for {
		e, err := q.state.Get(ctx, id)
		if err != nil {
			return err
		}
		s, err := q.decode(e)
		if err != nil {
			return err
		}
		if !f(&s) {
			return nil
		}
		if err = q.set(ctx, id, s, e.Revision()); !errors.Is(err, ErrLost) {
			return err
		}
	}
}

// ErrLost says that a job is another attempt's now.
var ErrLost = errors.New("sweep: the job is another's by now")

// set swaps a state for the one of a revision; 0: there must be none.
func (q *Queue) set(ctx context.Context, id string, s State, revision uint64) (err error) {
	b := q.seal(stateSeal+id, s)
	if revision == 0 {
		_, err = q.state.Create(ctx, id, b)
	} else {
		_, err = q.state.Update(ctx, id, b, revision)
	}
	if errors.Is(err, jetstream.ErrKeyExists) || wrongRevision(err) {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	return err
}

// wrongRevision reports whether a swap was refused because somebody else had swapped.
func wrongRevision(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// decode reads a state; ErrForged if somebody else wrote it.
func (q *Queue) decode(e jetstream.KeyValueEntry) (s State, err error) {
	if err = q.unseal(stateSeal+e.Key(), e.Value(), &s); err != nil {
		err = fmt.Errorf("sweep: the state of job %s: %w", e.Key(), err)
	}
	return s, err
}

// Restore writes a state over one that somebody else wrote.
func (q *Queue) Restore(ctx context.Context, id string, s State) error {
	_, err := q.state.Put(ctx, id, q.seal(stateSeal+id, s))
	return err
}

// State returns a job's.
func (q *Queue) State(ctx context.Context, id string) (State, error) {
	e, err := q.state.Get(ctx, id)
	if err != nil {
		return State{}, err
	}
	return q.decode(e)
}

// Change is a job's new state.
type Change struct {
	ID string
	State
	Forged error // somebody else wrote it: it is not known how the job stands
}

// Watch hands over the state of every job, then caught with an empty ID, and from then
// on every change, until the context ends.
func (q *Queue) Watch(ctx context.Context, see func(Change) error) error {
	w, err := q.state.WatchAll(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = w.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, ok := <-w.Updates():
			if !ok {
				return errors.New("sweep: the server ended the watch")
			}
			var c Change
			if e != nil {
				if e.Operation() != jetstream.KeyValuePut {
					continue
				}
				c.ID = e.Key()
				c.State, c.Forged = q.decode(e)
			}
			if err := see(c); err != nil {
				return err
			}
		}
	}
}

// All returns the states of all jobs.
func (q *Queue) All(ctx context.Context) (map[string]State, error) {
	all := map[string]State{}
	enough := errors.New("enough")
	err := q.Watch(ctx, func(c Change) error {
		if c.ID == "" {
			return enough
		}
		all[c.ID] = c.State
		return nil
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return all, err
}

// News is what a worker says by the way about a job; it may be lost.
type News struct {
	ID       string  `json:"id"`
	Worker   string  `json:"worker"`
	Attempt  int     `json:"attempt"`
	Line     string  `json:"line"` // the last that the job said
	Progress float64 `json:"progress"`
	key      string  // of who says so
}

// Of says whether who has a job says so, and nobody else.
func (n News) Of(s State) bool { return s.Phase == Running && n.Attempt == s.Attempt && n.key == s.By }

// Refusal is a worker that cannot take a sweep's jobs.
type Refusal struct {
	Worker string `json:"worker"`
	Why    string `json:"why"`
}
