package rollout

import (
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hop-marl/hop/game"
)

// Bots is a Player that plays one scripted bot, a copy of it in every env, so
// that bots with memory keep one memory an env. A copy is made when its env first asks for it.
type Bots struct {
	fresh    func() (game.Bot, error)
	bot      []game.Bot
	remember bool // they have a memory
}

// NewBots makes the game's bot of that name, for that many envs.
func NewBots(g game.Game, name string, envs int) (*Bots, error) {
	return BotsOf(func() (game.Bot, error) { return game.NewBot(g, name) }, envs)
}

// BotsOf makes a bot for each of that many envs. Several goroutines may call fresh at once.
func BotsOf(fresh func() (game.Bot, error), envs int) (*Bots, error) {
	b := &Bots{fresh: fresh, bot: make([]game.Bot, envs)}
	first, err := fresh()
	if err != nil {
		return nil, err
	}
	b.bot[0] = first
	_, b.remember = first.(game.Watcher)
	return b, nil
}

// of returns the bot of an env.
func (b *Bots) of(n int) game.Bot {
	if b.bot[n] == nil {
		var err error
		if b.bot[n], err = b.fresh(); err != nil {
			panic(err) // what could be made once can be made again
		}
	}
	return b.bot[n]
}

// Act lets each env's bot choose.
func (b *Bots) Act(v *View, envs []int32) {
	for _, n := range envs {
		n := int(n)
		i := v.StepOf(n)
		v.Action[i] = b.of(n).Act(v.State(n), v.SeatOf(n), v.Rand(n))
		for k := range v.VectorAt(i) { // games whose actions are vectors have no bot but the random one
			v.VectorAt(i)[k] = 2*v.Rand(n).Float32() - 1
		}
		v.LogProb[i], v.Own[i] = 0, false
	}
}

// Evaluate writes nothing: a bot has no values.
func (b *Bots) Evaluate(*View, []int32) {}

// EpisodeOver shows the finished episode to a bot with memory.
func (b *Bots) EpisodeOver(v *View, n int) {
	if b.remember {
		b.of(n).(game.Watcher).Watch(v.State(n), v.SeatOf(n))
	}
}

// AppendBinary appends what each env's bot remembers, its length first; nothing
// for bots without memory. It is an error if they have one that cannot be saved.
func (b *Bots) AppendBinary(dst []byte) ([]byte, error) {
	if !b.remember {
		return dst, nil
	}
	for n := range b.bot {
		w := b.of(n)
		k, ok := w.(game.Keeper)
		if !ok {
			return nil, fmt.Errorf("rollout: saving bots: %s remembers episodes but cannot be saved; it must be a game.Keeper", w.Name())
		}
		at := len(dst)
		var err error
		if dst, err = k.AppendBinary(binary.LittleEndian.AppendUint32(dst, 0)); err != nil {
			return nil, fmt.Errorf("rollout: saving %s of env %d: %w", w.Name(), n, err)
		}
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst, nil
}

// UnmarshalBinary goes on from what AppendBinary wrote for as many envs.
func (b *Bots) UnmarshalBinary(src []byte) error {
	wrong := errors.New("rollout: loading bots: what was saved is damaged, or of other bots or another number of envs; use " +
		"the spec of the saved run")
	for n := range b.bot {
		if !b.remember {
			break
		}
		if len(src) < 4 {
			return wrong
		}
		size := int64(binary.LittleEndian.Uint32(src))
		w := b.of(n)
		k, ok := w.(game.Keeper)
		if src = src[4:]; !ok || size > int64(len(src)) {
			return wrong
		}
		if err := k.UnmarshalBinary(src[:size]); err != nil {
			return fmt.Errorf("rollout: loading %s of env %d: %w", w.Name(), n, err)
		}
		src = src[size:]
	}
	if len(src) != 0 {
		return wrong
	}
	return nil
}

var (
	_ Watcher                    = (*Bots)(nil)
	_ encoding.BinaryAppender    = (*Bots)(nil)
	_ encoding.BinaryUnmarshaler = (*Bots)(nil)
)
