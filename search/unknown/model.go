package unknown

import (
	"math"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/rng"
)

// maxHabits bounds the habits, maxOn what holds of a situation at a time.
const (
	maxHabits = len(f32.Sixteen{})
	maxOn     = 16
)

// Of the model: how it learns.
const (
	kept     = 4096  // steps that it learns from, the last ones
	passes   = 2     // how often it sees each of them again after an episode, and at most
	mostSeen = 3000  // so many in all
	rate     = 0.02  // AdaGrad's
	pull     = 2e-3  // towards no opinion
	slip     = 0.02  // share of steps in which a habit is not followed
	far      = 3     // distances from here on are one
	clocks   = 20    // so are steps
	crowds   = 8     // and numbers of others who are left
	forget   = 0.995 // weight that is left of a prediction with the next one
)

// model is what is known of the co-players of one life: each follows one of some habits, and how
// likely each habit is depends on the situation. The log-odds of a habit are a sum over all that
// holds of the situation, of what is so of everybody and what is so of this co-player alone.
type model struct {
	lang    *script.Language
	things  int
	habits  []game.Policy
	actions int
	odds    [][]f32.Sixteen // [everybody, then each co-player][what may hold][habits]
	moved   [][]f32.Sixteen // the same: sums of squared gradients
	factors [][]f32.Sixteen // [co-players][what may hold][habits] what it multiplies a habit's chance by: 1 the likeliest
	steps   []step          // the last ones, in a ring
	seen    int
	said    float64 // mean log likelihood of what they did, as it was predicted; late ones count more
	others  float64 // the same, of whoever it is compared with
	weight  float64
	probs   [game.MaxActions]float32
	view
}

// view is what a state shows to all who look at it.
type view struct {
	st    script.State
	field script.Field // nil: there is no board
	cells []int16      // [seats]
	spots [maxSpots]int16
	shown []shown // [things]
}

// shown is a thing, as the seat sees it that looked last.
type shown struct {
	spots []int16
	near  []int16 // [seats] how near each seat is to the nearest of them
}

// maxSpots bounds the places of one thing that are looked at.
const maxSpots = 64

// set takes the state that what follows looks at.
func (m *model) set(st game.State) {
	m.st = st.(script.State)
	if m.field, _ = st.(script.Field); m.field == nil {
		return
	}
	for o := range m.lang.Seats {
		m.cells[o] = m.field.Place(game.Seat(o))
	}
	for t := range m.shown {
		m.shown[t].spots = m.shown[t].spots[:0]
	}
}

// step is one that a co-player made.
type step struct {
	who  uint8
	on   situation
	like f32.Sixteen // how likely it was for each habit
}

// situation is what holds of it: numbers of what may.
type situation struct {
	on [maxOn]uint8
	n  int
}

func newModel(l *script.Language, things int, texts []string, others, actions int) (*model, error) {
	m := &model{lang: l, things: things, actions: actions, view: view{cells: make([]int16, l.Seats), shown: make([]shown, things)}}
	for t := range m.shown {
		m.shown[t].spots, m.shown[t].near = make([]int16, 0, maxSpots), make([]int16, l.Seats)
	}
	for _, text := range texts[:min(len(texts), maxHabits)] {
		p, err := l.Parse(text)
		if err != nil {
			return nil, err
		}
		m.habits = append(m.habits, p)
	}
	m.odds, m.moved = make([][]f32.Sixteen, others+1), make([][]f32.Sixteen, others+1)
	for i := range m.odds {
		m.odds[i], m.moved[i] = make([]f32.Sixteen, m.holdable()), make([]f32.Sixteen, m.holdable())
	}
	for w := range m.habits {
		if w < 2 { // the game's pair come first, and are likelier at first
			m.odds[0][0][w] = 2
		}
	}
	for range others {
		m.factors = append(m.factors, make([]f32.Sixteen, m.holdable()))
	}
	m.multiply()
	return m, nil
}

// holdable is how many things may hold of a situation.
func (m *model) holdable() int {
	if m.things == 0 {
		return 1 + clocks + 3 + (m.actions+1)*(m.actions+1)
	}
	return 1 + clocks + 3 + (far + 1) + crowds + m.things*2*(far+2)
}

// look says what holds for a seat in the state that was set: the clock, how the last episode went, who is how near to
// it, how near it and others are to each thing, how many are left and, without a board, what was played last.
func (m *model) look(s, me game.Seat, last int) (x situation) {
	at := 0
	add := func(of, value int) {
		x.on[x.n] = uint8(at + value)
		x.n++
		at += of
	}
	add(1, 0)
	add(clocks, int(clock(m.st)))
	add(3, last)
	if m.things == 0 {
		add((m.actions+1)*(m.actions+1), int(m.st.Played(s)+1)*(m.actions+1)+int(m.st.Played(me)+1))
		return x
	}
	near, left := int16(far), 0
	for o, cell := range m.cells {
		if game.Seat(o) != s && cell != grid.None {
			near = min(near, m.field.Steps(m.cells[s], cell))
			left++
		}
	}
	add(far+1, int(near))
	add(crowds, min(left, crowds-1))
	for t := range m.things {
		own, crowd := m.approach(t, s)
		add(far+2, int(own))
		add(far+2, int(crowd))
	}
	return x
}

// clockAt is the place of the clock in a situation, and the number of its first value.
const clockAt = 1

// clock returns the clock as a situation has it.
func clock(st script.State) uint8 { return uint8(min(st.Time(), clocks-1)) }

// approach returns how near a seat is to a thing, and how near the nearest other is; far+1: there is none. Seats
// that see the same spots share what it takes to find out.
func (m *model) approach(t int, s game.Seat) (own, crowd int16) {
	spots, seen := m.spots[:m.field.Spots(t, s, m.spots[:])], &m.shown[t]
	if len(spots) == 0 {
		return far + 1, far + 1
	}
	if !slices.Equal(spots, seen.spots) {
		seen.spots = append(seen.spots[:0], spots...)
		for o, cell := range m.cells {
			seen.near[o] = far
			for _, spot := range spots {
				if cell != grid.None {
					seen.near[o] = min(seen.near[o], m.field.Steps(cell, spot))
				}
			}
		}
	}
	crowd = far
	for o, d := range seen.near {
		if game.Seat(o) != s {
			crowd = min(crowd, d)
		}
	}
	return seen.near[s], crowd
}

// weigh writes how likely each habit is for a co-player in a situation.
func (m *model) weigh(x *situation, who int, dst *f32.Sixteen) {
	f32.AddPicked(dst, m.odds[0], m.odds[who+1], x.on[:x.n])
	most, sum := dst[0], float32(0)
	for _, v := range dst[1:len(m.habits)] {
		most = max(most, v)
	}
	for w := range m.habits {
		dst[w] = float32(math.Exp(float64(dst[w] - most)))
		sum += dst[w]
	}
	for w := range m.habits {
		dst[w] /= sum
	}
}

// multiply makes the factors of what the log-odds are now.
func (m *model) multiply() {
	for who, of := range m.factors {
		for k := range of {
			a, b := &m.odds[0][k], &m.odds[who+1][k]
			most := a[0] + b[0]
			for w := range m.habits {
				most = max(most, a[w]+b[w])
			}
			for w := range m.habits {
				of[k][w] = float32(math.Exp(float64(a[w] + b[w] - most)))
			}
		}
	}
}

// shares returns what weigh does, up to their sum, as products of factors in place of sums of log-odds.
func (m *model) shares(x *situation, who int) (all f32.Sixteen, sum float32) {
	f32.MulPicked(&all, m.factors[who], x.on[:x.n])
	for _, x := range all[:len(m.habits)] {
		sum += x
	}
	return all, sum
}

// draw lets a co-player act in the state that was set: a habit is drawn, and follows its own probabilities.
func (m *model) draw(s, me game.Seat, who, last int, r *rng.Rand) int32 {
	x := m.look(s, me, last)
	all, sum := m.shares(&x, who)
	return m.habits[pick(&all, sum, len(m.habits), r)].Act(m.st, s, r)
}

// pick draws one of so many habits by its share.
func pick(all *f32.Sixteen, sum float32, habits int, r *rng.Rand) int {
	at := 0
	for u := r.Float32()*sum - all[0]; u >= 0 && at < habits-1; u -= all[at] {
		at++
	}
	return at
}

// predict writes the probabilities that draw draws by.
func (m *model) predict(st game.State, s, me game.Seat, who, last int, dst []float64) {
	m.set(st)
	x := m.look(s, me, last)
	all, sum := m.shares(&x, who)
	for w, p := range m.habits {
		p.Probs(st, s, m.probs[:m.actions])
		for k := range dst {
			dst[k] += float64(all[w]/sum) * float64(m.probs[k])
		}
	}
}

// see takes in what a co-player did, and how likely somebody else had held that.
func (m *model) see(st game.State, s, me game.Seat, who, last int, action int32, held float64) {
	m.set(st)
	at := step{who: uint8(who), on: m.look(s, me, last)}
	var shares f32.Sixteen
	m.weigh(&at.on, who, &shares)
	likely := 0.
	for w, p := range m.habits {
		p.Probs(st, s, m.probs[:m.actions])
		at.like[w] = (1-slip)*m.probs[action] + slip/float32(m.actions)
		likely += float64(shares[w] * at.like[w])
	}
	m.weight = forget*m.weight + 1
	m.said += (math.Log(likely) - m.said) / m.weight
	m.others += (math.Log(max(held, 1e-6)) - m.others) / m.weight
	if len(m.steps) < kept {
		m.steps = append(m.steps, at)
	} else {
		m.steps[m.seen%kept] = at
	}
	m.seen++
}

// gradient writes how the log likelihood of a step moves with the log-odds of each habit in it.
func (m *model) gradient(at *step, dst *f32.Sixteen) {
	m.weigh(&at.on, int(at.who), dst)
	sum := float32(0)
	for w := range m.habits {
		sum += dst[w] * at.like[w]
	}
	for w := range m.habits {
		dst[w] *= at.like[w]/sum - 1
	}
}

// learn goes over steps that were seen, drawn at random (AdaGrad).
func (m *model) learn(r *rng.Rand) {
	var grad f32.Sixteen
	for range min(passes*len(m.steps), mostSeen) {
		at := &m.steps[r.IntN(len(m.steps))]
		m.gradient(at, &grad)
		for _, of := range [2]int{0, int(at.who) + 1} {
			f32.AdaGradPicked(m.odds[of], m.moved[of], &grad, at.on.on[:at.on.n], pull, rate)
		}
	}
	m.multiply()
}
