package serve

import (
	"context"
	"time"

	"github.com/hop-marl/hop/serve/runs"
)

// readAhead reads what curves are drawn of before anybody asks, where there are more trainings than are lines of their
// own: the newest first, as long as half of what may be kept is free. It stops when ctx ends.
func (s *Server) readAhead(ctx context.Context) {
	read := map[string]bool{}
	for {
		look, more := s.shelf.Changed()
		if len(look.Rows) > maxRuns {
			for _, row := range look.Rows {
				for _, seed := range row.Seeds {
					if !read[seed.Name] && seed.State != runs.Waiting && seed.State != runs.Damaged {
						read[seed.Name] = true
						s.readOne(ctx, seed.Name)
					}
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-more:
		}
	}
}

// readOne reads a run's metrics, in parts between which pages get theirs.
func (s *Server) readOne(ctx context.Context, seed string) {
	dir, err := s.shelf.Dir(seed)
	if err != nil {
		return // it is gone
	}
	x := s.indexes.Of(dir)
	for ctx.Err() == nil && s.cache.Used() < s.keeps/2 {
		state, err := x.Extend(5 * time.Millisecond)
		s.indexes.Keep(x)
		if err != nil || state.Read == 1 {
			return
		}
	}
}
