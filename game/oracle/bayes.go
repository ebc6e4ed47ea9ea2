package oracle

import (
	"fmt"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
)

// Knowledge says what a predictor of scripted co-players goes by.
type Knowledge int

// What can be gone by, from least to most.
const (
	Even         Knowledge = iota // the state, and that all types are equally likely
	LastStep                      // the state, which shows the last joint action: one step of inference
	OwnHistory                    // all that the modelled agent has done in this episode
	JointHistory                  // all that everyone has done, and how teams are made up
	TypeKnown                     // the type itself
	Knowledges   = int(TypeKnown) + 1
)

func (k Knowledge) String() string {
	return [...]string{"even", "last step", "own history", "joint history", "type known"}[k]
}

// Bayes predicts scripted co-players as well as anyone can who knows the scripts
// but not who follows which. It bounds every learnt model of others. It follows
// one episode at a time: Start, then Predict and Update at each step.
//
// A predictor that sees only the state knows at least what LastStep knows,
// since an observation holds the last joint action and prey does not move; it
// can know more from where an agent stands and how long it has lived, so
// LastStep is a lower bound on "state only", and OwnHistory an upper bound for
// models without the others' history.
type Bayes struct {
	seats, actions int
	types          []game.Policy

	probs []float32 // [seats][types][actions] at the state last looked at
	own   []float64 // [seats][types] posterior from own actions
	last  []float64 // [seats][types] likelihood of the last own action
	team  []float64 // [types^seats] posterior over teams
	prior []float64 // [types^seats]
	seen  bool      // probs are those of the current state
	even  []float64 // [types]
	w     []float64 // [types] scratch
}

// NewBayes returns a predictor for teams made up of these bots. With two of them
// teams are as `hop collect --mix` makes them: 0 to all of the first, each number
// equally often, dealt to the seats at random. With more, each seat is any of
// them. It is an error if a bot cannot say how it acts.
func NewBayes(g game.Game, bots []string) (*Bayes, error) {
	types, err := policies(g, bots)
	if err != nil {
		return nil, err
	}
	spec := g.Spec()
	b := &Bayes{seats: spec.Seats, actions: len(spec.Actions), types: types}
	k, teams := len(b.types), 1
	for range b.seats {
		if teams *= k; teams == 0 || teams > 1<<16 {
			return nil, fmt.Errorf("oracle: %d bots on %d seats give too many teams, or none; name fewer bots", k, b.seats)
		}
	}
	b.probs = make([]float32, b.seats*k*b.actions)
	b.own, b.last = make([]float64, b.seats*k), make([]float64, b.seats*k)
	b.team, b.prior = make([]float64, teams), make([]float64, teams)
	b.even, b.w = make([]float64, k), make([]float64, k)
	for t := range b.even {
		b.even[t] = 1 / float64(k)
	}
	for team := range b.prior {
		b.prior[team] = 1 / float64(teams)
		if k == 2 {
			first := 0
			for s := range b.seats {
				if b.member(team, s) == 0 {
					first++
				}
			}
			b.prior[team] = 1 / float64(b.seats+1) / float64(bayesChoose(b.seats, first))
		}
	}
	b.Start()
	return b, nil
}

func bayesChoose(n, k int) int {
	c := 1
	for i := range k {
		c = c * (n - i) / (i + 1)
	}
	return c
}

// member returns the type of seat s in a team.
func (b *Bayes) member(team, s int) int {
	for range s {
		team /= len(b.types)
	}
	return team % len(b.types)
}

// Start forgets the last episode.
func (b *Bayes) Start() {
	for i := range b.own {
		b.own[i], b.last[i] = 1/float64(len(b.types)), 1
	}
	copy(b.team, b.prior)
	b.seen = false
}

// look computes how each type would act at each living seat.
func (b *Bayes) look(st game.State) {
	if b.seen {
		return
	}
	k := len(b.types)
	for s := range b.seats {
		if !st.Alive(game.Seat(s)) {
			continue
		}
		for t, p := range b.types {
			at := (s*k + t) * b.actions
			p.Probs(st, game.Seat(s), b.probs[at:at+b.actions])
		}
	}
	b.seen = true
}

// Types writes the probability of each type of a seat, given what is gone by.
// typ is the true one, read by TypeKnown only.
func (b *Bayes) Types(dst []float64, know Knowledge, s game.Seat, typ int) {
	k := len(b.types)
	own := b.own[int(s)*k : (int(s)+1)*k]
	switch know {
	case Even:
		copy(dst, b.even)
	case LastStep:
		sum := 0.
		for t, l := range b.last[int(s)*k : (int(s)+1)*k] {
			dst[t] = l
			sum += l
		}
		for t := range dst {
			dst[t] /= sum
		}
	case OwnHistory:
		copy(dst, own)
	case JointHistory:
		clear(dst)
		for team, p := range b.team {
			dst[b.member(team, int(s))] += p
		}
	case TypeKnown:
		clear(dst)
		dst[typ] = 1
	}
}

// Predict writes the probability of each action of a living seat. typ is its
// true type, read by TypeKnown only.
func (b *Bayes) Predict(dst []float32, know Knowledge, st game.State, s game.Seat, typ int) {
	b.look(st)
	b.Types(b.w, know, s, typ)
	k := len(b.types)
	for a := range dst {
		p := 0.
		for t, w := range b.w {
			p += w * float64(b.probs[(int(s)*k+t)*b.actions+a])
		}
		dst[a] = float32(p)
	}
}

// Update takes in what everyone did at st, before the game's Step changes it.
// Someone who does what no type would do leaves everything as it was.
func (b *Bayes) Update(st game.State, actions []int32) {
	b.look(st)
	k := len(b.types)
	for s, a := range actions {
		if a < 0 {
			continue
		}
		own, sum := b.own[s*k:(s+1)*k], 0.
		for t := range own {
			b.w[t] = float64(b.probs[(s*k+t)*b.actions+int(a)])
			sum += own[t] * b.w[t]
		}
		if sum > 0 {
			for t := range own {
				own[t] *= b.w[t] / sum
			}
		}
		if bayesSum(b.w) > 0 {
			copy(b.last[s*k:(s+1)*k], b.w)
		} else {
			for t := range k {
				b.last[s*k+t] = 1
			}
		}
		b.teams(s, b.w)
	}
	b.seen = false
}

// teams takes in the likelihoods of one seat's action.
func (b *Bayes) teams(s int, like []float64) {
	sum := 0.
	for team, p := range b.team {
		sum += p * like[b.member(team, s)]
	}
	if !(sum > 0) {
		return
	}
	for team := range b.team {
		b.team[team] *= like[b.member(team, s)] / sum
	}
}

func bayesSum(x []float64) float64 {
	s := 0.
	for _, v := range x {
		s += v
	}
	return s
}

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
	goal    []int     // [others][types] what each type is after there, an index of names; -1: it cannot say
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
			if o.goal[at] = -1; p.Name() == RandomWord {
				o.goal[at] = len(o.names) - 1
			}
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

// InWords returns how likely co-player j is after each goal now, or to act at random, if it is of
// a type that can say so; nothing if none can.
func (o *Observer) InWords(j int) (names []string, probs []float64) {
	if !o.named {
		return nil, nil
	}
	probs = make([]float64, len(o.names))
	k, sum := len(o.types), 0.
	for i, p := range o.post[j*k : (j+1)*k] {
		if g := o.goal[j*k+i]; g >= 0 {
			probs[g] += p
			sum += p
		}
	}
	for g := range probs {
		probs[g] /= max(sum, 1e-300)
	}
	return o.names, probs
}
