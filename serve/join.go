package serve

import "net/http"

func (s *Server) joinPage(r *http.Request, v *view) (any, error) { return nil, nil }
