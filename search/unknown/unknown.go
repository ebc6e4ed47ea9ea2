// Package unknown plans against somebody unknown: with a model of each co-player that is made while
// playing, and rollouts on the true rules against it.
//
// A model is a mixture of habits, such as going for the nearest stag, whose weights depend on
// the situation: the clock, distances, crowds, and how the last episode went. Nothing of it is
// trained before a life begins. The plan plays episodes on to their end, by each of the game's scripts,
// against co-players drawn from the models; then, in the same futures, each action and after it the
// script that did best. The policy that it is given is moved towards what that script does, and
// towards what earns more than that by more than chance may have made it.
package unknown

import (
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/game/stranger"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search/bandit"
)

// Of the plan.
const (
	First  = 8    // futures that every script is followed in
	Second = 24   // further ones of those that did best
	Best   = 2    // so many
	Pull   = 4.   // by how many squared standard errors an advantage is pulled to nothing
	Sharp  = 12.  // what a return of one more does to the log-odds of an action
	Follow = 0.6  // the return that an action must promise more to be played in place of the best script's
	least  = 0.02 // share of an action that the policy which is given cannot take away
	Enough = 5    // episodes before there is a plan
	behind = 0.05 // nats a step that the models may predict worse
)

// Plan is that of one agent in several envs, each of which is a life.
type Plan struct {
	g      game.Game
	lang   *script.Language
	things int
	texts  []string // of the habits that others may have
	own    []string // and of the scripts of one's own
	lives  []*life
	free   free // where what futures meet is kept
}

// life is what is known and needed in one env.
type life struct {
	*model
	script   []game.Bot
	seat     []game.Seat // [agents] where each sat at the last decision
	before   game.State  // at the last decision
	acted    bool        // there is one in this episode
	time     int         // its step
	expected [][]float64 // [others][actions] what somebody else expected of each then
	episodes int
	earned   float64 // mean of episodes
	last     int     // how the last one went: 0 there was none, 1 below the mean, 2 not below
	sim      game.State
	joint    []int32
	rewards  []float32
	legal    []bool
	followed [][First + Second]float64 // [scripts][futures] what following each earned
	mean     []float64                 // [scripts] of those futures that it was followed in
	tried    []int                     // the same: how many
	q        []float64                 // [actions]
	policy   []float32                 // the same
	r        rng.Rand

	kept   *places // of the episode; nil: futures are played by the rules alone
	known  moment  // which that is
	rows   rows    // what is done there
	states *states // of the decision under way
	path   []int32 // [steps][seats] the joint actions of the future under way
	caught int     // so much of it sim has played; -1: it is elsewhere
	shown  int     // where sim was when the model looked at it; -1: elsewhere
}

// New returns the plan of an agent; nil if nobody can say how others may act in the game.
func New(g game.Game, envs int) (*Plan, error) {
	l, err := stranger.Language(g)
	if err != nil || g.Spec().Opaque || g.Spec().View > 0 || g.Spec().Seats < 2 {
		return nil, nil
	}
	p := &Plan{g: g, lang: l, own: bandit.Scripts(g), lives: make([]*life, envs)}
	p.texts = append(p.texts, l.Pair[0], l.Pair[1], "random", "lazy(random,1)")
	if _, board := g.New().(script.Field); board {
		p.things = len(l.Things)
		p.texts = append(p.texts, "stay", "wander")
		for _, t := range l.Things {
			p.texts = append(p.texts, "go("+t+",nearest,wander)", "go("+t+",farthest,wander)", "go("+t+",crowded,wander)")
		}
		p.own = append(p.own, "go("+l.Things[0]+",farthest,"+l.Pair[1]+")")
	}
	one, err := p.life(0)
	if err != nil {
		return nil, err
	}
	if one.kept != nil {
		p.free.give(one.newStates())
	}
	return p, nil
}

// life returns what is known in an env.
func (p *Plan) life(n int) (*life, error) {
	if p.lives[n] != nil {
		return p.lives[n], nil
	}
	spec := p.g.Spec()
	actions := len(spec.Actions)
	m, err := newModel(p.lang, p.things, p.texts, spec.Seats-1, actions)
	if err != nil {
		return nil, err
	}
	l := &life{
		model: m, before: p.g.New(), sim: p.g.New(), seat: make([]game.Seat, spec.Seats), joint: make([]int32, spec.Seats),
		rewards: make([]float32, spec.Seats), legal: make([]bool, actions), q: make([]float64, actions), policy: make([]float32, actions),
	}
	for _, name := range p.own {
		b, err := game.NewBot(p.g, name)
		if err != nil {
			return nil, err
		}
		l.script = append(l.script, b)
	}
	l.followed, l.mean, l.tried = make([][First + Second]float64, len(l.script)), make([]float64, len(l.script)), make([]int, len(l.script))
	for range spec.Seats - 1 {
		l.expected = append(l.expected, make([]float64, actions))
	}
	if l.kept = l.newPlaces(); l.kept != nil {
		l.rows = newRows(actions)
	}
	p.lives[n] = l
	return l, nil
}

// Reader says what co-player j of env n is expected to do now.
type Reader interface {
	Read(dst []float64, n, j int) []float64
}

// See takes in, at a decision, what the others did since the last one, and what is expected of them now.
func (p *Plan) See(v *rollout.View, n int, by Reader) {
	l, err := p.life(n)
	if err != nil {
		panic(err) // what could be made once can be made again
	}
	if v.Start[v.Moment(v.T, n)] {
		l.acted = false
	}
	l.watch(v, n)
	l.before.CopyFrom(v.State(n))
	l.acted, l.time = true, v.StepsOf(n)
	for s := range l.seat {
		l.seat[v.AgentAt(n, game.Seat(s))] = game.Seat(s)
	}
	for j := range l.expected {
		by.Read(l.expected[j], n, j)
	}
}

// watch lets the model see what was done at the last decision.
func (l *life) watch(v *rollout.View, n int) {
	if !l.acted || v.StepsOf(n) != l.time+1 {
		return
	}
	me := l.seat[v.Agent]
	for a, s := range l.seat {
		if agent.ID(a) == v.Agent || !l.before.Alive(s) {
			continue
		}
		k := v.PlayedOf(n, agent.ID(a))
		if k == game.NoAction {
			continue
		}
		l.see(l.before, s, me, other(a, v.Agent), l.last, k, l.expected[other(a, v.Agent)][k])
	}
}

// other returns the place of an agent among the others.
func other(a int, own agent.ID) int {
	if a > int(own) {
		return a - 1
	}
	return a
}

// Over takes in how an episode ended, and learns.
func (p *Plan) Over(v *rollout.View, n int) {
	l := p.lives[n]
	if l == nil {
		return
	}
	l.watch(v, n)
	l.acted = false
	l.episodes++
	x := v.EarnedOf(n)
	l.last = 1
	if x >= l.earned {
		l.last = 2
	}
	l.earned += (x - l.earned) / float64(min(l.episodes, 50))
	if len(l.steps) > 0 {
		l.r = rng.New(uint64(l.episodes)).Child("learn").Rand()
		l.learn(&l.r)
	}
}

// Ready reports whether there is a plan: enough has been seen, and the models predict the others
// better than whoever else does.
func (p *Plan) Ready(n int) bool {
	l := p.lives[n]
	return l != nil && l.episodes >= Enough && l.said > l.others-behind
}

// Held is what is known of the others in one env.
type Held struct {
	Episodes     int
	Said, Others float64     // nats a step: how well the models predicted, and whoever they are compared with
	Expected     [][]float64 // [others][actions] by the models, at the last decision; zero for those who have left
}

// Holds returns what is known in env n, for audits.
func (p *Plan) Holds(v *rollout.View, n int) (h Held) {
	l := p.lives[n]
	h.Episodes, h.Said, h.Others = l.episodes, l.said, l.others
	for a, s := range l.seat {
		if agent.ID(a) == v.Agent {
			continue
		}
		expected := make([]float64, l.actions)
		if l.before.Alive(s) {
			l.predict(l.before, s, l.seat[v.Agent], other(a, v.Agent), l.last, expected)
		}
		h.Expected = append(h.Expected, expected)
	}
	return h
}

// Policy returns what Improve returned last in env n.
func (p *Plan) Policy(n int) []float32 { return p.lives[n].policy }

// Improve returns a policy that was moved towards what earns most against the models. What it is given may be
// empty, for even.
func (p *Plan) Improve(given []float32, v *rollout.View, n int) []float32 {
	l := p.lives[n]
	salt := v.Rand(n).Uint64()
	p.begin(l, salt)
	script, act := l.follow(v.Agent, salt)
	l.before.Legal(l.seat[v.Agent], l.legal)
	most, sum := math.Inf(-1), 0.
	for a, ok := range l.legal {
		if !ok {
			continue
		}
		l.q[a] = Sharp * l.advantage(v.Agent, a, script, salt)
		if int32(a) == act {
			l.q[a] += Sharp * Follow
		}
		if len(given) > 0 {
			l.q[a] += math.Log(float64(given[a]) + least)
		}
		most = max(most, l.q[a])
	}
	for a, ok := range l.legal {
		if l.policy[a] = 0; ok {
			x := math.Exp(l.q[a] - most)
			l.policy[a] = float32(x)
			sum += x
		}
	}
	for a := range l.policy {
		l.policy[a] /= float32(sum)
	}
	p.end(l)
	return l.policy
}

// follow returns the script that earns most from here on, and what it does now.
func (l *life) follow(own agent.ID, salt uint64) (script int, act int32) {
	clear(l.mean)
	clear(l.tried)
	for s := range l.script {
		l.futures(own, s, First, salt)
	}
	for range Best {
		l.futures(own, l.best(First), First+Second, salt)
	}
	script = l.best(First + Second)
	l.r = rng.Raw(salt, 1)
	return script, l.script[script].Act(l.before, l.seat[own], &l.r)
}

// futures follows a script until it has been followed in so many.
func (l *life) futures(own agent.ID, s, upTo int, salt uint64) {
	for f := l.tried[s]; f < upTo; f++ {
		x := l.play(own, game.NoAction, s, f, salt)
		l.followed[s][f] = x
		l.mean[s] += (x - l.mean[s]) / float64(f+1)
	}
	l.tried[s] = upTo
}

// best returns the script that did best of those that were followed so often.
func (l *life) best(often int) int {
	at, best := 0, math.Inf(-1)
	for s, x := range l.mean {
		if l.tried[s] == often && x > best {
			at, best = s, x
		}
	}
	return at
}

// advantage returns how much more an action earns, and then a script, than that script alone, in the
// same futures, pulled to nothing by what chance may be of it (James and Stein's, of one number).
func (l *life) advantage(own agent.ID, a, s int, salt uint64) float64 {
	const n = First + Second
	mean, squares := 0., 0.
	for f := range n {
		d := l.play(own, int32(a), s, f, salt) - l.followed[s][f] - mean
		mean += d / float64(f+1)
		squares += d * d * float64(f) / float64(f+1)
	}
	if mean == 0 {
		return 0
	}
	return mean * max(0, 1-Pull*squares/(n*n*mean*mean))
}

// play plays an episode on in a future, by a script, an action before it if there is one, and returns what that earns.
func (l *life) play(own agent.ID, act int32, s, future int, salt uint64) float64 {
	l.r = rng.Raw(salt+uint64(future), uint64(future)<<32|1)
	l.r.Uint64()
	if l.states != nil {
		return l.along(own, act, s)
	}
	l.sim.CopyFrom(l.before)
	sum := 0.
	for me := l.seat[own]; l.sim.Alive(me); act = game.NoAction {
		if act == game.NoAction {
			act = l.script[s].Act(l.sim, me, &l.r)
		}
		l.set(l.sim)
		for b, seat := range l.seat {
			switch {
			case !l.sim.Alive(seat):
				l.joint[seat] = game.NoAction
			case agent.ID(b) == own:
				l.joint[seat] = act
			default:
				l.joint[seat] = l.draw(seat, me, other(b, own), l.last, &l.r)
			}
		}
		l.sim.Step(l.joint, l.rewards, &l.r)
		sum += float64(l.rewards[me])
	}
	return sum
}
