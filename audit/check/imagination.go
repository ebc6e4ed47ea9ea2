package check

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/hop-marl/hop/agent/imagine"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/train"
)

// Run is what a Watch knows of the run.
type ImaginationRun struct {
	Game    game.Spec
	Imagine imagine.Config
	Played  batch.Shape // of real windows
	Key     rng.Key
	// Window returns the number of the window at hand and how many there will be.
	Window func() (now, total int)
	// Nets returns every agent's network as it is now, nil if one cannot be read.
	Nets func() []reference.Net
	// Actor is the network that an agent acts by.
	Actor func(a agent.ID) reference.Actor
}

// Watch is imagination that is watched.
type Imagination struct {
	train.Imagination
	run ImaginationRun

	windows int // that the model was given
	rows    rowCheck
	held    []*held
	wait    sync.WaitGroup // for what is being computed about them
	scored  []score
	layers  Layers
	steps   stepCheck
	shares  shareCheck
	lost    string // what does not come back from a checkpoint; "": all does
	asked   bool   // that was asked
	err     error  // it cannot be read by its names

	played *batch.Rollout // the last real window
	update int
	round  int
	rounds int               // that are due after it
	made   int               // of those
	now    *learner.Imagined // handed over last
	nets   []reference.Net   // [A] that play in imagination now
	past   [][]reference.Net // those of earlier windows
}

// New returns a Watch of an imagination.
func WatchImagination(of train.Imagination, run ImaginationRun) *Imagination {
	return &Imagination{Imagination: of, run: run}
}

// held is one update held against its definition.
type held struct {
	window int
	rows   int
	change reference.Change
	heads  map[string]reference.Change
	slip   *imaginationSlip

	unsteady bool // weights that only rounding moved come as far apart
}

// score is what was reported about a window, and what it is.
type score struct {
	window, n, asked int // reported and computed number of steps
	got              float64
	right, close     int
	computed         bool
	rounds, wanted   int
	anew, trusted    bool
	usable           bool // if it can be trusted
}

// modelled is imagination whose model can be looked at.
type modelled interface {
	Model() (*world.Model, *nn.Params)
}

// Twin returns the reference of a world model with its weights.
func WorldOf(m *world.Model, p *nn.Params) reference.World {
	net := reference.Net{}
	for _, part := range p.Parts {
		cols := part.Shape[len(part.Shape)-1]
		x := reference.NewMat(part.Len/cols, cols)
		for i := range x.V {
			x.V[i] = float64(p.W[part.Off+i])
		}
		net[part.Name] = x
	}
	w := worldOf(m.Config, m.Input)
	w.Net = net
	return w
}

// model returns the model as it is now, nil if there is none to be seen.
func (d *Imagination) model() (*world.Model, *nn.Params) {
	if m, ok := d.Imagination.(modelled); ok {
		return m.Model()
	}
	return nil, nil
}

// saved is the imagination as a checkpoint has it.
func (d *Imagination) saved() *safetensors.File {
	f := &safetensors.File{}
	if err := d.Imagination.Save(f, ""); err != nil {
		d.err = err
	}
	return f
}

// read is the reference of what was saved, nil if there is none.
func (d *Imagination) read(f *safetensors.File) *reference.Imagining {
	g, l := d.run.Game, d.run.Game.Obs
	m, err := imaginationOf(d.run.Imagine).Load(f, worldOf(d.run.Imagine.Model, world.Input{
		Height: l.Height, Width: l.Width, Planes: len(l.Planes), Agents: g.Seats, Actions: len(g.Actions),
		Horizon: g.Horizon, Legal: l.Legal, Time: l.Time, Last: l.Last, Owned: l.Owned,
	}), d.run.Key)
	if err != nil {
		d.err = err
	}
	return m
}

// scoredMost is how many windows' scores are computed again: half of them while the
// model is young, the others once it is used.
const scoredMost = 4

// Learn lets the model learn and holds what it did against its definition: its rows
// at the first window, an update while it is young, and one late.
func (d *Imagination) Learn(ro *batch.Rollout, update int) (rounds int, err error) {
	c := &d.run.Imagine
	now, total := d.run.Window()
	d.windows++
	d.played, d.update, d.round, d.made, d.now = ro, update, 0, 0, nil
	look := c.World == "" && (d.windows == 1 || len(d.held) == 0 || len(d.held) == 1 && now >= 2*total/3)
	s, levels := score{window: now}, 0
	if m, p := d.model(); m != nil {
		levels = len(m.Rewards)
		if n := d.computed(); n < scoredMost/2 || n < scoredMost && d.steps.windows > 0 {
			s.right, s.asked, s.close = WorldOf(m, p).Score(ro)
			s.computed = true
		}
	}
	var before *safetensors.File
	if look {
		before = d.saved()
	}
	if rounds, err = d.Imagination.Learn(ro, update); err != nil {
		return rounds, err
	}
	for _, st := range d.Imagination.Stats() {
		if st.Name == "imagine/exact" {
			s.got, s.n = st.Value, st.N
		}
	}
	m, p := d.model()
	s.anew = m == nil || len(m.Rewards) != levels
	s.trusted = levels > 0 && s.got >= c.Trust
	s.rounds, d.rounds = rounds, rounds
	s.usable = levels > 0 && !s.anew && len((&reference.Window{Rollout: ro}).Starts(c.From == "slots")) > 0
	if s.trusted && s.usable {
		s.wanted = c.Refresh
	}
	d.scored = append(d.scored, s)
	if look && d.err == nil {
		d.hold(ro, before, d.saved(), s)
	}
	if m != nil && d.layers.asked == 0 && !s.anew {
		d.layers.Ask(m, p, ro)
	}
	return rounds, nil
}

// computed is how many windows' scores have been computed again.
func (d *Imagination) computed() (n int) {
	for _, s := range d.scored {
		if s.computed {
			n++
		}
	}
	return n
}

// hold compares one update: before and after are what was saved around it.
func (d *Imagination) hold(ro *batch.Rollout, before, after *safetensors.File, s score) {
	was, now := d.read(before), d.read(after)
	if now == nil || d.err != nil {
		return
	}
	if was != nil && !s.anew && !d.asked {
		d.restore(ro, before, after)
	}
	if d.lost != "" {
		return // what was saved is not what there is
	}
	d.rows.take(was, now, ro)
	if s.anew || was == nil {
		return
	}
	h := &held{window: s.window, rows: len(now.Transitions), heads: map[string]reference.Change{}}
	d.held = append(d.held, h)
	update := d.update
	d.wait.Go(func() { // beside the run, which goes on
		h.compare(was.Net, now.Net, func(sl reference.WorldSlip, shaken uint64) reference.Net {
			m := was.Clone()
			m.Transitions, m.Seen, m.Slip, m.Shaken = now.Transitions, now.Seen, sl, shaken
			m.Update(update, s.trusted)
			return m.Net
		}, imaginationSlips(was))
	})
}

// compare compares how was became now with how learning makes it, and tries slips
// where they differ by more than rounding explains.
func (h *held) compare(was, now reference.Net, learn func(sl reference.WorldSlip, shaken uint64) reference.Net, list []imaginationSlip) {
	want := learn(reference.WorldSlip{}, 0)
	h.change = was.Compare(now, want)
	for _, name := range heads {
		if part := headOf(was, name); len(part) > 0 {
			h.heads[name] = part.Compare(headOf(now, name), headOf(want, name))
		}
	}
	if h.change.Same() {
		return
	}
	var chance reference.Change
	for i := range uint64(shakes) {
		by := learn(reference.WorldSlip{}, i+1)
		if c := was.Compare(now, by); c.Same() {
			h.change = c
			return
		}
		if chance.Widen(was.Compare(by, want)); i+1 == fewShakes && h.change.Beyond(chance) {
			break
		}
	}
	if h.unsteady = h.change.Within(chance); h.unsteady {
		return
	}
	odd := h.odd()
	for _, sl := range list {
		if sl.fits(odd, len(h.heads)) && was.Compare(now, learn(sl.WorldSlip, 0)).Same() {
			h.slip = &sl
			return
		}
	}
}

// odd lists the heads that do not learn what they should. Gradients are clipped
// together, so the others differ a little too.
func (h *held) odd() (list []string) {
	for _, name := range heads {
		if c, ok := h.heads[name]; ok && (c.Cosine < 0.97 || math.Abs(c.Length-1) > 0.1) {
			list = append(list, name)
		}
	}
	return list
}

// heads are the parts of the network that learn one thing each.
var heads = []string{"things", "move", "reward", "over", "legal", "dense"}

// headOf returns a head's weights, with the layers below it.
func headOf(net reference.Net, name string) reference.Net {
	out := reference.Net{}
	for part, m := range net {
		if strings.HasPrefix(part, name+"/") {
			out[part] = m
		}
	}
	return out
}

// restore asks whether a saved imagination comes back and learns on as before.
func (d *Imagination) restore(ro *batch.Rollout, before, after *safetensors.File) {
	d.asked = true
	differs := func(want *safetensors.File) string {
		got := d.saved()
		for _, t := range want.Tensors {
			if u, ok := got.Get(t.Name); !ok || !bytes.Equal(u.Data, t.Data) {
				return t.Name
			}
		}
		return ""
	}
	err := d.Imagination.Load(before, "")
	if d.lost = differs(before); err == nil && d.lost == "" {
		if _, err = d.Imagination.Learn(ro, d.update); err == nil {
			if d.lost = differs(after); d.lost != "" {
				d.lost += " after learning on from it"
			}
		}
	}
	if err != nil {
		d.lost = err.Error()
	}
	if err := d.Imagination.Load(after, ""); err != nil {
		d.err = err
	}
}

// Imagine lets the minds play on in the model.
func (d *Imagination) Imagine(update, round int) *learner.Imagined {
	if d.nets != nil {
		d.past = append(d.past[max(0, len(d.past)-7):], d.nets)
	}
	d.nets = d.run.Nets()
	if d.shares.windows == 0 && !d.Imagination.Imagine(update, round+1).Again {
		d.shares.bad("the second round after a window does not say that the window was learnt from before")
	}
	if round != d.made || update != d.update {
		d.shares.bad(fmt.Sprintf("round %d of imagination after window %d is made as round %d after window %d", d.made+1, d.update, round+1,
			update))
	}
	d.made++
	d.round, d.now = round, d.Imagination.Imagine(update, round)
	d.shares.take(d, round)
	return d.now
}

// Model passes on.
func (d *Imagination) Model() (*world.Model, *nn.Params) { return d.model() }

// Broken reports that imagined windows do not hold together, so that nothing can be
// said of what is learnt from them.
func (d *Imagination) Broken() bool { return d.steps.going+d.steps.undead > 0 }

// shareCheck compares how much is imagined, and what minds are handed, with the
// spec.
type shareCheck struct {
	windows int
	wrong   int
	first   string
}

func (c *shareCheck) bad(what string) {
	if c.wrong++; c.first == "" {
		c.first = what
	}
}

// take looks at what is about to be handed over.
func (c *shareCheck) take(d *Imagination, round int) {
	s, im := &d.run.Imagine, d.now
	c.windows++
	rows := float64(d.run.Played.Envs * d.run.Played.Steps)
	envs := max(int(math.Ceil(rows*(1-s.RealRatio)/(s.RealRatio*float64(s.Length))-1e-3)), 1)
	if s.Others == "model" { // as many for each agent
		envs *= d.run.Played.Agents
	}
	switch {
	case im.RealRatio != s.RealRatio:
		c.bad("the share of played rows is said to be " + number(im.RealRatio) + ", the spec says " + number(s.RealRatio))
	case im.Steps != s.Length:
		c.bad("imagined copies have " + number(float64(im.Steps)) + " steps, the spec says " + number(float64(s.Length)))
	case im.Envs != envs:
		c.bad(number(float64(im.Envs)) + " copies are imagined; it takes " + number(float64(envs)) + " for the share that the spec gives")
	case im.Again != (round > 0):
		c.bad("the first round after a window says that the window was learnt from before")
	}
}

// Handed looks at the window that a mind is given.
func (d *Imagination) Handed(w *learner.Window) {
	switch {
	case d.rounds == 0 && w.Imagined != nil:
		d.shares.bad("minds are given an imagined window although the model is not trusted")
	case d.rounds > 0 && w.Imagined == nil:
		d.shares.bad("minds are given no imagined window although the model is trusted")
	case w.Imagined != nil && (d.now == nil || w.Imagined.Rollout != d.now.Rollout):
		d.shares.bad("minds are given another window than the one that was imagined last")
	case w.Imagined != nil && (w.Imagined.RealRatio != d.run.Imagine.RealRatio || w.Imagined.Again != d.now.Again):
		d.shares.bad("minds are told another share of played rows, or another round, than imagination says")
	}
}

// slip is a way to get an update of a world model wrong, and where that would be.
type imaginationSlip struct {
	reference.WorldSlip
	look string
	head string // the head that it is about; "": all
}

// fits says whether a slip is worth trying: one about a head only if that head
// learns something else and not all do.
func (s imaginationSlip) fits(odd []string, all int) bool {
	if s.head == "" {
		return true
	}
	return slices.Contains(odd, strings.Replace(s.head, "planes", "dense", 1)) && len(odd) < all
}

// slips are what is tried. An audit does not need them to find a fault, only to
// give it a name.
func imaginationSlips(m *reference.Imagining) []imaginationSlip {
	const loss, step, rows = "model/world.Work.losses", "agent/imagine: rulesLearner.learn, and nn.Adam", "agent/imagine: " +
		"rulesLearner.learn"
	full := m.GradientSteps
	list := []imaginationSlip{
		{reference.WorldSlip{Name: "a tenth of the learning rate", LR: 0.1}, step, ""},
		{reference.WorldSlip{Name: "ten times the learning rate", LR: 10}, step, ""},
		{reference.WorldSlip{Name: "a learning rate that does not fall", Flat: true}, step, ""},
		{reference.WorldSlip{Name: "the opposite direction", LR: -1}, step, ""},
		{reference.WorldSlip{Name: "gradients that are not clipped", Loose: true}, step, ""},
		{reference.WorldSlip{Name: "an optimiser that starts anew with every window", Anew: true}, step, ""},
		{reference.WorldSlip{Name: "as many gradient steps as before it was trusted", Steps: full}, rows, ""},
		{reference.WorldSlip{Name: "a quarter of the gradient steps although it is not trusted", Steps: max(full/4, 1)}, rows, ""},
		{reference.WorldSlip{Name: "a single gradient step", Steps: 1}, rows, ""},
		{reference.WorldSlip{Name: "rows that are all drawn alike, rare rewards no more often", Even: true}, rows, ""},
		{reference.WorldSlip{Name: "the rows drawn for the first window", Stay: true}, rows, ""},
	}
	names := map[string]string{"things": "what becomes of things", "move": "moves and " +
		"exits", "reward": "rewards", "over": "the episode's end",
		"legal": "masks", "planes": "planes"}
	for _, t := range []string{"things", "move", "reward", "over", "legal", "planes"} {
		list = append(list, imaginationSlip{reference.WorldSlip{Name: "no loss of " + names[t], Terms: map[string]float64{t: 0}}, loss, t},
			imaginationSlip{reference.WorldSlip{Name: "the loss of " + names[t] + " with the opposite " +
				"sign", Terms: map[string]float64{t: -1}}, loss, t})
	}
	deed := func(head, name string, f func(w reference.World, d reference.Transition) reference.Transition) {
		list = append(list, imaginationSlip{reference.WorldSlip{Name: name, Deed: f}, loss, head})
	}
	deed("over", "an end that is turned round, going on taken for over,", func(_ reference.World,
		d reference.Transition) reference.Transition {
		d.Over = !d.Over
		return d
	})
	deed("over", "an end that never comes", func(_ reference.World, d reference.Transition) reference.Transition {
		d.Over = false
		return d
	})
	deed("", "the board before the step in place of the board after it", func(_ reference.World, d reference.Transition) reference.Transition {
		d.Next = d.Obs[:len(d.Next)]
		return d
	})
	deed("reward", "rewards that are all 0", func(_ reference.World, d reference.Transition) reference.Transition {
		d.Reward = make([]float32, len(d.Reward))
		return d
	})
	deed("reward", "the own reward in everyone's place", func(_ reference.World, d reference.Transition) reference.Transition {
		d.Reward = slices.Repeat(d.Reward[:1], len(d.Reward))
		return d
	})
	deed("", "joint actions in the opposite order", func(_ reference.World, d reference.Transition) reference.Transition {
		d.Joint = slices.Clone(d.Joint)
		slices.Reverse(d.Joint)
		return d
	})
	deed("", "joint actions turned by one place", func(_ reference.World, d reference.Transition) reference.Transition {
		d.Joint = append(slices.Clone(d.Joint[1:]), d.Joint[0])
		return d
	})
	deed("reward", "rewards turned by one place", func(_ reference.World, d reference.Transition) reference.Transition {
		d.Reward = append(slices.Clone(d.Reward[1:]), d.Reward[0])
		return d
	})
	list = append(list,
		imaginationSlip{reference.WorldSlip{Name: "agents that learn given what is predicted of the things, not what came of " +
			"them", Foreseen: true},
			loss, "move"})
	if len(m.Weights) > 0 {
		list = append(list, imaginationSlip{reference.WorldSlip{Name: "factors of planes that are forgotten", Unweighed: true}, loss, ""})
	}
	return list
}
