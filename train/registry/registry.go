// Package registry is hop's own list of games, minds and presets: what cmd/hop hands to
// the command line, and where somebody else's program starts from.
package registry

import (
	"embed"
	"fmt"
	"io/fs"

	"github.com/hop-marl/hop/game/cartpole"
	"github.com/hop-marl/hop/game/cleanup"
	"github.com/hop-marl/hop/game/coin"
	"github.com/hop-marl/hop/game/commons"
	"github.com/hop-marl/hop/game/foraging"
	"github.com/hop-marl/hop/game/inmatrix"
	"github.com/hop-marl/hop/game/matrix"
	"github.com/hop-marl/hop/game/pybot"
	"github.com/hop-marl/hop/game/pyenv"
	"github.com/hop-marl/hop/game/rules"
	"github.com/hop-marl/hop/game/snowdrift"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/game/tag"
	"github.com/hop-marl/hop/search/hunt"
	"github.com/hop-marl/hop/train/spec"
)

//go:embed presets/*.yaml
var presets embed.FS

// groups are those of the presets, each named in a preset's first line, in the order
// in which hop list shows them.
var groups = []string{
	"Start here",
	"PPO on the stag hunt",
	"HOP: goals written by hand",
	"HOP+: goals learnt",
	"What a part is worth: HOP or HOP+ without it",
	"Other games",
	"An environment of yours, in Python",
}

// New returns a registry of everything that hop comes with.
func New() *spec.Registry {
	files, err := fs.Sub(presets, "presets")
	if err != nil {
		panic("registry: the presets are not embedded")
	}
	return &spec.Registry{Presets: files, Groups: groups, Minds: minds(), Games: games(), Game: "staghunt", Mind: "ppo", End: end}
}

// end ends what games and policies in Python have started.
func end() {
	pyenv.Close()
	pybot.Close()
}

// games is all that is known of each game.
func games() map[string]spec.GameEntry {
	return map[string]spec.GameEntry{
		"staghunt": spec.AddGame("hunt the stag together, or the hare alone", staghunt.Default, staghunt.New).Rules(rules.StagHunt).
			Fast(hunt.Fast{}).Returns(spec.By(staghunt.Returns)).Bounds(spec.By(staghunt.Bounds)).Preset(spec.By(onBoards)).
			Measured(boards()...),
		"snowdrift": spec.AddGame("clear the drifts, or let the others do it", snowdrift.Default, snowdrift.New).Rules(rules.Snowdrift).
			Returns(spec.By(snowdrift.Returns)).Bounds(spec.By(snowdrift.Bounds)),
		"coin": spec.AddGame("take your own coins, or everybody's", coin.Default, coin.New).Rules(rules.Coin).Chance(rules.CoinChance).
			Returns(spec.By(coin.Returns)).Bounds(spec.By(coin.Bounds)),
		"cleanup": spec.AddGame("clean the river, or eat the apples it makes grow", cleanup.Default, cleanup.New).Rules(rules.Cleanup).
			Chance(rules.CleanupChance).Bounds(spec.By(cleanup.Bounds)),
		"commons": spec.AddGame("leave apples for others to grow by, or eat them all", commons.Default, commons.New).
			Rules(rules.Commons).Chance(rules.CommonsChance).Bounds(spec.By(commons.Bounds)),
		"foraging": spec.AddGame("gather food that takes several to lift", foraging.Default, foraging.New).Rules(rules.Foraging).
			Bounds(spec.By(foraging.Bounds)),
		"tag": spec.AddGame("predators chase, prey flees", tag.Default, tag.New).Rules(rules.Tag).Chance(rules.TagChance),
		"inmatrix": spec.AddGame("gather stags or hares and meet the other: Melting Pot's matrix games on a map", inmatrix.Default, inmatrix.New).
			Rules(rules.InMatrix),
		"matrix": spec.AddGame("prisoner's dilemma, stag hunt, chicken and rock-paper-scissors, once or repeated",
			matrix.Default, matrix.New).Rules(rules.Matrix).Join(matrix.Drawn).
			Bounds(spec.By(matrix.Bounds)),
		"python": spec.AddGame("an environment of yours, PettingZoo's, in Python (--env)", pyenv.Default, pyenv.New).Named("env"),
		"cartpole": spec.AddGame("balance a pole; one seat, to check learners against the literature", cartpole.Default,
			cartpole.New).Rules(rules.CartPole).Bounds(spec.By(cartpole.Bounds)),
	}
}

// onBoards names the preset of a stag hunt by the size of its board.
func onBoards(c staghunt.Config) string {
	if c.Size > 4 {
		return "ppo-8x8"
	}
	return "ppo-4x4"
}

// boards are the stag hunts whose speed is measured.
func boards() (list [][]string) {
	for _, size := range []int{4, 8, 16} {
		for _, agents := range []int{2, 4, 8} {
			at := []string{fmt.Sprint("size=", size), fmt.Sprint("agents=", agents)}
			if size > 4 {
				at = append(at, fmt.Sprint("blocks=", size*5/8))
			}
			list = append(list, at)
		}
	}
	return list
}
