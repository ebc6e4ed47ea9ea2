// Command outside is hop with a game and a mind of somebody else's: everything that
// hop does with its own, it does with these.
package main

import (
	"hop/cli"
	"hop/exp"
	"hop/registry"

	"example.org/outside/reinforce"
	"example.org/outside/weaklink"
)

func main() {
	reg := registry.New()
	reg.Games["weaklink"] = exp.AddGame("a chain is as strong as its weakest link", weaklink.Default, weaklink.New).Rules(weaklink.Rules)
	reg.Minds["reinforce"] = exp.AddMind("policy gradients of a linear softmax (Williams 1992)", reinforce.Default, reinforce.New)
	cli.Main(reg)
}
