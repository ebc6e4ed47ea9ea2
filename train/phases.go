package train

import (
	"time"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/search"
)

// searches calls do with the searches of every player of the learners' own.
func (s *SelfPlay) searches(do func(f *search.Forest)) {
	for _, worker := range s.players {
		for _, p := range worker {
			if p, ok := p.(*dealtPlayer).own.(learner.Timed); ok {
				do(p.Forest())
			}
		}
	}
}

// collect plays a window and notes where its time went, inside searches too.
// Workers play side by side, so a search's share is the mean over workers.
func (s *SelfPlay) collect() (err error) {
	if s.parts.Clock == nil {
		return s.envs.Collect(s.ro, s.players)
	}
	s.searches(func(f *search.Forest) { f.Clock, f.Spent = s.parts.Clock, search.Spent{} })
	s.timed("collect", func() { err = s.envs.Collect(s.ro, s.players) })
	s.searches(func(f *search.Forest) {
		for name, d := range map[string]time.Duration{
			"select": f.Spent.Select, "others": f.Spent.Others, "dynamics": f.Spent.Dynamics, "leaf": f.Spent.Leaf, "backup": f.Spent.Backup,
		} {
			d := d.Seconds() / float64(len(s.players))
			s.phases["collect/search/"+name] += d
			s.phases["collect/search"] += d
		}
		f.Spent = search.Spent{}
	})
	return err
}
