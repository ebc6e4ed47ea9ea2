package audit

import (
	"hop/check"
	"hop/game/rules"
	"hop/rng"
)

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
