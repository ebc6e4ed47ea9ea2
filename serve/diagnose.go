package serve

import "net/http"

func (s *Server) diagnosePage(r *http.Request, v *view) (any, error) { return nil, nil }
