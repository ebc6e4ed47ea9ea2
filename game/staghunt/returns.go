package staghunt

import "github.com/hop-marl/hop/game"

// Returns is what is known of four hunters of four hares. Optima follow from the rules; random
// play was simulated with 200,000 episodes; the selfish equilibrium was measured.
func Returns(c Config) []game.Return {
	if c.Agents != 4 || c.Hares != 4 || c.StagPays != 10 || c.HarePays != 1 || len(c.Strength) > 0 {
		return nil
	}
	open := c.Blocks == 0 && c.Horizon == 35 && c.EndAfter == 0
	switch {
	case c.Stags == 2:
		return []game.Return{{Name: "optimum", Value: 5}, {Name: "hares only", Value: 1}}
	case c.Stags != 1:
		return nil
	}
	list := []game.Return{{Name: "optimum", Value: 3}, {Name: "hares only", Value: 1}}
	switch {
	case open && c.Size == 4:
		list = append(list, game.Return{Name: "selfish equilibrium", Value: 2.89}, game.Return{Name: "random", Value: 0.66})
	case open && c.Size == 8:
		list = append(list, game.Return{Name: "random", Value: 0.26})
	}
	return list
}
