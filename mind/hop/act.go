package hop

import (
	"math"

	"hop/agent"
	"hop/game"
	"hop/mind"
	"hop/model/moa"
	"hop/plan"
	"hop/plan/truth"
	"hop/rng"
	"hop/rollout"
)

// Act decides for one agent in every env given: Huang et al. 2024, figure 2.
func (p *player) Act(v *rollout.View, envs []int32) {
	p.inference.Observe(v, envs) // what each co-player may be after, from its history
	p.updateBeliefs(v, envs)     // Bayes, by what each of them just did
	p.predictOthers(v, envs)     // what each would do now for each goal: the next likelihoods
	p.writePosterior(v, envs)    // where the own network will read it when it learns
	p.runSearch(v, envs)         // against others drawn from the beliefs
	p.choose(v, envs)            // by the search's policy
}

// watcher infers and predicts for one agent and one worker.
type watcher struct {
	*Mind
	inference Inference
	ws        *moa.Work
	obs       []float32 // [rows][ObsLen]
	goal      []float32 // [rows][GoalLen]
	probs     []float32 // [rows][K]
	who       []int32   // [rows] place in likelihoods
}

// watcher makes one for up to envs envs of so many trees.
func (m *Mind) watcher(envs, trees int) *watcher {
	rows := envs * len(m.others) * m.kinds
	return &watcher{
		Mind: m, inference: m.goals.Inference(envs, trees), ws: m.moa.Model.Work(rows),
		obs: make([]float32, rows*m.spec.Obs.Len()), goal: make([]float32, rows*m.moa.Model.GoalLen),
		probs: make([]float32, rows*len(m.spec.Actions)), who: make([]int32, rows),
	}
}

// player lets one agent decide by search, for one worker.
type player struct {
	*watcher
	forest *plan.Forest
	*part               // whom the search asks
	parts  []*part      // the same, and for the parts of large searches more
	asked  []plan.Asked // all of them
	env    []int        // [decisions] env numbers
	rs     []rng.Rand   // [trees]
	seats  []game.Seat  // [places]
	place  []int        // [decisions][others] ego-first place of each co-player, or absent
	seen   int          // version of the weights that caches belong to
}

// part is whom a part of a search asks.
type part struct {
	rules  mind.Rules
	leaves *leaves // evaluates states
	drawn  *drawn  // co-players, as the model of others has them
}

// Players returns a player for each worker: one that plans, or that plays by the
// network alone.
func (m *Mind) Players(_ agent.ID, workers, envs int) ([]rollout.Player, error) {
	if m.cfg.Search.Kind == "none" && m.cfg.Leaf.Kind == "net" {
		return mind.Workers(workers, func() rollout.Player { return m.networkPlayer(envs) }), nil
	}
	var players []rollout.Player
	for range workers {
		p, err := m.player(envs)
		if err != nil {
			return nil, err
		}
		players = append(players, p)
	}
	return players, nil
}

// groupTrees is how many trees advance together, and cacheLog the logarithm of how
// many answers of networks are kept. Neither is part of the numbers.
const (
	groupTrees = 256
	cacheLog   = 15
)

// player makes a player for up to envs envs.
func (m *Mind) player(envs int) (*player, error) {
	trees := m.search.Trees
	p := &player{watcher: m.watcher(envs, trees), seats: make([]game.Seat, len(m.others)+1), place: make([]int, envs*len(m.others))}
	p.env, p.rs = make([]int, 0, envs), make([]rng.Rand, 0, envs*trees)
	var err error
	if p.forest, err = plan.New(m.search, len(m.spec.Actions), len(m.others), envs, groupTrees); err != nil {
		return nil, err
	}
	if err := p.addPart(p.forest); err != nil {
		return nil, err
	}
	p.part = p.parts[0]
	return p, nil
}

// addPart makes whom a forest, or a part of it, asks.
func (p *player) addPart(f *plan.Forest) error {
	rules, scripts, err := p.Mind.rules(f.Envs, f.Trees)
	if err != nil {
		return err
	}
	rules.Fit(f)
	net := plan.NetConfig{Observer: rules, ObsLen: p.spec.Obs.Len(), Actions: f.Actions, Rows: f.Group(), Log: p.cacheLog}
	drawn := newDrawn(p.Mind, net, p.inference, f.Envs)
	s := &part{rules, newLeaves(p.Mind, net, drawn, scripts, p.place), drawn}
	act := plan.Others(drawn) // or the truth
	if p.truth.others != nil {
		bots, err := p.truth.others(rules, f.Envs)
		if err != nil {
			return err
		}
		act = truth.Among{Believed: drawn, Real: bots}
	}
	p.parts, p.asked = append(p.parts, s), append(p.asked, plan.Asked{Dynamics: rules, Prior: s.leaves, Others: act})
	return nil
}

// updateBeliefs starts an episode's beliefs, or updates them by the last joint
// action, unless the inference says itself what is believed. A co-player who has
// reached a goal and plays on is counted for it, and what it is after now is open.
func (p *watcher) updateBeliefs(v *rollout.View, envs []int32) {
	k := len(p.spec.Actions)
	var legal [game.MaxActions]bool
	for _, e := range envs {
		n := int(e)
		if p.inference.Believe(p.beliefs[n], n) {
			continue
		}
		if v.Start[v.Moment(v.T, n)] {
			p.beliefs[n].Start(0)
			p.predicted[n] = false
		}
		if !p.predicted[n] {
			continue
		}
		for j := range p.others {
			at := p.at(n, j) * p.kinds * k
			probs := p.likelihoods[at : at+p.kinds*k]
			for i := range k {
				legal[i] = false
				for g := range p.kinds {
					legal[i] = legal[i] || probs[g*k+i] > 0
				}
			}
			p.beliefs[n].Update(0, j, probs, legal[:k], p.lastAction(v, n, j))
			if goal := p.inference.Reached(v, n, j); goal != game.NoGoal {
				p.beliefs[n].Over(0, j, goal)
				p.beliefs[n].Prior(j, p.beliefs[n].At(0, j))
			}
		}
	}
}

// lastAction returns what co-player j of env n did in the last step, as the
// agent's own observation shows it; in games whose observations have no place for
// it, what was earned tells it.
func (p *watcher) lastAction(v *rollout.View, n, j int) int32 {
	if p.spec.Obs.Last == 0 {
		return v.PlayedOf(n, p.others[j])
	}
	return p.spec.Obs.LastOf(v.ObsAt(v.SlotOf(n)), p.placeOf(v, n, j)+1, len(p.spec.Actions))
}

// predictOthers writes what each living co-player would do for each hypothesis,
// from its own place: the likelihoods of the next update. Beyond the gate all of
// them say the same.
func (p *watcher) predictOthers(v *rollout.View, envs []int32) {
	k, width, goalLen := len(p.spec.Actions), p.spec.Obs.Len(), p.moa.Model.GoalLen
	rows := 0
	for _, n := range envs {
		p.predicted[n] = true
		for j, a := range p.others {
			at := p.at(int(n), j) * p.kinds
			if !p.sight.There(v.Rollout, a, v.T, int(n)) {
				clear(p.likelihoods[at*k : (at+p.kinds)*k])
				continue
			}
			known := p.cfg.Search.Others != "uniform" && p.inference.Open(int(n), j)
			for g := range p.kinds {
				if g == p.random || !known {
					game.Spread(p.likelihoods[(at+g)*k:(at+g+1)*k], p.sight.Legal(v.Rollout, a, v.T, int(n)))
					continue
				}
				copy(p.obs[rows*width:], p.sight.Obs(p.obs[rows*width:][:width], v.Rollout, a, v.T, int(n)))
				p.features(p.goal[rows*goalLen:(rows+1)*goalLen], j, p.inference.Goal(int(n), j, g))
				p.who[rows] = int32(at + g)
				rows++
			}
		}
	}
	if rows == 0 {
		return
	}
	p.ws.Predict(p.moa.Params, p.obs[:rows*width], p.goal[:rows*goalLen], p.probs[:rows*k])
	for i := range rows {
		copy(p.likelihoods[int(p.who[i])*k:(int(p.who[i])+1)*k], p.probs[i*k:(i+1)*k])
	}
}

// writePosterior writes the beliefs as features of goals where the own network
// reads them when it learns: by place, zero for those who have left.
func (p *watcher) writePosterior(v *rollout.View, envs []int32) {
	if p.goalLen == 0 || v.GoalLen != p.goalLen {
		return
	}
	for _, n := range envs {
		p.posterior(v.GoalAt(v.SlotOf(int(n))), v, int(n))
	}
}

// posterior writes those of env n.
func (p *watcher) posterior(all []float32, v *rollout.View, n int) {
	clear(all)
	for j, a := range p.others {
		if len(all) == 0 || !p.sight.There(v.Rollout, a, v.T, n) {
			continue
		}
		dst := all[p.placeOf(v, n, j)*p.width:][:p.width]
		for g, b := range p.beliefs[n].At(0, j) {
			if g == p.random {
				dst[p.width-1] = float32(b)
				continue
			}
			for i, x := range p.inference.Goal(n, j, g) {
				dst[i] += float32(b) * x
			}
		}
	}
}

// runSearch plans from every env's state, together with workers who have nothing else to do.
// Answers of networks are kept from one decision to the next while their weights stand still.
func (p *player) runSearch(v *rollout.View, envs []int32) {
	pool, workers := v.Helpers()
	parts := p.forest.Parts(workers, len(envs))
	for len(p.parts) < parts {
		if err := p.addPart(p.forest.Part()); err != nil {
			panic(err) // what could be made once can be made again
		}
	}
	if p.seen != p.version || p.inference.Renamed() {
		for _, s := range p.parts {
			s.leaves.own.Cache.Clear()
			s.drawn.Cache.Clear()
		}
		p.seen = p.version
	}
	p.env, p.rs = p.env[:0], p.rs[:0]
	for i, e := range envs {
		n := int(e)
		p.seats[0] = v.SeatOf(n)
		for j, a := range p.others {
			p.seats[j+1] = game.Seat(v.Seat[v.Slot(a, v.T, n)])
			if p.place[p.at(i, j)] = p.placeOf(v, n, j); !p.sight.There(v.Rollout, a, v.T, n) {
				p.place[p.at(i, j)] = absent
			}
		}
		for _, s := range p.parts[:parts] {
			s.rules.Set(i, v.State(n), p.seats)
		}
		p.env = append(p.env, n)
		lo := len(p.rs)
		p.rs = p.rs[:lo+p.search.Trees]
		plan.Fork(p.rs[lo:], v.Rand(n))
	}
	for _, s := range p.parts {
		s.drawn.Env = p.env
	}
	p.forest.SearchOn(pool, p.asked[:parts], p.rs)
}

// choose draws an action from the search's policy and records it.
func (p *player) choose(v *rollout.View, envs []int32) {
	k := p.forest.Actions
	for i, n := range envs {
		policy := p.forest.Policy[i*k : (i+1)*k]
		a := game.Sample(policy, v.Rand(int(n)))
		step := v.StepOf(int(n))
		v.Action[step], v.Own[step] = a, !p.frozen
		v.LogProb[step] = float32(math.Log(float64(policy[a])))
		copy(v.TargetAt(step), policy)
		v.Value[v.SlotOf(int(n))] = p.forest.Value[i] * p.scale
	}
}

// placeOf returns where co-player j of env n sits in ego-first order, from 0 for
// the next seat.
func (p *watcher) placeOf(v *rollout.View, n, j int) int {
	return place(v.SeatOf(n), game.Seat(v.Seat[v.Slot(p.others[j], v.T, n)]), p.spec.Seats)
}

// Evaluate writes the network's own values, where a window cuts an episode.
func (p *player) Evaluate(v *rollout.View, envs []int32) {
	p.writePosterior(v, envs)
	own := p.leaves.own
	for len(envs) > 0 {
		part := envs[:min(len(envs), own.Rows)]
		for _, n := range part {
			own.Add(v.ObsAt(v.SlotOf(int(n))), v.GoalAt(v.SlotOf(int(n))))
		}
		_, value := own.Run()
		for i, n := range part {
			v.Value[v.SlotOf(int(n))] = value[i] * p.scale
		}
		envs = envs[len(part):]
	}
}

// EpisodeOver counts what the others turned out to be after.
func (p *watcher) EpisodeOver(v *rollout.View, n int) {
	for j := range p.others {
		if goal, counts := p.inference.Outcome(v, n, j); counts {
			p.beliefs[n].Over(0, j, goal)
		}
	}
}

var _ rollout.Watcher = (*player)(nil)
