package check

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
)

// stepCheck compares imagined windows, step by step, with what the model predicts
// there, with where they may start, and with who plays.
type stepCheck struct {
	windows  int // seen
	compared int // of those, step by step
	alive    int // rows
	undead   int // rows of agents that had left, with an action or a reward, or that came back
	going    int // rows that go on without a next, or end with one

	episodes, strange, undrawn int // starts; those that are no real state; those that are not the drawn one
	views                      int // real states that agents see otherwise than by turning another's view

	rows   int            // rows compared
	close  int            // steps that rounding might decide: not compared
	others [3]int         // wrong boards in an episode's first step; of those another seat's; those of joint actions by agent
	wrong  map[string]int // rows, by what differs
	sample map[string]string
	exits  [2]int // imagined, and as predicted
	masks  int    // compared
	ones   int    // wrong masks that call everything legal
	more   int    // wrong rewards that are larger

	chosen, unlike, foreign int // rows asked, with another probability or value, that the agent did not play itself
	claimed                 int // rows of agents in what another imagines for itself that are marked as their own
	whose                   map[agent.ID]bool
	far                     float64
	policy                  string // what agrees with the record where the network does not
	likeliest               Likeliest
}

// stepMost is how many imagined windows are compared step by step.
const stepMost = 3

// See looks at an imagined window before minds learn from it.
func (d *Imagination) See(ro *batch.Rollout) {
	c := &d.steps
	if c.wrong == nil {
		c.wrong, c.sample, c.whose = map[string]int{}, map[string]string{}, map[agent.ID]bool{}
	}
	c.windows++
	c.ends(ro)
	now, total := d.run.Window()
	if m, p := d.model(); m != nil && (c.compared < stepMost-1 || c.compared < stepMost && now >= 2*total/3) {
		c.compared++
		c.follow(d, WorldOf(m, p), ro)
		c.players(d, ro)
	}
}

// ends counts rows whose ends do not hold together.
func (c *stepCheck) ends(ro *batch.Rollout) {
	for a := range agent.ID(ro.Agents) {
		for t := range ro.Steps {
			for n := range ro.Envs {
				step := ro.Step(a, t, n)
				next := ro.Alive[ro.Slot(a, t+1, n)] && !ro.Start[ro.Moment(t+1, n)]
				if !ro.Alive[ro.Slot(a, t, n)] {
					if ro.Action[step] != game.NoAction || ro.Reward[step] != 0 || ro.Own[step] || next {
						c.undead++
					}
					continue
				}
				c.alive++
				if ro.End[step] == batch.Exited && next || ro.End[step] == batch.Going && !next {
					c.going++
				}
			}
		}
	}
}

// shown is all that the living observe at a moment.
func shown(ro *batch.Rollout, t, n int) string {
	var b []byte
	for a := range agent.ID(ro.Agents) {
		slot := ro.Slot(a, t, n)
		if !ro.Alive[slot] {
			b = append(b, '-')
			continue
		}
		for _, v := range ro.ObsAt(slot) {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	return string(b)
}

// follow compares every step.
func (c *stepCheck) follow(d *Imagination, w reference.World, ro *batch.Rollout) {
	starts := (&reference.Window{Rollout: d.played}).Starts(d.run.Imagine.From == "slots")
	states := map[string]reference.Row{}
	for _, at := range slices.Backward(starts) {
		states[shown(d.played, at.T, at.N)] = at
	}
	imagined := reference.Imagining{ImaginationSettings: imaginationOf(d.run.Imagine), Key: d.run.Key}
	for n := range ro.Envs {
		r := imagined.Draws(d.update, d.round, n)
		var seats []int // nil: not known
		for t := range ro.Steps {
			if ro.Start[ro.Moment(t, n)] && len(starts) > 0 {
				c.episodes++
				drawn, text := starts[r.IntN(len(starts))], shown(ro, t, n)
				at, ok := states[text]
				if !ok {
					c.strange++
					seats = nil
				} else {
					if text == shown(d.played, drawn.T, drawn.N) {
						at = drawn
					} else {
						c.undrawn++
					}
					seats = make([]int, ro.Agents)
					var base []float32
					for a := range agent.ID(ro.Agents) {
						from, slot := d.played.Slot(a, at.T, at.N), ro.Slot(a, t, n)
						seats[a] = int(d.played.Seat[from])
						if ro.Alive[slot] {
							board := turned(w, ro.ObsAt(slot), seats[a])[:w.Height*w.Width*w.Planes]
							if base == nil {
								base = board
							} else if !slices.Equal(base, board) {
								c.views++
							}
							c.may(ro.LegalAt(slot), d.played.LegalAt(from), int(a), t, n, "the real state it starts from")
						}
					}
				}
			}
			if seats != nil {
				c.step(w, ro, seats, d.whose(ro, n), t, n)
			}
		}
	}
}

// differs notes a row that is not as predicted.
func (c *stepCheck) differs(what, says string, args ...any) {
	if c.wrong[what]++; c.sample[what] == "" {
		c.sample[what] = fmt.Sprintf(says, args...)
	}
}

// whose returns who imagines copy n for itself; -1: all imagine it together.
func (d *Imagination) whose(ro *batch.Rollout, n int) agent.ID {
	if d.run.Imagine.Others != "model" {
		return -1
	}
	return agent.ID(n / max(ro.Envs/ro.Agents, 1))
}

// step compares one imagined step of env n with what the model predicts from what
// the real seat 0 would observe. What an agent imagines for itself is cut for the
// others when it has left.
func (c *stepCheck) step(w reference.World, ro *batch.Rollout, seats []int, me agent.ID, t, n int) {
	agents, board := ro.Agents, w.Height*w.Width*w.Planes
	joint := make([]int32, agents)
	var base []float32 // what the real seat 0 would see
	for a, s := range seats {
		joint[s] = ro.Action[ro.Step(agent.ID(a), t, n)]
		if slot := ro.Slot(agent.ID(a), t, n); ro.Alive[slot] {
			base = turned(w, ro.ObsAt(slot), s)
		}
	}
	if base == nil {
		return
	}
	f := w.Predict(base, joint)
	if f.Tied() {
		c.close++
		return
	}
	last, over := t == ro.Steps-1, false
	if me >= 0 {
		s := seats[me]
		over = f.End[s] || !slices.Contains(f.Legal[s], true)
	}
	for a, s := range seats {
		id := agent.ID(a)
		step, slot := ro.Step(id, t, n), ro.Slot(id, t+1, n)
		if !ro.Alive[ro.Slot(id, t, n)] {
			continue
		}
		c.rows++
		lost := !f.End[s] && !slices.Contains(f.Legal[s], true)
		end := batch.Going
		switch {
		case f.End[s]:
			end = batch.Exited
			c.exits[1]++
		case lost || last || over:
			end = batch.Cut
		}
		if ro.End[step] == batch.Exited {
			c.exits[0]++
		}
		if got := ro.End[step]; got != end || ro.Alive[slot] != (!f.End[s] && !lost && !over) || ro.Start[ro.Moment(t+1, n)] {
			c.differs("end", "agent %d, step %d of copy %d: the model says %s, the window says %s", a, t, n, endWord(end), endWord(got))
		}
		if got := float64(ro.Reward[step]); math.Abs(got-f.Reward[s]) > predictionSlack*max(1, math.Abs(f.Reward[s])) {
			c.differs("reward", "agent %d, step %d of copy %d: the model pays %.4g, the window says %.4g", a, t, n, f.Reward[s], got)
			if got > f.Reward[s] {
				c.more++
			}
		}
		legal := f.Legal[s]
		if over {
			legal = make([]bool, ro.Actions)
		}
		c.may(ro.LegalAt(slot), legal, a, t+1, n, "the model")
		want, got := w.View(f, joint, s), ro.ObsAt(slot)
		if !slices.Equal(want[:board], got[:board]) {
			c.differs("board", "agent %d, step %d of copy %d: %d of %d cells of planes differ", a, t, n, unequal(want[:board], got[:board]), board)
			if ro.Start[ro.Moment(t, n)] { // what it follows from is known to be right
				c.recognise(w, f, base, joint, got[:board], seats, a)
			}
		}
		if !slices.Equal(want[board:], got[board:]) {
			c.differs("mask, time or last actions that it observes", "agent %d, step %d of copy %d: %d of %d numbers differ", a, t, n,
				unequal(want[board:], got[board:]), len(want)-board)
		}
	}
}

// recognise tries what a wrong board could be: another seat's view, or what follows
// when actions are taken in the order of agents.
func (c *stepCheck) recognise(w reference.World, f *reference.Foreseen, base []float32, joint []int32, got []float32, seats []int, a int) {
	c.others[0]++
	for s := range seats {
		if s != seats[a] && slices.Equal(w.View(f, joint, s)[:len(got)], got) {
			c.others[1]++
			break
		}
	}
	acts := make([]int32, len(joint))
	for b, s := range seats {
		acts[b] = joint[s]
	}
	if slices.Equal(w.View(w.Predict(base, acts), acts, seats[a])[:len(got)], got) {
		c.others[2]++
	}
}

// may compares a mask.
func (c *stepCheck) may(got, want []bool, a, t, n int, who string) {
	c.masks++
	if slices.Equal(got, want) {
		return
	}
	c.differs("mask", "agent %d, slot %d of copy %d: %s allows %d actions, the window %d", a, t, n, who, legalCount(want), legalCount(got))
	if !slices.Contains(got, false) {
		c.ones++
	}
}

// turned is what seat 0 would see of what seat s does: agents' planes, and those of
// what belongs to agents, are ego-first.
func turned(w reference.World, obs []float32, s int) []float32 {
	out := slices.Clone(obs)
	for cell := 0; cell < w.Height*w.Width*w.Planes; cell += w.Planes {
		for i := range w.Agents {
			out[cell+i] = obs[cell+(i+w.Agents-s)%w.Agents]
		}
		for i := range w.Owned {
			out[cell+w.Agents+i] = obs[cell+w.Agents+(i+w.Agents-s)%w.Agents]
		}
	}
	return out
}

func legalCount(mask []bool) (n int) {
	for _, ok := range mask {
		if ok {
			n++
		}
	}
	return n
}

func unequal(a, b []float32) (n int) {
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

func endWord(e batch.End) string {
	return map[batch.End]string{batch.Going: "going on", batch.Exited: "left", batch.Cut: "cut"}[e]
}

// playerRows is how many rows of an agent and a window its network is asked again
// about.
const playerRows = 512

// players asks whether agents play by their networks of now.
func (c *stepCheck) players(d *Imagination, ro *batch.Rollout) {
	if d.nets == nil {
		return
	}
	for a := range agent.ID(ro.Agents) {
		var slots, steps []int
		for t := range ro.Steps {
			for n := range ro.Envs {
				if me := d.whose(ro, n); me >= 0 && me != a {
					if ro.Own[ro.Step(a, t, n)] {
						c.claimed++
					}
				} else if ro.Alive[ro.Slot(a, t, n)] {
					slots, steps = append(slots, ro.Slot(a, t, n)), append(steps, ro.Step(a, t, n))
				}
			}
		}
		if len(slots) == 0 {
			continue
		}
		stride := (len(slots) + playerRows - 1) / playerRows
		var rows, at []int
		for i := 0; i < len(slots); i += stride {
			rows, at = append(rows, slots[i]), append(at, steps[i])
		}
		wrong := c.compare(d, ro, a, d.nets[a], rows, at, true)
		if wrong == 0 {
			continue
		}
		c.unlike += wrong
		c.whose[a] = true
		if c.policy != "" {
			continue
		}
		for i, nets := range d.past {
			if c.compare(d, ro, a, nets[a], rows, at, false) == 0 {
				c.policy = fmt.Sprintf("the network as it was %d rounds of imagination earlier", len(d.past)-i)
			}
		}
		for b := range agent.ID(ro.Agents) {
			if b != a && c.compare(d, ro, a, d.nets[b], rows, at, false) == 0 {
				c.policy = fmt.Sprintf("agent %d's network", b)
			}
		}
	}
}

// compare returns at how many rows a network does not say what is recorded; with
// note it counts them in.
func (c *stepCheck) compare(d *Imagination, ro *batch.Rollout, a agent.ID, net reference.Net, slots, steps []int, note bool) (wrong int) {
	own := d.run.Actor(a)
	for i, slot := range slots {
		logits, value := own.At(net, ro.ObsAt(slot), ro.GoalAt(slot))
		probs := reference.Softmax(logits, ro.LegalAt(slot))
		k := ro.Action[steps[i]]
		off := math.Inf(1)
		if k >= 0 && int(k) < len(probs) {
			off = math.Abs(math.Log(max(probs[k], 1e-30)) - float64(ro.LogProb[steps[i]]))
		}
		off = max(off, math.Abs(value-float64(ro.Value[slot]))/max(1, math.Abs(value)))
		if ro.End[steps[i]] == batch.Cut { // the value after a cut is bootstrapped from
			_, value := own.At(net, ro.ObsAt(slot+ro.Envs), ro.GoalAt(slot+ro.Envs))
			off = max(off, math.Abs(value-float64(ro.Value[slot+ro.Envs]))/max(1, math.Abs(value)))
		}
		if off > 2e-3 {
			wrong++
		}
		if !note {
			continue
		}
		c.chosen++
		c.far = max(c.far, off)
		if !ro.Own[steps[i]] {
			c.foreign++
		}
		c.likeliest.Add(probs, k)
	}
	return wrong
}
