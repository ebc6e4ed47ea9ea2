// Command outside is hop with a game, a mind and a co-player of somebody else's: everything that
// hop does with its own, it does with these.
package main

import (
	"github.com/hop-marl/hop/cmd/cli"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"

	"example.org/outside/reinforce"
	"example.org/outside/turns"
	"example.org/outside/weaklink"
)

func main() { cli.Main(all()) }

// all is hop's registry with a game and a mind more, and a co-player in a game of hop's. Their entries are all that is known of them:
// each line after the first is something that hop can do without, and does better with.
func all() *spec.Registry {
	reg := registry.New()
	reg.Games["weaklink"] = spec.AddGame("a chain is as strong as its weakest link", weaklink.Default, weaklink.New).
		Rules(weaklink.Rules).              // audits hold steps against the rules
		Fast(weaklink.Fast{}).              // planners search on rules made for it
		Returns(spec.By(weaklink.Returns)). // lines in reports
		Preset(spec.By(func(weaklink.Config) string { return "ppo-matrix" }))
	reg.Minds["reinforce"] = spec.AddMind("policy gradients of a linear softmax (Williams 1992)", reinforce.Default, reinforce.New).
		Titled(func(any) string { return "REINFORCE" }).
		Audited(reinforce.Audit). // audits compute updates again
		Plain().                  // one policy plays any seat, and agents may share it
		Bred("policy gradients without a value (Williams 1992)", false)
	reg.Games["staghunt"] = reg.Games["staghunt"].Join(turns.Bots) // outside strangers score turns; --vs turns
	return reg
}
