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
	"time"

	"hop/lab"
	"hop/serve/shelf"
	"hop/serve/theatre"
)

// Config says what is served, and to whom.
type Config struct {
	Lab     *lab.Lab // whose registry specs are read by
	Folders []string // below which runs are looked for
	Addr    string   // that is listened on, which requests must name as their host
	Token   string   // that a visitor must know; "": none
	Control bool     // whether trainings can be started and stopped
	Log     func(format string, args ...any)
}

// Server answers a browser.
type Server struct {
	c     Config
	shelf *shelf.Shelf
	stage *theatre.Theatre
	pages pages
	files files
	mux   *http.ServeMux
}

// New reads nothing yet but what is embedded.
func New(c Config) (*Server, error) {
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	sh, err := shelf.New(c.Folders)
	if err != nil {
		return nil, err
	}
	s := &Server{c: c, shelf: sh, stage: theatre.New(theatre.Config{Lab: c.Lab}), mux: http.NewServeMux()}
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
	s.mux.HandleFunc("GET /curves", s.page(s.curvesPage))
	s.mux.HandleFunc("GET /compare", s.page(s.comparePage))
	s.mux.HandleFunc("GET /theatre", s.page(s.theatrePage))
	s.mux.HandleFunc("GET /join", s.page(s.joinPage))
	s.mux.HandleFunc("GET /diagnose", s.page(s.diagnosePage))
	s.mux.HandleFunc("GET /start", s.page(s.startPage))

	s.mux.HandleFunc("GET /static/", s.files.serve)
	s.mux.HandleFunc("GET /api/words", s.api(s.wordsAPI))

	s.mux.HandleFunc("GET /api/runs", s.api(s.runsAPI))
	s.mux.HandleFunc("GET /api/runs/stream", s.streaming(s.runsStream))
	s.mux.HandleFunc("POST /api/runs/label", s.api(s.labelRun))

	s.mux.HandleFunc("GET /api/theatre/choices", s.api(s.choicesAPI))
	s.mux.HandleFunc("GET /api/theatre/stream", s.streaming(s.theatreStream))
	s.mux.HandleFunc("POST /api/join", s.api(s.joinAPI))
	s.mux.HandleFunc("POST /api/join/move", s.api(s.moveAPI))
	s.mux.HandleFunc("POST /api/join/leave", s.api(s.leaveAPI))
	s.mux.HandleFunc("GET /api/join/stream", s.streaming(s.joinStream))
}

// Handler returns what answers requests.
func (s *Server) Handler() http.Handler { return s.door(s.mux) }

// door lets in whom it may. (Package door takes its place.)
func (s *Server) door(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy",
			"default-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

// Serve answers on a listener until ctx ends. When it returns, all that it began is gone.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 16,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
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
