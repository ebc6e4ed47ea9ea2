// Command outside is hop with a game and a mind of somebody else's: everything that
// hop does with its own, it does with these.
package main

import (
	"github.com/hop-marl/hop/cmd/cli"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"

	"example.org/outside/reinforce"
	"example.org/outside/weaklink"
)

func main() {
	reg := registry.New()
	reg.Games["weaklink"] = spec.AddGame("a chain is as strong as its weakest link", weaklink.Default, weaklink.New).Rules(weaklink.Rules)
	reg.Minds["reinforce"] = spec.AddMind("policy gradients of a linear softmax (Williams 1992)", reinforce.Default, reinforce.New)
	cli.Main(reg)
}
