package serve

import (
	"context"
	"net/http"
	"strconv"

	"github.com/hop-marl/hop/serve/replay"
)

func (s *Server) joinPage(r *http.Request, v *view) (any, error) {
	d, _, err := s.form(r, v, true)
	if err != nil {
		return nil, err
	}
	d.Session, d.Records, d.Person = r.URL.Query().Get("session"), s.c.Record != "", r.URL.Query().Get("person")
	return d, nil
}

// joinAPI seats a person: the address says where, as it does in the theatre.
func (s *Server) joinAPI(r *http.Request) (any, error) {
	a, err := s.asked(r.URL.Query())
	if err != nil {
		return nil, err
	}
	a.Person = r.URL.Query().Get("person")
	se, err := s.stage.Join(r.Context(), a)
	if err != nil {
		return nil, s.refused(err)
	}
	return map[string]string{"id": se.ID}, nil
}

// moveAPI makes a person's move.
func (s *Server) moveAPI(r *http.Request) (any, error) {
	var in struct {
		ID     string
		At     int
		Action int32
	}
	if err := body(r, 1<<10, &in); err != nil {
		return nil, err
	}
	se, err := s.stage.Session(in.ID)
	if err == nil {
		err = se.Act(in.At, in.Action)
	}
	return struct{}{}, s.refused(err)
}

// leaveAPI gives a seat up.
func (s *Server) leaveAPI(r *http.Request) (any, error) {
	var in struct{ ID string }
	if err := body(r, 1<<10, &in); err != nil {
		return nil, err
	}
	se, err := s.stage.Session(in.ID)
	if err == nil {
		se.Leave()
	}
	return struct{}{}, s.refused(err)
}

// joinStream shows a person the episode, from its beginning or from an event on.
func (s *Server) joinStream(r *http.Request, st *stream) error {
	if err := st.send("begin", struct{}{}); err != nil {
		return err
	}
	se, err := s.stage.Session(r.URL.Query().Get("id"))
	if err != nil {
		return s.refused(err)
	}
	at, err := strconv.Atoi(r.URL.Query().Get("from"))
	if err != nil || at < 0 {
		at = 0
	}
	err = st.pass(func(ctx context.Context) ([]replay.Event, error) {
		events, err := se.Next(ctx, at)
		at += len(events)
		return events, err
	})
	if err == nil && st.r.Context().Err() == nil {
		err = st.send("end", struct{}{})
	}
	return s.refused(err)
}
