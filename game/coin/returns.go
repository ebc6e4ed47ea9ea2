package coin

import "github.com/hop-marl/hop/game"

// Returns is what is known of two agents on the 5x5 board.
func Returns(c Config) []game.Return {
	if c.Agents != 2 || c.Size != 5 || c.Horizon != 100 || c.Pays != 1 || c.Harm != 2 {
		return nil
	}
	return []game.Return{{Name: "own coins only", Value: 9}}
}
