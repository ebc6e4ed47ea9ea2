package learner

import (
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/stats"
)

// Predictor is a player that predicts its co-players.
type Predictor interface {
	rollout.Player
	// Others returns whom it models.
	Others() []agent.ID
	// Read writes what it expected co-player j of env n to do when it last acted,
	// dst [Actions], zero if nothing, and returns its posterior over hypotheses
	// about j, a view.
	Read(dst []float64, n, j int) (posterior []float64)
}

// Explainer is a Predictor that says in words what it takes its co-players to be after.
type Explainer interface {
	Predictor
	// InWords returns how likely it holds co-player j of env n to be after each goal, by
	// name, when it last acted.
	InWords(n, j int) (names []string, probs []float64)
}

// Watching is a Predictor that can watch without playing.
type Watching interface {
	Predictor
	// Watch infers and predicts as Act does, and leaves the choice of an action to
	// whoever plays the place.
	Watch(v *rollout.View, envs []int32)
}

// Foreseeing watches and predicts, and chooses apart from it, so that others can act in
// between as it expects them to.
type Foreseeing interface {
	// Others and Read are a Predictor's, Watch a Watching's, Evaluate a rollout.Player's.
	Others() []agent.ID
	Read(dst []float64, n, j int) (posterior []float64)
	Watch(v *rollout.View, envs []int32)
	Evaluate(v *rollout.View, envs []int32)
	// Choose acts by what was inferred and predicted last: Watch, then Choose, is Act.
	Choose(v *rollout.View, envs []int32)
}

// Belief is what a player holds about one co-player after it acted; views.
type Belief struct {
	Posterior []float64 // [hypotheses]
	Expected  []float32 // [hypotheses][Actions] what the co-player is expected to do now, zero if it has left
	// Mean and Spread are what is inferred that it is after; nil where goals are not
	// points.
	Mean, Spread []float32
}

// Believing is a Predictor whose grounds can be looked at.
type Believing interface {
	Predictor
	// Believes returns what it holds about co-player j of env n.
	Believes(n, j int) Belief
}

// Predictions is how well an agent read its co-players, by episode and by step of an
// episode. Each entry of action is whether the likeliest action, by posterior and
// model of others, was played; of belief, the probability that the posterior gave
// to the truth. Steps after the agent's last decision are not counted.
type Predictions struct {
	// Truth returns which hypothesis is true of co-player j, counted without the
	// agent itself, in an episode; -1: none is.
	Truth func(episode, j int) int
	// Pursues returns in words what co-player j, who sits on a seat, is after in a state of
	// an episode; "": that can be told in hindsight at best. nil: as if it were "".
	Pursues func(st game.State, s game.Seat, episode, j int) string
	// Beside returns who watches the co-players of env n beside the agent, to compare
	// with; nil: nobody.
	Beside func(n int, others []agent.ID) []Witness

	env []envPredictions
}

// envPredictions is one env's. Envs are apart, so workers never meet.
type envPredictions struct {
	episode        int
	step           int
	likeliest      []int32 // [others] what is expected of them; game.NoAction: nothing
	action, belief []stats.Acc
	steps          []stats.Acc // of belief, by step
	pending
}

// ByEpisode returns the means over envs, in the order of envs.
func (r *Predictions) ByEpisode() (action, belief []stats.Acc) {
	for i := range r.env {
		action, belief = stats.MergeAll(action, r.env[i].action), stats.MergeAll(belief, r.env[i].belief)
	}
	return action, belief
}

// ByStep returns the belief's means by step of an episode.
func (r *Predictions) ByStep() (belief []stats.Acc) {
	for i := range r.env {
		belief = stats.MergeAll(belief, r.env[i].steps)
	}
	return belief
}

// Take puts r beside players for envs envs. Players that read nobody are returned
// as they are.
func (r *Predictions) Take(players []rollout.Player, envs int) []rollout.Player {
	r.env = make([]envPredictions, envs)
	var list []rollout.Player
	for _, p := range players {
		q, ok := p.(Predictor)
		if !ok {
			list = append(list, p)
			continue
		}
		others := q.Others()
		for n := range r.env {
			r.env[n].likeliest = make([]int32, len(others))
			r.env[n].watch(r, n, others)
		}
		words, _ := p.(Explainer)
		list = append(list, &reader{Predictor: q, others: others, words: words, r: r})
	}
	return list
}

// reader is a player whose readings are taken.
type reader struct {
	Predictor
	others []agent.ID
	words  Explainer // nil: it does not speak
	r      *Predictions
}

// Act compares what was expected with what was done, acts, and keeps what is
// expected next.
func (p *reader) Act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		e := &p.r.env[n]
		if v.Start[v.Moment(v.T, int(n))] {
			e.step = 0
			e.begin()
			continue
		}
		e.settle(v, int(n), p.others)
		for j, k := range e.likeliest {
			if k == game.NoAction {
				continue
			}
			hit := 0.
			if v.PlayedOf(int(n), p.others[j]) == k {
				hit = 1
			}
			e.action = stats.AddAt(e.action, e.episode, hit)
		}
	}
	p.Predictor.Act(v, envs)
	for _, n := range envs {
		p.keep(v, int(n))
	}
}

// keep keeps what is expected of each co-player that is there.
func (p *reader) keep(v *rollout.View, n int) {
	e := &p.r.env[n]
	for _, w := range e.beside {
		w.See(v, n)
	}
	var probs [game.MaxActions]float64
	for j, a := range p.others {
		e.likeliest[j] = game.NoAction
		if !v.Alive[v.Slot(a, v.T, n)] {
			continue
		}
		posterior := p.Read(probs[:v.Actions], n, j)
		p.predict(v, n, j, probs[:v.Actions])
		best := 0
		for k := range probs[:v.Actions] {
			if probs[k] > probs[best] {
				best = k
			}
		}
		if probs[best] > 0 {
			e.likeliest[j] = int32(best)
		}
		if p.r.Truth == nil {
			continue
		}
		if g := p.r.Truth(e.episode, j); g >= 0 && g < len(posterior) {
			e.belief = stats.AddAt(e.belief, e.episode, posterior[g])
			e.steps = stats.AddAt(e.steps, e.step, posterior[g])
		}
	}
	e.step++
}

// EpisodeOver goes on to the next episode.
func (p *reader) EpisodeOver(v *rollout.View, n int) {
	if w, ok := p.Predictor.(rollout.Watcher); ok {
		w.EpisodeOver(v, n)
	}
	p.r.env[n].end(v, n, p.others)
	p.r.env[n].episode++
}

// Prediction is one step of one co-player that an agent was there to see: what was held of it
// before it acted, and what came of it.
type Prediction struct {
	Env, Episode, Step int
	Other              int    // which co-player
	Pursues            string // what it was after, if that can be told at once
	Next               int    // the goal that it reached next in the episode, or game.NoGoal
	Acted              bool   // what it did is known: not of the agent's last slot of an episode
	Held               []Held // by the agent, then by those who watch beside it
}

// Held is what somebody held of a co-player.
type Held struct {
	Top1, CE float64   // of the action: 1 if the likeliest one was played, of equally likely ones its share; -ln p of it
	Names    []string  // goals in words, nothing where none are inferred
	Probs    []float64 // of each
}

// Right returns whether the likeliest goal is the one of that name: 1, 0, or the share
// of several that are equally likely.
func (h *Held) Right(name string) float64 {
	for i, n := range h.Names {
		if n == name {
			return top1(h.Probs, i)
		}
	}
	return 0
}

// Of returns how likely a goal is held to be.
func (h *Held) Of(name string) float64 {
	for i, n := range h.Names {
		if n == name {
			return h.Probs[i]
		}
	}
	return 0
}

// Witness watches one env's co-players beside an agent: the Bayes observer, for one.
type Witness interface {
	// See takes in env n at a slot at which the agent acts.
	See(v *rollout.View, n int)
	// Predict writes what co-player j is expected to do then, dst [Actions].
	Predict(dst []float64, j int)
	// InWords returns how likely co-player j is to be after each goal; nothing if that
	// cannot be said.
	InWords(j int) (names []string, probs []float64)
}

// Each calls f with every prediction, env by env, in the order of time.
func (r *Predictions) Each(f func(l *Prediction)) {
	for n := range r.env {
		for i := range r.env[n].list {
			f(&r.env[n].list[i])
		}
	}
}

// pending is one env's predictions, and what of them is still to come.
type pending struct {
	list    []Prediction
	beside  []Witness
	open    []int     // [others] the prediction whose action is not known yet, -1: none
	waiting [][]int   // [others] this episode's predictions since a goal was reached
	reached []bool    // [others] one was reached in this episode
	dist    []float64 // [others][1+beside][MaxActions] what was expected at the open predictions
}

// watch prepares for the co-players of env n.
func (e *pending) watch(r *Predictions, n int, others []agent.ID) {
	if e.open != nil {
		return // another worker's player has done it
	}
	if r.Beside != nil {
		e.beside = r.Beside(n, others)
	}
	e.open, e.waiting, e.reached = make([]int, len(others)), make([][]int, len(others)), make([]bool, len(others))
	e.dist = make([]float64, len(others)*(1+len(e.beside))*game.MaxActions)
	e.begin()
}

// begin starts an episode.
func (e *pending) begin() {
	for j := range e.open {
		e.open[j], e.waiting[j], e.reached[j] = -1, e.waiting[j][:0], false
	}
}

// at returns where what was expected of co-player j by a holder is kept.
func (e *pending) at(j, holder int) []float64 {
	i := (j*(1+len(e.beside)) + holder) * game.MaxActions
	return e.dist[i : i+game.MaxActions]
}

// settle notes what the co-players did since the last slot, and what they reached.
func (e *pending) settle(v *rollout.View, n int, others []agent.ID) {
	for j, a := range others {
		if i := e.open[j]; i >= 0 {
			e.open[j] = -1
			if k := v.PlayedOf(n, a); k != game.NoAction {
				l := &e.list[i]
				l.Acted = true
				for h := range l.Held {
					p := e.at(j, h)[:v.Actions]
					l.Held[h].Top1, l.Held[h].CE = top1(p, int(k)), -math.Log(max(p[k], 1e-9))
				}
			}
		}
		if g := v.ReachedOf(n, a); g != game.NoGoal {
			e.reach(j, g)
		}
	}
}

// reach says of the predictions that waited for it which goal co-player j reached.
func (e *pending) reach(j, goal int) {
	for _, i := range e.waiting[j] {
		e.list[i].Next = goal
	}
	e.waiting[j], e.reached[j] = e.waiting[j][:0], true
}

// end notes what the co-players reached in the episode's last step or, if the agent had
// left before, since then: the last goal, unless it was there to see one.
func (e *pending) end(v *rollout.View, n int, others []agent.ID) {
	for j, a := range others {
		g := game.NoGoal
		if v.Alive[v.SlotOf(n)] {
			g = v.ReachedOf(n, a)
		} else if !e.reached[j] {
			g = v.GoalOf(n, a)
		}
		if g != game.NoGoal {
			e.reach(j, g)
		}
	}
}

// predict keeps what is held of co-player j, which is there; expected is what the agent
// expects it to do.
func (p *reader) predict(v *rollout.View, n, j int, expected []float64) {
	e := &p.r.env[n]
	l := Prediction{Env: n, Episode: e.episode, Step: e.step, Other: j, Next: game.NoGoal, Held: make([]Held, 1+len(e.beside))}
	if p.r.Pursues != nil {
		l.Pursues = p.r.Pursues(v.State(n), v.SeatAt(v.Slot(p.others[j], v.T, n)), e.episode, j)
	}
	copy(e.at(j, 0), expected)
	if p.words != nil {
		l.Held[0].Names, l.Held[0].Probs = p.words.InWords(n, j)
	}
	for i, w := range e.beside {
		w.Predict(e.at(j, 1+i)[:v.Actions], j)
		l.Held[1+i].Names, l.Held[1+i].Probs = w.InWords(j)
	}
	e.open[j] = len(e.list)
	e.waiting[j] = append(e.waiting[j], len(e.list))
	e.list = append(e.list, l)
}

// top1 is 1 if entry k is the largest, of several that are the share of one, else 0.
func top1(p []float64, k int) float64 {
	const equal = 1e-9
	best, ties := p[0], 0
	for _, x := range p {
		best = max(best, x)
	}
	for _, x := range p {
		if x >= best-equal {
			ties++
		}
	}
	if p[k] < best-equal {
		return 0
	}
	return 1 / float64(ties)
}

var _ rollout.Watcher = (*reader)(nil)
