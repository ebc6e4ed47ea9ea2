package sweep

import (
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/train/spec/names"
)

// Sign notes in a sweep's folder that this user wrote what the sweep names to run. The runs
// that come back from workers lie below it, and are the user's with it.
func (s *Sweep) Sign(l *lab.Lab, dir string) error { return l.Reg.Trust.Sign(dir, s.names(l)) }

// allowed refuses a sweep that names programs and that this user neither began nor trusts.
func (s *Sweep) allowed(l *lab.Lab, dir string) error { return names.Allowed(l.Reg, dir, s.names(l)) }

// names returns all that the sweep names to run.
func (s *Sweep) names(l *lab.Lab) []string { return names.OfSpecs(l.Reg, mustJSON(s), sweepFile) }
