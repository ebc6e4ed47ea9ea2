package worker_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hop-marl/hop/lab/sweep/hub"
	"github.com/hop-marl/hop/lab/sweep/queue"
	"github.com/hop-marl/hop/lab/sweep/worker"
)

var ask = queue.Ask{Build: "b", Cores: 1}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// site is a sweep with its coordinator's desk.
type site struct {
	*queue.Queue
	remote *queue.Remote
}

func open(t *testing.T, o queue.Options, desk *queue.Desk) site {
	t.Helper()
	keys, err := hub.Derive("a secret of twenty letters")
	must(t, err)
	h, err := hub.Start(hub.Config{Dir: t.TempDir(), Keys: keys})
	must(t, err)
	nc, err := h.Connect()
	must(t, err)
	away, err := h.ConnectWorker()
	must(t, err)
	t.Cleanup(func() { away.Close(); nc.Close(); h.Stop() })
	q, err := queue.Open(t.Context(), nc, "s", o)
	must(t, err)
	desk.Queue, desk.Keys = q, keys
	_, err = desk.Answer(t.Context())
	must(t, err)
	token, err := keys.Token()
	must(t, err)
	found, err := queue.Find(t.Context(), away, token)
	must(t, err)
	if len(found) != 1 {
		t.Fatalf("%d sweeps, want one", len(found))
	}
	return site{q, found[0]}
}

// job is one that workers here take; none is run as a process.
func job(id string, a queue.Ask) queue.Job {
	return queue.Job{ID: id, Name: id, Kind: queue.Training, Spec: "{}", Ask: a}
}

// serve lets a worker work until the test ends.
func serve(t *testing.T, q site, w *worker.Worker) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	w.Name, w.Build, w.Dir = "w", "b", t.TempDir()
	if w.Log == nil {
		w.Log = t.Logf
	}
	wg.Go(func() { _ = w.Serve(ctx, q.remote) })
	t.Cleanup(func() { cancel(); wg.Wait() })
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within half a minute", what)
		}
	}
}

// A store without room: the worker keeps the result and says so, and hands it in when there is room.
func TestAFullStoreHoldsResultsUp(t *testing.T) {
	var mu sync.Mutex
	var lines []string
	q := open(t, queue.Options{Wait: 5 * time.Second, Most: 500 << 10}, &queue.Desk{News: func(n queue.News) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, n.Line)
	}})
	for n := range 2 {
		must(t, q.Put(t.Context(), job(fmt.Sprint("job", n), ask)))
	}
	serve(t, q, &worker.Worker{Cores: 1, Run: func(_ context.Context, _ queue.Job, dir string, _ func(string, float64)) worker.Outcome {
		b := make([]byte, 300<<10)
		_, _ = rand.Read(b)
		return worker.Outcome{Err: os.WriteFile(filepath.Join(dir, "big"), b, 0o644)}
	}})
	until(t, "the worker says that the store is full", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(strings.Join(lines, "\n"), "handing the result in: sweep: sending")
	})
	all, err := q.All(t.Context())
	must(t, err)
	for id, s := range all {
		if s.Phase == queue.Done {
			must(t, q.Keep(t.Context(), id, false)) // makes room
		}
	}
	until(t, "both are done", func() bool {
		all, err := q.All(t.Context())
		return err == nil && all["job0"].Phase == queue.Done && all["job1"].Phase == queue.Done
	})
	for id, s := range all {
		if s.Lost+s.Silent > 0 {
			t.Errorf("%s: %+v", id, s)
		}
	}
}

// Jobs are taken as far as slots, cores and memory go, and those that ask for what is not there are left.
func TestAWorkerTakesWhatFits(t *testing.T) {
	var refused sync.Map
	q := open(t, queue.Options{Wait: 5 * time.Second}, &queue.Desk{Refuse: func(r queue.Refusal) { refused.Store(r.Why, true) }})
	big := queue.Ask{Build: "b", Cores: 2}
	asks := map[string]queue.Ask{"label": {Build: "b", Cores: 1, Labels: []string{"fast"}}, "cores": {Build: "b", Cores: 9},
		"memory": {Build: "b", Cores: 1, Memory: 1 << 40}, "build": {Build: "c", Cores: 1}, "big": big}
	for n := range 6 {
		asks[fmt.Sprint("small", n)] = ask
	}
	for id, a := range asks {
		must(t, q.Put(t.Context(), job(id, a)))
	}
	var mu sync.Mutex
	now, most := 0, 0
	run := func(_ context.Context, j queue.Job, _ string, _ func(string, float64)) worker.Outcome {
		mu.Lock()
		now += j.Ask.Cores
		most = max(most, now)
		mu.Unlock()
		time.Sleep(50 * time.Millisecond)
		mu.Lock()
		now -= j.Ask.Cores
		mu.Unlock()
		return worker.Outcome{}
	}
	serve(t, q, &worker.Worker{Cores: 3, Memory: 1 << 30, Run: run})
	until(t, "what fits is done", func() bool {
		all, err := q.All(t.Context())
		done := 0
		for _, s := range all {
			if s.Phase == queue.Done {
				done++
			}
		}
		return err == nil && done == 7
	})
	all, err := q.All(t.Context())
	must(t, err)
	for _, id := range []string{"label", "cores", "memory", "build"} {
		if all[id].Phase != queue.Queued {
			t.Errorf("%s is %s", id, all[id].Phase)
		}
	}
	count := 0
	refused.Range(func(any, any) bool { count++; return true })
	if most > 3 || most < 2 || count != 4 {
		t.Errorf("%d cores were used at once of 3, and %d asks refused, want 4", most, count)
	}
}

// A worker that leaves lets its jobs save what they have, and another goes on from that.
func TestWhatAJobHasSavedGoesOnElsewhere(t *testing.T) {
	q := open(t, queue.Options{Wait: 5 * time.Second}, &queue.Desk{})
	must(t, q.Put(t.Context(), job("job", ask)))
	ctx, leave := context.WithCancel(t.Context())
	begun := make(chan struct{})
	first := &worker.Worker{Name: "first", Build: "b", Cores: 1, Dir: t.TempDir(), Log: t.Logf,
		Run: func(ctx context.Context, _ queue.Job, dir string, _ func(string, float64)) worker.Outcome {
			close(begun)
			<-ctx.Done()
			must(t, os.WriteFile(filepath.Join(dir, "saved"), []byte("half"), 0o644))
			return worker.Outcome{Stopped: true, Err: errors.New("stopped")}
		}}
	go func() { <-begun; leave() }()
	must(t, first.Serve(ctx, q.remote))
	var got []byte
	serve(t, q, &worker.Worker{Cores: 1, Run: func(_ context.Context, _ queue.Job, dir string, _ func(string, float64)) worker.Outcome {
		got, _ = os.ReadFile(filepath.Join(dir, "saved"))
		return worker.Outcome{}
	}})
	until(t, "it is done", func() bool { s, err := q.State(t.Context(), "job"); return err == nil && s.Phase == queue.Done })
	if string(got) != "half" {
		t.Errorf("the second worker went on from %q", got)
	}
}
