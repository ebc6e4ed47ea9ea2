package check

import (
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
)

// transitionFields are the fields of a transition, in a user's words.
var transitionFields = []string{"observation", "joint action", "next board", "rewards", "end"}

// rowCheck compares the steps that the model learns from with what was played.
type rowCheck struct {
	asked, wrong int
	fields       map[string]int
	count        [2]int // steps taken in and played, where they differ
	moved        int    // older steps that are not what they were
	slip         string // what agrees with the wrong rows
	who          reference.Row
}

// take compares the rows of one window.
func (c *rowCheck) take(was, now *reference.Imagining, ro *batch.Rollout) {
	if c.fields == nil {
		c.fields = map[string]int{}
	}
	seen := 0
	if was != nil {
		seen = was.Seen
	}
	deeds, at := now.Steps(ro)
	if now.Seen-seen != len(deeds) && c.count == [2]int{} {
		c.count = [2]int{now.Seen - seen, len(deeds)}
	}
	ring, fresh := now.Rows, map[int]bool{}
	var odd []int
	for i, want := range deeds {
		k := (seen + i) % ring
		fresh[k] = true
		if k >= len(now.Transitions) || i < len(deeds)-ring {
			continue
		}
		c.asked++
		got, differs := now.Transitions[k], false
		for j, same := range sameTransition(now.World, got, want) {
			if !same {
				differs = true
				c.fields[transitionFields[j]]++
			}
		}
		if differs {
			if c.wrong++; len(odd) < 64 {
				odd = append(odd, i)
			}
		}
	}
	for k := range len(now.Transitions) {
		if was != nil && k < len(was.Transitions) && !fresh[k] && !now.Transitions[k].Equal(was.Transitions[k]) {
			c.moved++
		}
	}
	if len(odd) > 0 && c.slip == "" {
		c.who = at[odd[0]]
		c.slip = transitionSlip(now, ro, at, odd, func(i int) reference.Transition { return now.Transitions[(seen+i)%ring] })
	}
}

// sameTransition compares two transitions field by field, as a checkpoint keeps them: bytes but
// for the time.
func sameTransition(w reference.World, a, b reference.Transition) []bool {
	same := func(x, y []float32, time int) bool {
		for i := range x {
			if i == time && x[i] != y[i] || byte(x[i]) != byte(y[i]) {
				return false
			}
		}
		return len(x) == len(y)
	}
	ints := len(a.Joint) == len(b.Joint)
	paid := ints
	for i := range a.Joint {
		ints = ints && a.Joint[i] == b.Joint[i]
		paid = paid && a.Reward[i] == b.Reward[i]
	}
	time := -1
	if w.Time > 0 {
		time = w.Height*w.Width*w.Planes + w.Legal
	}
	return []bool{same(a.Obs, b.Obs, time), ints, same(a.Next, b.Next, -1), paid, a.Over == b.Over}
}

// transitionSlip returns, in words, what agrees with all odd rows; "" if nothing does.
func transitionSlip(m *reference.Imagining, ro *batch.Rollout, at []reference.Row, odd []int, got func(i int) reference.Transition) string {
	type swap struct {
		name string
		of   func(r reference.Row, d reference.Transition) (reference.Transition, bool)
	}
	agents, board := ro.Agents, m.Height*m.Width*m.Planes
	shift := func(by int, f func(d, later *reference.Transition)) func(reference.Row, reference.Transition) (reference.Transition, bool) {
		return func(r reference.Row, d reference.Transition) (reference.Transition, bool) {
			if r.T+by < 0 || r.T+by >= ro.Steps {
				return d, false
			}
			later := m.Deed(ro, r.Agent, r.T+by, r.N)
			f(&d, &later)
			return d, true
		}
	}
	order := func(f func(r reference.Row, c agent.ID) int) func(reference.Row, reference.Transition) (reference.Transition, bool) {
		return func(r reference.Row, d reference.Transition) (reference.Transition, bool) {
			d.Joint = make([]int32, agents)
			for c := range agent.ID(agents) {
				d.Joint[f(r, c)] = ro.Action[ro.Step(c, r.T, r.N)]
			}
			return d, true
		}
	}
	paid := func(f func(r reference.Row, c agent.ID) int) func(reference.Row, reference.Transition) (reference.Transition, bool) {
		return func(r reference.Row, d reference.Transition) (reference.Transition, bool) {
			d.Reward = make([]float32, agents)
			for c := range agent.ID(agents) {
				d.Reward[f(r, c)] = ro.Reward[ro.Step(c, r.T, r.N)]
			}
			return d, true
		}
	}
	seat := func(r reference.Row, c agent.ID) int { return int(ro.Seat[ro.Slot(c, r.T, r.N)]) }
	place := func(_ reference.Row, c agent.ID) int { return int(c) }
	both := func(f func(r reference.Row, c agent.ID) int) func(reference.Row, reference.Transition) (reference.Transition, bool) {
		return func(r reference.Row, d reference.Transition) (reference.Transition, bool) {
			d, _ = order(f)(r, d)
			return paid(f)(r, d)
		}
	}
	list := []swap{
		{"the board before the step stands where the board after it belongs", func(_ reference.Row,
			d reference.Transition) (reference.Transition, bool) {
			d.Next = d.Obs[:board]
			return d, true
		}},
		{"the board after it is of one step later", shift(1, func(d, l *reference.Transition) { d.Next = l.Next })},
		{"joint actions and rewards are in the order of seats, not ego-first", both(seat)},
		{"joint actions and rewards are in the order of agents, not ego-first", both(place)},
		{"joint actions are in the order of seats, not ego-first", order(seat)},
		{"joint actions are in the order of agents, not ego-first", order(place)},
		{"joint actions are those of the step before", shift(-1, func(d, l *reference.Transition) { d.Joint = l.Joint })},
		{"joint actions are those of the step after", shift(1, func(d, l *reference.Transition) { d.Joint = l.Joint })},
		{"rewards are in the order of seats, not ego-first", paid(seat)},
		{"rewards are in the order of agents, not ego-first", paid(place)},
		{"rewards are those of the step before", shift(-1, func(d, l *reference.Transition) { d.Reward = l.Reward })},
		{"rewards are those of the step after", shift(1, func(d, l *reference.Transition) { d.Reward = l.Reward })},
		{"the observation is of the step after", shift(1, func(d, l *reference.Transition) { d.Obs = l.Obs })},
		{"the observation is of the step before", shift(-1, func(d, l *reference.Transition) { d.Obs = l.Obs })},
		{"no step is marked as an episode's last", func(_ reference.Row, d reference.Transition) (reference.Transition, bool) {
			d.Over = false
			return d, true
		}},
		{"an agent's own exit is taken for the episode's end", func(r reference.Row, d reference.Transition) (reference.Transition, bool) {
			d.Over = !ro.Alive[ro.Slot(r.Agent, r.T+1, r.N)]
			return d, true
		}},
		{"ends are turned round", func(_ reference.Row, d reference.Transition) (reference.Transition, bool) {
			d.Over = !d.Over
			return d, true
		}},
	}
	for by := 1; by < agents; by++ {
		other := func(r reference.Row) agent.ID { return agent.ID((int(r.Agent) + by) % agents) }
		list = append(list,
			swap{"the observation is of another agent", func(r reference.Row, d reference.Transition) (reference.Transition, bool) {
				d.Obs = ro.ObsAt(ro.Slot(other(r), r.T, r.N))
				return d, true
			}},
			swap{"the board after it is of another agent's view", func(r reference.Row, d reference.Transition) (reference.Transition, bool) {
				d.Next = ro.ObsAt(ro.Slot(other(r), r.T+1, r.N))[:board]
				return d, true
			}},
			swap{"they are of another agent than whose turn it is", func(r reference.Row, _ reference.Transition) (reference.Transition, bool) {
				return m.Deed(ro, other(r), r.T, r.N), true
			}})
	}
	for _, w := range list {
		agrees, asked := true, 0
		for _, i := range odd {
			d, ok := w.of(at[i], m.Deed(ro, at[i].Agent, at[i].T, at[i].N))
			if !ok {
				continue
			}
			asked++
			for _, same := range sameTransition(m.World, got(i), d) {
				agrees = agrees && same
			}
		}
		if agrees && asked > 0 {
			return w.name
		}
	}
	return returned(m, ro, at, odd, got)
}

// returned says whether odd rewards are sums of coming ones.
func returned(m *reference.Imagining, ro *batch.Rollout, at []reference.Row, odd []int, got func(i int) reference.Transition) string {
	more := 0
	for _, i := range odd {
		d := m.Deed(ro, at[i].Agent, at[i].T, at[i].N)
		same := sameTransition(m.World, got(i), d)
		if same[3] {
			return ""
		}
		for j, v := range got(i).Reward {
			if v > d.Reward[j] {
				more++
				break
			}
		}
	}
	if more == len(odd) {
		return "rewards are larger than what was paid: returns or values stand where rewards belong"
	}
	return ""
}
