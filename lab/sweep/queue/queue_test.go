package queue_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hop-marl/hop/lab/sweep/hub"
	"github.com/hop-marl/hop/lab/sweep/queue"
)

// keys are a coordinator's.
func keys(t *testing.T) *hub.Keys {
	t.Helper()
	k, err := hub.Derive("a secret of twenty letters")
	must(t, err)
	return k
}

func connect(t *testing.T, dir string) *nats.Conn {
	t.Helper()
	h, err := hub.Start(hub.Config{Dir: dir, Keys: keys(t)})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := h.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close(); h.Stop() })
	return nc
}

func open(t *testing.T, wait time.Duration) *queue.Queue {
	t.Helper()
	q, err := queue.Open(t.Context(), connect(t, t.TempDir()), "s", queue.Options{Wait: wait})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

var ask = queue.Ask{Build: "b", Cores: 1}

func job(n int) queue.Job {
	return queue.Job{ID: fmt.Sprintf("job%d", n), Name: fmt.Sprintf("n%d", n), Kind: queue.Training, Spec: "{}", Ask: ask}
}

func take(t *testing.T, q *queue.Queue, who string) *queue.Attempt {
	t.Helper()
	a, err := q.Take(t.Context(), ask, queue.Holder{Worker: who}, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// send puts a folder into the store and returns its sum.
func send(t *testing.T, q *queue.Queue, name, dir string) string {
	t.Helper()
	sum, err := q.Send(t.Context(), name, dir)
	must(t, err)
	return sum
}

func TestAJobIsHandedOutOnceAndItsResultKept(t *testing.T) {
	q := open(t, 5*time.Second)
	must(t, q.Put(t.Context(), job(1)))
	must(t, q.Put(t.Context(), job(1))) // twice: it is the same
	a := take(t, q, "w")
	if a.ID != "job1" || a.Number != 1 || a.Kind != queue.Training {
		t.Fatalf("got %+v", a)
	}
	if _, err := q.Take(t.Context(), ask, queue.Holder{Worker: "v"}, 50*time.Millisecond); !errors.Is(err, queue.ErrNone) {
		t.Fatalf("a job was handed out twice: %v", err)
	}
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "seed-1", "empty"), 0o755))
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	must(t, os.WriteFile(filepath.Join(dir, "seed-1", "spec.yaml"), big, 0o644))
	a.Sum = send(t, q, a.File(), dir)
	must(t, a.Finish(t.Context(), queue.Cost{CPU: 2}))
	all, err := q.All(t.Context())
	must(t, err)
	s := all["job1"]
	if len(all) != 1 || s.Phase != queue.Done || s.Cost.CPU != 2 || s.Worker != "w" {
		t.Fatalf("state %+v", all)
	}
	to := filepath.Join(t.TempDir(), "there")
	must(t, q.Fetch(t.Context(), s.File, s.Sum, to))
	got, err := os.ReadFile(filepath.Join(to, "seed-1", "spec.yaml"))
	must(t, err)
	if !bytes.Equal(got, big) {
		t.Fatal("the folder came back changed")
	}
	must(t, q.Put(t.Context(), job(1)))
	if _, err := q.Take(t.Context(), ask, queue.Holder{Worker: "v"}, 50*time.Millisecond); !errors.Is(err, queue.ErrNone) {
		t.Fatalf("a job that is done was handed out: %v", err)
	}
}

func TestALateWriterIsFencedOff(t *testing.T) {
	q := open(t, 300*time.Millisecond)
	must(t, q.Put(t.Context(), job(1)))
	slow := take(t, q, "slow") // and not a word more
	quick := take(t, q, "quick")
	if quick.Number != 2 {
		t.Fatalf("attempt %d, want the second", quick.Number)
	}
	if err := slow.Beat(t.Context()); !errors.Is(err, queue.ErrLost) {
		t.Fatalf("the first worker was told %v", err)
	}
	if err := slow.Finish(t.Context(), queue.Cost{}); !errors.Is(err, queue.ErrLost) {
		t.Fatalf("the first worker's result was taken: %v", err)
	}
	must(t, quick.Finish(t.Context(), queue.Cost{}))
	s, err := q.State(t.Context(), "job1")
	must(t, err)
	if s.Worker != "quick" || s.File != quick.File() {
		t.Fatalf("the result is %+v", s)
	}
}

func TestSignsOfLifeKeepAJob(t *testing.T) {
	q := open(t, 400*time.Millisecond)
	must(t, q.Put(t.Context(), job(1)))
	a := take(t, q, "w")
	for range 8 {
		time.Sleep(130 * time.Millisecond)
		must(t, a.Beat(t.Context()))
	}
	if _, err := q.Take(t.Context(), ask, queue.Holder{Worker: "v"}, 20*time.Millisecond); !errors.Is(err, queue.ErrNone) {
		t.Fatalf("a job in good hands was handed to another: %v", err)
	}
	must(t, a.Finish(t.Context(), queue.Cost{}))
}

func TestAPoisonedJobIsGivenUp(t *testing.T) {
	q := open(t, 300*time.Millisecond)
	must(t, q.Put(t.Context(), job(1)))
	must(t, take(t, q, "a").Fail(t.Context(), "it panicked", "goroutine 1", false))
	take(t, q, "b") // falls silent, which is not the job's fault
	must(t, take(t, q, "c").Fail(t.Context(), "it panicked", "goroutine 1", false))
	must(t, take(t, q, "d").Fail(t.Context(), "it panicked again", "goroutine 2", false))
	s, err := q.State(t.Context(), "job1")
	must(t, err)
	if s.Phase != queue.Failed || s.Why != "it panicked again" || s.Log != "goroutine 2" || s.Attempt != 4 || s.Lost != 3 || s.Silent != 1 {
		t.Fatalf("after three tries: %+v", s)
	}
	if _, err := q.Take(t.Context(), ask, queue.Holder{Worker: "v"}, 400*time.Millisecond); !errors.Is(err, queue.ErrNone) {
		t.Fatalf("a job that was given up was handed out: %v", err)
	}
	must(t, q.Again(t.Context(), "job1"))
	must(t, q.Put(t.Context(), job(1)))
	if a := take(t, q, "d"); a.Number != 5 {
		t.Fatalf("attempt %d", a.Number)
	}
}

func TestAJobMovesOnFromWhereItWas(t *testing.T) {
	q := open(t, 5*time.Second)
	must(t, q.Put(t.Context(), job(1)))
	for n := range 5 { // more often than there are tries: moving on is no failure
		a := take(t, q, "w")
		if want := map[bool]string{true: "", false: fmt.Sprintf("job1.%d", n)}[n == 0]; a.From != want {
			t.Fatalf("attempt %d goes on from %q, want %q", a.Number, a.From, want)
		}
		must(t, a.Move(t.Context(), true))
	}
}

func TestACancelledJobIsTakenFromItsWorker(t *testing.T) {
	q := open(t, 5*time.Second)
	must(t, q.Put(t.Context(), job(1)))
	must(t, q.Put(t.Context(), job(2)))
	a := take(t, q, "w")
	must(t, q.Cancel(t.Context(), "job1", "nobody wants it"))
	must(t, q.Cancel(t.Context(), "job2", "nobody wants it"))
	if err := a.Beat(t.Context()); !errors.Is(err, queue.ErrLost) {
		t.Fatalf("the worker was told %v", err)
	}
	if _, err := q.Take(t.Context(), ask, queue.Holder{Worker: "v"}, 100*time.Millisecond); !errors.Is(err, queue.ErrNone) {
		t.Fatalf("a cancelled job was handed out: %v", err)
	}
}

func TestEverythingSurvivesTheServersEnd(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	h, err := hub.Start(hub.Config{Dir: dir, Keys: keys(t)})
	must(t, err)
	nc, err := h.Connect()
	must(t, err)
	q, err := queue.Open(ctx, nc, "s", queue.Options{Wait: 500 * time.Millisecond})
	must(t, err)
	for n := range 3 {
		must(t, q.Put(ctx, job(n)))
	}
	a := take(t, q, "w")
	send(t, q, a.File(), t.TempDir())
	must(t, a.Finish(ctx, queue.Cost{}))
	take(t, q, "w") // in its hands when the server ends
	nc.Close()
	h.Stop()
	q, err = queue.Open(ctx, connect(t, dir), "s", queue.Options{Wait: 500 * time.Millisecond})
	must(t, err)
	for range 2 {
		b := take(t, q, "w")
		must(t, b.Finish(ctx, queue.Cost{}))
	}
	all, err := q.All(ctx)
	must(t, err)
	for id, s := range all {
		if s.Phase != queue.Done {
			t.Errorf("%s is %s", id, s.Phase)
		}
	}
	if len(all) != 3 {
		t.Errorf("%d jobs, want 3", len(all))
	}
}

func TestGarbageIsNoJob(t *testing.T) {
	nc := connect(t, t.TempDir())
	q, err := queue.Open(t.Context(), nc, "s", queue.Options{Wait: time.Second})
	must(t, err)
	must(t, q.Put(t.Context(), job(1)))
	a := take(t, q, "w")
	must(t, a.Finish(t.Context(), queue.Cost{}))
	asks, err := q.Asks(t.Context())
	must(t, err)
	if len(asks) != 1 || asks[0].Build != "b" {
		t.Fatalf("asks %+v", asks)
	}
	for _, text := range []string{"", "{", `{"id":"nobody"}`, "\x00\xff"} {
		must(t, nc.Publish(q.Subject(ask), []byte(text)))
	}
	must(t, nc.Flush())
	if _, err := q.Take(t.Context(), ask, queue.Holder{Worker: "v"}, 300*time.Millisecond); !errors.Is(err, queue.ErrNone) {
		t.Fatalf("garbage was handed out: %v", err)
	}
}

// A coordinator that restarts puts jobs again that it does not know to be in the stream. The second
// message must not take the job from the worker that has it.
func TestAJobThatWasPutTwiceStaysWithItsWorker(t *testing.T) {
	q := open(t, 2*time.Second)
	must(t, q.Put(t.Context(), job(1)))
	must(t, take(t, q, "w").Move(t.Context(), false)) // its state is another one now
	must(t, q.Put(t.Context(), job(1)))               // so this is another message
	a := take(t, q, "w")
	if _, err := q.Take(t.Context(), ask, queue.Holder{Worker: "v"}, 300*time.Millisecond); !errors.Is(err, queue.ErrNone) {
		t.Fatalf("the job was handed to a second worker: %v", err)
	}
	must(t, a.Beat(t.Context()))
	must(t, a.Finish(t.Context(), queue.Cost{}))
}

func TestAResultThatNobodyReadsLeavesTheStore(t *testing.T) {
	q := open(t, 2*time.Second)
	for n, read := range []bool{false, true} {
		must(t, q.Put(t.Context(), job(n)))
		a := take(t, q, "w")
		a.Sum = send(t, q, a.File(), t.TempDir())
		must(t, a.Finish(t.Context(), queue.Cost{}))
		must(t, q.Keep(t.Context(), a.ID, read))
		must(t, q.Keep(t.Context(), a.ID, read)) // twice is once
		err := q.Fetch(t.Context(), a.File(), a.Sum, filepath.Join(t.TempDir(), "x"))
		if errors.Is(err, queue.ErrGone) == read {
			t.Errorf("somebody reads it: %v; fetching it: %v", read, err)
		}
	}
}

// A server that dies may have taken a result without saying so. The worker hands it in again, and must
// not find that the job is another's, nor throw away what counts.
func TestAResultThatIsHandedInTwiceIsTakenOnce(t *testing.T) {
	q := open(t, 5*time.Second)
	must(t, q.Put(t.Context(), job(1)))
	a := take(t, q, "w")
	a.Sum = send(t, q, a.File(), t.TempDir())
	again := *a // as it was before the answer that never came
	must(t, a.Finish(t.Context(), queue.Cost{}))
	if err := again.Finish(t.Context(), queue.Cost{}); err != nil && !strings.Contains(err.Error(), "ack") {
		t.Fatalf("handed in again: %v", err)
	}
	must(t, q.Fetch(t.Context(), a.File(), a.Sum, filepath.Join(t.TempDir(), "x")))
}

// Every part of a folder costs the server an fsync: all are as long as they may be but the last. A folder that is sent
// again takes the place of the first, whose parts are gone.
func TestAFolderIsSentInWholeParts(t *testing.T) {
	q := open(t, 2*time.Second)
	dir := t.TempDir()
	big := make([]byte, 5*queue.Part+1000)
	_, _ = rand.Read(big) // that packing does not shorten
	must(t, os.WriteFile(filepath.Join(dir, "big"), big, 0o644))
	sum := ""
	for range 2 {
		sum = send(t, q, "f", dir)
		if size, parts, all := q.Parts(t.Context(), "f"); parts != 6 || all != 7 || size < len(big) {
			t.Errorf("%d bytes are in %d parts, want 6; the store has %d messages, want those and one that says what the file is", size, parts, all)
		}
	}
	to := filepath.Join(t.TempDir(), "there")
	must(t, q.Fetch(t.Context(), "f", sum, to))
	got, err := os.ReadFile(filepath.Join(to, "big"))
	must(t, err)
	if !bytes.Equal(got, big) {
		t.Error("the folder came back changed")
	}
}
