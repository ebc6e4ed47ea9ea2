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
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"hop/lab"
	"hop/serve/control"
	"hop/serve/curve"
	"hop/serve/door"
	"hop/serve/shelf"
	"hop/serve/theatre"
)

// Config says what is served, and to whom.
type Config struct {
	Lab     *lab.Lab // whose registry specs are read by
	Folders []string // below which runs are looked for
	Addr    string   // that is listened on; "": one of this machine for itself alone
	Hosts   []string // other names under which it may be asked for
	Token   string   // of who may act; "": made. That of who may look follows from it (package door)
	Control bool     // whether trainings can be started and stopped, and runs be tagged
	Log     func(format string, args ...any)
}

// Server answers a browser.
type Server struct {
	c       Config
	shelf   *shelf.Shelf
	door    *door.Door
	control *control.Control
	stage   *theatre.Theatre
	pages   pages
	files   files
	mux     *http.ServeMux
	cache   *curve.Cache
	specs   sync.Map // what curves need of a spec, by its sum
	sweeps  sweepsRead

	comparing   chan struct{} // a place for each comparison that is being made
	comparisons recent
}

// New reads nothing yet but what is embedded.
func New(c Config) (*Server, error) {
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	in, err := door.New(door.Config{Addr: c.Addr, Token: c.Token, Hosts: c.Hosts, Control: c.Control, Log: c.Log})
	if err != nil {
		return nil, err
	}
	sh, err := shelf.New(c.Folders)
	if err != nil {
		return nil, err
	}
	jobs, err := control.New(sh.Roots())
	if err != nil {
		return nil, err
	}
	s := &Server{c: c, shelf: sh, door: in, control: jobs, stage: theatre.New(theatre.Config{Lab: c.Lab}),
		mux: http.NewServeMux(), cache: curve.NewCache(64 << 20), comparing: make(chan struct{}, 2)}
	if s.files, err = embedded(); err != nil {
		return nil, err
	}
	if s.pages, err = parsePages(); err != nil {
		return nil, err
	}
	s.routes()
	return s, nil
}

// routes are all addresses that are answered, one line each.
func (s *Server) routes() {
	s.mux.HandleFunc("GET /{$}", s.page(s.runsPage))
	s.mux.HandleFunc("GET /sweeps", s.page(s.sweepsPage))
	s.mux.HandleFunc("GET /curves", s.page(s.curvesPage))
	s.mux.HandleFunc("GET /compare", s.page(s.comparePage))
	s.mux.HandleFunc("GET /theatre", s.page(s.theatrePage))
	s.mux.HandleFunc("GET /join", s.page(s.joinPage))
	s.mux.HandleFunc("GET /diagnose", s.page(s.diagnosePage))
	s.mux.HandleFunc("GET /start", s.page(s.startPage))

	s.mux.HandleFunc("GET /page", s.file)

	s.mux.HandleFunc("GET /static/", s.files.serve)
	s.mux.HandleFunc("GET /api/words", s.api(s.wordsAPI))

	s.mux.HandleFunc("GET /api/runs", s.api(s.runsAPI))
	s.mux.HandleFunc("GET /api/runs/stream", s.streaming(s.runsStream))
	s.mux.HandleFunc("POST /api/runs/label", s.api(s.labelRun))
	s.mux.HandleFunc("GET /api/sweeps/stream", s.streaming(s.sweepsStream))
	s.mux.HandleFunc("GET /api/curves", s.api(s.curvesAPI))
	s.mux.HandleFunc("GET /api/curves/names", s.api(s.namesAPI))
	s.mux.HandleFunc("GET /api/curves/export", s.exportCurves)
	s.mux.HandleFunc("GET /api/curves/stream", s.streaming(s.curvesStream))
	s.mux.HandleFunc("GET /api/rows/stream", s.streaming(s.rowsStream))

	s.mux.HandleFunc("GET /api/pages", s.api(s.pagesAPI))
	s.mux.HandleFunc("GET /api/control/jobs", s.api(s.jobsAPI))
	s.mux.HandleFunc("GET /api/control/stream", s.streaming(s.jobsStream))
	s.mux.HandleFunc("POST /api/control/start", s.api(s.startTraining))
	s.mux.HandleFunc("POST /api/control/resume", s.api(s.resumeRun))
	s.mux.HandleFunc("POST /api/control/audit", s.api(s.auditRun))
	s.mux.HandleFunc("POST /api/control/ladder", s.api(s.ladderRun))
	s.mux.HandleFunc("POST /api/control/stop", s.api(s.stopJob))

	s.mux.HandleFunc("GET /api/theatre/choices", s.api(s.choicesAPI))
	s.mux.HandleFunc("GET /api/theatre/stream", s.streaming(s.theatreStream))
	s.mux.HandleFunc("POST /api/join", s.api(s.joinAPI))
	s.mux.HandleFunc("POST /api/join/move", s.api(s.moveAPI))
	s.mux.HandleFunc("POST /api/join/leave", s.api(s.leaveAPI))
	s.mux.HandleFunc("GET /api/join/stream", s.streaming(s.joinStream))
}

// Handler returns what answers requests.
func (s *Server) Handler() http.Handler { return s.door.Wrap(s.mux) }

// Visit returns the address to open in a browser, for that of the listener, with the token
// of a role.
func (s *Server) Visit(addr net.Addr, as door.Role) string { return s.door.Visit(addr, as) }

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
