package weaklink

import "github.com/hop-marl/hop/game"

// Returns is what is known of mean returns, for reports to draw.
func Returns(c Config) []game.Return {
	return []game.Return{
		{Name: "optimum", Value: float64(c.Rounds) * float64(c.Levels-1) * (1 - c.Cost)},
		{Name: "nobody works", Value: 0},
	}
}

// Key says in few numbers what the rest of an episode depends on: the clock and, for those who
// look at them, the last efforts. With it hop finds best responses, and says how far an agent is
// from the best there is.
func (st *State) Key(dst *game.Key, _ game.Reads) bool {
	*dst = game.Key{Episode: 1, Clock: uint32(st.t)} // all episodes begin alike
	for s := range min(st.g.cfg.Agents, len(dst.Seats)) {
		dst.Seats[s] = game.SeatKey(0, 0, int8(st.last[s]))
	}
	return st.g.cfg.Agents <= len(dst.Seats)
}

var _ game.Keyed = (*State)(nil)
