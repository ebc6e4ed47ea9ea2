package serve

import "net/http"

func (s *Server) curvesPage(r *http.Request, v *view) (any, error) { return nil, nil }
