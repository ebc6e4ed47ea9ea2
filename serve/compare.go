package serve

import "net/http"

func (s *Server) comparePage(r *http.Request, v *view) (any, error) { return nil, nil }
