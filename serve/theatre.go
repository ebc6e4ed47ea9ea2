package serve

import "net/http"

func (s *Server) theatrePage(r *http.Request, v *view) (any, error) { return nil, nil }
