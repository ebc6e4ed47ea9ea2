package truth

import (
	"cmp"
	"math/bits"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
)

// Model is the rules of a game as trees are searched on them, for one goroutine: mostly one
// value that is all three. States lie in slots; places are as in search.Observer: 0 is the
// planning agent, then its co-players. After it is made nothing allocates.
type Model struct {
	Rules
	Views
	Scripted
}

// Rules plays steps.
type Rules interface {
	// Set makes decision env plan from st. seats holds the seat of each place.
	Set(env int, st game.State, seats []game.Seat)
	// Size makes room for that many slots.
	Size(slots int)
	// Root puts the decision's state into a slot and returns what place 0 may play, and a key
	// as search.Leaf has it.
	Root(env int, slot int32) (legal uint32, key uint64)
	// Expand plays the leaves; others is [leaves][others], envs gives the decision of each tree.
	Expand(leaves []search.Leaf, others, envs []int32, rs []rng.Rand)
}

// Views says what a place sees.
type Views interface {
	// Legal returns a bit for each legal action of a place.
	Legal(env int, slot int32, place int) uint32
	// Observe writes what a place sees, as the game's Layout says.
	Observe(dst []float32, env int, slot int32, place int)
}

// Scripted plays bots.
type Scripted interface {
	// Draw draws what everyone's bot would play, -1 for who has left; goals is
	// [trees][others].
	Draw(dst []int32, qs []search.Query, goals, envs []int32, rs []rng.Rand)
	// Scripts returns how many there are.
	Scripts() int
	// Rollout plays on from a slot to the end and returns the discounted return
	// of place 0.
	Rollout(ro *Roll, r *Stream) float32
}

// For is what a model is made for.
type For struct {
	Models  []string // bots by number, as models of others
	Scripts []string // bots by number, as rollouts of one's own
	Envs    int      // decisions at once
	// Alike says that states have one key that differ in the last joint action only: bots do
	// not see it, networks do.
	Alike bool
}

// Fast is rules of a game that are made for search. A registry's entry of a game names them.
type Fast interface {
	// Fits reports whether they play the game with the parameters that it has; if not, search
	// plays the game's own rules.
	Fits(g game.Game) bool
	// Model returns them for one goroutine.
	Model(g game.Game, c For) (Model, error)
	// Bot returns which of the game's bots a script is, so that it can be played on the game's own
	// states; "": none.
	Bot(g game.Game, script string) string
	// DrawsForGone reports whether a number is drawn for each co-player, also for who has left.
	DrawsForGone() bool
}

// FastOf returns the rules made for search that are known of a game and fit it; nil: none.
func FastOf(g game.Game) Fast {
	if fast, ok := game.As[Fast](g); ok && fast.Fits(g) {
		return fast
	}
	return nil
}

// BotOf returns which of the game's bots a script is by its rules made for search, also where those do not fit.
func BotOf(g game.Game, script string) string {
	if fast, ok := game.As[Fast](g); ok {
		return cmp.Or(fast.Bot(g, script), script)
	}
	return script
}

// Roll is one scripted rollout: place 0 plays by script, the others by the bots
// given. With a seed, the others draw step i from search.Common(Seed, Depth+i).
type Roll struct {
	Env      int
	Slot     int32
	Script   int
	Others   []int32
	Discount float32
	Seed     uint64
	Depth    int32
	Future   int // rollouts of one tree and one repeat, which meet the same future, have one number
}

// Stream is a stream whose numbers are only made where there is a choice.
type Stream struct {
	rng.Rand
	owed int // numbers that were not needed and are still to be drawn
}

// Skip owes numbers that are not needed.
func (r *Stream) Skip(n int) { r.owed += n }

// Pick picks one of a set's bits, by one number.
func (r *Stream) Pick(set uint32) int32 {
	if set&(set-1) == 0 {
		r.owed++
		return int32(bits.TrailingZeros32(set))
	}
	r.Settle()
	return Pick(set, r.Uint64())
}

// Settle draws what is owed.
func (r *Stream) Settle() {
	for ; r.owed > 0; r.owed-- {
		r.Uint64()
	}
}

// Pick turns a random number into one of the set's bits.
func Pick(set uint32, u uint64) int32 {
	if set&(set-1) != 0 {
		i, _ := bits.Mul64(u, uint64(bits.OnesCount32(set)))
		for ; i > 0; i-- {
			set &= set - 1
		}
	}
	return int32(bits.TrailingZeros32(set))
}
