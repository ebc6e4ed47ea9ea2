package serve

import "net/http"

func (s *Server) startPage(r *http.Request, v *view) (any, error) { return nil, nil }
