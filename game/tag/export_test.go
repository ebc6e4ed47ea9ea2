package tag

import "github.com/hop-marl/hop/game"

// Prey reports whether the seat is prey in this episode; if not, it is a predator.
func (st *State) Prey(s game.Seat) bool { return st.prey(int(s)) }
