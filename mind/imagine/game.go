package imagine

import (
	"strconv"

	"hop/agent"
	"hop/batch"
	"hop/game"
	"hop/model/world"
	"hop/rng"
	"hop/rollout"
)

// imagined is the world model as a game. Its seats are the agents: agent a sits
// where it sat in the real state that an episode starts from, so an ego-first
// observation is in the order of the real seats.
type imagined struct {
	spec  game.Spec
	rules *rulesLearner

	window *batch.Rollout // the one that episodes start from
	starts []moment
}

// moment is a slot of all agents in a real window.
type moment struct{ t, n int32 }

// look finds the states of a real window to start from, at episodes' starts or
// anywhere, and reports whether there are any.
func (g *imagined) look(played *batch.Rollout, anywhere bool) bool {
	g.window, g.starts = played, g.starts[:0]
	for t := range played.Steps + 1 {
		for n := range played.Envs {
			if (anywhere || played.Start[played.Moment(t, n)]) && anyAlive(played, t, n) {
				g.starts = append(g.starts, moment{int32(t), int32(n)})
			}
		}
	}
	return len(g.starts) > 0
}

func anyAlive(ro *batch.Rollout, t, n int) bool {
	for a := range agent.ID(ro.Agents) {
		if ro.Alive[ro.Slot(a, t, n)] {
			return true
		}
	}
	return false
}

// Spec is the real game's, but that agents keep their seats and nothing is known
// of goals.
func (g *imagined) Spec() game.Spec {
	spec := g.spec
	spec.Goals = nil
	return spec
}

// Bots returns none.
func (g *imagined) Bots() []game.BotInfo { return nil }

// New returns a state.
func (g *imagined) New() game.State {
	seats, k := g.spec.Seats, len(g.spec.Actions)
	width := g.spec.Obs.Len()
	return &state{
		g: g, seat: make([]int, seats), alive: make([]bool, seats), lost: make([]bool, seats),
		obs: make([]float32, seats*width), legal: make([]bool, seats*k), base: make([]float32, width), width: width, actions: k,
	}
}

// state is one imagined episode. Arrays are by agent, but base is what the real
// seat 0 observes.
type state struct {
	g              *imagined
	width, actions int
	seat           []int     // [A] the agent's real seat
	obs            []float32 // [A][width]
	legal          []bool    // [A][actions]
	alive, lost    []bool    // [A]
	base           []float32 // [width]
	over           bool
}

// Reset draws a real state to start from.
func (st *state) Reset(r *rng.Rand) {
	st.over = true
	if len(st.g.starts) == 0 {
		return // made before there was a window
	}
	played, from := st.g.window, st.g.starts[r.IntN(len(st.g.starts))]
	for a := range st.seat {
		slot := played.Slot(agent.ID(a), int(from.t), int(from.n))
		st.seat[a], st.alive[a], st.lost[a] = int(played.Seat[slot]), played.Alive[slot], false
		copy(st.obsOf(a), played.ObsAt(slot))
		copy(st.legalOf(a), played.LegalAt(slot))
		if st.alive[a] {
			st.over = false
			st.g.rules.in.View(st.base, played.ObsAt(slot), (len(st.seat)-st.seat[a])%len(st.seat), nil)
		}
	}
}

func (st *state) obsOf(a int) []float32 { return st.obs[a*st.width : (a+1)*st.width] }
func (st *state) legalOf(a int) []bool  { return st.legal[a*st.actions : (a+1)*st.actions] }

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
		for a, seat := range st.seat {
			w.joint[rows*agents+seat] = actions[i][a]
		}
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
	for a, s := range st.seat {
		rewards[a] = 0
		legal := st.legalOf(a)
		if !st.alive[a] {
			continue
		}
		copy(st.obsOf(a), next.Obs[s][i*st.width:(i+1)*st.width])
		copy(legal, next.Legal[s][i*st.actions:(i+1)*st.actions])
		rewards[a] = next.Reward[s][i]
		switch {
		case next.End[s][i]:
			st.alive[a] = false
		case !anyTrue(legal): // the model has lost the agent: imagine no further
			st.alive[a], st.lost[a] = false, true
		default:
			st.over = false
		}
		if !st.alive[a] {
			clear(legal)
		}
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

// Lost reports that the model has lost an agent.
func (g *imagined) Lost(st game.State, s game.Seat) bool { return st.(*state).lost[s] }

func (st *state) Alive(s game.Seat) bool             { return st.alive[s] && !st.over }
func (st *state) Over() bool                         { return st.over }
func (st *state) Legal(s game.Seat, dst []bool)      { copy(dst, st.legalOf(int(s))) }
func (st *state) Observe(s game.Seat, dst []float32) { copy(dst, st.obsOf(int(s))) }

// CopyFrom makes the state equal to src.
func (st *state) CopyFrom(src game.State) {
	o := src.(*state)
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
	_ game.State      = (*state)(nil)
)
