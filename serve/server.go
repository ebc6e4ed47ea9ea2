// Package serve is hop in a browser: runs as they grow, their curves, comparisons,
// episodes and findings, served from run folders that other processes may be writing.
//
// It reads and changes nothing in a run; tags and notes lie in a file of the served
// folder. Pages are made here as HTML that can be read before any script runs, and one ES
// module each makes them live; everything is embedded, and nothing is fetched from
// elsewhere. What a page shows is in its address.
//
// A run is named by the number of its folder and its path below it (0:ppo-4x4-001/seed-1),
// and package shelf alone turns such a name into a folder.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/serve/auth"
	"github.com/hop-marl/hop/serve/cache"
	"github.com/hop-marl/hop/serve/curve"
	"github.com/hop-marl/hop/serve/jobs"
	"github.com/hop-marl/hop/serve/replay"
	"github.com/hop-marl/hop/serve/runs"
)

// Config says what is served, and to whom.
type Config struct {
	Lab     *lab.Lab // whose registry specs are read by
	Folders []string // below which runs are looked for
	Addr    string   // that is listened on; "": one of this machine for itself alone
	Hosts   []string // other names under which it may be asked for
	Token   string   // of who may act; "": made. That of who may look follows from it (package door)
	Control bool     // whether trainings can be started and stopped, and runs be tagged
	Cache   int      // bytes that are kept of what was read and made, all together; 0: 256 MiB
	Record  string   // folder that what people play is written into; "": it is not
	Log     func(format string, args ...any)
}

// Server answers a browser.
type Server struct {
	c       Config
	shelf   *runs.Shelf
	door    *auth.Door
	control *jobs.Control
	stage   *replay.Theatre
	pages   pages
	files   files
	mux     *http.ServeMux
	cache   *cache.Cache // of all that was read and made, and can be again
	indexes curve.Cache  // in it

	comparing chan struct{} // one comparison is made at a time: it has all rows of a run in memory
	sweeping  sync.Mutex    // one index of a sweep is read at a time
}

// New reads nothing yet but what is embedded.
func New(c Config) (*Server, error) {
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	in, err := auth.New(auth.Config{Addr: c.Addr, Token: c.Token, Hosts: c.Hosts, Control: c.Control, Log: c.Log})
	if err != nil {
		return nil, err
	}
	sh, err := runs.New(c.Folders)
	if err != nil {
		return nil, err
	}
	list, err := jobs.New(sh.Roots())
	if err != nil {
		return nil, err
	}
	all := cache.New(cmp.Or(c.Cache, 256<<20))
	s := &Server{c: c, shelf: sh, door: in, control: list, stage: replay.New(replay.Config{Lab: c.Lab, Cache: all, Record: c.Record}),
		mux: http.NewServeMux(), cache: all, indexes: curve.NewCache(all), comparing: make(chan struct{}, 1)}
	if s.files, err = embedded(); err != nil {
		return nil, err
	}
	if s.pages, err = parsePages(); err != nil {
		return nil, err
	}
	for _, r := range s.routes() {
		s.mux.HandleFunc(r.pattern, r.answer)
	}
	return s, nil
}

// route is an address that is answered, with its method, and what answers.
type route struct {
	pattern string
	answer  http.HandlerFunc
}

// routes are all addresses that are answered, one line each. What is asked for with GET
// changes nothing, starts nothing and builds no game that needs a process.
func (s *Server) routes() []route {
	return []route{
		{"GET /{$}", s.page(s.runsPage)},
		{"GET /sweeps", s.page(s.sweepsPage)},
		{"GET /curves", s.page(s.curvesPage)},
		{"GET /compare", s.page(s.comparePage)},
		{"GET /theatre", s.page(s.theatrePage)},
		{"GET /join", s.page(s.joinPage)},
		{"GET /diagnose", s.page(s.diagnosePage)},
		{"GET /start", s.page(s.startPage)},
		{"GET /page", s.file},
		{"GET /static/", s.files.serve},
		{"GET /api/words", s.api(s.wordsAPI)},
		{"GET /api/runs", s.api(s.runsAPI)},
		{"GET /api/runs/stream", s.streaming(s.runsStream)},
		{"POST /api/runs/label", s.api(s.labelRun)},
		{"GET /api/sweeps/stream", s.streaming(s.sweepsStream)},
		{"GET /api/curves", s.api(s.curvesAPI)},
		{"GET /api/curves/names", s.api(s.namesAPI)},
		{"GET /api/curves/export", s.exportCurves},
		{"GET /api/curves/stream", s.streaming(s.curvesStream)},
		{"GET /api/rows/stream", s.streaming(s.rowsStream)},
		{"GET /api/pages", s.api(s.pagesAPI)},
		{"GET /api/control/jobs", s.api(s.jobsAPI)},
		{"GET /api/control/stream", s.streaming(s.jobsStream)},
		{"POST /api/control/start", s.api(s.startTraining)},
		{"POST /api/control/resume", s.api(s.resumeRun)},
		{"POST /api/control/audit", s.api(s.auditRun)},
		{"POST /api/control/ladder", s.api(s.ladderRun)},
		{"POST /api/control/stop", s.api(s.stopJob)},
		{"GET /api/theatre/choices", s.api(s.choicesAPI)},
		{"GET /api/theatre/stream", s.streaming(s.theatreStream)},
		{"POST /api/join", s.api(s.joinAPI)},
		{"POST /api/join/move", s.api(s.moveAPI)},
		{"POST /api/join/leave", s.api(s.leaveAPI)},
		{"GET /api/join/stream", s.streaming(s.joinStream)},
	}
}

// Handler returns what answers requests.
func (s *Server) Handler() http.Handler { return s.door.Wrap(s.mux) }

// Visit returns the address to open in a browser, for that of the listener, with the token
// of a role.
func (s *Server) Visit(addr net.Addr, as auth.Role) string { return s.door.Visit(addr, as) }

// Serve answers on a listener until ctx ends. When it returns, all that it began is gone.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l = s.door.Listen(l)
	h := s.door.Server(s.Handler())
	h.BaseContext = func(net.Listener) context.Context { return ctx }
	watched, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(watched)
		s.shelf.Watch(ctx)
	}()
	go func() {
		<-ctx.Done()
		wait, done := context.WithTimeout(context.Background(), 5*time.Second)
		defer done()
		err := h.Shutdown(wait)
		if errors.Is(err, context.DeadlineExceeded) {
			err = h.Close()
		}
		ended <- err
	}()
	err := h.Serve(l)
	cancel()
	<-watched
	s.stage.Close()
	if down := <-ended; errors.Is(err, http.ErrServerClosed) {
		err = down
	}
	if err != nil {
		return fmt.Errorf("serve: answering on %s: %w", l.Addr(), err)
	}
	return nil
}

// Listen listens at an address, of this machine alone where it names none.
func Listen(addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, lab.Misused("--addr %s: want an address such as 127.0.0.1:8770: %w", addr, err)
	}
	if host == "" {
		addr = "127.0.0.1" + addr // :0 is a port of this machine, for this machine
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("serve: listening: %w; choose another address with --addr, such as --addr :0 for any free port", err)
	}
	return l, nil
}
