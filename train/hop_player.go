package train

import (
	"math"
	"slices"

	"hop/game"
	"hop/model/actor"
	"hop/model/moa"
	"hop/nn"
	"hop/plan"
	"hop/rng"
	"hop/rollout"
)

// hopPlayer lets one agent think and act, for one worker.
type hopPlayer struct {
	h      *HOP
	forest *plan.Forest
	world  Rules
	prior  *hopPrior
	others *hopOthers
	models plan.Others // what the search asks: others, or the truth
	guess  guess
	env    []int       // [decisions] env numbers
	rs     []rng.Rand  // [trees]
	seats  []game.Seat // [places]
	seen   int         // version of the weights that caches belong to

	ws    *moa.Work
	obs   []float32 // [rows][ObsLen]
	goals []float32 // [rows][GoalLen]
	probs []float32 // [rows][K]
	who   []int32   // [rows] place in h.thinks
}

// player makes a player for up to envs envs.
func (h *HOP) player(envs int) (*hopPlayer, error) {
	actions, places := len(h.spec.Actions), len(h.others)+1
	p := &hopPlayer{h: h, seats: make([]game.Seat, places), env: make([]int, 0, envs), rs: make([]rng.Rand, 0, envs*h.search.Trees)}
	var err error
	if p.forest, err = plan.New(h.search, actions, len(h.others), envs, h.cfg.Group); err != nil {
		return nil, err
	}
	var scripts Scripts
	if p.world, scripts, err = h.world(envs, h.search.Trees); err != nil {
		return nil, err
	}
	p.world.Fit(p.forest)
	rows := min(h.cfg.Group, envs*h.search.Trees)
	net := plan.NetConfig{Observer: p.world, ObsLen: h.spec.Obs.Len(), Actions: actions, Rows: rows, Log: h.cfg.Log}
	net.Net = &actorNet{ws: h.Model.Work(rows), params: h.Params, scale: h.scale, actions: actions}
	p.prior = newHopPrior(net, h, envs)
	net.Net = &moaNet{ws: h.moa.Model.Work(rows * len(h.others)), h: h}
	p.guess = h.wants.guess(envs, h.search.Trees)
	p.others = newHopOthers(net, h, p.guess, envs)
	p.prior.others, p.prior.scripts = p.others, scripts
	if p.models, err = p.modelled(envs); err != nil {
		return nil, err
	}
	thinks := envs * len(h.others) * h.goals
	p.ws = h.moa.Model.Work(thinks)
	p.obs, p.goals = make([]float32, thinks*h.spec.Obs.Len()), make([]float32, thinks*h.moa.Model.GoalLen)
	p.probs, p.who = make([]float32, thinks*actions), make([]int32, thinks)
	return p, nil
}

// hopOthers is the model of others in a search. A tree's co-players are after what
// was drawn for it.
type hopOthers struct {
	*plan.NetOthers
	h       *HOP
	guess   guess
	vectors []float32 // [trees][others][GoalLen] what the model reads
}

func newHopOthers(net plan.NetConfig, h *HOP, g guess, envs int) *hopOthers {
	o := &hopOthers{h: h, guess: g, vectors: make([]float32, envs*h.search.Trees*len(h.others)*h.moa.Model.GoalLen)}
	o.NetOthers = plan.NewNetOthers(plan.OthersConfig{
		NetConfig: net, Others: len(h.others), Trees: h.search.Trees, Envs: envs, Vectors: o,
	})
	return o
}

// Goals draws a hypothesis about each co-player from the beliefs, and what it
// wants if that holds.
func (o *hopOthers) Goals(tree int32, r *rng.Rand) {
	env := o.Env[int(tree)/o.Trees]
	names := o.Of(tree)
	o.h.belief[env].Draw(names, 0, r)
	copy(names, o.h.swap.Goals)
	for j, g := range names {
		v := o.Vector(tree, j, g)
		if int(g) == o.h.random {
			clear(v) // the model is not asked
			continue
		}
		names[j] = o.guess.draw(tree, env, j, g, r)
		o.h.vector(v, j, o.guess.drawn(tree, j, names[j]))
	}
}

// Vector returns what the model reads about a tree's co-player.
func (o *hopOthers) Vector(tree int32, other int, _ int32) []float32 {
	n := o.h.moa.Model.GoalLen
	at := (int(tree)*o.Others + other) * n
	return o.vectors[at : at+n]
}

// actorNet is a network that evaluates states as a search sees it: the agent's own,
// or a response network. Values are in the game's own reward.
type actorNet struct {
	ws      *actor.Work
	params  *nn.Params
	scale   float32 // of rewards in its values
	actions int
}

func (n *actorNet) Add(obs, goal []float32) { n.ws.Add(obs, goal) }

func (n *actorNet) Run() (logits, value []float32) {
	n.ws.Forward(n.params)
	rows := n.ws.X.Rows()
	value = n.ws.Value[:rows]
	for i := range value {
		value[i] /= n.scale
	}
	n.ws.Reset()
	return n.ws.Logits[:rows*n.actions], value
}

// moaNet is the model of others as a search sees it.
type moaNet struct {
	ws     *moa.Work
	h      *HOP
	random []int32 // rows about co-players that act at random
}

func (n *moaNet) Add(obs, goal []float32) {
	if n.h.cfg.Others == "uniform" || !slices.ContainsFunc(goal[n.h.width:], func(x float32) bool { return x != 0 }) {
		n.random = append(n.random, int32(n.ws.Rows()))
	}
	n.ws.Add(obs, goal)
}

func (n *moaNet) Run() (logits, value []float32) {
	n.ws.Forward(n.h.moa.Params)
	rows, k := n.ws.Rows(), len(n.h.spec.Actions)
	n.ws.Reset()
	for _, i := range n.random {
		clear(n.ws.Logits[int(i)*k : (int(i)+1)*k])
	}
	n.random = n.random[:0]
	return n.ws.Logits[:rows*k], nil
}

// Act updates beliefs by what the others did, thinks about what they will do,
// and searches.
func (p *hopPlayer) Act(v *rollout.View, envs []int32) {
	h := p.h
	if anew := p.guess.watch(v, envs); anew || p.seen != h.version {
		p.prior.own.Cache.Clear()
		p.others.Cache.Clear()
		p.seen = h.version
	}
	for _, n := range envs {
		p.notice(v, int(n))
	}
	p.expect(v, envs)
	p.env, p.rs = p.env[:0], p.rs[:0]
	for i, n := range envs {
		p.seats[0] = v.SeatOf(int(n))
		for j, a := range h.others {
			p.seats[j+1] = game.Seat(v.Seat[v.Slot(a, v.T, int(n))])
			p.prior.place[i*len(h.others)+j] = p.place(v, int(n), j)
		}
		p.feel(v, int(n))
		p.world.Set(i, v.State(int(n)), p.seats)
		p.env = append(p.env, int(n))
		lo := len(p.rs)
		p.rs = p.rs[:lo+h.search.Trees]
		plan.Fork(p.rs[lo:], v.Rand(int(n)))
	}
	p.others.Env = p.env
	p.forest.Search(p.world, p.prior, p.models, p.rs)
	p.choose(v, envs)
}

// place returns where co-player j of env n stands in ego-first order, from 0 for
// the next seat.
func (p *hopPlayer) place(v *rollout.View, n, j int) int {
	seats := p.h.spec.Seats
	seat := int(v.Seat[v.Slot(p.h.others[j], v.T, n)])
	return (seat-int(v.SeatOf(n))+seats)%seats - 1
}

// feel writes the belief where the agent's network will read it when it learns:
// by place, zero for those who have left.
func (p *hopPlayer) feel(v *rollout.View, n int) {
	h := p.h
	if h.see == 0 || v.GoalLen != h.see {
		return
	}
	dst := v.GoalAt(v.SlotOf(n))
	clear(dst)
	for j, a := range h.others {
		if !v.Alive[v.Slot(a, v.T, n)] {
			continue
		}
		told := dst[p.place(v, n, j)*h.width:][:h.width]
		for g, b := range h.belief[n].At(0, j) {
			if g == h.random {
				told[h.width-1] = float32(b)
				continue
			}
			for i, x := range p.guess.now(n, j, g) {
				told[i] += float32(b) * x
			}
		}
	}
}

// choose draws an action from the search's policy and records it.
func (p *hopPlayer) choose(v *rollout.View, envs []int32) {
	k := p.forest.Actions
	for i, n := range envs {
		policy := p.forest.Policy[i*k : (i+1)*k]
		a := game.Sample(policy, v.Rand(int(n)))
		step := v.StepOf(int(n))
		v.Action[step], v.Own[step] = a, true
		v.LogProb[step] = float32(math.Log(float64(policy[a])))
		copy(v.TargetAt(step), policy)
		v.Value[v.SlotOf(int(n))] = p.forest.Value[i] * p.h.scale
	}
}

// notice starts an episode's beliefs, or updates them by the last joint action,
// which the agent's own observation shows; in games whose observations have no
// place for it, what was earned tells it.
func (p *hopPlayer) notice(v *rollout.View, n int) {
	h := p.h
	b := h.belief[n]
	if v.Start[v.Moment(v.T, n)] {
		for j := range h.others {
			h.start(n, j)
		}
		h.acted[n] = false
	}
	if !h.acted[n] {
		return
	}
	k := len(h.spec.Actions)
	obs := v.ObsAt(v.SlotOf(n))[h.spec.Obs.LastAt():]
	var legal [game.MaxActions]bool
	for j, a := range h.others {
		action := v.PlayedOf(n, a)
		if h.spec.Obs.Last > 0 {
			place := p.place(v, n, j) + 1
			action = game.NoAction
			for i, x := range obs[place*k : (place+1)*k] {
				if x != 0 {
					action = int32(i)
				}
			}
		}
		at := (n*len(h.others) + j) * h.goals * k
		probs := h.thinks[at : at+h.goals*k]
		for i := range k {
			legal[i] = false
			for g := range h.goals {
				legal[i] = legal[i] || probs[g*k+i] > 0
			}
		}
		b.Update(0, j, probs, legal[:k], action)
		h.next(v, n, j)
	}
}

// start begins the belief about co-player j of env n, with as much doubt as is
// wanted.
func (h *HOP) start(n, j int) {
	at := h.belief[n].At(0, j)
	h.belief[n].Prior(j, at)
	if h.random < 0 || h.cfg.Start < 0 {
		return
	}
	rest := 1 - at[h.random]
	for g := range at {
		at[g] *= (1 - h.cfg.Start) / rest
	}
	at[h.random] = h.cfg.Start
}

// expect writes what each living co-player would do for each goal, from its own
// place: the likelihoods of the next notice.
func (p *hopPlayer) expect(v *rollout.View, envs []int32) {
	h := p.h
	k, width, goalLen := len(h.spec.Actions), h.spec.Obs.Len(), h.moa.Model.GoalLen
	rows := 0
	for _, n := range envs {
		h.acted[n] = true
		for j, a := range h.others {
			slot := v.Slot(a, v.T, int(n))
			at := (int(n)*len(h.others) + j) * h.goals
			if !v.Alive[slot] {
				clear(h.thinks[at*k : (at+h.goals)*k])
				continue
			}
			for g := range h.goals {
				if g == h.random || h.cfg.Others == "uniform" {
					game.Spread(h.thinks[(at+g)*k:(at+g+1)*k], v.LegalAt(slot))
					continue
				}
				copy(p.obs[rows*width:], v.ObsAt(slot))
				h.vector(p.goals[rows*goalLen:(rows+1)*goalLen], j, p.guess.now(int(n), j, g))
				p.who[rows] = int32(at + g)
				rows++
			}
		}
	}
	if rows == 0 {
		return
	}
	p.ws.Predict(h.moa.Params, p.obs[:rows*width], p.goals[:rows*goalLen], p.probs[:rows*k])
	for i := range rows {
		copy(h.thinks[int(p.who[i])*k:(int(p.who[i])+1)*k], p.probs[i*k:(i+1)*k])
	}
}

// Evaluate writes the network's own values, where a window cuts an episode.
func (p *hopPlayer) Evaluate(v *rollout.View, envs []int32) {
	for len(envs) > 0 {
		part := envs[:min(len(envs), p.prior.own.Rows)]
		for _, n := range part {
			p.feel(v, int(n))
			p.prior.own.Add(v.ObsAt(v.SlotOf(int(n))), v.GoalAt(v.SlotOf(int(n))))
		}
		_, value := p.prior.own.Run()
		for i, n := range part {
			v.Value[v.SlotOf(int(n))] = value[i] * p.h.scale
		}
		envs = envs[len(part):]
	}
}

// EpisodeOver takes in what the others did in the end.
func (p *hopPlayer) EpisodeOver(v *rollout.View, n int) { p.guess.over(v, n) }

var _ rollout.Watcher = (*hopPlayer)(nil)
