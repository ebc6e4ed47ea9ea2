package train

import (
	"time"

	"hop/plan"
)

// searcher is a player that searches before it acts.
type searcher interface {
	// search returns the memory of its searches.
	search() *plan.Forest
}

func (p *hopPlayer) search() *plan.Forest { return p.forest }

// collect plays a window and notes where its time went, inside searches too.
// Workers play side by side, so a search's share is the mean over workers.
func (s *SelfPlay) collect() {
	if s.parts.Clock == nil {
		s.envs.Collect(s.ro, s.players)
		return
	}
	for _, worker := range s.players {
		for _, p := range worker {
			if p, ok := p.(searcher); ok {
				f := p.search()
				f.Clock, f.Spent = s.parts.Clock, plan.Spent{}
			}
		}
	}
	s.timed("collect", func() { s.envs.Collect(s.ro, s.players) })
	all := map[string]time.Duration{}
	for _, worker := range s.players {
		for _, p := range worker {
			p, ok := p.(searcher)
			if !ok {
				continue
			}
			at := &p.search().Spent
			for name, d := range map[string]time.Duration{
				"select": at.Select, "others": at.Others, "dynamics": at.Dynamics, "judge": at.Judge, "backup": at.Backup,
			} {
				all["collect/search/"+name] += d
				all["collect/search"] += d
			}
			*at = plan.Spent{} // one player may play several agents
		}
	}
	for name, d := range all {
		s.phases[name] += d.Seconds() / float64(len(s.players))
	}
}
