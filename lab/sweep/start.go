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

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/sweep/hub"
	"github.com/hop-marl/hop/lab/sweep/queue"
	"github.com/hop-marl/hop/lab/sweep/worker"
	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/num/disk"
)

// Server says through which server coordinator and workers meet.
type Server struct {
	Connect   string `yaml:"connect" doc:"address of a NATS server with JetStream, nats://HOST:PORT; several with commas" unit:"URL"`
	TokenFile string `yaml:"token_file" doc:"file with the token, which only you may read; or set HOP_TOKEN" unit:"FILE" flag:"file"`
	CA        string `yaml:"ca" doc:"file of the authority that signed the server's certificate" unit:"FILE" flag:"file"`
	Cert      string `yaml:"cert" doc:"own certificate: of the server with --listen, else what is shown to it" unit:"FILE" flag:"file"`
	Key       string `yaml:"key" doc:"its key" unit:"FILE" flag:"file"`
	Token     string `yaml:"-"` // refused: others could read it
}

// check refuses tokens where others can read them.
func (s Server) check() error {
	where := "--token"
	if strings.Contains(s.Connect, "@") {
		where = "the address of --connect"
	} else if s.Token == "" {
		return nil
	}
	return fmt.Errorf("sweep: a token in %s can be read by everybody on this machine in the list of processes; write it into a file "+
		"that only you can read and give --token-file FILE, or set HOP_TOKEN", where)
}

// secret is the token of the file or of the environment; empty: none was given. A file that is not there is made if
// make says so.
func (s Server) secret(create bool) (string, error) {
	switch {
	case s.TokenFile != "" && create:
		return hub.Keep(s.TokenFile)
	case s.TokenFile != "":
		return hub.ReadToken(s.TokenFile)
	}
	return strings.TrimSpace(os.Getenv(worker.TokenEnv)), nil
}

func (s Server) route(name string) hub.Route {
	return hub.Route{Addr: s.Connect, Name: name, CA: s.CA, Cert: s.Cert, Key: s.Key}
}

// Join connects a worker to its coordinator, and says when that is away and back.
func (s Server) Join(name string, log func(format string, args ...any)) (*nats.Conn, *hub.Token, error) {
	if err := s.check(); err != nil {
		return nil, nil, err
	}
	text, err := s.secret(false)
	if err != nil {
		return nil, nil, err
	}
	if text == "" {
		return nil, nil, errors.New("sweep: a worker needs a token; give --token-file with the file that hop sweep --listen names, or what " +
			"stands in it as HOP_TOKEN")
	}
	t, err := hub.ParseToken(text)
	if err != nil {
		return nil, nil, err
	}
	nc, err := s.route(name).Dial(t)
	if err != nil {
		return nil, nil, err
	}
	nc.SetDisconnectErrHandler(func(_ *nats.Conn, err error) {
		if err != nil {
			log("%s is away: %v; waiting for it", hub.Without(s.Connect), err)
		}
	})
	nc.SetReconnectHandler(func(*nats.Conn) { log("%s is back", hub.Without(s.Connect)) })
	return nc, t, nil
}

// Options are how a sweep is run.
type Options struct {
	Server   `yaml:",inline"`
	Listen   string        `yaml:"listen" doc:"let workers on other machines join at this address; without it nothing listens" unit:"HOST:PORT"`
	ClientCA string        `yaml:"client_ca" doc:"let only workers in whose certificate this authority signed" unit:"FILE" flag:"file"`
	Slots    int           `yaml:"slots" doc:"jobs at once on this machine; 0: none, only others work; -1: as many as there are cores"`
	Wait     time.Duration `yaml:"wait" doc:"how long a silent worker keeps its job"`
	Replicas int           `yaml:"replicas" doc:"with --connect to a cluster: how many of its servers keep everything"`

	AcceptUnsealed bool `yaml:"-"` // go on with a folder for which nothing vouches
}

// DefaultOptions returns what is usual: a sweep on this machine.
func DefaultOptions() Options { return Options{Slots: -1, Wait: 30 * time.Second, Replicas: 1} }

// hub is the server of a sweep's own.
func (o Options) hub(dir string, keys *hub.Keys) hub.Config {
	given := o.TokenFile != "" || os.Getenv(worker.TokenEnv) != ""
	return hub.Config{Dir: EngineDir(dir), Listen: o.Listen, Keys: keys, Given: given, Cert: o.Cert, Key: o.Key, ClientCA: o.ClientCA}
}

// keys are the coordinator's, of the secret that was given or is kept in its folder, and the token that it gives its
// workers. With somebody else's server what was given is for that server.
func (o Options) keys(dir string) (*hub.Keys, *hub.Token, error) {
	given, err := o.secret(o.Connect == "")
	if err != nil {
		return nil, nil, err
	}
	secret := given
	if o.Connect != "" || given == "" {
		if secret, err = hub.Keep(filepath.Join(dir, secretFile)); err != nil {
			return nil, nil, err
		}
	}
	keys, err := hub.Derive(secret)
	if err != nil {
		return nil, nil, err
	}
	if o.Connect != "" {
		return keys, keys.OtherToken(given), nil
	}
	t, err := keys.Token()
	return keys, t, err
}

// Check returns what is wrong with the options.
func (o Options) Check() error {
	if err := o.check(); err != nil {
		return err
	}
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
	return o.hub("", nil).Validate()
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
	if err := o.vouch(dir, s, log); err != nil {
		return nil, err
	}
	keys, token, err := o.keys(dir)
	if err != nil {
		return nil, err
	}
	if os.Getenv("GOMEMLIMIT") == "" { // the engine's buffers otherwise grow to twice what it needs
		debug.SetMemoryLimit(150<<20 + int64(len(s.Variants)*len(s.Seeds))<<12)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := &Coordinator{Lab: l, Dir: dir, Keys: keys, Watch: watch, Log: log}
	if o.Connect+o.Listen != "" {
		if err := disk.WriteSecret(filepath.Join(dir, hub.WorkerFile), []byte(token.String()+"\n")); err != nil {
			return nil, err
		}
	}
	var nc, here *nats.Conn // the coordinator's, and that of workers on this machine
	if o.Connect != "" {
		if nc, err = o.route("hop sweep").DialOther(token.Server); err == nil {
			here, err = o.route("hop worker").Dial(token)
		}
	} else {
		var h *hub.Hub
		own := o.hub(dir, keys)
		own.Log = func(line string) { log("engine: %s", line) }
		h, err = hub.Start(own)
		if err != nil {
			return nil, err
		}
		defer h.Stop()
		h.OnFull(ctx, func() { stop(noRoom(dir)) })
		c.Refused = h.Refused
		if at := h.Addr(); o.Listen != "" && at != "" {
			log("workers join with: hop worker --connect nats://%s --token-file %s", at, filepath.Join(dir, hub.WorkerFile))
		}
		if nc, err = h.Connect(); err == nil {
			here, err = h.ConnectWorker()
		}
	}
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	defer here.Close()
	if c.Queue, err = queue.Open(ctx, nc, s.ID, queue.Options{Wait: o.Wait, Replicas: o.Replicas, Seal: keys.Seal, Log: log}); err != nil {
		return nil, full(err, dir)
	}
	c.Leave = func() {}
	if o.Slots != 0 {
		if c.Leave, err = o.workHere(ctx, c, s, here, token); err != nil {
			return nil, err
		}
	}
	index, err = c.Run(ctx)
	c.Leave() // Run may have ended before it came to that
	if full := (noSpace{}); errors.As(context.Cause(ctx), &full) {
		return index, full
	}
	if err == nil {
		err = c.Queue.Remove(context.WithoutCancel(ctx))
	}
	if err == nil { // nobody needs them any more, and the folder may be given to others
		_, _ = os.Remove(filepath.Join(dir, hub.WorkerFile)), os.Remove(filepath.Join(dir, secretFile))
	}
	return index, err
}

// vouch refuses a folder that has no seals, or seals it if somebody says that it is as it ought to be.
func (o Options) vouch(dir string, s *Sweep, log func(string, ...any)) error {
	err := loose(dir, s)
	if !errors.Is(err, ErrUnsealed) || !o.AcceptUnsealed {
		return err
	}
	log("%s had no seals; it is sealed as it is now", dir)
	return seal(dir, s)
}

// workHere lets this machine take jobs until the returned function is called, which returns when they
// have ended or moved on.
func (o Options) workHere(ctx context.Context, c *Coordinator, s *Sweep, nc *nats.Conn, t *hub.Token) (leave func(), err error) {
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
			found, err := queue.Find(work, nc, t)
			for _, r := range found {
				if r.Sweep == s.ID && err == nil {
					err = w.Serve(work, r)
				}
			}
			if err != nil && work.Err() == nil {
				c.Log("this machine's worker: %v", err)
			}
			worker.Sleep(work, 200*time.Millisecond)
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

// Work lets a worker take the jobs of every sweep on a server that its token is for, also of those that come later,
// until the context ends.
func Work(ctx context.Context, nc *nats.Conn, t *hub.Token, w *worker.Worker) error {
	var sweeps sync.WaitGroup
	defer sweeps.Wait()
	serving := map[string]bool{}
	for ctx.Err() == nil {
		found, err := queue.Find(ctx, nc, t)
		if err != nil && ctx.Err() == nil {
			w.Log("asking for sweeps: %v", err)
		}
		for _, r := range found {
			if serving[r.Sweep] {
				continue
			}
			serving[r.Sweep] = true
			sweeps.Go(func() {
				w.Log("working for sweep %s", r.Sweep)
				if err := w.Serve(ctx, r); err != nil && ctx.Err() == nil {
					w.Log("sweep %s: %v", r.Sweep, err)
				}
			})
		}
		worker.Sleep(ctx, 2*time.Second)
	}
	return nil
}
