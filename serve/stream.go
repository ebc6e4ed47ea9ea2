package serve

import (
	"fmt"
	"net/http"
	"time"
)

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
