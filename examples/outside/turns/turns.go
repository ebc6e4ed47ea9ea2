// Package turns is a policy from outside that joins a game of hop's: a co-player, and an agent to be
// scored among strangers, by its name.
package turns

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// Bots lists what joins the stag hunt.
func Bots(g game.Game) []game.BotInfo {
	return []game.BotInfo{{Name: "turns", Doc: "the stag in one episode, the hare in the next", New: func() game.Bot { return newTurns(g) }}}
}

// turns plays two of the game's own bots, an episode each.
type turns struct {
	bots     [2]game.Policy
	episodes int
}

func newTurns(g game.Game) *turns {
	t := &turns{}
	for i, name := range []string{"ns", "nh"} {
		bot, err := game.NewBot(g, name)
		if err != nil {
			panic(err) // the stag hunt has both
		}
		t.bots[i] = bot.(game.Policy) // and both say how they act
	}
	return t
}

// Name returns what it is called by.
func (*turns) Name() string { return "turns" }

// Act plays the episode's bot.
func (t *turns) Act(st game.State, s game.Seat, r *rng.Rand) int32 {
	return t.bots[t.episodes%2].Act(st, s, r)
}

// Probs says how it acts.
func (t *turns) Probs(st game.State, s game.Seat, dst []float32) {
	t.bots[t.episodes%2].Probs(st, s, dst)
}

// Watch counts episodes.
func (t *turns) Watch(game.State, game.Seat) { t.episodes++ }

var _ interface {
	game.Policy
	game.Watcher
} = (*turns)(nil)
