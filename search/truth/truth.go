// Package truth lets plan search on the real rules of a game, with its bots as
// models of the others and as rollouts at the leaves.
//
// A World is search.Dynamics. Any game will do; one of which rules made for search are
// known (Fast) is played by those, because search plays millions of steps a second.
// Bots is search.Others, Scripts is search.Prior, and Player puts them
// together with beliefs into a rollout.Player that plays without any training.
package truth

import (
	"fmt"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
)

// World is the real rules as search.Dynamics and search.Observer, for one goroutine.
type World struct {
	model   Model
	Game    game.Game
	Models  []string // bots by number, as models of others
	Scripts []string // bots by number, as rollouts of one's own
	trees   int
	places  int
	group   int     // trees that are searched together
	env     []int32 // [trees of all decisions] the decision of each
}

// NewWorld returns a world for up to envs decisions at once of so many trees
// each. Models and scripts are names of the game's bots, or of what its rules made for
// search know beside them.
func NewWorld(g game.Game, models, scripts []string, envs, trees int) (*World, error) {
	return newWorld(g, For{Models: models, Scripts: scripts, Envs: envs}, trees)
}

func newWorld(g game.Game, c For, trees int) (*World, error) {
	if g.Spec().Opaque {
		return nil, fmt.Errorf("search: another program plays %s: there are no rules to search on", g.Spec().Name)
	}
	w := &World{Game: g, Models: c.Models, Scripts: c.Scripts, trees: trees, places: g.Spec().Seats, env: make([]int32, c.Envs*trees)}
	for tree := range w.env {
		w.env[tree] = int32(tree / trees)
	}
	var err error
	if fast := FastOf(g); fast != nil {
		w.model, err = fast.Model(g, c)
	} else {
		w.model, err = Plain(g, c)
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Set makes decision env plan from st for the agent on seats[0], with
// co-players on the other seats, in the order in which Others knows them. The
// state is read when the search starts a tree: it must not change before that.
func (w *World) Set(env int, st game.State, seats []game.Seat) { w.model.Set(env, st, seats) }

// Fit makes room for a forest's slots.
func (w *World) Fit(f *search.Forest) {
	w.model.Size(f.Slots())
	w.group = f.Group()
}

// Root puts the decision's state into a slot.
func (w *World) Root(tree, slot int32) (uint32, uint64) { return w.model.Root(int(w.env[tree]), slot) }

// Expand plays one step for each leaf.
func (w *World) Expand(leaves []search.Leaf, others []int32, rs []rng.Rand) {
	w.model.Expand(leaves, others, w.env, rs)
}

// Legal returns the mask of a place.
func (w *World) Legal(tree, slot int32, place int) uint32 {
	return w.model.Legal(int(w.env[tree]), slot, place)
}

// Observe writes what a place sees.
func (w *World) Observe(dst []float32, tree, slot int32, place int) {
	w.model.Observe(dst, int(w.env[tree]), slot, place)
}

var (
	_ search.Dynamics = (*World)(nil)
	_ search.Observer = (*World)(nil)
)

// Bots is search.Others: each co-player is one of the world's models, drawn anew
// for each tree from beliefs over them.
type Bots struct {
	*World
	Beliefs search.Beliefs
	Env     []int   // [decisions] the env that beliefs are asked about; nil: the same number
	goal    []int32 // [trees][others]
}

// NewBots returns models for up to envs decisions.
func NewBots(w *World, b search.Beliefs, envs int) *Bots {
	return &Bots{World: w, Beliefs: b, goal: make([]int32, envs*w.trees*(w.places-1))}
}

// Of returns the models drawn for a tree, a view.
func (b *Bots) Of(tree int32) []int32 {
	n := b.places - 1
	return b.goal[int(tree)*n : (int(tree)+1)*n]
}

// Goals draws a model for each co-player.
func (b *Bots) Goals(tree int32, r *rng.Rand) {
	env := int(b.env[tree])
	if b.Env != nil {
		env = b.Env[env]
	}
	b.Beliefs.Draw(b.Of(tree), env, r)
}

// Draw lets the models act.
func (b *Bots) Draw(dst []int32, qs []search.Query, rs []rng.Rand) {
	b.model.Draw(dst, qs, b.goal, b.env, rs)
}

var _ search.Others = (*Bots)(nil)

// Scripts is search.Prior: no preference among actions, and as value the best
// return of several scripted rollouts against the tree's models. Rollouts draw
// from a stream named by the state, so a value is a function of the state, the
// models and Salt, and may be kept.
type Scripts struct {
	*Bots
	Discount float32
	Repeat   int    // rollouts of each script that are averaged
	Salt     uint64 // other rollouts for other numbers
	PerTree  bool   // trees of a decision see rollouts of their own
	Zero     bool   // no rollouts: every value is 0
	Cache    *search.Cache
	r        Stream // the stream in use, kept here because it must not be allocated
	roll     Roll   // and the rollout
}

// NewScripts returns a prior that keeps 2^log values.
func NewScripts(b *Bots, discount float64, log int) *Scripts {
	return &Scripts{Bots: b, Discount: float32(discount), Repeat: 1, Cache: search.NewCache(log, 1)}
}

// Eval writes even logits and the best script's return.
func (s *Scripts) Eval(logits, value []float32, qs []search.Query) {
	clear(logits)
	if s.Zero {
		clear(value)
		return
	}
	for i := range qs {
		q := &qs[i]
		goals := s.Of(q.Tree)
		key := (q.Key ^ s.Salt ^ q.Seed*uint64(2*q.Depth+1)) | 1
		for _, g := range goals {
			key = (key ^ uint64(g+1)) * 0x9e3779b97f4a7c15
			key ^= key >> 31
		}
		if s.PerTree {
			key = (key ^ uint64(int(q.Tree)%s.trees+1)) * 0xd6e8feb86659fd93
		}
		if q.Key != 0 {
			if row := s.Cache.Find(key); row != nil {
				value[i] = row[0]
				continue
			}
		}
		value[i] = s.best(q, goals, key)
		if q.Key != 0 {
			s.Cache.Put(key)[0] = value[i]
		}
	}
}

// best is the highest mean return of a script.
func (s *Scripts) best(q *search.Query, goals []int32, key uint64) float32 {
	best := float32(0)
	lane := int(q.Tree) % s.group
	for script := range s.model.Scripts() {
		s.r = Stream{Rand: search.Stream(key, uint64(script)+1)}
		s.roll = Roll{Env: int(s.env[q.Tree]), Slot: q.Slot, Script: script, Others: goals, Discount: s.Discount, Depth: q.Depth}
		sum := float32(0)
		for i := range s.Repeat {
			if q.Seed != 0 { // common to the tree, but another future each time
				s.roll.Seed = q.Seed + uint64(i)*0x9e3779b97f4a7c16
			}
			s.roll.Future = lane*s.Repeat + i
			sum += s.model.Rollout(&s.roll, &s.r)
		}
		if sum /= float32(s.Repeat); script == 0 || sum > best {
			best = sum
		}
	}
	return best
}

var _ search.Prior = (*Scripts)(nil)

// Sure is beliefs that are sure.
type Sure []int32

// Draw writes what is known.
func (k Sure) Draw(dst []int32, _ int, _ *rng.Rand) { copy(dst, k) }

// Among draws goals as Believed has them, because leaves read them, and actions as the
// co-players really would.
type Among struct{ Believed, Real search.Others }

// Goals draws both.
func (t Among) Goals(tree int32, r *rng.Rand) {
	t.Believed.Goals(tree, r)
	t.Real.Goals(tree, r)
}

// Draw draws the real actions.
func (t Among) Draw(dst []int32, qs []search.Query, rs []rng.Rand) { t.Real.Draw(dst, qs, rs) }

var _ search.Others = Among{}
