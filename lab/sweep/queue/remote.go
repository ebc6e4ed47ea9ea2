package queue

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hop-marl/hop/lab/sweep/hub"
)

// Remote is a sweep as a worker has it: what its coordinator answers.
type Remote struct {
	Sweep string
	Wait  time.Duration // how long a silent worker keeps a job

	nc    *nats.Conn
	token *hub.Token
	own   ed25519.PrivateKey // of this worker, for as long as it lives
}

// Find returns the sweeps that are coordinated through a server by whoever made the token.
func Find(ctx context.Context, nc *nats.Conn, t *hub.Token) (list []*Remote, err error) {
	_, own, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	question, inbox := []byte(rand.Text()), nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := nc.PublishRequest(hub.Who, inbox, question); err != nil {
		return nil, err
	}
	for patience := 2 * time.Second; ctx.Err() == nil; patience = 200 * time.Millisecond { // others may coordinate here too
		m, err := sub.NextMsg(patience)
		if err != nil { // nobody, or nobody else
			break
		}
		r, _, err := open(m.Data, question, t.Coordinator)
		if err == nil && r.Sweep != "" && r.Wait > 0 {
			list = append(list, &Remote{Sweep: r.Sweep, Wait: r.Wait, nc: nc, token: t, own: own})
		}
	}
	return list, ctx.Err()
}

// answered is how long the coordinator may take to answer.
const answered = 15 * time.Second

// ask asks the coordinator.
func (r *Remote) ask(ctx context.Context, req request, with []byte) (reply, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answered+req.Patience)
	defer cancel()
	question := sign(r.Sweep, req, with, r.own, r.token.Hello)
	m, err := r.nc.RequestWithContext(ctx, hub.Desk(r.Sweep), question)
	if errors.Is(err, nats.ErrNoResponders) {
		return reply{}, nil, errors.New("sweep: the coordinator is away")
	}
	if err != nil {
		return reply{}, nil, fmt.Errorf("sweep: asking the coordinator: %w", err)
	}
	rep, out, err := open(m.Data, question, r.token.Coordinator)
	if err == nil {
		err = rep.err()
	}
	return rep, out, err
}

// Asks returns what jobs of the sweep ask for, in no order.
func (r *Remote) Asks(ctx context.Context) ([]Ask, error) {
	rep, _, err := r.ask(ctx, request{Op: opAsks}, nil)
	return rep.Asks, err
}

// State returns how a job stands.
func (r *Remote) State(ctx context.Context, id string) (State, error) {
	rep, _, err := r.ask(ctx, request{Op: opState, ID: id}, nil)
	if err != nil || rep.State == nil {
		return State{}, err
	}
	return *rep.State, nil
}

// Say says by the way how a job goes; it may be lost.
func (r *Remote) Say(n News) error {
	return r.post(request{Op: opNews, ID: n.ID, Worker: n.Worker, Attempt: n.Attempt, Line: n.Line, Progress: n.Progress})
}

// Refuse says that a worker takes none of the jobs that ask for something.
func (r *Remote) Refuse(f Refusal) error {
	return r.post(request{Op: opRefuse, Worker: f.Worker, Why: f.Why})
}

// post asks for nothing back.
func (r *Remote) post(req request) error {
	return r.nc.PublishRequest(hub.Desk(r.Sweep), r.nc.NewInbox(), sign(r.Sweep, req, nil, r.own, r.token.Hello))
}

// Taken is a job in a worker's hands.
type Taken struct {
	Job
	Number int
	From   Folder // to go on from; none: from the start
	r      *Remote
	worker string
	sum    string // of the folder that was sent
}

// Folder names a folder of the store.
type Folder struct{ File, Sum string }

// Take takes a job that asks for this, waiting no longer than patience.
func (r *Remote) Take(ctx context.Context, a Ask, worker string, patience time.Duration) (*Taken, error) {
	rep, _, err := r.ask(ctx, request{Op: opTake, Ask: &a, Worker: worker, Patience: patience}, nil)
	if err != nil {
		return nil, err
	}
	if rep.Job == nil {
		return nil, errors.New("sweep: the coordinator answered without a job")
	}
	if err := rep.Job.Validate(); err != nil {
		return nil, fmt.Errorf("%w: the coordinator's job is refused", err)
	}
	return &Taken{Job: *rep.Job, Number: rep.Number, From: Folder{rep.From, rep.Sum}, r: r, worker: worker}, nil
}

// File is what the attempt's folder is called in the store.
func (t *Taken) File() string { return fileOf(t.ID, t.Number) }

func (t *Taken) ask(ctx context.Context, req request, with []byte) error {
	req.ID, req.Attempt, req.Worker = t.ID, t.Number, t.worker
	_, _, err := t.r.ask(ctx, req, with)
	return err
}

// Beat says that the attempt is alive. The error is ErrLost if the job is not its own any
// more: then it stops and throws away what it has.
func (t *Taken) Beat(ctx context.Context) error { return t.ask(ctx, request{Op: opBeat}, nil) }

// Finish makes the folder that was sent the job's result.
func (t *Taken) Finish(ctx context.Context, cost Cost) error {
	return t.ask(ctx, request{Op: opFinish, Sum: t.sum, Cost: cost}, nil)
}

// Fail says that the attempt failed. The job is tried again, unless that was the last try or
// trying again is of no use.
func (t *Taken) Fail(ctx context.Context, why, log string, useless bool) error {
	return t.ask(ctx, request{Op: opFail, Why: why, Log: log, Useless: useless}, nil)
}

// Move gives the job back for another worker to go on with, from the folder that was sent if there is something to go
// on from.
func (t *Taken) Move(ctx context.Context, stored bool) error {
	return t.ask(ctx, request{Op: opMove, Sum: t.sum, Stored: stored}, nil)
}

// Discard takes the folder of an attempt that has lost its job from the store, unless it is the job's result.
func (t *Taken) Discard(ctx context.Context) error { return t.ask(ctx, request{Op: opDiscard}, nil) }

// Send puts the attempt's folder into the store, in parts.
func (t *Taken) Send(ctx context.Context, dir string) error {
	if err := t.send(ctx, dir); err != nil {
		return fmt.Errorf("sweep: sending %s: %w", filepath.Base(dir), err)
	}
	return nil
}

func (t *Taken) send(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if err := t.ask(ctx, request{Op: opOpen, Patience: turnWait}, nil); err != nil {
		return err
	}
	r, w := io.Pipe()
	defer r.Close()
	go func() { w.CloseWithError(pack(w, dir)) }()
	sum, b := sha256.New(), make([]byte, part)
	for number := uint64(1); ; number++ {
		n, err := io.ReadFull(r, b)
		if n > 0 {
			sum.Write(b[:n])
			if err := t.ask(ctx, request{Op: opPart, Number: number}, b[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	t.sum = jetstream.GetObjectDigestValue(sum)
	return t.ask(ctx, request{Op: opClose, Sum: t.sum}, nil)
}

// Fetch puts a folder of the store into dir, which must not be there. It appears whole or not at all, and only if its
// sum is the one that the coordinator knows.
func (r *Remote) Fetch(ctx context.Context, f Folder, dir string) error {
	first, _, err := r.ask(ctx, request{Op: opRead, File: f.File}, nil)
	if err != nil {
		return fmt.Errorf("sweep: fetching %s: %w", f.File, err)
	}
	in := &incoming{ctx: ctx, r: r, f: f, object: first.Object, next: first.Next, sum: sha256.New()}
	if err := settle(in, dir); err != nil {
		return fmt.Errorf("sweep: fetching %s: %w", f.File, err)
	}
	return nil
}

// incoming reads a folder part by part; at its end the sum is compared.
type incoming struct {
	ctx    context.Context
	r      *Remote
	f      Folder
	object string
	next   uint64
	sum    hash.Hash
	left   bytes.Reader
}

// Read reads on.
func (in *incoming) Read(b []byte) (int, error) {
	for in.left.Len() == 0 {
		if in.next == 0 {
			return 0, io.EOF
		}
		rep, part, err := in.r.ask(in.ctx, request{Op: opRead, File: in.f.File, Object: in.object, Number: in.next}, nil)
		if err != nil {
			return 0, err
		}
		in.sum.Write(part)
		in.left.Reset(part)
		if in.next = rep.Next; in.next == 0 && jetstream.GetObjectDigestValue(in.sum) != in.f.Sum {
			return 0, fmt.Errorf("%w: another folder is in its place", ErrGone)
		}
	}
	return in.left.Read(b)
}
