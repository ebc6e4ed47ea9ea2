package cli

import (
	"hop/bridge"
	"hop/bridge/games"
)

type bridgeCmd struct{}

// Run answers the program at the other end of stdin and stdout until that closes them.
func (bridgeCmd) Run(a *app) error {
	return bridge.Serve(a.in, a.out, version, games.New(a.lab()))
}
