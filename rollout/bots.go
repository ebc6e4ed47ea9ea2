package rollout

import (
	"hop/game"
)

// Bots is a Player that plays one scripted bot, a copy of it in every env, so
// that bots with memory keep one memory an env.
type Bots struct {
	bot   []game.Bot
	watch []game.Watcher // nil for a bot without memory
}

// NewBots makes the game's bot of that name, for that many envs.
func NewBots(g game.Game, name string, envs int) (*Bots, error) {
	b := &Bots{bot: make([]game.Bot, envs), watch: make([]game.Watcher, envs)}
	for n := range b.bot {
		bot, err := game.NewBot(g, name)
		if err != nil {
			return nil, err
		}
		b.bot[n] = bot
		b.watch[n], _ = bot.(game.Watcher)
	}
	return b, nil
}

// Act lets each env's bot choose.
func (b *Bots) Act(v *View, envs []int32) {
	for _, n := range envs {
		n := int(n)
		i := v.StepOf(n)
		v.Action[i] = b.bot[n].Act(v.State(n), v.SeatOf(n), v.Rand(n))
		v.LogProb[i], v.Own[i] = 0, false
	}
}

// Evaluate writes nothing: a bot has no values.
func (b *Bots) Evaluate(*View, []int32) {}

// EpisodeOver shows the finished episode to a bot with memory.
func (b *Bots) EpisodeOver(v *View, n int) {
	if w := b.watch[n]; w != nil {
		w.Watch(v.State(n), v.SeatOf(n))
	}
}

var _ Watcher = (*Bots)(nil)
