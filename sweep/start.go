package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"hop/internal/cpu"
	"hop/internal/disk"
	"hop/lab"
	"hop/sweep/hub"
	"hop/sweep/queue"
	"hop/sweep/worker"
)

// Server says through which server coordinator and workers meet.
type Server struct {
	Connect string `help:"Address of a NATS server with JetStream, nats://[TOKEN@]HOST:PORT; several with commas." placeholder:"URL"`
	Token   string `help:"What a server wants to hear." env:"HOP_TOKEN" placeholder:"TEXT"`
	CA      string `name:"ca" help:"File of the authority that signed the server's certificate." type:"path" placeholder:"FILE"`
}

// Options are how a sweep is run.
type Options struct {
	Server
	Listen   string        `help:"Let workers on other machines join at this address; without it nothing listens." placeholder:"HOST:PORT"`
	Cert     string        `help:"Certificate for --listen." type:"path" placeholder:"FILE"`
	Key      string        `help:"Its key." type:"path" placeholder:"FILE"`
	Slots    int           `help:"Jobs at once on this machine; 0: none, only others work; -1: as many as there are cores." default:"-1"`
	Wait     time.Duration `help:"How long a silent worker keeps its job." default:"30s"`
	Replicas int           `help:"With --connect to a cluster: how many of its servers keep everything." default:"1"`
}

// hub is the server of a sweep's own.
func (o Options) hub(dir string) hub.Config {
	return hub.Config{Dir: EngineDir(dir), Listen: o.Listen, Token: o.Token, Cert: o.Cert, Key: o.Key}
}

// Check returns what is wrong with the options.
func (o Options) Check() error {
	switch {
	case o.Connect != "" && o.Listen != "":
		return errors.New("sweep: --connect uses a server that exists, and --listen opens one of its own; choose one")
	case o.Connect == "" && o.Replicas > 1:
		return fmt.Errorf("sweep: --replicas %d is for a cluster that exists; name it with --connect", o.Replicas)
	case o.Wait < time.Second:
		return fmt.Errorf("sweep: --wait %v, want a second or more: a worker says three times within it that it is alive", o.Wait)
	case o.Connect == "" && o.Listen == "" && o.Slots == 0:
		return errors.New("sweep: --slots 0: nobody works here, and without --listen or --connect nobody can elsewhere")
	case o.Connect != "":
		return nil
	}
	return o.hub("").Validate()
}

// Run brings the sweep of a folder to its end: with a server of its own or elsewhere, and with
// workers here unless there are to be none.
func (o Options) Run(ctx context.Context, l *lab.Lab, dir string, watch func(Index), log func(string, ...any)) (index *Index, err error) {
	if err := begun(dir); err != nil {
		return nil, err
	}
	s, err := Read(dir)
	if err != nil {
		return nil, err
	}
	if here := l.Build().ID(); here != s.Build {
		return nil, fmt.Errorf("sweep: %s was begun by another build of hop, %s; this is %s; go on with that one, or begin another sweep",
			dir, s.Build, here)
	}
	if err := s.allowed(l, dir); err != nil {
		return nil, err
	}
	lock, err := disk.Lock(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, disk.Unlock(lock)) }()
	if free, known := disk.Free(dir); known && free < least {
		return nil, noRoom(dir)
	}
	if os.Getenv("GOMEMLIMIT") == "" { // the engine's buffers otherwise grow to twice what it needs
		debug.SetMemoryLimit(150<<20 + int64(len(s.Variants)*len(s.Seeds))<<12)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := &Coordinator{Lab: l, Dir: dir, Watch: watch, Log: log}
	var nc *nats.Conn
	if o.Connect != "" {
		nc, err = hub.Dial(o.Connect, "hop sweep", o.Token, o.CA)
	} else {
		var h *hub.Hub
		own := o.hub(dir)
		own.Log = func(line string) { log("engine: %s", line) }
		h, err = hub.Start(own)
		if err != nil {
			return nil, err
		}
		defer h.Stop()
		h.OnFull(ctx, func() { stop(noRoom(dir)) })
		c.Refused = h.Refused
		if at := h.Addr(); o.Listen != "" && at != "" {
			log("workers join with: hop worker --connect nats://%s", at)
		}
		nc, err = h.Connect()
	}
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	if c.Queue, err = queue.Open(ctx, nc, s.ID, queue.Options{Wait: o.Wait, Replicas: o.Replicas}); err != nil {
		return nil, full(err, dir)
	}
	leave := func() {}
	if o.Slots != 0 {
		if leave, err = o.workHere(ctx, c, s); err != nil {
			return nil, err
		}
	}
	index, err = c.Run(ctx)
	leave()
	if full := (noSpace{}); errors.As(context.Cause(ctx), &full) {
		return index, full
	}
	if err == nil {
		err = c.Queue.Remove(context.WithoutCancel(ctx))
	}
	return index, err
}

// workHere lets this machine take jobs until the returned function is called, which returns when they
// have ended or moved on.
func (o Options) workHere(ctx context.Context, c *Coordinator, s *Sweep) (leave func(), err error) {
	w, err := Here(c.Lab, filepath.Join(c.Dir, ".work"), c.Log)
	if err != nil {
		return nil, err
	}
	if err := os.RemoveAll(filepath.Dir(w.Dir)); err != nil { // of a coordinator that died
		return nil, err
	}
	w.Slots, w.Labels = max(o.Slots, 0), s.Each.Labels
	work, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	workers.Go(func() {
		for work.Err() == nil {
			if err := w.Serve(work, c.Queue); err != nil {
				c.Log("this machine's worker: %v", err)
			}
			sleep(work, time.Second)
		}
		_ = os.RemoveAll(filepath.Dir(w.Dir))
	})
	return func() { cancel(); workers.Wait() }, nil
}

// full says what to do about a disk without room.
func full(err error, dir string) error {
	var api *jetstream.APIError
	if errors.As(err, &api) && (api.ErrorCode == 10023 || api.ErrorCode == 10047) { // the server has no room left
		return fmt.Errorf("%w: is there room on the disk of %s?", err, dir)
	}
	return err
}

// Here is this machine as a worker.
func Here(l *lab.Lab, dir string, log func(string, ...any)) (*worker.Worker, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	name := fmt.Sprintf("%s-%d", strings.Map(plain, host), os.Getpid())
	return &worker.Worker{
		Name: name, Build: l.Build().ID(), Cores: runtime.GOMAXPROCS(0), Memory: int64(cpu.Memory()), Dir: filepath.Join(dir, name),
		Run: worker.Process{Program: program}.Run, Log: log,
	}, nil
}

// plain keeps what is good in names.
func plain(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
		return r
	}
	return '_'
}

// Work lets a worker take the jobs of every sweep on a server, also of those that come later, until the
// context ends.
func Work(ctx context.Context, nc *nats.Conn, w *worker.Worker) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	var sweeps sync.WaitGroup
	defer sweeps.Wait()
	var mu sync.Mutex
	serving := map[string]bool{}
	for ctx.Err() == nil {
		names := js.StreamNames(ctx, jetstream.WithStreamListSubject("hop.*.job.>"))
		for stream := range names.Name() {
			id, ok := strings.CutPrefix(stream, "hop-")
			mu.Lock()
			known := serving[id]
			serving[id] = true
			mu.Unlock()
			if !ok || known {
				continue
			}
			sweeps.Go(func() {
				q, err := queue.Find(ctx, nc, id)
				if err == nil {
					w.Log("working for sweep %s", id)
					err = w.Serve(ctx, q)
				}
				if err != nil && ctx.Err() == nil {
					w.Log("sweep %s: %v", id, err)
				}
				mu.Lock()
				delete(serving, id) // it may come back
				mu.Unlock()
			})
		}
		sleep(ctx, 2*time.Second)
	}
	return nil
}
