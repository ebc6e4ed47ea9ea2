package hop

import (
	"math"
	"math/bits"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/learned"
	"github.com/hop-marl/hop/search/truth"
)

// planner plans for one worker: trees on the rules, or on a model of them, in which the
// co-players are drawn from the beliefs and leaves are evaluated by networks or scripts.
type planner struct {
	sees     *visible
	inferred *Inferred
	own      *ownNetwork
	others   *others
	vectors  *vectors // nil: not learnt
	forest   *search.Forest
	add      func(f *search.Forest) error // makes one more of the parts
	parts    []*part                      // whom the search asks, and for the parts of large searches more
	asked    []search.Asked               // the same
	names    names
	env      []int       // [decisions] env numbers
	rs       []rng.Rand  // [decisions][trees]
	seats    []game.Seat // [places]
	place    []int       // [decisions][others] ego-first place of each co-player, or absent
	nearest  int         // how many are predicted in every state of a tree
	near     []bool      // [decisions][others] who they are; nil: all
	seen     int         // how often weights had changed when caches were made
	supposed *supposed   // the roots where not everything is in view; nil: it is
}

// part is whom a part of a search asks.
type part struct {
	rules  learner.Rules
	leaves *leaves // evaluates states
	drawn  *drawn  // co-players, as the model of others has them
}

// groupTrees is how many trees advance together, and cacheLog the logarithm of how
// many answers of networks are kept. Neither is part of the numbers.
const (
	groupTrees = 256
	cacheLog   = 15
)

// keptLog is cacheLog among few. Among many each keeps less, so that all keep as much as sixteen do.
func keptLog(seats int) int { return cacheLog - bits.Len(uint(seats-1)/16) }

// absent is the place of one who has left.
const absent = -1

// newSearch makes one for up to envs decisions at a time, that draws what an inference
// finds.
func (m *Mind) newSearch(envs int, goals Inference) (*planner, error) {
	n, trees := len(m.sees.others), m.search.Trees
	s := &planner{
		sees: m.sees, inferred: m.inferred, own: m.own, others: m.others, vectors: m.vectors,
		seats: make([]game.Seat, n+1), place: make([]int, envs*n),
		env: make([]int, 0, envs), rs: make([]rng.Rand, 0, envs*trees), names: newNames(m.shape),
	}
	var err error
	if s.forest, err = search.New(m.search, len(m.sees.spec.Actions), n, envs, groupTrees); err != nil {
		return nil, err
	}
	co := drawn{beliefs: m.beliefs, inference: goals, inferred: m.inferred, names: &s.names, sure: m.truth.goals}
	if s.nearest = m.cfg.Search.Nearest; s.nearest > 0 && s.nearest < n {
		s.near = make([]bool, envs*n)
		co.near = s.near
	}
	s.add = func(f *search.Forest) error { return m.addPart(s, f, co) }
	if m.sees.spec.View > 0 {
		s.supposed = m.newSupposed(envs)
	}
	return s, s.add(s.forest)
}

// addPart makes whom a forest, or a part of it, asks.
func (m *Mind) addPart(s *planner, f *search.Forest, co drawn) error {
	rules, scripts, err := m.rules(f)
	if err != nil {
		return err
	}
	if s.supposed != nil {
		rules = &inView{Rules: rules, sees: m.sees, place: s.place, trees: f.Trees, whole: make([]float32, m.sees.spec.Obs.Len())}
	}
	net := search.NetConfig{Observer: rules, ObsLen: m.sees.spec.Obs.Len(), Actions: f.Actions, Rows: f.Group(), Log: m.cacheLog}
	p := &part{rules: rules, drawn: m.others.drawn(co, net, f.Envs, f.Trees)}
	p.leaves = m.leaves(net, p.drawn, scripts, s.place)
	p.leaves.future = newFollower(m.cfg.Leaf.Ahead, m.search.Discount, rules, p.leaves.own, p.drawn, f)
	asked := search.Asked{Dynamics: s.own.ranks.dynamics(rules), Prior: p.leaves, Others: p.drawn}
	if m.truth.others != nil {
		roots, _ := m.roots(f)
		bots, err := m.truth.others(rules, roots)
		if err != nil {
			return err
		}
		asked.Others = truth.Among{Believed: p.drawn, Real: bots}
	}
	s.parts, s.asked = append(s.parts, p), append(s.asked, asked)
	return nil
}

// Run plans from every env's state, together with workers who have nothing else to do.
// Answers of networks are kept from one decision to the next while their weights stand still.
func (s *planner) Run(v *rollout.View, envs []int32) {
	pool, workers := v.Helpers()
	parts := s.forest.Parts(workers, len(envs))
	for len(s.parts) < parts {
		if err := s.add(s.forest.Part()); err != nil {
			panic(err) // what could be made once can be made again
		}
	}
	anew := s.names.begin(s.inferred)
	if changes := s.own.changes + s.others.changes + s.vectors.changes(); anew || s.seen != changes {
		for _, p := range s.parts {
			p.leaves.forget()
			p.drawn.forget()
		}
		s.seen = changes
	}
	s.env, s.rs = s.env[:0], s.rs[:0]
	for i, n := range envs {
		s.setRoot(v, i, int(n), parts)
	}
	for _, p := range s.parts {
		p.drawn.begin(s.env)
	}
	s.forest.SearchOn(pool, s.asked[:parts], s.rs)
}

// setRoot puts the state of env n at the root of decision i's trees, and forks their streams.
func (s *planner) setRoot(v *rollout.View, i, n, parts int) {
	s.seats[0] = v.SeatOf(n)
	for j, a := range s.sees.others {
		s.seats[j+1] = v.SeatAt(v.Slot(a, v.T, n))
		if s.place[s.sees.at(i, j)] = s.sees.place(v.Rollout, a, v.T, n); s.supposed == nil && !s.sees.there(v.Rollout, a, v.T, n) {
			s.place[s.sees.at(i, j)] = absent
		}
	}
	if s.supposed != nil {
		s.supposed.set(v, i, n, s.seats, s.parts[:parts])
	} else {
		for _, p := range s.parts[:parts] {
			p.rules.Set(i, v.State(n), s.seats)
		}
	}
	if s.near != nil {
		s.rank(v, i, n)
	}
	s.env = append(s.env, n)
	lo := len(s.rs)
	s.rs = s.rs[:lo+s.forest.Trees]
	search.Fork(s.rs[lo:], v.Rand(n))
}

// onBoard reports whether it is known who is near whom in a game.
func onBoard(g game.Game) bool {
	_, ok := g.New().(script.Field)
	return ok
}

// rank notes who is near in decision i, of env n: by moves and then, of equals, by the order of
// seats. Who is not seen is far.
func (s *planner) rank(v *rollout.View, i, n int) {
	field, near := v.State(n).(script.Field), s.near[s.sees.at(i, 0):s.sees.at(i+1, 0)]
	me := field.Place(s.seats[0])
	clear(near)
	for range s.nearest {
		best, least := -1, math.MaxInt
		for j, a := range s.sees.others {
			if near[j] || !s.sees.there(v.Rollout, a, v.T, n) {
				continue
			}
			moves := int(field.Steps(me, field.Place(s.seats[j+1])))
			if far := moves*len(s.seats) + s.sees.place(v.Rollout, a, v.T, n); far < least {
				best, least = j, far
			}
		}
		if best < 0 {
			return
		}
		near[best] = true
	}
}

// Found returns the policy of decision i, a view, and what its state is worth.
func (s *planner) Found(i int) (policy []float32, value float32) {
	k := s.forest.Actions
	return s.forest.Policy[i*k : (i+1)*k], s.forest.Value[i]
}

// Evaluate writes the own network's values of the envs' states.
func (s *planner) Evaluate(v *rollout.View, envs []int32) {
	s.parts[0].leaves.evaluate(v, envs, s.own.scale)
}

// makeRules makes what a search plays on: the learnt world model, or the true
// rules, with scripted rollouts if leaves are evaluated by them.
func (m *Mind) makeRules(f *search.Forest) (learner.Rules, learner.Scripts, error) {
	switch {
	case m.cfg.Search.Dynamics == "vectors":
		return m.vectors.rules(f), nil, nil
	case m.cfg.Search.Dynamics == "rules" && m.cfg.Leaf.scripted():
		return m.trueRules(m.population.names, m.cfg.Leaf.Scripts, f)
	case m.cfg.Search.Dynamics == "rules":
		return m.trueRules(nil, nil, f)
	}
	roots, trees := m.roots(f)
	w, err := learned.New(m.models.World, m.models.Steps, learned.Config{Envs: roots, Trees: trees, Log: m.cacheLog})
	if err == nil {
		w.Fit(f)
	}
	return w, nil, err
}

// trueRules are the real rules, with bots as models and what oneself may do.
func (m *Mind) trueRules(bots, own []string, f *search.Forest) (learner.Rules, learner.Scripts, error) {
	g, _ := game.WholeOf(m.game) // Fits has refused others
	roots, trees := m.roots(f)
	w, err := truth.NewWorld(g, bots, own, roots, trees)
	if err != nil {
		return nil, nil, err
	}
	if w.Fit(f); !m.cfg.Leaf.scripted() {
		return w, nil, nil
	}
	scripts := truth.NewScripts(truth.NewBots(w, nil, roots), m.search.Discount, m.cacheLog)
	scripts.Repeat = m.cfg.Leaf.Repeat
	return w, scripts, nil
}
