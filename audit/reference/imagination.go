package reference

import (
	"errors"
	"math"
	"slices"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// Deed is one step of a game through the eyes of one agent: what it observed, what
// all did and were paid, ego-first, what the board showed then, and whether the
// episode was over.
type Transition struct {
	Obs, Next []float32
	Joint     []int32
	Reward    []float32
	Over      bool
}

// Equal reports whether two transitions are the same.
func (d Transition) Equal(o Transition) bool {
	return slices.Equal(d.Obs, o.Obs) && slices.Equal(d.Next, o.Next) && slices.Equal(d.Joint, o.Joint) &&
		slices.Equal(d.Reward, o.Reward) && d.Over == o.Over
}

// ImaginationSettings are those of learning a world model from a run's own steps.
type ImaginationSettings struct {
	Rows, Refresh, GradientSteps, Batch int
	LR                                  float64
}

// Imagining is a run's world model and how it learns.
type Imagining struct {
	World
	ImaginationSettings
	Key         rng.Key // of the run
	Adam        *Adam
	Transitions []Transition // the newest steps, a ring
	Seen        int          // steps put into it so far

	Slip   WorldSlip
	Shaken uint64 // the weights are first moved by rounding, each number in another way; 0: they are not
}

// WorldSlip is a way to get an update of a world model wrong. Its zero value gets it
// right.
type WorldSlip struct {
	Name      string
	Terms     map[string]float64 // factors of terms of the loss: things, move, reward, over, legal, planes
	Deed      func(World, Transition) Transition
	LR        float64 // factor of the learning rate; 0: 1
	Flat      bool    // the rate does not fall
	Loose     bool    // gradients are not clipped
	Anew      bool    // the optimiser starts from 0
	Steps     int     // gradient steps; 0: as it should be
	Even      bool    // all rows are drawn alike, rare rewards too
	Stay      bool    // every update draws the rows of the first
	Unweighed bool    // planes' factors are forgotten
	Foreseen  bool    // agents learn given the things that are predicted, not those that came
}

// Load reads what an imagination saved under no prefix; nil if it had no
// model yet.
func (c ImaginationSettings) Load(f *safetensors.File, w World, key rng.Key) (*Imagining, error) {
	if _, ok := f.Get("seen"); !ok {
		return nil, nil
	}
	var head [2]int64
	if err := f.Int64(head[:], "seen", 2); err != nil {
		return nil, err
	}
	m := &Imagining{World: w, ImaginationSettings: c, Key: key, Seen: int(head[0])}
	m.Rewards = make([]float32, head[1])
	rows := min(m.Seen, c.Rows)
	paid, times := make([]float32, rows*w.Agents), make([]float32, rows)
	small, err1 := f.Bytes("small")
	net, err2 := LoadNet(f, "net/")
	adam := &Adam{Eps: 1e-8}
	err3 := adam.Load(f, "adam/")
	if err := errors.Join(err1, err2, err3, f.Float32(m.Rewards, "rewards", len(m.Rewards)), f.Float32(paid, "reward", len(paid)),
		f.Float32(times, "time", rows)); err != nil {
		return nil, err
	}
	m.Net, m.Adam = net, adam
	width, board, n := m.Len(), m.board(), w.Agents
	if len(small) != rows*(width+board+n+1) {
		return nil, errors.New("reference: the saved steps of the world model have another length")
	}
	take := func(i, each int) []byte { return small[i*each : (i+1)*each] }
	floats := func(b []byte) []float32 {
		out := make([]float32, len(b))
		for i, v := range b {
			out[i] = float32(v)
		}
		return out
	}
	m.Transitions = make([]Transition, rows)
	joint := make([]int32, rows*n)
	for i := range m.Transitions {
		m.Transitions[i].Obs = floats(take(i, width))
		if w.Time > 0 {
			m.Transitions[i].Obs[board+w.Legal] = times[i]
		}
		m.Transitions[i].Reward = paid[i*n : (i+1)*n]
	}
	small = small[rows*width:]
	for i := range m.Transitions {
		m.Transitions[i].Next = floats(take(i, board))
	}
	small = small[rows*board:]
	for i := range m.Transitions {
		m.Transitions[i].Joint = joint[i*n : (i+1)*n]
		for j, b := range take(i, n) {
			m.Transitions[i].Joint[j] = int32(b) - 1
		}
	}
	small = small[rows*n:]
	for i := range m.Transitions {
		m.Transitions[i].Over = small[i] == 1
	}
	return m, nil
}

// Clone returns a copy that learns by itself. Both read the same steps.
func (m *Imagining) Clone() *Imagining {
	c, adam := *m, *m.Adam
	adam.Mean, adam.Square = adam.Mean.Clone(), adam.Square.Clone()
	c.Net, c.Adam = m.Net.Clone(), &adam
	return &c
}

// Steps returns the steps of a window that a world model learns from, a row each,
// through the eyes of the living agents in turn, in order of time and env.
func (w World) Steps(ro *batch.Rollout) (deeds []Transition, rows []Row) {
	for t := range ro.Steps {
		for n := range ro.Envs {
			if a := eyes(ro, t, n); a >= 0 {
				deeds, rows = append(deeds, w.Deed(ro, a, t, n)), append(rows, Row{Agent: a, T: t, N: n})
			}
		}
	}
	return deeds, rows
}

// eyes returns whose row stands for a step, -1 if nobody acts: the first who lives
// from a place on that goes round.
func eyes(ro *batch.Rollout, t, n int) agent.ID {
	for i := range ro.Agents {
		if a := agent.ID((t + n + i) % ro.Agents); ro.Alive[ro.Slot(a, t, n)] {
			return a
		}
	}
	return -1
}

// Deed is env n's step from slot t as agent a saw it.
func (w World) Deed(ro *batch.Rollout, a agent.ID, t, n int) Transition {
	d := Transition{
		Obs: ro.ObsAt(ro.Slot(a, t, n)), Next: ro.ObsAt(ro.Slot(a, t+1, n))[:w.board()],
		Joint: make([]int32, ro.Agents), Reward: make([]float32, ro.Agents), Over: true,
	}
	me := int(ro.Seat[ro.Slot(a, t, n)])
	for c := range agent.ID(ro.Agents) {
		at := (int(ro.Seat[ro.Slot(c, t, n)]) + ro.Agents - me) % ro.Agents
		d.Joint[at], d.Reward[at] = ro.Action[ro.Step(c, t, n)], ro.Reward[ro.Step(c, t, n)]
		d.Over = d.Over && !ro.Alive[ro.Slot(c, t+1, n)]
	}
	return d
}

// level returns the number of the nearest reward.
func (w World) level(v float32) int32 {
	best := 0
	for i, r := range w.Rewards {
		if math.Abs(float64(r-v)) < math.Abs(float64(w.Rewards[best]-v)) {
			best = i
		}
	}
	return int32(best)
}

// Update learns from the ring as it stands, with the steps of an update of that
// number: a quarter of them if the model was trusted.
func (m *Imagining) Update(update int, trusted bool) {
	m.Net.shake(rounding, m.Shaken)
	steps, s := m.GradientSteps, m.Slip
	if trusted {
		steps = max(steps/4, 1)
	}
	if s.Steps > 0 {
		steps = s.Steps
	}
	if s.Stay {
		update = 1
	}
	if s.Unweighed {
		m.Weights = nil
	}
	if s.Anew {
		m.Adam.Steps = 0
		for _, net := range []Net{m.Adam.Mean, m.Adam.Square} {
			for _, x := range net {
				clear(x.V)
			}
		}
	}
	rare := make([][]int, len(m.Rewards))
	for i, d := range m.Transitions {
		k := m.level(slices.Max(d.Reward))
		rare[k] = append(rare[k], i)
	}
	rare = slices.DeleteFunc(rare, func(list []int) bool { return len(list) == 0 })
	r := m.Key.Child("imagine").Child("world").Child("learn", update).Rand()
	for range steps {
		deeds := make([]Transition, m.Batch)
		for j := range deeds { // a quarter evenly over the highest reward paid
			i := r.IntN(len(m.Transitions))
			if 4*j < len(deeds) && !s.Even {
				of := rare[r.IntN(len(rare))]
				i = of[r.IntN(len(of))]
			}
			deeds[j] = m.Transitions[i]
			if s.Deed != nil {
				deeds[j] = s.Deed(m.World, deeds[j])
			}
		}
		lr, clip := m.LR, 1.
		if !s.Flat {
			lr /= 1 + float64(m.Adam.Steps)/1000
		}
		if s.LR != 0 {
			lr *= s.LR
		}
		if s.Loose {
			clip = 0
		}
		m.Descend(deeds, lr, clip)
	}
}

// Descend takes a gradient step on transitions.
func (m *Imagining) Descend(deeds []Transition, lr, clip float64) {
	t := &Tape{round: ulps(m.Shaken)}
	t.Backward(m.loss(t, deeds))
	m.Adam.Step(m.Net, lr, clip)
}

// weight is the factor of a plane's part of the loss.
func (w World) weight(plane int) float64 {
	if len(w.Weights) == 0 {
		return 1
	}
	return w.Weights[plane]
}

// term returns the factor of a term.
func (m *Imagining) term(name string) float64 {
	if f, ok := m.Slip.Terms[name]; ok {
		return f
	}
	return 1
}

// loss is the negative log-likelihood of transitions, a row, each factor given what truly
// happened before it: sums over places, agents and bits, means over rows.
func (m *Imagining) loss(t *Tape, deeds []Transition) *Mat {
	if m.Variant == "planes" {
		return t.Add(m.legalLoss(t, deeds), m.planesLoss(t, deeds))
	}
	loss := t.Add(m.legalLoss(t, deeds), m.overLoss(t, deeds))
	if m.things() > 0 {
		loss = t.Add(loss, m.thingsLoss(t, deeds))
	}
	return t.Add(loss, m.agentsLoss(t, deeds))
}

// bitsLoss is the weighted sum over a row's bits, over rows.
func bitsLoss(t *Tape, logits *Mat, target, weight []float64, rows int) *Mat {
	y := NewMat(1, 1)
	for i, x := range logits.V {
		y.V[0] += weight[i%len(weight)] * (max(x, 0) - x*target[i] + math.Log1p(math.Exp(-math.Abs(x)))) / float64(rows)
	}
	t.Do(func() {
		for i, x := range logits.V {
			logits.G[i] += weight[i%len(weight)] * (t.logistic(x) - target[i]) / float64(rows) * y.G[0]
		}
	})
	return y
}

// legalLoss is the loss of the own mask on the board before the step.
func (m *Imagining) legalLoss(t *Tape, deeds []Transition) *Mat {
	var x []sparse
	var target []float64
	for _, d := range deeds {
		if s := m.seen(d.Obs); m.World.Legal > 0 && s.at[0] >= 0 {
			x = append(x, m.mask(s, 0))
			target = append(target, Wide(d.Obs[m.board():m.board()+m.Actions])...)
		}
	}
	return t.Scale(bitsLoss(t, m.through(t, "legal", x), target, []float64{1}, len(deeds)), m.term("legal"))
}

// after is the board that came of a step.
func (w World) after(was scene, d Transition) scene {
	next := w.scene(d.Next)
	next.t = was.t + 1
	return next
}

func (m *Imagining) overLoss(t *Tape, deeds []Transition) *Mat {
	var x []sparse
	var target []float64
	for _, d := range deeds {
		x = append(x, m.end(m.after(m.seen(d.Obs), d)))
		over := 0.
		if d.Over {
			over = 1
		}
		target = append(target, over)
	}
	return t.Scale(bitsLoss(t, m.through(t, "over", x), target, []float64{1}, len(deeds)), m.term("over"))
}

func (m *Imagining) thingsLoss(t *Tape, deeds []Transition) *Mat {
	n, e := m.Agents, m.things()
	weight := make([]float64, e)
	for i := range weight {
		weight[i] = m.weight(n + i)
	}
	var x []sparse
	var target []float64
	for _, d := range deeds {
		s := m.seen(d.Obs)
		for cell := range m.cells() {
			r := make(sparse, 0, 48)
			m.around(&r, s, d.Joint, cell)
			x = append(x, r)
			target = append(target, Wide(d.Next[cell*m.Planes+n:(cell+1)*m.Planes])...)
		}
	}
	return t.Scale(bitsLoss(t, m.through(t, "things", x), target, weight, len(deeds)), m.term("things"))
}

// agentsLoss is where everyone goes, and what they are paid: two heads on the same
// layers. Who went further than one cell teaches nothing about moves.
func (m *Imagining) agentsLoss(t *Tape, deeds []Transition) *Mat {
	var x []sparse
	var open []bool
	var class, level []int32
	var moves, pays []float64
	each := -1 / float64(len(deeds))
	for _, d := range deeds {
		was := m.seen(d.Obs)
		next := m.after(was, d)
		given := next
		if m.Slip.Foreseen {
			given = m.Predict(d.Obs, d.Joint).scene
		}
		for a, k := range d.Joint {
			if k < 0 || was.at[a] < 0 {
				continue
			}
			x = append(x, m.actor(was, given, d.Joint, a))
			level, pays = append(level, m.level(d.Reward[a])), append(pays, each*m.term("reward"))
			ok := m.open(was.at[a])
			open = append(open, ok...)
			q := 9
			if to, from := next.at[a], was.at[a]; to >= 0 {
				dy, dx := to/m.Width-from/m.Width, to%m.Width-from%m.Width
				if q = (dy+1)*3 + dx + 1; max(dy, -dy, dx, -dx) > 1 {
					q = -1
				}
			}
			w := each * m.weight(a) * m.term("move")
			if q < 0 || !ok[q] {
				q, w = 9, 0
			}
			class, moves = append(class, int32(q)), append(moves, w)
		}
	}
	y := m.trunk(t, "move", x)
	move := t.Weigh(t.At(t.LogSoftmax(m.head(t, "move/head", y), open), class), moves)
	return t.Add(move, t.Weigh(t.At(t.LogSoftmax(m.head(t, "reward", y), nil), level), pays))
}

// planesLoss is the plane regression's: squared errors of planes, rewards and end.
func (m *Imagining) planesLoss(t *Tape, deeds []Transition) *Mat {
	var x []sparse
	out := m.board() + m.Agents + 1
	want, weight := NewMat(len(deeds), out), make([]float64, len(deeds)*out)
	for i, d := range deeds {
		x = append(x, m.whole(d.Obs, d.Joint))
		copy(want.Row(i), append(Wide(d.Next), Wide(d.Reward)...))
		if d.Over {
			want.Row(i)[out-1] = 1
		}
		for j := range out {
			w := 1.
			if j < m.board() {
				w = m.weight(j % m.Planes)
			}
			weight[i*out+j] = w * m.term("planes") / float64(out*len(deeds))
		}
	}
	miss := t.Sub(m.through(t, "dense", x), want)
	return t.Weigh(t.Mul(miss, miss), weight)
}

// Score returns how many of a window's steps the model foresees exactly: board,
// rewards, end and the own next mask, of how many asked; and how many of those
// rounding might decide.
func (w World) Score(ro *batch.Rollout) (right, asked, near int) {
	all := ro.Steps * ro.Envs
	rows := min(1024, all)
	stride := max(all/rows, 1)
	for i := 0; i < all && asked < rows; i += stride {
		t, n := i/ro.Envs, i%ro.Envs
		a := eyes(ro, t, n)
		if a < 0 {
			continue
		}
		asked++
		d := w.Deed(ro, a, t, n)
		f := w.Predict(d.Obs, d.Joint)
		ok := f.Over == d.Over && slices.Equal(w.View(f, d.Joint, 0)[:w.board()], d.Next) &&
			slices.Equal(f.Legal[0], ro.LegalAt(ro.Slot(a, t+1, n)))
		for c, v := range f.Reward {
			miss := math.Abs(v - float64(d.Reward[c]))
			ok = ok && miss <= 0.04
			if math.Abs(miss-0.04) < 1e-4 {
				f.Margin = 0
			}
		}
		if f.Margin < tie {
			near++
		} else if ok {
			right++
		}
	}
	return right, asked, near
}

// tie is how near two predictions are between which rounding may decide.
const tie = 1e-4

// Tied reports that rounding may decide what is foreseen.
func (f *Foreseen) Tied() bool { return f.Margin < tie }

// Starts returns the moments of a played window that imagination starts from:
// episodes' first, or anywhere, where somebody is alive.
func (w *Window) Starts(anywhere bool) (list []Row) {
	ro := w.Rollout
	for t := range ro.Steps + 1 {
		for n := range ro.Envs {
			if !anywhere && !ro.Start[ro.Moment(t, n)] {
				continue
			}
			for a := range agent.ID(ro.Agents) {
				if ro.Alive[ro.Slot(a, t, n)] {
					list = append(list, Row{Agent: a, T: t, N: n})
					break
				}
			}
		}
	}
	return list
}

// Draws returns the stream from which env n's starts are drawn in a round of
// imagination.
func (m *Imagining) Draws(update, round, n int) rng.Rand {
	return m.Key.Child("imagine").Child("round", update*m.Refresh+round).Child("rules", n).Rand()
}
