package mind

import (
	"hop/agent"
	"hop/game"
	"hop/rollout"
	"hop/stats"
)

// Reading is a player that models its co-players.
type Reading interface {
	rollout.Player
	// Others returns whom it models.
	Others() []agent.ID
	// Read writes what it expected co-player j of env n to do when it last acted,
	// dst [Actions], zero if nothing, and returns its posterior over hypotheses
	// about j, a view.
	Read(dst []float64, n, j int) (posterior []float64)
}

// Wording is a Reading that says in words what it takes its co-players to be after.
type Wording interface {
	Reading
	// InWords returns how likely it holds co-player j of env n to be after each goal, by
	// name, when it last acted.
	InWords(n, j int) (names []string, probs []float64)
}

// Watching is a Reading that can watch without playing.
type Watching interface {
	Reading
	// Watch infers and predicts as Act does, and leaves the choice of an action to
	// whoever plays the place.
	Watch(v *rollout.View, envs []int32)
}

// Foreseeing is a Watching that can choose after it has watched, so that others can
// act in between as it expects them to.
type Foreseeing interface {
	Watching
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

// Believing is a Reading whose grounds can be looked at.
type Believing interface {
	Reading
	// Believes returns what it holds about co-player j of env n.
	Believes(n, j int) Belief
}

// Readings is how well an agent read its co-players, by episode and by step of an
// episode. Each entry of action is whether the likeliest action, by posterior and
// model of others, was played; of belief, the probability that the posterior gave
// to the truth. Steps after the agent's last decision are not counted.
type Readings struct {
	// Truth returns which hypothesis is true of co-player j, counted without the
	// agent itself, in an episode; -1: none is.
	Truth func(episode, j int) int
	// Pursues returns in words what co-player j, who sits on a seat, is after in a state of
	// an episode; "": that can be told in hindsight at best. nil: as if it were "".
	Pursues func(st game.State, s game.Seat, episode, j int) string
	// Beside returns who watches the co-players of env n beside the agent, to compare
	// with; nil: nobody.
	Beside func(n int, others []agent.ID) []Witness

	env []envReadings
}

// envReadings is one env's. Envs are apart, so workers never meet.
type envReadings struct {
	episode        int
	step           int
	likeliest      []int32 // [others] what is expected of them; game.NoAction: nothing
	action, belief []stats.Acc
	steps          []stats.Acc // of belief, by step
	looks
}

// ByEpisode returns the means over envs, in the order of envs.
func (r *Readings) ByEpisode() (action, belief []stats.Acc) {
	for i := range r.env {
		action, belief = merge(action, r.env[i].action), merge(belief, r.env[i].belief)
	}
	return action, belief
}

// ByStep returns the belief's means by step of an episode.
func (r *Readings) ByStep() (belief []stats.Acc) {
	for i := range r.env {
		belief = merge(belief, r.env[i].steps)
	}
	return belief
}

func merge(dst, src []stats.Acc) []stats.Acc {
	for i, x := range src {
		if i == len(dst) {
			dst = append(dst, stats.Acc{})
		}
		dst[i].Merge(x)
	}
	return dst
}

func addAt(list []stats.Acc, i int, x float64) []stats.Acc {
	for len(list) <= i {
		list = append(list, stats.Acc{})
	}
	list[i].Add(x)
	return list
}

// Take puts r beside players for envs envs. Players that read nobody are returned
// as they are.
func (r *Readings) Take(players []rollout.Player, envs int) []rollout.Player {
	r.env = make([]envReadings, envs)
	var list []rollout.Player
	for _, p := range players {
		q, ok := p.(Reading)
		if !ok {
			list = append(list, p)
			continue
		}
		others := q.Others()
		for n := range r.env {
			r.env[n].likeliest = make([]int32, len(others))
			r.env[n].watch(r, n, others)
		}
		words, _ := p.(Wording)
		list = append(list, &reader{Reading: q, others: others, words: words, r: r})
	}
	return list
}

// reader is a player whose readings are taken.
type reader struct {
	Reading
	others []agent.ID
	words  Wording // nil: it does not speak
	r      *Readings
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
			e.action = addAt(e.action, e.episode, hit)
		}
	}
	p.Reading.Act(v, envs)
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
		p.look(v, n, j, probs[:v.Actions])
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
			e.belief = addAt(e.belief, e.episode, posterior[g])
			e.steps = addAt(e.steps, e.step, posterior[g])
		}
	}
	e.step++
}

// EpisodeOver goes on to the next episode.
func (p *reader) EpisodeOver(v *rollout.View, n int) {
	if w, ok := p.Reading.(rollout.Watcher); ok {
		w.EpisodeOver(v, n)
	}
	p.r.env[n].end(v, n, p.others)
	p.r.env[n].episode++
}

var _ rollout.Watcher = (*reader)(nil)
