package imagine

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/runlog"
)

// rulesLearner is the world model of a run: a given one, or one that learns from
// the run's newest steps, a row each through the eyes of one agent.
type rulesLearner struct {
	cfg   Config
	key   rng.Key
	in    world.Input // Rewards are those seen so far
	given bool        // loaded: it does not learn

	model *world.Model // nil before the first window
	net   *nn.Params

	cores *cores.Pool // whose workers compute shards
	train *nn.Trainer[*world.Work, world.Losses]
	mini  world.Batch // a minibatch
	data  world.Batch // [cfg.Rows] the newest steps, a ring
	seen  int         // steps put into it so far
	whose []byte      // [cfg.Rows] through whose eyes each is; nil: not remembered

	steppers chan *stepper // idle; workers of a rollout take one each
	eye      *world.Work   // to score with
	exact    float64       // share of the last window's steps foreseen
	scored   int           // steps behind it
}

// stepper is memory to step many states with, for one goroutine.
type stepper struct {
	model *world.Model // that it was made for
	work  *world.Work
	next  world.Next  // by seat
	base  []float32   // [rows][Len] what seat 0 observes
	joint []int32     // [rows][A] by seat
	rands []*rng.Rand // [rows] what each row draws from
	rows  int
}

// stepper returns an idle one, or a new one.
func (w *rulesLearner) stepper() *stepper {
	select {
	case s := <-w.steppers:
		if s.model == w.model {
			return s
		}
	default:
	}
	return &stepper{model: w.model, work: w.model.Work()}
}

// done gives a stepper back.
func (w *rulesLearner) done(s *stepper) {
	select {
	case w.steppers <- s:
	default:
	}
}

// fit makes room for so many rows.
func (s *stepper) fit(g *imagined, rows int) {
	if s.rows < rows {
		agents, k, width := g.spec.Seats, len(g.spec.Actions), g.spec.Obs.Len()
		s.rows, s.base, s.joint, s.next = rows, make([]float32, rows*width), make([]int32, rows*agents), world.Next{}
		s.rands = make([]*rng.Rand, rows)
		for range agents {
			s.next.Obs = append(s.next.Obs, make([]float32, rows*width))
			s.next.Reward = append(s.next.Reward, make([]float32, rows))
			s.next.End = append(s.next.End, make([]bool, rows))
			s.next.Legal = append(s.next.Legal, make([]bool, rows*k))
		}
	}
}

// maxSteppers is how many idle steppers are kept.
const maxSteppers = 64

func newRulesLearner(cfg Config, runs *runlog.Reader, spec game.Spec, key rng.Key) (*rulesLearner, error) {
	l := spec.Obs
	if len(l.Planes) == 0 || l.Features > 0 {
		return nil, errors.New("imagine: imagination needs a game on a board that observes nothing but it; set imagine.on to false")
	}
	w := &rulesLearner{steppers: make(chan *stepper, maxSteppers), cfg: cfg, key: key.Child("world"), in: world.Input{
		Height: l.Height, Width: l.Width, Planes: len(l.Planes), Agents: spec.Seats, Actions: len(spec.Actions),
		Horizon: spec.Horizon, Legal: l.Legal, Time: l.Time, Last: l.Last, Owned: l.Owned, Rewards: []float32{0},
	}}
	if cfg.World != "" {
		m, p, err := world.Load(runs, cfg.World)
		if err != nil {
			return nil, err
		}
		w.in.Rewards, w.in.Appear, w.in.Still, w.in.Jumps = m.Rewards, m.Appear, m.Still, m.Jumps
		if got, want := fmt.Sprint(m.Input), fmt.Sprint(w.in); got != want {
			return nil, fmt.Errorf("imagine: the world model of %s is of another game: %s, want %s", cfg.World, got, want)
		}
		w.given, w.model, w.net, w.eye = true, m, p, m.Work()
		return w, nil
	}
	w.data, w.mini = world.NewBatch(w.in, cfg.Rows), world.NewBatch(w.in, cfg.Batch)
	return w, nil
}

// remembersEyes makes it remember through whose eyes the steps are, to report on.
func (w *rulesLearner) remembersEyes() {
	if w.whose == nil && !w.given {
		w.whose = make([]byte, w.cfg.Rows)
	}
}

// make makes the model for the rewards seen so far. What an earlier one had
// learnt is kept, except of rewards.
func (w *rulesLearner) make() error {
	old := w.net
	m, p, err := world.New(w.cfg.Model, w.in, w.key.Child("init", len(w.in.Rewards)))
	if err != nil {
		return err
	}
	if old != nil {
		for _, part := range p.Parts {
			if q, ok := old.Find(part.Name); ok && slices.Equal(q.Shape, part.Shape) {
				dst, _ := p.At(part.Span)
				src, _ := old.At(q.Span)
				copy(dst, src)
			}
		}
	}
	w.model, w.net = m, p
	w.train = m.Trainer(p, w.cfg.Batch, func(step int) float64 { return w.cfg.LR / (1 + float64(step)/1000) })
	w.train.Share(w.cores)
	w.eye = m.Work()
	return nil
}

// eyes returns whose row stands for env n's step from slot t: the living agents
// take turns. It is -1 if nobody acted.
func eyes(ro *batch.Rollout, t, n int) agent.ID {
	for i := range ro.Agents {
		if a := agent.ID((t + n + i) % ro.Agents); ro.Alive[ro.Slot(a, t, n)] {
			return a
		}
	}
	return -1
}

// write writes env n's step from slot t through agent a's eyes as row i of b.
func (w *rulesLearner) write(b *world.Batch, i int, ro *batch.Rollout, a agent.ID, t, n int) {
	in, agents := w.in, ro.Agents
	planes := in.Height * in.Width * in.Planes
	copy(b.Obs[i*in.Len():(i+1)*in.Len()], ro.ObsAt(ro.Slot(a, t, n)))
	copy(b.Next[i*planes:(i+1)*planes], ro.ObsAt(ro.Slot(a, t+1, n)))
	me := int(ro.Seat[ro.Slot(a, t, n)])
	for c := range agent.ID(agents) {
		step, at := ro.Step(c, t, n), i*agents+(int(ro.Seat[ro.Slot(c, t, n)])-me+agents)%agents
		b.Joint[at], b.Reward[at] = ro.Action[step], ro.Reward[step]
	}
	b.Over[i] = !anyAlive(ro, t+1, n)
}

// freshRows is how many steps of a window the model is scored by.
const freshRows = 1024

// score returns the share of a new window's steps that the model foresees
// exactly: the board, all rewards, the end, and the own next mask.
func (w *rulesLearner) score(ro *batch.Rollout) float64 {
	w.exact, w.scored = 0, 0
	if w.model == nil {
		return -1
	}
	in, agents := w.in, ro.Agents
	planes, most := in.Height*in.Width*in.Planes, min(freshRows, ro.Steps*ro.Envs)
	b := world.NewBatch(in, most)
	var slots []int
	stride := max(ro.Steps*ro.Envs/most, 1)
	for i := 0; i < ro.Steps*ro.Envs && len(slots) < most; i += stride {
		t, n := i/ro.Envs, i%ro.Envs
		if a := eyes(ro, t, n); a >= 0 {
			w.write(&b, len(slots), ro, a, t, n)
			slots = append(slots, ro.Slot(a, t+1, n))
		}
	}
	rows := len(slots)
	next := world.Next{Obs: [][]float32{make([]float32, rows*in.Len())}, Legal: [][]bool{make([]bool, rows*in.Actions)},
		Over: make([]bool, rows)}
	for range agents {
		next.Reward = append(next.Reward, make([]float32, rows))
	}
	w.eye.Step(w.net, &next, b.Obs, b.Joint, rows)
	right := 0
	for i, slot := range slots {
		ok := next.Over[i] == b.Over[i] &&
			slices.Equal(next.Obs[0][i*in.Len():i*in.Len()+planes], b.Next[i*planes:(i+1)*planes]) &&
			slices.Equal(next.Legal[0][i*in.Actions:(i+1)*in.Actions], ro.LegalAt(slot))
		for a := range agents {
			ok = ok && math.Abs(float64(next.Reward[a][i]-b.Reward[i*agents+a])) <= 0.04
		}
		if ok {
			right++
		}
	}
	w.scored = rows
	if rows > 0 {
		w.exact = float64(right) / float64(rows)
	}
	return w.exact
}

// learn puts a window's steps into the ring and takes gradient steps, a quarter
// of each minibatch drawn evenly over the highest reward paid, because catches
// are rare. It reports whether the model is another one than was scored: a
// reward was seen that it did not know.
func (w *rulesLearner) learn(ro *batch.Rollout, update int, trusted bool) (anew bool, err error) {
	if w.given {
		return false, nil
	}
	levels := len(w.in.Rewards)
	for t := range ro.Steps {
		for n := range ro.Envs {
			a := eyes(ro, t, n)
			if a < 0 {
				continue
			}
			i := w.seen % w.data.Rows
			w.write(&w.data, i, ro, a, t, n)
			if w.seen++; w.whose != nil {
				w.whose[i] = byte(a)
			}
			for _, r := range w.data.Reward[i*w.in.Agents : (i+1)*w.in.Agents] {
				if at, ok := slices.BinarySearch(w.in.Rewards, r); !ok && len(w.in.Rewards) < world.MaxRewards {
					w.in.Rewards = slices.Insert(slices.Clone(w.in.Rewards), at, r)
				}
			}
		}
	}
	if w.model == nil || len(w.in.Rewards) > levels {
		if err := w.make(); err != nil {
			return true, err
		}
		anew, trusted = true, false
	}
	rows, steps := min(w.seen, w.data.Rows), w.cfg.Steps
	if trusted {
		steps = max(steps/4, 1)
	}
	if rows == 0 {
		return anew, nil
	}
	strata := make([][]int32, len(w.in.Rewards))
	for i := range rows {
		s := w.in.Level(slices.Max(w.data.Reward[i*w.in.Agents : (i+1)*w.in.Agents]))
		strata[s] = append(strata[s], int32(i))
	}
	strata = slices.DeleteFunc(strata, func(s []int32) bool { return len(s) == 0 })
	r := w.key.Child("learn", update).Rand()
	var sum world.Losses
	for range steps {
		for j := range w.mini.Rows {
			i := r.IntN(rows)
			if 4*j < w.mini.Rows {
				s := strata[r.IntN(len(strata))]
				i = int(s[r.IntN(len(s))])
			}
			w.copyRow(j, i)
		}
		if _, err := w.train.Step(w.mini.Rows, &sum, func(s *nn.Shard[*world.Work]) world.Losses {
			b := w.mini.Part(w.in, s.Lo, s.Hi)
			return s.Work.Learn(s.Params, &b, w.mini.Rows)
		}); err != nil {
			return anew, err
		}
	}
	return anew, nil
}

// copyRow copies step i of the ring to row j of the minibatch.
func (w *rulesLearner) copyRow(j, i int) {
	dst, src := w.mini.Part(w.in, j, j+1), w.data.Part(w.in, i, i+1)
	copy(dst.Obs, src.Obs)
	copy(dst.Joint, src.Joint)
	copy(dst.Next, src.Next)
	copy(dst.Reward, src.Reward)
	copy(dst.Over, src.Over)
}

// stats reports how far the model can be trusted.
func (w *rulesLearner) stats() []agent.Stat {
	if w.scored == 0 {
		return nil
	}
	return []agent.Stat{{Name: "imagine/exact", Value: w.exact, N: w.scored}}
}

// save adds a learning model and its steps to a checkpoint. What is observed is 0
// or 1 but for the time, so it is kept as bytes, the time apart.
func (w *rulesLearner) save(f *safetensors.File, prefix string) {
	if w.given || w.model == nil {
		return
	}
	w.train.Save(f, prefix)
	f.PutInt64(prefix+"seen", []int64{int64(w.seen), int64(len(w.in.Rewards))}, 2)
	f.PutFloat32(prefix+"rewards", w.in.Rewards, len(w.in.Rewards))
	b := w.data.Part(w.in, 0, min(w.seen, w.data.Rows))
	f.PutFloat32(prefix+"reward", b.Reward, len(b.Reward))
	f.PutFloat32(prefix+"time", w.times(b), b.Rows)
	small := make([]byte, 0, w.smallLen(b))
	for _, x := range [][]float32{b.Obs, b.Next} {
		for _, v := range x {
			small = append(small, byte(v))
		}
	}
	for _, k := range b.Joint {
		small = append(small, byte(k+1))
	}
	for _, over := range b.Over {
		if over {
			small = append(small, 1)
		} else {
			small = append(small, 0)
		}
	}
	f.PutBytes(prefix+"small", small)
	if w.whose != nil {
		f.PutBytes(prefix+"whose", w.whose[:b.Rows])
	}
}

// smallLen is how many bytes save needs for what fits into a byte.
func (w *rulesLearner) smallLen(b world.Batch) int {
	return len(b.Obs) + len(b.Next) + len(b.Joint) + len(b.Over)
}

// times returns the observed time of each row, 0 if it is not observed.
func (w *rulesLearner) times(b world.Batch) []float32 {
	out := make([]float32, b.Rows)
	for i := range out {
		if w.in.Time > 0 {
			out[i] = b.Obs[w.timeAt(i)]
		}
	}
	return out
}

// timeAt indexes the time of row i.
func (w *rulesLearner) timeAt(i int) int {
	return (i+1)*w.in.Len() - w.in.Last*w.in.Actions - 1
}

// load restores what save stored.
func (w *rulesLearner) load(f *safetensors.File, prefix string) error {
	var head [2]int64
	if _, ok := f.Get(prefix + "seen"); !ok || w.given {
		return nil // saved before the first window, or nothing is learnt
	}
	if err := f.Int64(head[:], prefix+"seen", 2); err != nil {
		return err
	}
	if head[0] < 0 || head[1] < 1 || head[1] > world.MaxRewards {
		return fmt.Errorf("imagine: loading imagine/seen: %d steps and %d rewards; the checkpoint is damaged", head[0], head[1])
	}
	w.seen, w.in.Rewards = int(head[0]), make([]float32, head[1])
	if err := f.Float32(w.in.Rewards, prefix+"rewards", len(w.in.Rewards)); err != nil {
		return err
	}
	if err := w.make(); err != nil {
		return err
	}
	b := w.data.Part(w.in, 0, min(w.seen, w.data.Rows))
	small, err := f.Bytes(prefix + "small")
	if err == nil && len(small) != w.smallLen(b) {
		err = errors.New("imagine: loading imagine/small: it is of a run with another imagine.rows; use the spec of the saved run")
	}
	times := make([]float32, b.Rows)
	err = errors.Join(err, w.train.Load(f, prefix),
		f.Float32(b.Reward, prefix+"reward", len(b.Reward)), f.Float32(times, prefix+"time", b.Rows))
	if err != nil {
		return err
	}
	for _, x := range [][]float32{b.Obs, b.Next} {
		for i := range x {
			x[i] = float32(small[i])
		}
		small = small[len(x):]
	}
	for i, v := range times {
		if w.in.Time > 0 {
			b.Obs[w.timeAt(i)] = v
		}
	}
	for i := range b.Joint {
		b.Joint[i] = int32(small[i]) - 1
	}
	for i := range b.Over {
		b.Over[i] = small[len(b.Joint)+i] == 1
	}
	if w.whose == nil {
		return nil
	}
	whose, err := f.Bytes(prefix + "whose")
	copy(w.whose, whose)
	return err
}
