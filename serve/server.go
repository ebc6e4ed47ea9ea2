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
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/num/plot"
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
	keeps   int          // bytes in it, at most
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
	keeps := cmp.Or(c.Cache, 256<<20)
	all := cache.New(keeps)
	s := &Server{c: c, shelf: sh, door: in, control: list, stage: replay.New(replay.Config{Lab: c.Lab, Cache: all, Record: c.Record}),
		mux: http.NewServeMux(), cache: all, indexes: curve.NewCache(all), comparing: make(chan struct{}, 1)}
	s.keeps = keeps
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
		{"POST /api/runs/label", s.api(posted(1<<16, s.labelRun))},
		{"POST /api/runs/archive", s.api(posted(1<<20, s.archiveRuns))},
		{"POST /api/runs/rename", s.api(posted(1<<12, s.renameRun))},
		{"POST /api/runs/delete", s.api(posted(1<<20, s.deleteRuns))},
		{"GET /api/sweeps/stream", s.streaming(s.sweepsStream)},
		{"GET /api/curves", s.api(s.curvesAPI)},
		{"GET /api/curves/names", s.api(s.namesAPI)},
		{"GET /api/curves/export", s.exportCurves},
		{"GET /api/curves/stream", s.streaming(s.curvesStream)},
		{"GET /api/rows/stream", s.streaming(s.rowsStream)},
		{"GET /api/pages", s.api(s.pagesAPI)},
		{"GET /api/control/jobs", s.api(s.jobsAPI)},
		{"GET /api/control/stream", s.streaming(s.jobsStream)},
		{"POST /api/control/start", s.api(posted(1<<18, s.startTraining))},
		{"POST /api/control/resume", s.api(posted(1<<12, s.resumeRun))},
		{"POST /api/control/audit", s.api(posted(1<<12, s.auditRun))},
		{"POST /api/control/ladder", s.api(posted(1<<12, s.ladderRun))},
		{"POST /api/control/stop", s.api(posted(1<<12, s.stopJob))},
		{"GET /api/theatre/choices", s.api(s.choicesAPI)},
		{"GET /api/theatre/stream", s.streaming(s.theatreStream)},
		{"POST /api/join", s.api(s.joinAPI)},
		{"POST /api/join/move", s.api(posted(1<<10, s.moveAPI))},
		{"POST /api/join/leave", s.api(posted(1<<10, s.leaveAPI))},
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
	var watching sync.WaitGroup
	ended := make(chan error, 1)
	watching.Go(func() { s.shelf.Watch(ctx) })
	watching.Go(func() { s.readAhead(ctx) })
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
	watching.Wait()
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

// How streams keep time.
const (
	heartbeat = 15 * time.Second // a comment is sent, so that a dead connection is noticed
	patience  = 20 * time.Second // how long a slow client may take for a write
	tick      = time.Second      // how often what is followed is looked at
)

// stream sends events to one client. Whoever follows something reads on from where it
// was when it last sent: nothing is buffered for a slow client, and nothing is lost.
type stream struct {
	r    *http.Request
	w    http.ResponseWriter
	rc   *http.ResponseController
	last time.Time // something was sent
}

// streaming answers with events until follow returns or the client goes away.
func (s *Server) streaming(follow func(r *http.Request, st *stream) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		st := &stream{r: r, w: w, rc: http.NewResponseController(w)}
		if err := follow(r, st); err != nil && r.Context().Err() == nil {
			if st.last.IsZero() {
				s.api(func(*http.Request) (any, error) { return nil, err })(w, r)
				return
			}
			_ = st.send("fault", map[string]string{"error": err.Error()})
		}
	}
}

// send sends an event. An error means that the client is gone, or too slow.
func (st *stream) send(name string, v any) error {
	b, err := marshal(v)
	if err != nil {
		return err
	}
	return st.write(fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, b))
}

func (st *stream) write(b []byte) error {
	if st.last.IsZero() {
		h := st.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no")
	}
	st.last = time.Now()
	_ = st.rc.SetWriteDeadline(st.last.Add(patience)) // recorders in tests have none
	if _, err := st.w.Write(b); err != nil {
		return err
	}
	return st.rc.Flush()
}

// wait waits for a moment, or less if it is woken, and reports whether there is still
// somebody to send to.
func (st *stream) wait(d time.Duration, wake <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-st.r.Context().Done():
		return false
	case <-wake:
	case <-t.C:
	}
	if st.r.Context().Err() != nil {
		return false
	}
	if time.Since(st.last) >= heartbeat {
		return st.write([]byte(": still here\n\n")) == nil
	}
	return true
}

//go:embed static
var static embed.FS

// files are what the browser fetches once: scripts, style sheets, uPlot. They are asked
// for below a folder named by the sum of all of them, so they may be kept for ever, and
// scripts name each other without knowing it.
type files struct {
	sum    string
	byName map[string]*file
}

type file struct {
	kind        string
	plain, gzip []byte // gzip is nil where it would save little
	tag         string
}

// kinds are told here, because what a machine says of a file's ending differs.
var kinds = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	".LICENSE": "text/plain; charset=utf-8",
}

func embedded() (files, error) {
	f := files{byName: map[string]*file{}}
	all := sha256.New()
	add := func(name string, b []byte) error {
		kind := kinds[path.Ext(name)]
		if kind == "" {
			kind = mime.TypeByExtension(path.Ext(name))
		}
		sum := sha256.Sum256(b)
		x := &file{kind: kind, plain: b, tag: `"` + hex.EncodeToString(sum[:8]) + `"`}
		var z bytes.Buffer
		w, err := gzip.NewWriterLevel(&z, gzip.BestCompression)
		if err == nil {
			_, err = w.Write(b)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			return err
		}
		if z.Len() < len(b)*9/10 {
			x.gzip = z.Bytes()
		}
		f.byName[name] = x
		fmt.Fprintf(all, "%s %x\n", name, sum)
		return nil
	}
	err := add("style.css", []byte(plot.Style()))
	if err == nil {
		err = fs.WalkDir(static, "static", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := static.ReadFile(name)
			if err != nil {
				return err
			}
			return add(strings.TrimPrefix(name, "static/"), b)
		})
	}
	if err != nil {
		return files{}, fmt.Errorf("serve: reading embedded files: %w", err)
	}
	f.sum = hex.EncodeToString(all.Sum(nil)[:8])
	return f, nil
}

// base is the folder under which they are asked for.
func (f *files) base() string { return "/static/" + f.sum }

func (f *files) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/static/")
	keep := "no-cache"
	if rest, ok := strings.CutPrefix(name, f.sum+"/"); ok {
		name, keep = rest, "public, max-age=31536000, immutable"
	}
	x := f.byName[name]
	if x == nil {
		http.Error(w, "There is no such file.", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", keep)
	h.Set("Content-Type", x.kind)
	h.Set("ETag", x.tag)
	b := x.plain
	if x.gzip != nil {
		h.Set("Vary", "Accept-Encoding")
		if acceptsGzip(r) {
			h.Set("Content-Encoding", "gzip")
			b = x.gzip
		}
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(b))
}

func acceptsGzip(r *http.Request) bool {
	for _, part := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		if name, q, _ := strings.Cut(strings.TrimSpace(part), ";"); name == "gzip" {
			return strings.TrimSpace(q) != "q=0"
		}
	}
	return false
}
