package hop

import (
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game/agent"
)

// ownNetwork is the agent's own network: what it would do, and what a state is worth to it,
// from what it sees and from what its co-players are after.
type ownNetwork struct {
	brain   *ppo.Brain
	sees    *visible
	shape   shape
	search  bool      // it learns from a search; else by PPO on what was played
	goalLen int       // numbers that it reads about goals
	scale   float32   // of rewards in its values
	ranks   ranks     // of rewards
	known   []float32 // [T+1][N][goalLen] scratch: what it reads of a window in hindsight
	changes int       // of its weights, for caches
}

// Fit lets the network learn: from the search's policy and the return, or by PPO. When it
// learns from a search it reads the labels in place of the beliefs, because in a tree it
// reads single goals, and beliefs only blur them.
func (o *ownNetwork) Fit(u *update) {
	if !u.own || u.err != nil {
		return
	}
	up := ppo.Update{Window: u.window, Search: o.search, Reward: o.ranks.more(u, o.sees, o.scale)}
	if o.search && o.goalLen > 0 && u.window.GoalLen == o.goalLen && u.steps > 0 {
		up.Goal = o.inHindsight(u)
	}
	o.changes++
	var own []agent.Stat
	own, u.err = o.brain.Update(up)
	u.stats = append(own, u.stats...)
}

// inHindsight returns the agent's Goal rows with labels in place of beliefs, by
// place, a view.
func (o *ownNetwork) inHindsight(u *update) []float32 {
	w := u.window
	first, size := w.Slot(o.sees.me, 0, 0), (w.Steps+1)*w.Envs
	o.known = append(o.known[:0], w.Goal[first*w.GoalLen:(first+size)*w.GoalLen]...)
	row, width := 0, o.shape.features
	for _, p := range u.list {
		for t := p.lo; t < p.hi; t++ {
			if slot := w.Slot(o.sees.me, t, p.env); w.Alive[slot] {
				at := o.sees.place(w.Rollout, p.agent, t, p.env)
				dst := o.known[(slot-first)*w.GoalLen+at*o.shape.width:][:o.shape.width]
				clear(dst)
				copy(dst, u.goals[row*width:(row+1)*width])
			}
			row++
		}
	}
	return o.known
}
