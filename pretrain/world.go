package pretrain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"hop/dataset"
	"hop/field"
	"hop/model/world"
	"hop/nn"
	"hop/rng"
	"hop/runlog"
	"hop/safetensors"
)

// WorldConfig says how a world model learns from recorded steps.
type WorldConfig struct {
	Model    world.Config `yaml:"model"`
	Epochs   int          `yaml:"epochs" doc:"times the rows are gone through at most" range:"1..10000"`
	Batch    int          `yaml:"batch" doc:"rows in a minibatch" range:"16..65536"`
	LR       float64      `yaml:"lr" doc:"Adam's learning rate at the start; it falls linearly to a hundredth" range:"0<..1"`
	Rare     float64      `yaml:"rare" doc:"share of each minibatch that is drawn evenly over what was paid and done, so that rare catches are seen often" range:"0..0.9"`
	Patience int          `yaml:"patience" doc:"stop after so many epochs without a better held-out loss; 0: never" range:"0.."`
}

// DefaultWorld returns the settings of docs/world.md.
func DefaultWorld() WorldConfig {
	return WorldConfig{Model: world.Default(), Epochs: 8, Batch: 256, LR: 3e-3, Rare: 0.25, Patience: 4}
}

// Validate returns everything that is wrong, joined.
func (c WorldConfig) Validate() error { return errors.Join(field.Check(c), c.Model.Validate()) }

// worldShards is into how many parts a minibatch is cut, on every machine.
const worldShards = 4

// World is the training of a world model on the episodes of one or several
// datasets of one game: 85 % of the episodes to learn from, 5 % to choose the
// weights by, 10 % to judge them by.
type World struct {
	cfg   WorldConfig
	key   rng.Key
	Model *world.Model
	Net   *nn.Params // the best weights after Run

	data   []*dataset.Data
	learn  []worldRow
	choose []worldRow
	judge  []worldRow
	strata [][]worldRow // rows of learn by what was paid and done

	opt    *nn.Adam
	shards *nn.Shards
	works  []*world.Work
	batch  world.Batch
	epoch  int
	best   float64
	bestAt int
	bestW  []float32
}

// worldRow is a row of one of the datasets.
type worldRow struct{ data, row int32 }

// NewWorld prepares a run at its start. It is an error if the datasets are of
// different games or the game is not on a board.
func NewWorld(cfg WorldConfig, data []*dataset.Data, seed uint64) (*World, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	in, err := worldInput(data)
	if err != nil {
		return nil, err
	}
	w := &World{cfg: cfg, key: rng.New(seed), data: data, best: math.Inf(1)}
	w.Model, w.Net, err = world.New(cfg.Model, in, w.key.Child("init"))
	if err != nil {
		return nil, fmt.Errorf("pretrain: a world model for this data: %w", err)
	}
	if w.opt, err = nn.NewAdam(nn.AdamConfig{}, w.Net); err != nil {
		return nil, err
	}
	w.shards = nn.NewShards(w.Net, worldShards)
	for range worldShards {
		w.works = append(w.works, w.Model.Work())
	}
	w.batch = world.NewBatch(in, cfg.Batch)
	w.bestW = slices.Clone(w.Net.W)
	if w.split(); len(w.learn) == 0 || len(w.choose) == 0 || len(w.judge) == 0 {
		return nil, fmt.Errorf("pretrain: %d rows to learn from, %d to choose by and %d to judge by: too few episodes; collect more", len(w.learn), len(w.choose), len(w.judge))
	}
	return w, nil
}

// worldInput reads off the datasets what the model sees, and every reward.
func worldInput(data []*dataset.Data) (world.Input, error) {
	if len(data) == 0 {
		return world.Input{}, errors.New("pretrain: no data to learn a world model from; give at least one dataset")
	}
	l := data[0].Layout
	levels := map[float32]bool{0: true}
	for i, d := range data {
		if string(d.Game) != string(data[0].Game) {
			return world.Input{}, fmt.Errorf("pretrain: dataset %d is of the game %s, the first of %s; use datasets of one game", i+1, d.Game, data[0].Game)
		}
		for _, r := range d.Rewards {
			levels[r] = true
		}
	}
	if l.Features > 0 {
		return world.Input{}, errors.New("pretrain: the game observes numbers besides its planes, which the world model does not predict; choose a game on a board")
	}
	in := world.Input{
		Height: l.Height, Width: l.Width, Planes: len(l.Planes), Agents: l.Seats, Actions: len(l.Actions),
		Horizon: l.Horizon, Legal: l.Legal, Time: l.Time, Last: l.Last,
	}
	for r := range levels {
		in.Rewards = append(in.Rewards, r)
	}
	slices.Sort(in.Rewards)
	if err := in.Validate(); err != nil {
		return in, fmt.Errorf("pretrain: a world model for this data: %w", err)
	}
	return in, nil
}

// split deals the episodes, and the rows to learn from to strata.
func (w *World) split() {
	w.strata = make([][]worldRow, 2*len(w.Model.Rewards)+w.Model.Actions)
	for i, d := range w.data {
		r := w.key.Child("split", i).Rand()
		first, rest := d.SplitByEpisode(0.85, &r)
		for _, row := range first.Rows {
			at := worldRow{int32(i), row}
			w.learn = append(w.learn, at)
			s := w.stratum(d, int(row))
			w.strata[s] = append(w.strata[s], at)
		}
		episode, seen := -1, 0
		for _, q := range rest.Sequences {
			if q.Episode != episode {
				episode = q.Episode
				seen++
			}
			to := &w.judge
			if seen%3 == 1 {
				to = &w.choose
			}
			for row := q.Lo; row < q.Hi; row++ {
				*to = append(*to, worldRow{int32(i), int32(row)})
			}
		}
	}
	w.strata = slices.DeleteFunc(w.strata, func(s []worldRow) bool { return len(s) == 0 })
}

// stratum returns the kind of a row: the most that was paid in the step and
// whether someone stood by unpaid where a thing vanished or, if nobody was paid,
// the own action.
func (w *World) stratum(d *dataset.Data, row int) int {
	n, c, levels := d.Layout.Seats, len(d.Layout.Planes), len(w.Model.Rewards)
	rewards := d.Rewards[row*n : (row+1)*n]
	pay := slices.Max(rewards)
	if pay <= 0 {
		return 2*levels + int(d.Action[row])
	}
	planes := d.Layout.Height * d.Layout.Width * c
	before, after := d.Obs[row*planes:(row+1)*planes], d.NextObs[row*planes:(row+1)*planes]
	for at, v := range before {
		if a := at % c; a >= n || v == 0 || rewards[a] > 0 {
			continue
		}
		first := at - at%c
		if !slices.Equal(before[first+n:first+c], after[first+n:first+c]) {
			return levels + int(w.Model.Level(pay))
		}
	}
	return int(w.Model.Level(pay))
}

// Rows returns how many rows there are to learn from, to choose by and to judge by.
func (w *World) Rows() (learn, choose, judge int) { return len(w.learn), len(w.choose), len(w.judge) }

// fill writes a row of the data as row i of b.
func (w *World) fill(b *world.Batch, i int, at worldRow) {
	m, d, row := w.Model, w.data[at.data], int(at.row)
	n, planes := m.Agents, m.Height*m.Width*m.Planes
	d.Observation(row, b.Obs[i*m.Len():(i+1)*m.Len()])
	for j, v := range d.NextObs[row*planes : (row+1)*planes] {
		b.Next[i*planes+j] = float32(v)
	}
	for a := range n {
		b.Joint[i*n+a] = int32(d.Joint[row*n+worldAgent(m.Fault, a, int(d.Seat[row]), n)])
	}
	copy(b.Reward[i*n:], d.Rewards[row*n:(row+1)*n])
	b.Over[i] = d.Over[row]
}

// worldAgent returns whose action, ego-first, stands at place a of the joint
// action: a's own, unless actions are in seat order by mistake.
func worldAgent(fault string, a, seat, n int) int {
	if fault == world.SeatOrder {
		return (a - seat + n) % n
	}
	return a
}

// shard returns rows lo to hi of the batch.
func (w *World) shard(lo, hi int) world.Batch {
	m, b := w.Model, &w.batch
	n, planes := m.Agents, m.Height*m.Width*m.Planes
	return world.Batch{
		Rows: hi - lo, Obs: b.Obs[lo*m.Len() : hi*m.Len()], Joint: b.Joint[lo*n : hi*n], Next: b.Next[lo*planes : hi*planes],
		Reward: b.Reward[lo*n : hi*n], Over: b.Over[lo:hi],
	}
}

// WorldProgress is what a run says after each epoch.
type WorldProgress struct {
	Epoch, Epochs int
	Learnt, Held  world.Losses
}

// Run learns until the epochs are over, the held-out loss stops falling or ctx
// ends, in which case it saves and returns ctx's error. It ends with the best
// weights in Net.
func (w *World) Run(ctx context.Context, run *runlog.Run, watch func(WorldProgress)) error {
	for w.epoch < w.cfg.Epochs && (w.cfg.Patience == 0 || w.epoch-w.bestAt < w.cfg.Patience) {
		learnt, err := w.runEpoch(ctx)
		if err != nil {
			return err // the epoch is begun anew when the run is resumed
		}
		held := w.held()
		w.epoch++
		if loss := held.Total(); loss < w.best {
			w.best, w.bestAt = loss, w.epoch
			copy(w.bestW, w.Net.W)
		}
		if err := run.Log(w.metrics(learnt, held)); err != nil {
			return err
		}
		if err := w.save(run, held.Total()); err != nil {
			return err
		}
		if watch != nil {
			watch(WorldProgress{w.epoch, w.cfg.Epochs, learnt, held})
		}
	}
	copy(w.Net.W, w.bestW)
	return nil
}

// runEpoch goes through the rows once.
func (w *World) runEpoch(ctx context.Context) (world.Losses, error) {
	r := w.key.Child("epoch", w.epoch).Rand()
	order := make([]int, len(w.learn))
	r.Perm(order)
	rare := int(w.cfg.Rare * float64(w.cfg.Batch))
	fresh := min(w.cfg.Batch-rare, len(order))
	rows := make([]worldRow, fresh+rare)
	steps := len(order) / fresh
	parts := make([]world.Losses, worldShards)
	var sum world.Losses
	for i := range steps {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		for j := range fresh {
			rows[j] = w.learn[order[i*fresh+j]]
		}
		for j := fresh; j < len(rows); j++ {
			s := w.strata[r.IntN(len(w.strata))]
			rows[j] = s[r.IntN(len(s))]
		}
		w.shards.Do(len(rows), func(shard, lo, hi int) {
			for j := lo; j < hi; j++ {
				w.fill(&w.batch, j, rows[j])
			}
			b := w.shard(lo, hi)
			parts[shard] = w.works[shard].Learn(w.shards.Params[shard], &b, len(rows))
		})
		for _, l := range parts {
			sum = sum.Plus(l)
		}
		done := float64(w.epoch*steps+i) / float64(w.cfg.Epochs*steps)
		if _, err := w.opt.Step(w.cfg.LR*(1-0.99*done), 1); err != nil {
			return sum, fmt.Errorf("pretrain: epoch %d of the world model: %w; lower lr", w.epoch+1, err)
		}
	}
	return sum, nil
}

// held returns the losses on the rows to choose by.
func (w *World) held() world.Losses {
	var sum world.Losses
	parts := make([]world.Losses, worldShards)
	for lo := 0; lo < len(w.choose); lo += w.cfg.Batch {
		rows := w.choose[lo:min(lo+w.cfg.Batch, len(w.choose))]
		clear(parts)
		w.shards.Do(len(rows), func(shard, lo, hi int) {
			for j := lo; j < hi; j++ {
				w.fill(&w.batch, j, rows[j])
			}
			b := w.shard(lo, hi)
			parts[shard] = w.works[shard].Loss(w.shards.Params[shard], &b)
		})
		for _, l := range parts {
			sum = sum.Plus(l)
		}
	}
	return sum
}

func (w *World) metrics(learnt, held world.Losses) []runlog.Row {
	var rows []runlog.Row
	for _, part := range []struct {
		name string
		of   world.Losses
	}{{"world/learn/", learnt}, {"world/held/", held}} {
		for _, t := range part.of.Terms() {
			rows = append(rows, runlog.Row{Step: int64(w.epoch), Name: part.name + t.Name, Agent: -1, Value: t.Value, N: t.N})
		}
	}
	return rows
}

// save writes everything that is needed to go on, and to use the best weights.
func (w *World) save(run *runlog.Run, loss float64) error {
	meta, err := json.Marshal(world.Meta{Config: w.cfg.Model, Input: w.Model.Input, Best: w.best, BestAt: w.bestAt})
	if err != nil {
		return err
	}
	f := &safetensors.File{Meta: map[string]string{"world": string(meta)}}
	w.Net.Save(f, "net/")
	w.opt.Save(f, "adam/")
	now := slices.Clone(w.Net.W)
	copy(w.Net.W, w.bestW)
	w.Net.Save(f, "best/")
	copy(w.Net.W, now)
	body, err := f.AppendBinary(nil)
	if err != nil {
		return err
	}
	return run.Checkpoint(int64(w.epoch), body, -loss, runlog.Keep{Last: 2})
}

// Resume goes back to a checkpoint of the same run.
func (w *World) Resume(body []byte, epoch int64) error {
	f, meta, err := world.Open(body)
	if err == nil {
		err = w.Net.Load(f, "best/")
		copy(w.bestW, w.Net.W)
	}
	if err == nil {
		err = w.Net.Load(f, "net/")
	}
	if err == nil {
		err = w.opt.Load(f, "adam/")
	}
	if err != nil {
		return fmt.Errorf("pretrain: resuming the world model: %w", err)
	}
	w.epoch, w.best, w.bestAt = int(epoch), meta.Best, meta.BestAt
	return nil
}
