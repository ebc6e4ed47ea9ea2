package oracle

import (
	"fmt"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
)

// Observer watches the co-players of one agent in one env and infers, by Bayes' rule
// from what each of them does, which of some bots it is: as well as anyone can who knows
// the scripts but not who follows which, all equally likely at first. It is the limit of
// what an agent can know there of what they do next, and of what they are after.
//
// It sees what the agent sees: the slots at which the agent acts. Agents are dealt to
// seats anew each episode, so it knows co-players by their number, not by their seat.
type Observer struct {
	// Same reports that the co-players of an episode, counted from 0, are those of the
	// one before, so that what was found out holds on; nil: they never are.
	Same func(episode int) bool

	beside  *Observer // has looked at what this one would look at; nil: nobody has
	others  []agent.ID
	types   []game.Policy
	names   []string  // words for what they may be after: the game's goals, then RandomWord
	post    []float64 // [others][types]
	probs   []float32 // [others][types][actions] what each type would do at the last slot, if it is there
	goal    []int     // [others][types] what each type is after there, an index of names
	there   []bool    // [others] it was alive at the last slot
	actions int
	episode int
	named   bool // some type says what it is after
}

// RandomWord is the word for a co-player that acts at random.
const RandomWord = "random"

// NewObserver returns an observer of co-players that are any of these bots. It is an
// error if one of them cannot say how it acts, or remembers episodes.
func NewObserver(g game.Game, bots []string, others []agent.ID) (*Observer, error) {
	types, err := policies(g, bots)
	if err != nil {
		return nil, err
	}
	spec := g.Spec()
	o := &Observer{others: others, types: types, actions: len(spec.Actions), episode: -1, names: append(slices.Clone(spec.Goals), RandomWord)}
	n := len(others) * len(types)
	o.post, o.goal, o.there = make([]float64, n), make([]int, n), make([]bool, len(others))
	o.probs = make([]float32, n*o.actions)
	o.named = slices.Contains(bots, RandomWord)
	return o, nil
}

// policies makes bots that can say how they act.
func policies(g game.Game, bots []string) (list []game.Policy, err error) {
	for _, name := range bots {
		bot, err := game.NewBot(g, name)
		if err != nil {
			return nil, fmt.Errorf("oracle: %w", err)
		}
		p, ok := bot.(game.Policy)
		if _, watches := bot.(game.Watcher); !ok || watches {
			return nil, fmt.Errorf("oracle: %s cannot say with what probability it acts, or remembers episodes; take other bots", name)
		}
		list = append(list, p)
	}
	return list, nil
}

// Forgetful returns an observer who knows the same and begins anew in every episode. It looks
// where o has looked, so o must see every slot before it.
func (o *Observer) Forgetful() *Observer {
	n := *o
	n.Same, n.beside, n.post, n.there = nil, o, slices.Clone(o.post), slices.Clone(o.there)
	n.probs, n.goal = slices.Clone(o.probs), slices.Clone(o.goal)
	return &n
}

// See takes in what was played since the last slot, then env n as it is now.
func (o *Observer) See(v *rollout.View, n int) {
	if v.Start[v.Moment(v.T, n)] {
		o.start()
	}
	k := len(o.types)
	for j, a := range o.others {
		if played := v.PlayedOf(n, a); o.there[j] && played != game.NoAction {
			o.update(j, int(played))
		}
		seat := game.Seat(v.Seat[v.Slot(a, v.T, n)])
		if o.there[j] = v.Alive[v.Slot(a, v.T, n)]; !o.there[j] {
			continue
		}
		if b := o.beside; b != nil {
			copy(o.probs[j*k*o.actions:(j+1)*k*o.actions], b.probs[j*k*o.actions:])
			copy(o.goal[j*k:(j+1)*k], b.goal[j*k:])
			o.named = b.named
			continue
		}
		for i, p := range o.types {
			at := j*k + i
			p.Probs(v.State(n), seat, o.probs[at*o.actions:(at+1)*o.actions])
			o.goal[at] = len(o.names) - 1
			if q, ok := p.(game.Pursuer); ok {
				if g := q.Pursues(v.State(n), seat); g != game.NoGoal {
					o.goal[at], o.named = g, true
				}
			}
		}
	}
}

// start begins an episode.
func (o *Observer) start() {
	o.episode++
	clear(o.there)
	if o.episode > 0 && o.Same != nil && o.Same(o.episode) {
		return
	}
	for i := range o.post {
		o.post[i] = 1 / float64(len(o.types))
	}
}

// update applies Bayes' rule to what co-player j did. What no type would do teaches
// nothing.
func (o *Observer) update(j, action int) {
	k, sum := len(o.types), 0.
	post := o.post[j*k : (j+1)*k]
	for i, p := range post {
		sum += p * float64(o.probs[(j*k+i)*o.actions+action])
	}
	for i := range post {
		if sum > 0 {
			post[i] *= float64(o.probs[(j*k+i)*o.actions+action]) / sum
		}
	}
}

// Predict writes what co-player j does now, mixed over what it may be.
func (o *Observer) Predict(dst []float64, j int) {
	clear(dst)
	k := len(o.types)
	for i, p := range o.post[j*k : (j+1)*k] {
		for a := range dst {
			dst[a] += p * float64(o.probs[(j*k+i)*o.actions+a])
		}
	}
}

// InWords returns how likely co-player j is after each goal now, or to act at random;
// nothing if no type can say what it is after.
func (o *Observer) InWords(j int) (names []string, probs []float64) {
	if !o.named {
		return nil, nil
	}
	probs = make([]float64, len(o.names))
	k := len(o.types)
	for i, p := range o.post[j*k : (j+1)*k] {
		probs[o.goal[j*k+i]] += p
	}
	return o.names, probs
}
