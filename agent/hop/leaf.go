package hop

import (
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/search"
)

// leaves evaluates states for a search, as Leaf says: by the own network, by
// scripted rollouts, by the better of the two, or by the response network. The
// policy to start from is the own network's, or the response network's if there is
// one.
type leaves struct {
	how      Leaf
	shape    shape
	types    population
	others   int // how many co-players there are
	own      *search.NetPrior
	response *search.NetPrior // nil: none
	future   *follower        // nil: none
	scripts  learner.Scripts  // nil: none
	drawn    *drawn
	rolled   []float32 // [rows] values by scripts
	place    []int     // [decisions][others] of the search
	goal     []float32 // [others][width] what a network reads about a query's goals
}

func (m *Mind) leaves(c search.NetConfig, d *drawn, scripts learner.Scripts, place []int) *leaves {
	n := len(m.sees.others)
	l := &leaves{
		how: m.cfg.Leaf, shape: m.shape, types: m.population, others: n, drawn: d, scripts: scripts, rolled: make([]float32, c.Rows),
		place: place, goal: make([]float32, n*max(m.shape.width, len(m.population.names))),
	}
	c.Net = m.own.brain.Model.Leaves(m.own.brain.Params, m.own.scale, c.Rows)
	l.own = search.NewNetPrior(c)
	l.own.LogitsOnly = l.how.Kind == "scripts"
	if m.goalLen > 0 {
		l.own.Read = l.readGoals
	}
	if l.how.Kind == "response" {
		c.Net = m.models.Response.Leaves(m.models.Answers, float32(m.models.ResponseScale), c.Rows)
		l.response = search.NewNetPrior(c)
		l.response.Read = l.readPartners
	}
	return l
}

// Eval evaluates states.
func (l *leaves) Eval(logits, value []float32, qs []search.Query) {
	if l.response != nil {
		l.response.Eval(logits, value, qs)
		return
	}
	if l.how.scripted() {
		for i := range qs {
			bots := l.scripts.Of(qs[i].Tree)
			for j := range l.others {
				bots[j] = l.partner(qs[i].Tree, j)
			}
		}
		l.scripts.Eval(logits, l.rolled[:len(qs)], qs)
	}
	l.own.Eval(logits, value, qs)
	l.future.Eval(logits, value, qs)
	switch l.how.Kind {
	case "scripts":
		copy(value, l.rolled[:len(qs)])
	case "both":
		for i := range qs {
			value[i] = max(value[i], l.rolled[i])
		}
	}
}

// evaluate writes the own network's values of envs' states, times a scale.
func (l *leaves) evaluate(v *rollout.View, envs []int32, scale float32) {
	for len(envs) > 0 {
		some := envs[:min(len(envs), l.own.Rows)]
		for _, n := range some {
			l.own.Add(v.ObsAt(v.SlotOf(int(n))), v.GoalAt(v.SlotOf(int(n))))
		}
		_, value := l.own.Run()
		for i, n := range some {
			v.Value[v.SlotOf(int(n))] = value[i] * scale
		}
		envs = envs[len(some):]
	}
}

// forget empties what was kept of a network that has learnt, or of names that are given anew.
func (l *leaves) forget() { l.own.Cache.Clear() }

// partner returns the number of the bot that stands for what a tree's co-player is
// after.
func (l *leaves) partner(tree int32, j int) int32 {
	name, partner := l.drawn.of(tree, j)
	if int(name) == l.shape.doubt {
		return l.types.random
	}
	return partner
}

// readGoals is what the own network reads: the features of the goals that were
// drawn for a query's tree.
func (l *leaves) readGoals(q *search.Query) ([]float32, uint64) {
	return l.read(q, l.shape.width, func(dst []float32, j int) int32 {
		name, _ := l.drawn.of(q.Tree, j)
		if int(name) == l.shape.doubt {
			dst[l.shape.width-1] = 1
		} else if copy(dst, l.drawn.features(q.Tree, j)); l.drawn.inferred.Present {
			dst[l.shape.width-1] = 1
		}
		return name
	})
}

// readPartners is what the response network reads: which bot stands for each goal.
func (l *leaves) readPartners(q *search.Query) ([]float32, uint64) {
	return l.read(q, len(l.types.names), func(dst []float32, j int) int32 {
		bot := l.partner(q.Tree, j)
		dst[bot] = 1
		return bot
	})
}

// read writes width numbers about each co-player that is there, by ego-first
// place, and returns them with the key of state and goals, 0 if the state has none.
func (l *leaves) read(q *search.Query, width int, write func(dst []float32, j int) int32) ([]float32, uint64) {
	goal, key := l.goal[:l.others*width], q.Key
	clear(goal)
	for j := range l.others {
		at := l.place[l.drawn.decision(q.Tree)*l.others+j]
		if at == absent || l.own.Legal(q.Tree, q.Slot, j+1) == 0 {
			continue
		}
		name := write(goal[at*width:][:width], j)
		key = (key ^ (uint64(at)<<32 | uint64(uint32(name)) + 1)) * 0x9e3779b97f4a7c15
		key ^= key >> 29
	}
	if q.Key == 0 {
		return goal, 0
	}
	return goal, key | 1
}

var _ search.Prior = (*leaves)(nil)
