package moa

import (
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// Learning says how a model is trained.
type Learning struct {
	LR      float64 `yaml:"lr" doc:"Adam's learning rate" range:"0<.."`
	Batch   int     `yaml:"batch" doc:"rows of a gradient step" range:"1..65536"`
	Clip    float64 `yaml:"clip" doc:"largest norm of a gradient; 0: none" range:"0.."`
	Decay   float64 `yaml:"decay" doc:"decoupled weight decay" range:"0.."`
	Augment string  `yaml:"augment" doc:"learn from each step in random views: turn: the board turned and mirrored; all: the others in another order too; none. Assumes that the modelled agent does not care" oneof:"none|turn|all"`
	Views   int     `yaml:"views" doc:"views of each step in an epoch; more than 1 only with augment" range:"1..48"`
	Balance bool    `yaml:"balance" doc:"weight classes inversely to how often they occur; rare actions count more, and probabilities are no longer calibrated"`
	Shards  int     `yaml:"shards" doc:"parts of a batch that may run side by side, part of the numbers; 0: one for every 128 rows" range:"0..64"`
}

// DefaultLearning returns the settings of offline training.
func DefaultLearning() Learning {
	return Learning{LR: 3e-3, Batch: 256, Clip: 1, Augment: "none", Views: 1}
}

// Validate returns everything that is wrong, joined.
func (c Learning) Validate() error { return config.Check(c) }

// Learner is a model with weights and optimiser.
type Learner struct {
	Model   *Model
	Params  *nn.Params
	Updates int // gradient steps taken
	Seen    int // rows learnt from, each as often as it was used

	cfg     Learning
	trainer *nn.Trainer[*shardWork, nn.Loss]
	start   []float32 // weights before the first step, to tell what has learnt
	class   []float32 // [Actions] weights; nil without Balance

	turns *turns

	order []int32 // rows or sequences of a pass
	view  []uint8 // [len(order)] the turn of each; empty without Augment
	cut   []int32 // where batches of sequences begin
}

// shardWork is one shard's memory.
type shardWork struct {
	ws     *Work
	dist   *nn.Categorical
	legal  []bool
	target []int32
	alive  []bool
	lanes  lanes
}

// NewLearner returns a learner whose weights are drawn from key.
func NewLearner(net Config, cfg Learning, in Input, key rng.Key) (*Learner, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	m, p, err := New(net, in, key)
	if err != nil {
		return nil, err
	}
	l := &Learner{Model: m, Params: p, cfg: cfg, start: slices.Clone(p.W)}
	if l.turns, err = m.newTurns(cfg.Augment); err != nil {
		return nil, err
	}
	works := make([]*shardWork, model.Shards(cfg.Shards, cfg.Batch))
	for i := range works {
		works[i] = &shardWork{}
		works[i].grow(m, max(64, cfg.Batch/len(works)+1))
	}
	adam := nn.AdamConfig{Eps: 1e-5, WeightDecay: cfg.Decay}
	l.trainer = nn.NewTrainer[*shardWork, nn.Loss](p, nn.TrainerConfig{Adam: adam, Clip: cfg.Clip}, nn.Constant(cfg.LR), works)
	return l, nil
}

// Share lets the workers of a pool compute shards; nil: a goroutine each.
func (l *Learner) Share(pool *cores.Pool) { l.trainer.Share(pool) }

func (w *shardWork) grow(m *Model, rows int) {
	if w.ws != nil && w.ws.rows >= rows {
		return
	}
	w.ws, w.dist = m.Work(rows), nn.NewCategorical(m.Actions, rows)
	w.legal, w.target, w.alive = make([]bool, rows*m.Actions), make([]int32, rows), make([]bool, rows)
}

// Epoch takes one pass over the rows of the sequences, each in as many views as
// Views says, in an order drawn from r, and returns the mean cross-entropy met on the way. watch, if not nil, is told
// the rows done so far and the loss of each step; an error of its ends the pass.
func (l *Learner) Epoch(rows *Rows, seqs []int32, lr float64, r *rng.Rand, watch func(done int, loss float64) error) (nn.Loss, error) {
	l.weigh(rows, seqs)
	l.arrange(rows, slices.Repeat(seqs, l.cfg.Views), r)
	l.view = l.view[:0]
	if n := len(l.turns.cols); n > 0 {
		for range l.order {
			l.view = append(l.view, uint8(r.IntN(n)))
		}
	}
	l.trainer.Rate = nn.Constant(lr)
	var all nn.Loss
	done := 0
	for b := 0; b+1 < len(l.cut); b++ {
		lo, hi := l.cut[b], l.cut[b+1]
		var views []uint8
		if len(l.view) > 0 {
			views = l.view[lo:hi]
		}
		loss, err := l.step(rows, l.order[lo:hi], views)
		if err != nil {
			return all, fmt.Errorf("moa: %w", err)
		}
		l.Updates++
		l.Seen += loss.Rows
		done += loss.Rows
		all = all.Plus(loss)
		if watch != nil {
			if err := watch(done, loss.Mean()); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

// weigh sets the classes' weights: the mean weight of a row is 1.
func (l *Learner) weigh(rows *Rows, seqs []int32) {
	l.class = nil
	if !l.cfg.Balance {
		return
	}
	counts := rows.Counts(seqs)
	n, kinds := 0, 0
	for _, c := range counts {
		n += c
		if c > 0 {
			kinds++
		}
	}
	l.class = make([]float32, len(counts))
	for k, c := range counts {
		if c > 0 {
			l.class[k] = float32(n) / float32(kinds*c)
		}
	}
}

// arrange fills order and cut: a batch is any rows, with history any sequences.
// Sequences must not be sorted by length to save padding: how long an agent lived
// tells what it did last, so such batches are of one kind each, and clipping,
// which bounds every batch alike, then weighs the kinds wrongly.
func (l *Learner) arrange(rows *Rows, seqs []int32, r *rng.Rand) {
	l.order, l.cut = l.order[:0], append(l.cut[:0], 0)
	if l.Model.History == 0 {
		for _, s := range seqs {
			for i := rows.Seqs[s].Lo; i < rows.Seqs[s].Hi; i++ {
				l.order = append(l.order, i)
			}
		}
		rng.Shuffle(l.order, r)
		for at := l.cfg.Batch; at < len(l.order); at += l.cfg.Batch {
			l.cut = append(l.cut, int32(at))
		}
		l.cut = append(l.cut, int32(len(l.order)))
		return
	}
	l.order = append(l.order, seqs...)
	rng.Shuffle(l.order, r)
	got := 0
	for i, s := range l.order {
		if got += int(rows.Seqs[s].Hi - rows.Seqs[s].Lo); got >= l.cfg.Batch || i == len(l.order)-1 {
			l.cut = append(l.cut, int32(i+1))
			got = 0
		}
	}
}

// step takes one gradient step on a batch of rows, or with history of sequences.
func (l *Learner) step(rows *Rows, part []int32, views []uint8) (loss nn.Loss, err error) {
	total := 0.
	if l.Model.History == 0 {
		for _, i := range part {
			total += l.weight(rows.Action[i])
		}
	} else {
		for _, s := range part {
			for _, a := range rows.Action[rows.Seqs[s].Lo:rows.Seqs[s].Hi] {
				total += l.weight(a)
			}
		}
	}
	_, err = l.trainer.Step(len(part), &loss, func(s *nn.Shard[*shardWork]) nn.Loss {
		var mine []uint8
		if views != nil {
			mine = views[s.Lo:s.Hi]
		}
		return l.gradient(s, s.Work.load(l.Model, rows, part[s.Lo:s.Hi], l.turns, mine), total)
	})
	return loss, err
}

func (l *Learner) weight(a int32) float64 {
	if l.class == nil {
		return 1
	}
	return float64(l.class[a])
}

// gradient adds the gradient of a shard's rows, of a batch that weighs total.
func (l *Learner) gradient(s *nn.Shard[*shardWork], seq nn.Seq, total float64) nn.Loss {
	w, p := s.Work, s.Params
	w.forward(l.Model, p, seq)
	n := w.ws.Rows()
	w.ws.ZeroGrad()
	loss := w.dist.CrossEntropy(w.ws.DLogits, w.target, l.class, nn.Rows{N: n, Alive: w.alive[:n], Total: total})
	if l.Model.History > 0 {
		w.ws.BackwardSeq(p, seq)
	} else {
		w.ws.Backward(p)
	}
	return loss
}

// load gathers rows, or with history whole sequences as [T][N], each in the view
// given.
func (w *shardWork) load(m *Model, rows *Rows, part []int32, t *turns, views []uint8) nn.Seq {
	if m.History == 0 {
		w.grow(m, len(part))
		w.ws.Reset()
		for at, i := range part {
			w.put(rows, at, int(i), m, t, views, at)
		}
		return nn.Seq{}
	}
	w.lanes.pack(rows, part)
	w.grow(m, len(w.lanes.row))
	w.ws.Reset()
	k := m.Actions
	for at, i := range w.lanes.row {
		if i >= 0 {
			w.put(rows, at, int(i), m, t, views, int(w.lanes.of[at]))
			continue
		}
		w.ws.AddFrom(nil, -1, nil)
		clear(w.legal[at*k : (at+1)*k])
		w.alive[at], w.target[at] = false, nn.NoClass
	}
	return w.lanes.Seq
}

// put copies row i to place at, in view views[n] unless there are none.
func (w *shardWork) put(rows *Rows, at, i int, m *Model, t *turns, views []uint8, n int) {
	k, g := m.Actions, m.GoalLen
	goal, legal := rows.Goals[i*g:(i+1)*g], rows.Legal[i*k:(i+1)*k]
	w.alive[at] = true
	if views == nil {
		w.ws.AddFrom(&rows.X, i, goal)
		copy(w.legal[at*k:(at+1)*k], legal)
		w.target[at] = rows.Action[i]
		return
	}
	acts := t.acts[views[n]]
	w.ws.addTurned(&rows.X, i, goal, t.cols[views[n]])
	for a, ok := range legal {
		w.legal[at*k+int(acts[a])] = ok
	}
	w.target[at] = acts[rows.Action[i]]
}

func (w *shardWork) forward(m *Model, p *nn.Params, seq nn.Seq) {
	if m.History > 0 {
		w.ws.ForwardSeq(p, seq)
	} else {
		w.ws.Forward(p)
	}
	w.dist.Set(w.ws.Logits, w.legal, w.ws.Rows())
}

// Each calls f with the predicted probabilities [Actions] of every row of the
// sequences, in order within each sequence. probs is a view.
func (l *Learner) Each(rows *Rows, seqs []int32, f func(row int, probs nn.Probs)) {
	w, m := l.trainer.Works[0], l.Model
	k, per := m.Actions, 64
	for lo := 0; lo < len(seqs); lo += per {
		part := seqs[lo:min(lo+per, len(seqs))]
		if m.History == 0 {
			var batch []int32
			for _, s := range part {
				for i := rows.Seqs[s].Lo; i < rows.Seqs[s].Hi; i++ {
					batch = append(batch, i)
				}
			}
			w.load(m, rows, batch, nil, nil)
			w.forward(m, l.Params, nn.Seq{})
			for at, i := range batch {
				f(int(i), w.dist.P[at*k:(at+1)*k])
			}
			continue
		}
		w.forward(m, l.Params, w.load(m, rows, part, nil, nil))
		for n, s := range part {
			for t := range int(rows.Seqs[s].Hi - rows.Seqs[s].Lo) {
				at := w.lanes.at(n, t)
				f(int(rows.Seqs[s].Lo)+t, w.dist.P[at*k:(at+1)*k])
			}
		}
	}
}

// Still returns the names of parts whose weights are where they started: they
// have not learnt.
func (l *Learner) Still() []string {
	var out []string
	for _, part := range l.Params.Parts {
		lo, hi := part.Off, part.Off+part.Len
		if slices.Equal(l.start[lo:hi], l.Params.W[lo:hi]) {
			out = append(out, part.Name)
		}
	}
	return out
}

// Moved returns how far the weights have gone from their start, as a share of
// the start's norm.
func (l *Learner) Moved() float64 {
	var d, n float64
	for i, w := range l.Params.W {
		d += float64(w-l.start[i]) * float64(w-l.start[i])
		n += float64(l.start[i]) * float64(l.start[i])
	}
	return math.Sqrt(d / max(n, 1e-30))
}

// Save adds weights, optimiser and counters to f under prefix.
func (l *Learner) Save(f *safetensors.File, prefix string) {
	l.trainer.Save(f, prefix)
	f.PutFloat32(prefix+"start", l.start, len(l.start))
	f.PutInt64(prefix+"counters", []int64{int64(l.Updates), int64(l.Seen)}, 2)
}

// Load restores what Save stored, exactly.
func (l *Learner) Load(f *safetensors.File, prefix string) error {
	var c [2]int64
	if err := f.Int64(c[:], prefix+"counters", 2); err != nil {
		return err
	}
	start := make([]float32, len(l.start))
	if err := f.Float32(start, prefix+"start", len(start)); err != nil {
		return err
	}
	if err := l.trainer.Load(f, prefix); err != nil {
		return err
	}
	l.Updates, l.Seen, l.start = int(c[0]), int(c[1]), start
	return nil
}

// Widen puts the weights of a model of others that knows width goals alone into
// one that is also told doubt and whom it models: those have no weight at first. Its
// weights lie under prefix.
func (l *Learner) Widen(from *nn.Params, prefix string, width int) error {
	extra := l.Model.GoalLen - width
	for _, part := range l.Params.Parts {
		old, ok := from.Find(prefix + part.Name)
		if !ok || len(old.Shape) != len(part.Shape) {
			return fmt.Errorf("moa: the model of others in models.moa has no part %s; give it the net of the spec's moa, such as "+
				"--set model.hidden=%s", part.Name, fmt.Sprint(l.Model.Hidden))
		}
		src, _ := from.At(old.Span)
		dst, _ := l.Params.At(part.Span)
		clear(dst)
		switch {
		case len(dst) == len(src):
		case part.Name == "body/0/w" && part.Shape[0] == old.Shape[0]+extra && part.Shape[1] == old.Shape[1]:
			// goals come last, and what is added comes after them
		default:
			return fmt.Errorf("moa: part %s of the model of others in models.moa is %v, here %v; give it the net of the spec's "+
				"moa and the game's goals", part.Name, old.Shape, part.Shape)
		}
		copy(dst, src)
	}
	return nil
}
