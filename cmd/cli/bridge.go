package cli

import (
	"github.com/hop-marl/hop/game/bridge"
	"github.com/hop-marl/hop/serve/games"
)

type bridgeCmd struct{}

// Run answers the program at the other end of stdin and stdout until that closes them.
func (bridgeCmd) Run(a *app) error {
	return bridge.Serve(a.in, a.out, version, games.New(a.lab()))
}
