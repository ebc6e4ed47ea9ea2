package hop

import (
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/truth"
	"github.com/hop-marl/hop/search/unseen"
)

// Where seats see no further than a view, the state of the game is not the agent's to search on:
// each tree of a decision begins in a state of the whole board that is made from what the agent
// has seen (unseen.Belief, to which nothing but observations is given), and networks read in trees
// what they read in play, a view of it.

// supposes reports whether players can suppose what a game's view hides.
func supposes(g game.Game) bool {
	_, ok := game.WholeOf(g)
	return ok
}

// roots returns how many different states a forest's trees begin in, and how many trees share one.
func (m *Mind) roots(f *search.Forest) (roots, trees int) {
	if m.sees.spec.View == 0 {
		return f.Envs, f.Trees
	}
	return f.Envs * f.Trees, 1
}

// suppose makes the beliefs of envs copies about what is not seen, if there is a search to need them.
func (m *Mind) suppose(envs int) {
	m.unseen = nil
	if m.sees.spec.View == 0 || m.cfg.Search.Kind == "none" {
		return
	}
	for range envs {
		b, err := unseen.New(m.game)
		if err != nil {
			panic(err) // Fits has refused such games
		}
		m.unseen = append(m.unseen, b)
	}
}

// supposed is the states that trees begin in, for one worker.
type supposed struct {
	by      unseen.Kind
	beliefs []*unseen.Belief // [N]
	trees   int
	states  []game.State // [decisions][trees] of the whole board
	board   []float32    // as it is observed
}

func (m *Mind) newSupposed(envs int) *supposed {
	g, _ := game.WholeOf(m.game)
	u := &supposed{
		by: unseen.Kind(m.cfg.Search.Unseen), beliefs: m.unseen, trees: m.search.Trees, board: make([]float32, m.sees.spec.Obs.Len()),
	}
	for range envs * u.trees {
		u.states = append(u.states, g.New())
	}
	return u
}

// set takes in what the agent sees in env n, and puts what it supposes at the roots of decision
// i's trees.
func (u *supposed) set(v *rollout.View, i, n int, seats []game.Seat, parts []*part) {
	b, obs := u.beliefs[n], v.ObsAt(v.SlotOf(n))
	if v.Start[v.Moment(v.T, n)] {
		b.Reset()
	}
	b.See(obs)
	for tree := i * u.trees; tree < (i+1)*u.trees; tree++ {
		u.draw(b, u.states[tree], obs, seats[0], v.Rand(n))
		for _, p := range parts {
			p.rules.Set(tree, u.states[tree], seats)
		}
	}
}

// draw makes a state that may be, for the agent on a seat.
func (u *supposed) draw(b *unseen.Belief, st game.State, obs []float32, me game.Seat, r *rng.Rand) {
	b.Draw(u.board, obs, u.by, r)
	st.(game.Supposer).Suppose(me, u.board)
}

// inView shows networks the states of trees as they see the game: oneself what is in view, and a
// co-player who is in it the same from its place. One who is not is predicted from the whole of
// what is supposed.
type inView struct {
	learner.Rules
	sees  *visible
	place []int // [decisions][others] of the search
	trees int
	whole []float32
}

// Observe writes what a place is read by.
func (w *inView) Observe(dst []float32, tree, slot int32, place int) {
	s := &w.sees.spec
	w.Rules.Observe(w.whole, tree, slot, 0)
	me, after := s.Obs.CellOf(w.whole, 0), 0
	if place > 0 {
		after = w.place[w.sees.at(int(tree)/w.trees, place-1)] + 1
	}
	if at := s.Obs.CellOf(w.whole, after); me >= 0 && at >= 0 && s.Obs.InView(s.View, me, at) {
		w.hide(me)
	}
	if place == 0 {
		copy(dst, w.whole)
		return
	}
	turn(s, dst, w.whole, after)
}

// hide takes out of what is observed what is not in view from a cell.
func (w *inView) hide(me int) {
	l := &w.sees.spec.Obs
	l.Hide(w.whole, w.sees.spec.View, me)
	for k := 1; k < l.Last; k++ {
		if l.CellOf(w.whole, k) < 0 {
			clear(w.whole[l.LastAt()+k*l.Legal:][:l.Legal])
		}
	}
}

// worldOf returns the true rules that a search plays on.
func worldOf(r learner.Rules) *truth.World {
	if w, ok := r.(*inView); ok {
		r = w.Rules
	}
	return r.(*truth.World)
}
