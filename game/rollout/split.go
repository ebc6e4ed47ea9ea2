package rollout

// Split is a Player that is another one in each env.
type Split struct {
	Who        func(n int) int      // the number of the one that plays env n in this episode
	Player     func(who int) Player // the one of a number
	rows, left []int32
}

// Act lets each player act in its envs.
func (s *Split) Act(v *View, envs []int32) {
	s.each(envs, func(p Player, rows []int32) { p.Act(v, rows) })
}

// Evaluate lets each player write its values.
func (s *Split) Evaluate(v *View, envs []int32) {
	s.each(envs, func(p Player, rows []int32) { p.Evaluate(v, rows) })
}

// each splits envs by who plays there.
func (s *Split) each(envs []int32, do func(p Player, rows []int32)) {
	for s.left = append(s.left[:0], envs...); len(s.left) > 0; {
		who := s.Who(int(s.left[0]))
		rest := s.left[:0]
		s.rows = s.rows[:0]
		for _, n := range s.left {
			if s.Who(int(n)) == who {
				s.rows = append(s.rows, n)
			} else {
				rest = append(rest, n)
			}
		}
		s.left = rest
		do(s.Player(who), s.rows)
	}
}

// EpisodeOver tells whoever played, if it remembers.
func (s *Split) EpisodeOver(v *View, n int) {
	if w, ok := s.Player(s.Who(n)).(Watcher); ok {
		w.EpisodeOver(v, n)
	}
}

var _ Watcher = (*Split)(nil)
