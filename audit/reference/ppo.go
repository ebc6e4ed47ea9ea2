package reference

import (
	"maps"
	"math"
	"slices"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// Own is how an agent's own network learns from a window: by PPO (Schulman et al.
// 2017), or from a search's policy and the return (AlphaZero's loss).
type Own struct {
	Actor
	PPO
	Agents []agent.ID
	Search bool

	// What a mind adds, for one agent; nil: nothing.
	Goal   []float32          // [T+1][N][GoalLen] read in place of the window's
	Reward []float64          // [T][N] added to what was earned
	Adv    []float64          // [T][N] added to the advantages
	Stats  map[string]float64 // what it reports of that, by name

	// Beside is a model that learns beside the own network; nil: there is none.
	Beside *Beside

	// Memory is each agent's LSTM before the window: h and c, [envs][LSTM].
	Memory []Net

	Slip Slip // a named departure from the definition, to recognise it

	// Shaken is the seed of what moves every weight by rounding before the update; 0: nothing does. Two updates that come
	// apart by this alone cannot be told from each other.
	Shaken uint64
}

// rounding is about how far float32 takes what an update is made of from float64.
const rounding = 1e-6

// Adding is what a kind of learner is given to fill in what it adds to an update, or to say what
// an update comes to.
type Adding struct {
	Seats     int
	Agents    []agent.ID // who learn by it
	PPO       PPO
	Window    *Window
	Saved     *safetensors.File // the learner before it learns
	Nets      []Net             // [A] the weights that played the window; nil: not known
	Hindsight []float32         // what the own network reads of goals; nil: what was played
	Shaken    uint64            // the seed of what moves Nets by rounding; 0: nothing does
}

// Beside is a model that learns beside an own network: where its weights are saved, what
// they are before and after they learn, and what is asked and said of it.
type Beside struct {
	Prefix            string
	Learn             func() (before, after Net, err error)
	Check, Good, Next string
	Bad               string // follows the agents' names; cosine and length follow it
}

// Slip is a way to get it wrong. Its zero value gets it right.
type Slip struct {
	Name string // as in "it is what ... would give"

	Settings   func(*PPO)
	Advantage  *AdvantageSlip
	Rewards    func(*Rewards)
	Window     func(*batch.Rollout) // a copy
	NoPolicy   bool                 // the loss is without that term
	NoValue    bool
	NoBonus    bool // no entropy
	Malus      bool // entropy with the opposite sign
	RatioOne   bool // the new policy stands for the old one
	AdamAnew   bool // moments and steps start from 0
	Uphill     bool // advantages enter with the opposite sign
	NoMask     bool
	Beliefs    bool // reads beliefs where labels belong
	OtherAgent int  // learns from the rows of the agent that many places on
}

// factor is 0 of a term that is left out, else 1.
func factor(without bool) float64 {
	if without {
		return 0
	}
	return 1
}

// Learnt is what an update comes to.
type Learnt struct {
	Net     Net
	Rows    int
	Steps   int
	Stats   map[string]float64 // by the name that the learner reports it under
	LogProb []float64          // of each row's action, before learning
	Value   []float64
	Probs   [][]float64 // [rows][Actions] before learning
	recorded

	seqs []sequence // with an LSTM
}

// recorded is what the window says of the same rows.
type recorded struct {
	Row           []Row
	OldLogP, OldV []float64
	Adv, Ret      []float64
	Action        []int32
	legal         []bool
	target        []float64
	x             [][]float64
	views         [][]int32 // what the actions look like to the network; nil: what they are
	real          int
}

// Row is where a row comes from.
type Row struct {
	Agent agent.ID
	T, N  int
}

// Update learns from a window from where a mind's saved tensors stand.
func (o Own) Update(saved *safetensors.File, w *Window) (*Learnt, error) {
	net, err := LoadNet(saved, "net/")
	if err != nil {
		return nil, err
	}
	net.shake(rounding, o.Shaken)
	adam := &Adam{Eps: o.AdamEps}
	err = adam.Load(saved, "adam/")
	if err != nil {
		return nil, err
	}
	var r rng.Rand
	if err := saved.Binary(&r, "stream"); err != nil {
		return nil, err
	}
	o.slip(&w, adam)
	l := &Learnt{Net: net, Stats: map[string]float64{}}
	o.gather(l, w.Rollout, w.Rewards)
	l.real = len(l.Row)
	if l.real == 0 {
		return l, nil
	}
	if w.Imagined != nil {
		plain := o
		plain.Goal, plain.Reward, plain.Adv = nil, nil, nil
		plain.gather(l, w.Imagined, w.Rewards)
	}
	l.Rows = l.real
	lr, entropy := between(o.LR, o.LREnd, w.Share), between(o.Entropy, o.EntropyEnd, w.Share)
	sum := map[string]float64{}
	if o.LSTM > 0 {
		o.recall(l, w.Rollout)
	}
	o.first(l, w)
	before := 0.
	for range o.Epochs {
		rows := 0
		for _, pick := range o.minibatches(l, w, &r) {
			rows += o.descend(l, w, adam, pick, lr, entropy, sum)
		}
		if kl := (sum["kl"] - before) / float64(max(rows, 1)); o.TargetKL > 0 && rows > 0 && kl > o.TargetKL && !o.Search {
			break
		}
		before = sum["kl"]
	}
	o.report(l, sum, lr)
	return l, nil
}

// between goes linearly from one value to another; an end below 0 is no change.
func between(from, to, share float64) float64 {
	if to < 0 {
		return from
	}
	return from + (to-from)*min(max(share, 0), 1)
}

// slip changes what the slip changes.
func (o *Own) slip(w **Window, adam *Adam) {
	s := o.Slip
	if s.Settings != nil {
		s.Settings(&o.PPO)
	}
	if s.Beliefs {
		o.Goal = nil
	}
	if s.AdamAnew {
		adam.Steps = 0
		for _, net := range []Net{adam.Mean, adam.Square} {
			for _, m := range net {
				clear(m.V)
			}
		}
	}
	copied := **w
	if s.Rewards != nil {
		s.Rewards(&copied.Rewards)
	}
	if s.Window != nil {
		ro := batch.New(copied.Shape)
		ro.CopyFrom(copied.Rollout)
		s.Window(ro)
		copied.Rollout = ro
	}
	if s.OtherAgent > 0 {
		others := make([]agent.ID, len(o.Agents))
		for i, a := range o.Agents {
			others[i] = agent.ID((int(a) + s.OtherAgent) % copied.Agents)
		}
		o.Agents = others
	}
	*w = &copied
}

// digits moves what is learnt from by the last digits that float32 has of the values that it is the difference of, if the update is
// a shaken one.
func (o Own) digits(adv, ret []float64, ro *batch.Rollout, a agent.ID) {
	if o.Shaken == 0 {
		return
	}
	r := rng.New(o.Shaken).Child("digits", int(a)).Rand()
	const digit = 1.2e-7
	all := 2*float64(r.Float32()) - 1 // sums over rows that are alike are rounded alike
	for i := range adv {
		v := math.Abs(float64(ro.Value[ro.Slot(a, i/ro.Envs, i%ro.Envs)])) + math.Abs(ret[i])
		adv[i] += digit * v * (2*float64(r.Float32()) - 1)
		ret[i] += digit * v * (all + 2*float64(r.Float32()) - 1)
	}
}

// gather collects the rows of one rollout: those at which the agents were alive and
// acted themselves, in order of agent, time and env.
func (o Own) gather(l *Learnt, ro *batch.Rollout, rewards Rewards) {
	begin := len(l.Row)
	for _, a := range o.Agents {
		earned := earned(ro, a, rewards)
		for i, more := range o.Reward {
			earned[i] += more
		}
		adv, ret := advantages(ro, a, earned, o.Gamma, o.Lambda, o.Slip.Advantage)
		if o.Align > 0 {
			adv = aligned(ro, a, adv, o.PPO, rewards, o.Slip.Advantage)
		}
		for i, more := range o.Adv {
			adv[i] += more
		}
		o.digits(adv, ret, ro, a)
		first := ro.Slot(a, 0, 0)
		for t := range ro.Steps {
			for n := range ro.Envs {
				step, slot, i := ro.Step(a, t, n), ro.Slot(a, t, n), t*ro.Envs+n
				if !ro.Alive[slot] || !ro.Own[step] {
					continue
				}
				goal := ro.GoalAt(slot)
				if o.Goal != nil {
					goal = o.Goal[(slot-first)*ro.GoalLen:][:ro.GoalLen]
				}
				l.x, l.views = append(l.x, o.Row(ro.ObsAt(slot), goal)), append(l.views, o.look(ro.ObsAt(slot)).acts)
				l.Row = append(l.Row, Row{a, t, n})
				l.Action = append(l.Action, ro.Action[step])
				l.OldLogP = append(l.OldLogP, float64(ro.LogProb[step]))
				l.OldV = append(l.OldV, float64(ro.Value[slot]))
				l.Adv, l.Ret = append(l.Adv, adv[i]), append(l.Ret, ret[i])
				for _, ok := range ro.LegalAt(slot) {
					l.legal = append(l.legal, ok || o.Slip.NoMask)
				}
				for _, p := range ro.TargetAt(step) {
					l.target = append(l.target, float64(p))
				}
			}
		}
	}
	if o.NormAdv {
		standard(l.Adv[begin:])
	}
}

// descend takes one gradient step on the rows of pick: singly, or by sequence with
// an LSTM.
func (o Own) descend(l *Learnt, w *Window, adam *Adam, pick []int, lr, bonus float64, sum map[string]float64) int {
	policy, worth, spread := factor(o.Slip.NoPolicy), factor(o.Slip.NoValue), factor(o.Slip.NoBonus)
	if o.Slip.Malus {
		spread = -1
	}
	t := &Tape{round: ulps(o.Shaken)}
	logits, value, rows := o.through(t, l, w.Rollout, pick)
	n, k := len(rows), o.Actions
	legal := make([]bool, 0, n*k)
	action := make([]int32, n)
	column := func(from []float64) *Mat {
		m := NewMat(n, 1)
		for i, r := range rows {
			m.V[i] = from[r]
		}
		return m
	}
	for i, r := range rows {
		legal = append(legal, l.legal[r*k:(r+1)*k]...)
		action[i] = l.Action[r]
	}
	logp := t.LogSoftmax(logits, legal)
	entropy := t.Entropy(logp, legal)
	miss := t.Sub(value, column(l.Ret))
	square := t.Mul(miss, miss)
	for _, h := range entropy.V {
		sum["entropy"] += h
	}
	sum["rows"] += float64(n)
	var loss *Mat
	if o.Search {
		want := NewMat(n, k)
		for i, r := range rows {
			for j, p := range l.target[r*k : (r+1)*k] {
				if legal[i*k+j] {
					want.Row(i)[j] = -p
				}
			}
		}
		cross := t.Mul(logp, want)
		for i := range cross.V {
			sum["policy_loss"] += cross.V[i]
		}
		for _, v := range square.V {
			sum["value_loss"] += v
		}
		sum["real"] += float64(n)
		loss = t.Add(t.Scale(t.Mean(cross, n), 0.5*policy), t.Scale(t.Mean(square, n), 0.5*worth))
	} else {
		adv, old := column(l.Adv), column(l.OldLogP)
		if o.Slip.Uphill {
			for i := range adv.V {
				adv.V[i] = -adv.V[i]
			}
		}
		now := t.At(logp, action)
		if o.Slip.RatioOne {
			copy(old.V, now.V)
		}
		ratio := t.Exp(t.Sub(now, old))
		held := t.Clamp(ratio, 1-o.Clip, 1+o.Clip)
		less := func(r *Mat) *Mat { return t.Scale(t.Mul(r, adv), -1) }
		surrogate := t.Max(less(ratio), less(held))
		if o.ClipValue {
			was := column(l.OldV)
			near := t.Sub(t.Add(was, t.Clamp(t.Sub(value, was), -o.Clip, o.Clip)), column(l.Ret))
			square = t.Max(square, t.Mul(near, near))
		}
		for i, r := range rows {
			sum["policy_loss"] += surrogate.V[i]
			if r < l.real {
				sum["value_loss"] += square.V[i] / 2
				sum["real"]++
			}
			sum["kl"] += ratio.V[i] - 1 - math.Log(ratio.V[i])
			if held.V[i] != ratio.V[i] {
				sum["clipped"]++
			}
		}
		loss = t.Add(t.Scale(t.Mean(surrogate, n), policy), t.Scale(t.Mean(square, n), o.ValueCoef*worth/2))
		loss = t.Sub(loss, t.Scale(t.Mean(entropy, n), bonus*spread))
	}
	t.Backward(loss)
	sum["grad_norm"] += adam.Step(l.Net, lr, o.MaxGrad)
	l.Steps++
	return n
}

// through runs the network on what was picked, rows or sequences, and returns its
// outputs and the rows that they belong to.
func (o Own) through(t *Tape, l *Learnt, ro *batch.Rollout, pick []int) (logits, value *Mat, rows []int) {
	if o.LSTM > 0 {
		logits, value, rows = o.sequences(t, l, ro, pick)
	} else {
		x := make([][]float64, len(pick))
		for i, r := range pick {
			x[i] = l.x[r]
		}
		logits, value = o.Forward(t, l.Net, rowsOf(x))
		rows = pick
	}
	views := make([][]int32, len(rows))
	for i, r := range rows {
		views[i] = l.views[r]
	}
	return t.acts(logits, views), value, rows
}

// first notes what the network says of the played rows before it learns.
func (o Own) first(l *Learnt, w *Window) {
	l.LogProb, l.Value, l.Probs = make([]float64, l.real), make([]float64, l.real), make([][]float64, l.real)
	pick := make([]int, l.real)
	if o.LSTM > 0 {
		pick = make([]int, len(l.seqs))
	}
	for i := range pick {
		pick[i] = i
	}
	t := &Tape{}
	logits, value, rows := o.through(t, l, w.Rollout, pick)
	k := o.Actions
	for i, r := range rows {
		row := &Mat{Rows: 1, Cols: k, V: logits.Row(i), G: make([]float64, k)}
		logp := t.LogSoftmax(row, l.legal[r*k:(r+1)*k])
		l.LogProb[r], l.Value[r] = logp.V[l.Action[r]], value.V[i]
		l.Probs[r] = make([]float64, k)
		for j, v := range logp.V {
			if l.legal[r*k+j] {
				l.Probs[r][j] = math.Exp(v)
			}
		}
	}
}

// minibatches returns one pass's gradient steps, each a list of rows, or with an
// LSTM of sequences; their order is drawn from r.
func (o Own) minibatches(l *Learnt, w *Window, r *rng.Rand) [][]int {
	n, m, part := l.real, len(l.Row)-l.real, o.Minibatch
	if o.LSTM > 0 {
		n, m, part = len(l.seqs), 0, max(1, o.Minibatch/o.SeqLen)
	}
	if m > 0 {
		part = min(max(int(w.RealRatio*float64(o.Minibatch)+0.5), 1), max(o.Minibatch-1, 1))
	}
	played, imagined := make([]int, n), make([]int, m)
	r.Perm(played)
	r.Perm(imagined)
	var out [][]int
	next := 0
	for lo := 0; lo < n; lo += part {
		pick := slices.Clone(played[lo:min(lo+part, n)])
		if m > 0 { // as many imagined rows as keep the ratio, some twice if there are too few
			for range (o.Minibatch - part) * len(pick) / part {
				pick = append(pick, n+imagined[next%m])
				next++
			}
		}
		out = append(out, pick)
	}
	return out
}

// report names the sums as the learner does.
func (o Own) report(l *Learnt, sum map[string]float64, lr float64) {
	rows, of := max(sum["rows"], 1), "ppo/"
	if o.Search {
		of = "search/"
	}
	l.Stats = map[string]float64{
		of + "policy_loss": sum["policy_loss"] / rows, of + "value_loss": sum["value_loss"] / max(sum["real"], 1),
		of + "entropy": sum["entropy"] / rows, of + "grad_norm": sum["grad_norm"] / float64(max(l.Steps, 1)),
		of + "explained": explained(l.Ret[:l.real], l.OldV[:l.real]), of + "lr": lr,
	}
	maps.Copy(l.Stats, o.Stats)
	if !o.Search {
		l.Stats["ppo/kl"], l.Stats["ppo/clipped"] = sum["kl"]/rows, sum["clipped"]/rows
	}
}
