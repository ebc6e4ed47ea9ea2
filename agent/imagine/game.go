package imagine

import (
	"strconv"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/rng"
)

// imagined is the world model as a game. Agents sit where they sat in the real state
// that an episode starts from.
//
// All agents may imagine together, or each for itself: then its copies follow each
// other, and an episode is over when the agent that imagines it has left.
type imagined struct {
	spec   game.Spec
	rules  *rulesLearner
	copies int // of each agent that imagines for itself; 0: they imagine together
	made   int // states so far

	window *batch.Rollout // the one that episodes start from
	starts [][]moment     // [A] for each agent that imagines; one list if they imagine together
}

// moment is a slot of all agents in a real window.
type moment struct{ t, n int32 }

// look finds the states of a real window to start from, at episodes' starts or
// anywhere, and reports whether there are any.
func (g *imagined) look(played *batch.Rollout, anywhere bool) bool {
	g.window = played
	if g.starts == nil {
		g.starts = make([][]moment, 1)
		if g.copies > 0 {
			g.starts = make([][]moment, g.spec.Seats)
		}
	}
	some := false
	for i := range g.starts {
		g.starts[i] = g.starts[i][:0]
		for t := range played.Steps + 1 {
			for n := range played.Envs {
				there := anyAlive(played, t, n)
				if g.copies > 0 {
					there = played.Alive[played.Slot(agent.ID(i), t, n)]
				}
				if there && (anywhere || played.Start[played.Moment(t, n)]) {
					g.starts[i] = append(g.starts[i], moment{int32(t), int32(n)})
				}
			}
		}
		some = some || len(g.starts[i]) > 0
	}
	return some
}

func anyAlive(ro *batch.Rollout, t, n int) bool {
	for a := range agent.ID(ro.Agents) {
		if ro.Alive[ro.Slot(a, t, n)] {
			return true
		}
	}
	return false
}

// Spec is the real game's, but that nothing is known of goals.
func (g *imagined) Spec() game.Spec {
	spec := g.spec
	spec.Goals = nil
	return spec
}

// Bots returns none.
func (g *imagined) Bots() []game.BotInfo { return nil }

// New returns a state: of the agent that imagines for itself next, by how many were
// made before.
func (g *imagined) New() game.State {
	seats, k := g.spec.Seats, len(g.spec.Actions)
	width := g.spec.Obs.Len()
	st := &state{
		g: g, me: -1, seat: make([]int8, seats), alive: make([]bool, seats), lost: make([]bool, seats),
		obs: make([]float32, seats*width), legal: make([]bool, seats*k), base: make([]float32, width), width: width, actions: k,
	}
	if g.copies > 0 {
		st.me = agent.ID(g.made / g.copies % seats)
	}
	g.made++
	return st
}

// state is one imagined episode. Arrays are by seat.
type state struct {
	g              *imagined
	me             agent.ID // who imagines it; -1: all
	width, actions int
	seat           []int8    // [A] the agent's
	obs            []float32 // [seats][width]
	legal          []bool    // [seats][actions]
	alive, lost    []bool    // [seats]
	base           []float32 // [width] what seat 0 would observe, also when nobody sits there any more
	over           bool
}

// Reset draws a real state to start from.
func (st *state) Reset(r *rng.Rand) {
	st.over = true
	if len(st.g.starts) == 0 || len(st.g.starts[max(st.me, 0)]) == 0 {
		return // made before there was a window, or the agent was never there
	}
	starts := st.g.starts[max(st.me, 0)]
	played, from := st.g.window, starts[r.IntN(len(starts))]
	for a := range st.seat {
		slot := played.Slot(agent.ID(a), int(from.t), int(from.n))
		s := int(played.Seat[slot])
		st.seat[a], st.alive[s], st.lost[s] = int8(s), played.Alive[slot], false
		copy(st.obsOf(s), played.ObsAt(slot))
		copy(st.legalOf(s), played.LegalAt(slot))
		if st.alive[s] {
			st.over = false
			st.g.rules.in.View(st.base, played.ObsAt(slot), (len(st.seat)-s)%len(st.seat), nil)
		}
	}
}

func (st *state) obsOf(s int) []float32 { return st.obs[s*st.width : (s+1)*st.width] }
func (st *state) legalOf(s int) []bool  { return st.legal[s*st.actions : (s+1)*st.actions] }

// Seats writes where everyone sat in the real state.
func (st *state) Seats(dst []int8) { copy(dst, st.seat) }

// Step is never called: states are stepped together.
func (st *state) Step([]int32, []float32, *rng.Rand) {
	panic("imagine: imagined states are stepped together")
}

// StepAll asks the model what follows.
func (g *imagined) StepAll(sts []game.State, actions [][]int32, rewards [][]float32, rules []*rng.Rand) {
	agents, rows := g.spec.Seats, 0
	for i, s := range sts {
		if actions[i] == nil {
			s.(*state).Reset(rules[i])
		} else {
			rows++
		}
	}
	if rows == 0 {
		return // there may be no model yet
	}
	w := g.rules.stepper()
	defer g.rules.done(w)
	w.fit(g, rows)
	rows = 0
	for i, s := range sts {
		st := s.(*state)
		if actions[i] == nil {
			continue
		}
		copy(w.base[rows*st.width:], st.base)
		copy(w.joint[rows*agents:], actions[i])
		if g.rules.model.Draws() {
			w.rands[rows] = rules[i]
		}
		rows++
	}
	if g.rules.model.Draws() { // the rules draw, and the model knows how
		w.work.Sample(g.rules.net, &w.next, w.base, w.joint, rows, w.rands)
	} else {
		w.work.Step(g.rules.net, &w.next, w.base, w.joint, rows)
	}
	row := 0
	for i, s := range sts {
		if actions[i] != nil {
			s.(*state).take(&w.next, row, rewards[i])
			row++
		}
	}
}

// take makes row i of what the model says the state.
func (st *state) take(next *world.Next, i int, rewards []float32) {
	copy(st.base, next.Obs[0][i*st.width:(i+1)*st.width])
	st.over = true
	for s := range st.alive {
		rewards[s] = 0
		legal := st.legalOf(s)
		if !st.alive[s] {
			continue
		}
		copy(st.obsOf(s), next.Obs[s][i*st.width:(i+1)*st.width])
		copy(legal, next.Legal[s][i*st.actions:(i+1)*st.actions])
		rewards[s] = next.Reward[s][i]
		switch {
		case next.End[s][i]:
			st.alive[s] = false
		case !anyTrue(legal): // the model has lost the agent: imagine no further
			st.alive[s], st.lost[s] = false, true
		default:
			st.over = false
		}
		if !st.alive[s] {
			clear(legal)
		}
	}
	if st.me >= 0 {
		st.over = !st.alive[st.seat[st.me]]
	}
}

func anyTrue(mask []bool) bool {
	for _, ok := range mask {
		if ok {
			return true
		}
	}
	return false
}

// Lost reports that the model has lost an agent, or that it has stopped because the
// one who imagines has left.
func (g *imagined) Lost(st game.State, s game.Seat) bool {
	return st.(*state).lost[s] || st.(*state).over && st.(*state).alive[s]
}

func (st *state) Alive(s game.Seat) bool { return st.alive[s] && !st.over }
func (st *state) Over() bool             { return st.over }

// Legal writes what seat s may do: nothing, once the episode is over.
func (st *state) Legal(s game.Seat, dst []bool) {
	copy(dst, st.legalOf(int(s)))
	if st.over {
		clear(dst)
	}
}

func (st *state) Observe(s game.Seat, dst []float32) { copy(dst, st.obsOf(int(s))) }

// CopyFrom makes the state equal to src.
func (st *state) CopyFrom(src game.State) {
	o := src.(*state)
	st.me = o.me
	copy(st.seat, o.seat)
	copy(st.obs, o.obs)
	copy(st.legal, o.legal)
	copy(st.alive, o.alive)
	copy(st.lost, o.lost)
	copy(st.base, o.base)
	st.over = o.over
}

// AppendText writes what seat 0 of the real game would observe.
func (st *state) AppendText(b []byte) ([]byte, error) {
	for _, x := range st.base {
		b = append(strconv.AppendFloat(b, float64(x), 'g', -1, 32), ' ')
	}
	return b, nil
}

var (
	_ rollout.Batched = (*imagined)(nil)
	_ rollout.Seated  = (*state)(nil)
)
