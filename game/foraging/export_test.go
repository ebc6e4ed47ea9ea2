package foraging

import "github.com/hop-marl/hop/game"

// Level returns the level of a seat.
func (st *State) Level(s game.Seat) int { return int(st.level[s]) }

// FoodLevel returns the level of an item, 0 once it is taken.
func (st *State) FoodLevel(f int) int {
	if st.left>>f&1 == 0 {
		return 0
	}
	return int(st.foodLevel[f])
}
