package game

// Known is a game with what is known of it beside its rules, such as rules made for search or
// best responses: values that a registry's entry names and that whoever uses one asks for by
// its type.
type Known struct {
	Game
	of []any
}

// With returns the game with what is known of it; the game itself if that is nothing.
func With(g Game, known ...any) Game {
	if len(known) == 0 {
		return g
	}
	return &Known{g, known}
}

// As returns what is known of a game as a T: the game itself, if it is one, or what stands
// beside it.
func As[T any](g Game) (found T, ok bool) {
	if found, ok = g.(T); ok {
		return found, true
	}
	k, ok := g.(*Known)
	if !ok {
		return found, false
	}
	for _, x := range k.of {
		if found, ok = x.(T); ok {
			return found, true
		}
	}
	return As[T](k.Game)
}

// Return is what is known of the mean return of agents in a game, such as the optimum or that of
// random play; reports draw it beside curves.
type Return struct {
	Name  string
	Value float64
}
