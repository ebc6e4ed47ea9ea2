package snowdrift

import "github.com/hop-marl/hop/game"

// Returns is what is known of four agents and six drifts. The optimum follows from the rules;
// random play was simulated with 200,000 episodes.
func Returns(c Config) []game.Return {
	if c.Agents != 4 || c.Drifts != 6 || c.Pays != 6 || c.Cost != 4 || c.Blocks != 0 {
		return nil
	}
	list := []game.Return{{Name: "optimum", Value: 30}}
	if c.Size == 8 && c.Horizon == 50 {
		list = append(list, game.Return{Name: "random", Value: 11.04})
	}
	return list
}
