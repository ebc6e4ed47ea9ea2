package frame

// Layout is how a game lays an observation out, in order: planes, features, the own
// mask, the time and the last joint action. It has the fields of game.Layout, so
// that one converts to the other; models know this one and never games.
type Layout struct {
	Height, Width int
	Planes        []string
	Owned         int // planes after the agents' that are one for each seat too, or 0
	Features      int
	Legal         int // number of actions, or 0 if the mask is not observed
	Time          int // 1, or 0 if time is not observed
	Last          int // number of seats, or 0 if the last joint action is not observed
}

// Input says in numbers what an observation looks like.
func (l Layout) Input() Input {
	return Input{Height: l.Height, Width: l.Width, Planes: len(l.Planes), Rest: l.Features + l.Legal + l.Time + l.Last*l.Legal}
}
