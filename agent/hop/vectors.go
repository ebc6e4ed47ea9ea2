package hop

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/model/vector"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/learned"
)

// Vectors is how an agent learns a world model of vectors while it plays.
type Vectors struct {
	vector.Config `yaml:",inline"`
	LR            float64 `yaml:"lr" doc:"Adam's rate at the start; after 20,000 gradient steps it is half of that" range:"0<..1"`
	Rows          int     `yaml:"rows" doc:"newest steps of play that are learnt from" unit:"steps" range:"1..10000000"`
	Batch         int     `yaml:"batch" doc:"steps in a minibatch" unit:"steps" range:"1..65536"`
	Steps         int     `yaml:"steps" doc:"gradient steps after each window" range:"0..100000"`
}

// DefaultVectors returns a small network.
func DefaultVectors() Vectors {
	return Vectors{Config: vector.Config{Hidden: []int{256, 256}}, LR: 2e-3, Rows: 32768, Batch: 128, Steps: 64}
}

// halfLife is after how many gradient steps the rate is half of what it was at the start, then a third, and so on.
const halfLife = 20000

// vectors is the world model of vectors: a run's newest steps, by seat, and a network that learns them. Agents who
// share a network share it too. A nil one does nothing.
type vectors struct {
	cfg    Vectors
	spec   game.Spec
	key    rng.Key
	model  *vector.Model
	params *nn.Params
	scale  *vector.Scale
	train  *nn.Trainer[*vector.Work, vector.Losses]
	eye    *vector.Work // to score with

	data    *vector.Batch // [Rows] a ring
	mini    *vector.Batch // a minibatch
	seen    int           // steps put into it so far
	windows int           // learnt from
}

// newVectors returns nil where no search needs one.
func newVectors(c Config, spec game.Spec, key rng.Key) (*vectors, error) {
	if c.Search.Dynamics != "vectors" || c.Search.Kind == "none" {
		return nil, nil
	}
	l := spec.Obs
	in := vector.Input{Agents: spec.Seats, Actions: len(spec.Actions), Width: l.LegalAt(), Masks: l.Legal > 0, Timed: l.Time > 0}
	w := &vectors{cfg: c.Vectors, spec: spec, key: key.Child("vectors"), scale: vector.NewScale(in)}
	var err error
	if w.model, w.params, err = vector.New(c.Vectors.Config, in, w.key.Child("init")); err != nil {
		return nil, config.At(err, "vectors", nil)
	}
	works := make([]*vector.Work, nn.ShardsOf(c.Vectors.Batch))
	for i := range works {
		works[i] = w.model.Work(c.Vectors.Batch)
	}
	w.train = nn.NewTrainer[*vector.Work, vector.Losses](w.params, nn.TrainerConfig{Clip: 1}, func(step int) float64 {
		return w.cfg.LR / (1 + float64(step)/halfLife)
	}, works)
	w.eye = works[0]
	w.data, w.mini = vector.NewBatch(in, c.Vectors.Rows), vector.NewBatch(in, c.Vectors.Batch)
	return w, nil
}

// Fit says how well the model foresees a window, which it has not seen yet, and lets it learn from it.
func (w *vectors) Fit(u *update) {
	if w == nil || !u.others || u.err != nil {
		return
	}
	fresh := w.steps(u.window.Rollout)
	if w.windows > 0 {
		u.add(w.score(fresh), nil)
	}
	w.windows++
	for i := range fresh.Rows {
		w.data.Copy(w.model.Input, w.seen%w.data.Rows, fresh, i)
		w.seen++
	}
	w.scale.Add(fresh)
	w.train.Share(u.window.Cores)
	u.add(w.learn())
}

// steps returns a window's steps, an env after the other.
func (w *vectors) steps(ro *batch.Rollout) *vector.Batch {
	all := vector.NewBatch(w.model.Input, ro.Steps*ro.Envs)
	all.Rows = 0
	for n := range ro.Envs {
		for t := range ro.Steps {
			if w.write(all, all.Rows, ro, t, n) {
				all.Rows++
			}
		}
	}
	return all.Part(w.model.Input, 0, all.Rows)
}

// write writes env n's step from slot t as row i of b; false: nobody acted.
func (w *vectors) write(b *vector.Batch, i int, ro *batch.Rollout, t, n int) (acted bool) {
	in := w.model.Input
	for a := range agent.ID(ro.Agents) {
		now, next, step := ro.Slot(a, t, n), ro.Slot(a, t+1, n), ro.Step(a, t, n)
		at := i*in.Agents + int(ro.Seat[now])
		b.Joint[at], b.Stays[at], b.Legal[at] = game.NoAction, vector.Left, 0
		copy(b.Obs[at*in.Width:(at+1)*in.Width], ro.ObsAt(now))
		copy(b.Next[at*in.Width:(at+1)*in.Width], ro.ObsAt(next))
		if b.Reward[at] = ro.Reward[step]; !ro.Alive[now] {
			continue
		}
		acted, b.Joint[at] = true, ro.Action[step]
		switch {
		case ro.Alive[next]:
			b.Stays[at] = vector.Stays
		case ro.End[step] == batch.Cut:
			b.Stays[at] = vector.Unknown
		}
		for k, ok := range ro.LegalAt(next) {
			if ok {
				b.Legal[at] |= 1 << k
			}
		}
		if in.Timed {
			b.Time[i] = ro.ObsAt(now)[w.spec.Obs.TimeAt()]
		}
	}
	return acted
}

// learn takes gradient steps on what the ring holds.
func (w *vectors) learn() ([]agent.Stat, error) {
	in, rows := w.model.Input, min(w.seen, w.data.Rows)
	if rows == 0 {
		return nil, nil
	}
	r := w.key.Child("learn", w.windows).Rand()
	var sum vector.Losses
	for range w.cfg.Steps {
		for i := range w.mini.Rows {
			w.mini.Copy(in, i, w.data, r.IntN(rows))
		}
		if _, err := w.train.Step(w.mini.Rows, &sum, func(s *nn.Shard[*vector.Work]) vector.Losses {
			return s.Work.Learn(s.Params, w.scale, w.mini.Part(in, s.Lo, s.Hi), w.mini.Rows)
		}); err != nil {
			return nil, fmt.Errorf("the world model of vectors: %w; lower vectors.lr", err)
		}
	}
	return []agent.Stat{{Name: "vectors/loss", Value: sum.Next.Mean(), N: w.cfg.Steps * w.mini.Rows}}, nil
}

// ahead is how many steps the model is followed on its own predictions when it is scored.
const ahead = 8

// score returns how much of what changes in a window's steps the model foresees, against the expectation that nothing
// changes: of one step, and of several on its own predictions; the same of rewards against their mean; and the share
// of seats of which it knows whether they stay.
func (w *vectors) score(fresh *vector.Batch) []agent.Stat {
	one := fresh.Question(w.model.Input)
	w.eye.Step(w.params, w.scale, one)
	then, now, from := w.follow(fresh)
	return []agent.Stat{
		{Name: "vectors/next", Value: w.explained(fresh, one, fresh), N: fresh.Rows},
		{Name: "vectors/ahead", Value: w.explained(then, now, from), N: then.Rows},
		{Name: "vectors/reward", Value: w.earned(fresh, one), N: fresh.Rows},
		{Name: "vectors/stays", Value: stays(fresh, one), N: fresh.Rows},
	}
}

// follow plays what was played in unbroken runs of steps on the model: the runs' last steps, what the model made of
// them, and the steps that they began with.
func (w *vectors) follow(fresh *vector.Batch) (then, now, from *vector.Batch) {
	in := w.model.Input
	var starts []int
	for i := 0; i+ahead <= fresh.Rows; i += ahead {
		if w.unbroken(fresh, i) {
			starts = append(starts, i)
		}
	}
	then, from = vector.NewBatch(in, len(starts)), vector.NewBatch(in, len(starts))
	for t := range ahead {
		for k, i := range starts {
			then.Copy(in, k, fresh, i+t)
		}
		if t == 0 {
			copy(from.Obs, then.Obs)
			now = then.Question(in)
			now.Obs = from.Obs
		} else {
			now.Obs, now.Next = now.Next, make([]float32, len(now.Next))
		}
		w.eye.Step(w.params, w.scale, now)
	}
	return then, now, from
}

// unbroken reports whether the steps from i on follow on each other.
func (w *vectors) unbroken(b *vector.Batch, i int) bool {
	size := w.model.Agents * w.model.Width
	for end := i + ahead - 1; i < end; i++ {
		if !slices.Equal(b.Next[i*size:(i+1)*size], b.Obs[(i+1)*size:(i+2)*size]) {
			return false
		}
	}
	return true
}

// explained returns the share of the squared changes since from that the model foresaw, in units of a step.
func (w *vectors) explained(truth, model, from *vector.Batch) float64 {
	off, all := 0., 0.
	for i, x := range truth.Next {
		at := i / w.model.Width
		if truth.Joint[at] < 0 {
			continue
		}
		step := w.scale.Step(at%w.model.Agents, i%w.model.Width)
		d, c := float64((model.Next[i]-x)/step), float64((from.Obs[i]-x)/step)
		off, all = off+d*d, all+c*c
	}
	return 1 - off/max(all, 1e-9)
}

// earned returns the share of the variance of rewards that the model foresaw.
func (w *vectors) earned(truth, model *vector.Batch) float64 {
	mean, rows := 0., 0.
	for at, r := range truth.Reward {
		if truth.Joint[at] >= 0 {
			mean, rows = mean+float64(r), rows+1
		}
	}
	mean /= max(rows, 1)
	off, all := 0., 0.
	for at, r := range truth.Reward {
		if truth.Joint[at] >= 0 {
			d, c := float64(model.Reward[at]-r), float64(r)-mean
			off, all = off+d*d, all+c*c
		}
	}
	return 1 - off/max(all, 1e-9)
}

// stays returns the share of seats of which the model knew whether they stay.
func stays(truth, model *vector.Batch) float64 {
	right, all := 0., 0.
	for at, is := range truth.Stays {
		if truth.Joint[at] < 0 || is == vector.Unknown {
			continue
		}
		if all++; is == model.Stays[at] {
			right++
		}
	}
	return right / max(all, 1)
}

// Networks returns the model, if there is one.
func (w *vectors) Networks() []learner.Network {
	if w == nil {
		return nil
	}
	return []learner.Network{{Name: "world model", Module: "world", Params: w.params, Sign: "vectors/loss"}}
}

// changes returns how often the model has changed, for caches.
func (w *vectors) changes() int {
	if w == nil {
		return 0
	}
	return w.windows
}

// rules returns what a search plays on.
func (w *vectors) rules(f *search.Forest) learner.Rules {
	return learned.NewVectors(w.spec, w.model, w.params, w.scale, f)
}

// save adds everything to f.
func (w *vectors) save(f *safetensors.File, prefix string) {
	if w == nil {
		return
	}
	prefix += "vectors/"
	w.train.Save(f, prefix)
	w.scale.Save(f, prefix+"scale")
	f.PutInt64(prefix+"seen", []int64{int64(w.seen), int64(w.windows)}, 2)
	w.data.Part(w.model.Input, 0, min(w.seen, w.data.Rows)).Save(f, prefix+"data/")
}

// load restores what save stored; weights: what is needed to play.
func (w *vectors) load(f *safetensors.File, prefix string, weights bool) error {
	if w == nil {
		return nil
	}
	prefix += "vectors/"
	if weights {
		return cmp.Or(w.params.Load(f, prefix+"net/"), w.scale.Load(f, prefix+"scale"))
	}
	var head [2]int64
	if err := cmp.Or(w.train.Load(f, prefix), w.scale.Load(f, prefix+"scale"), f.Int64(head[:], prefix+"seen", 2)); err != nil {
		return err
	}
	if head[0] < 0 || head[1] < 0 {
		return fmt.Errorf("hop: loading %sseen: %v; the checkpoint is damaged", prefix, head)
	}
	w.seen, w.windows = int(head[0]), int(head[1])
	return w.data.Part(w.model.Input, 0, min(w.seen, w.data.Rows)).Load(f, prefix+"data/")
}
