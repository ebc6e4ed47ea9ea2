package game

import (
	"fmt"
	"math/bits"

	"github.com/hop-marl/hop/num/rng"
)

// Check returns an error that names the first action st would not accept, for
// actions that come from outside.
func Check(g Game, st State, actions []int32) error {
	spec := g.Spec()
	if st.Over() {
		return fmt.Errorf("game: %s: the episode is over; reset it first", spec.Name)
	}
	if len(actions) != spec.Seats {
		return fmt.Errorf("game: %s has %d seats, got %d actions", spec.Name, spec.Seats, len(actions))
	}
	legal := make([]bool, len(spec.Actions))
	for s, a := range actions {
		if !st.Alive(Seat(s)) {
			if a != NoAction {
				return fmt.Errorf("game: %s: seat %d has left and must play %d, got %d", spec.Name, s, NoAction, a)
			}
			continue
		}
		st.Legal(Seat(s), legal)
		if a < 0 || int(a) >= len(legal) || !legal[a] {
			return fmt.Errorf("game: %s: seat %d played %d, which is not legal now; its mask is %v", spec.Name, s, a, legal)
		}
	}
	return nil
}

// Ready panics unless a Step may be played: the episode goes on, and every seat
// has an action and a reward.
func Ready(over bool, seats int, acts []int32, rewards []float32) {
	if over {
		panic("game: Step after the episode is over")
	}
	if len(acts) != seats || len(rewards) != seats {
		panic("game: Step needs one action and one reward a seat")
	}
}

// Uniform returns a uniformly drawn true index of legal, or NoAction if there is
// none. It looks at the first 64 entries.
func Uniform(legal []bool, r *rng.Rand) int32 {
	set := uint64(0)
	for k, ok := range legal {
		set |= uint64(bit(ok)) << k
	}
	return UniformOf(set, r)
}

// UniformOf returns a uniformly drawn bit of a set, or NoAction if there is none.
func UniformOf(set uint64, r *rng.Rand) int32 {
	if set == 0 {
		return NoAction
	}
	for i := r.IntN(bits.OnesCount64(set)); i > 0; i-- {
		set &= set - 1
	}
	return int32(bits.TrailingZeros64(set))
}

// bit turns a bool into 0 or 1 without a branch: which actions are legal is
// hard to predict.
func bit(ok bool) uint8 {
	if ok {
		return 1
	}
	return 0
}

// Sample draws an index of probs, whose entries sum to 1. An entry of 0 is never drawn.
func Sample(probs []float32, r *rng.Rand) int32 { return rng.Pick(probs, r.Float32()) }

// Spread writes the uniform distribution over the true entries of legal.
func Spread(dst []float32, legal []bool) {
	n := float32(0)
	for _, ok := range legal {
		if ok {
			n++
		}
	}
	for k, ok := range legal {
		dst[k] = 0
		if ok {
			dst[k] = 1 / n
		}
	}
}

// MaxActions bounds the number of actions of any game, so that masks and
// probabilities fit into arrays.
const MaxActions = 32

// Random is the bot "random" of every game: uniform over the legal actions. It
// keeps a mask of its own, since one on the stack would not stay there.
type Random struct {
	Actions int
	mask    [MaxActions]bool
}

// Name returns "random".
func (*Random) Name() string { return "random" }

// Act draws a legal action.
func (b *Random) Act(st State, s Seat, r *rng.Rand) int32 {
	legal := b.mask[:b.Actions]
	st.Legal(s, legal)
	return Uniform(legal, r)
}

// Probs writes the uniform distribution over the legal actions.
func (b *Random) Probs(st State, s Seat, dst []float32) {
	legal := b.mask[:b.Actions]
	st.Legal(s, legal)
	Spread(dst, legal)
}

var _ Policy = (*Random)(nil)

// RandomBot is the BotInfo of Random for a game with that many actions.
func RandomBot(actions int) BotInfo {
	return BotInfo{"random", "uniform over the legal actions", func() Bot { return &Random{Actions: actions} }}
}

// Mask marks some of a game's actions.
type Mask [MaxActions]bool

// Scripted is a bot without a memory that is uniform over the actions its rule
// marks. Of a game whose states have a Key the rule must not look at last actions, nor at what
// seats have done; a bot that does is a Policy of its own, which says so (Reader) or nothing.
type Scripted[S State] struct {
	Label    string
	Rule     func(st S, s Seat) Mask
	timeless bool
}

// Name returns the label.
func (b Scripted[S]) Name() string { return b.Label }

// Act draws an action that is marked.
func (b Scripted[S]) Act(st State, s Seat, r *rng.Rand) int32 {
	mask := b.Rule(st.(S), s)
	return Uniform(mask[:], r)
}

// Marks returns a bit for each action that is marked.
func (b Scripted[S]) Marks(st State, s Seat) (set uint64) {
	for k, ok := range b.Rule(st.(S), s) {
		set |= uint64(bit(ok)) << k
	}
	return set
}

// Probs writes the uniform distribution over what is marked.
func (b Scripted[S]) Probs(st State, s Seat, dst []float32) {
	mask := b.Rule(st.(S), s)
	Spread(dst, mask[:len(dst)])
}

// Reads returns that it reads places, and the clock if it has not been said to be Timeless.
func (b Scripted[S]) Reads() Reads {
	if b.timeless {
		return 0
	}
	return ReadsClock
}

func (b Scripted[S]) withoutClock() Bot {
	b.timeless = true
	return b
}

// Marker is a Policy that always draws evenly from some actions.
type Marker interface {
	Policy
	Marks(st State, s Seat) uint64
}

var _ Marker = Scripted[State]{}

// Script is the BotInfo of a Scripted bot.
func Script[S State](name, doc string, rule func(st S, s Seat) Mask) BotInfo {
	return BotInfo{name, doc, func() Bot { return Scripted[S]{Label: name, Rule: rule} }}
}

// ScriptAfter is the BotInfo of a Scripted bot that says what it is after.
func ScriptAfter[S State](name, doc string, rule func(st S, s Seat) Mask, after func(st S, s Seat) int) BotInfo {
	return BotInfo{name, doc, func() Bot { return pursuer[S]{Scripted[S]{Label: name, Rule: rule}, after} }}
}

// pursuer is a Scripted bot that says which goal it is after.
type pursuer[S State] struct {
	Scripted[S]
	after func(st S, s Seat) int
}

// Pursues returns the goal, or NoGoal.
func (b pursuer[S]) Pursues(st State, s Seat) int { return b.after(st.(S), s) }

func (b pursuer[S]) withoutClock() Bot {
	b.timeless = true
	return b
}

var _ Pursuer = pursuer[State]{}

// Timeless says of a Scripted bot that its rule does not look at the clock.
func (b BotInfo) Timeless() BotInfo {
	made := b.New
	b.New = func() Bot { return made().(interface{ withoutClock() Bot }).withoutClock() }
	return b
}

// Tail writes the parts of an observation that all games share: legal, time and
// the last joint action, ego-first. dst is a whole observation already zeroed.
func (l *Layout) Tail(dst []float32, s Seat, legal []bool, t, horizon int, last []int8) {
	dst = dst[l.Height*l.Width*len(l.Planes)+l.Features:]
	if l.Legal > 0 {
		for k, ok := range legal {
			dst[k] = float32(bit(ok))
		}
		dst = dst[l.Legal:]
	}
	if l.Time > 0 {
		dst[0] = float32(t) / float32(horizon)
		dst = dst[1:]
	}
	if l.Last > 0 {
		at, width := 0, l.Legal
		for _, a := range last[s:] {
			if a >= 0 {
				dst[at+int(a)] = 1
			}
			at += width
		}
		for _, a := range last[:s] {
			if a >= 0 {
				dst[at+int(a)] = 1
			}
			at += width
		}
	}
}

// Reads returns that the legal actions are all it looks at.
func (*Random) Reads() Reads { return 0 }
