package audit

import (
	"hop/check"
	"hop/diag/rules"
	"hop/exp"
	"hop/game"
	"hop/rng"
)

// book opens the rules of the spec's game, written down a second time. Its
// parameters are those of the spec, not those that the game was built with.
func book(s *exp.Spec, spec game.Spec) (*rules.Book, error) {
	block, err := s.Game.Map()
	if err != nil {
		return nil, err
	}
	return rules.Open(spec, s.Game.Name, block)
}

// ruled asks whether steps are what the rules say: those of the first windows and
// those of scripted players, who do what learners do not do yet.
func (u *session) ruled(key rng.Key) check.Finding {
	b := u.replay.Book
	if u.unruled != nil {
		return rules.Unasked(u.exp.Game.Name, u.unruled)
	}
	b.Play(u.parts.Game, key, b.Enough())
	return b.Finding()
}
