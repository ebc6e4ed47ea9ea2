package pretrain

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/dataset"
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
func (c WorldConfig) Validate() error { return errors.Join(config.Check(c), c.Model.Validate()) }

// World is the training of a world model on the episodes of one or several
// datasets of one game: 85 % of the episodes to learn from, 5 % to choose the
// weights by, 10 % to score them by.
type World struct {
	*Training
	Model *world.Model
	Net   *nn.Params // the best weights after Run
	Data  []*dataset.Data
	Parts [3][]WorldRow // to learn from, to choose by, to score

	cfg    WorldConfig
	key    rng.Key
	strata [][]WorldRow // rows to learn from by what was paid and done
	train  *nn.Trainer[*world.Work, world.Losses]
	batch  world.Batch
}

// WorldRow is a row of one of the datasets.
type WorldRow struct{ Data, Row int32 }

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
	w := &World{cfg: cfg, key: rng.New(seed), Data: data}
	w.Model, w.Net, err = world.New(cfg.Model, in, w.key.Child("init"))
	if err != nil {
		return nil, fmt.Errorf("pretrain: a world model for this data: %w", err)
	}
	w.batch = world.NewBatch(in, cfg.Batch)
	w.batch.View = data[0].Layout.View
	if w.split(); len(w.Parts[0]) == 0 || len(w.Parts[1]) == 0 || len(w.Parts[2]) == 0 {
		return nil, fmt.Errorf("pretrain: %d rows to learn from, %d to choose by and %d to score: too few episodes; collect more",
			len(w.Parts[0]), len(w.Parts[1]), len(w.Parts[2]))
	}
	w.train = w.Model.Trainer(w.Net, cfg.Batch, func(step int) float64 {
		return cfg.LR * (1 - 0.99*(float64(step)/float64(cfg.Epochs*w.steps())))
	})
	w.Training = newTraining(settings{
		kind: "world", metrics: [2]string{"world/learn/", "world/held/"}, epochs: cfg.Epochs, patience: cfg.Patience, rows: len(w.Parts[0]),
		config: cfg.Model, input: in, params: w.Net, learner: w.train, epoch: w,
	})
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
			return world.Input{}, fmt.Errorf("pretrain: dataset %d is of the game %s, the first of %s; use datasets of one game", i+1, d.Game,
				data[0].Game)
		}
		for _, r := range d.Rewards {
			levels[r] = true
		}
	}
	in := world.Input{
		Height: l.Height, Width: l.Width, Planes: len(l.Planes), Agents: l.Seats, Actions: len(l.Actions),
		Horizon: l.Horizon, Legal: l.Legal, Time: l.Time, Last: l.Last,
		Owned: l.Owned, Features: l.Features,
	}
	for r := range levels {
		in.Rewards = append(in.Rewards, r)
	}
	slices.Sort(in.Rewards)
	if err := features(&in, data); err != nil {
		return in, err
	}
	drawn(&in, data)
	if err := in.Validate(); err != nil {
		return in, fmt.Errorf("pretrain: a world model for this data: %w", err)
	}
	return in, nil
}

// features reads off the datasets which values features take and which of them
// ever become 0. It is an error if one becomes anything else.
func features(in *world.Input, data []*dataset.Data) error {
	values, zeroes := map[float32]bool{}, map[int]bool{}
	for _, d := range data {
		for i, v := range d.Features {
			if values[v] = true; d.NextFeat[i] == v {
				continue
			}
			f := i % in.Features
			if f < in.Agents || d.NextFeat[i] != 0 {
				return fmt.Errorf("pretrain: feature %d of the game's observation goes from %v to %v in a step; a world model can learn features "+
					"after the first %d, one for each agent, that stay or become 0", f, v, d.NextFeat[i], in.Agents)
			}
			zeroes[f], values[0] = true, true
		}
	}
	in.Values, in.Zeroes = slices.Sorted(maps.Keys(values)), slices.Sorted(maps.Keys(zeroes))
	return nil
}

// drawn reads off the datasets which kinds of things ever come to lie where they did
// not lie before, whether agents are ever put further than one cell away and, if so,
// which kinds never change.
func drawn(in *world.Input, data []*dataset.Data) {
	n, c := in.Agents, in.Planes
	board := in.Height * in.Width * c
	appear, change := make([]bool, c-n), make([]bool, c-n)
	from, to := make([]int, n), make([]int, n)
	for _, d := range data {
		for lo := 0; lo+board <= len(d.Obs); lo += board {
			for a := range n {
				from[a], to[a] = -1, -1
			}
			view := viewOf(&d.Layout, d.Obs[lo:lo+board], d.NextObs[lo:lo+board])
			for i, v := range d.NextObs[lo : lo+board] {
				was, e := d.Obs[lo+i], i%c
				switch {
				case !view(i / c):
				case e >= n:
					appear[e-n], change[e-n] = appear[e-n] || v != 0 && was == 0, change[e-n] || v != was
				case v != 0 && was == 0:
					to[e] = i / c
				case v == 0 && was != 0:
					from[e] = i / c
				}
			}
			for a := range n {
				if from[a] >= 0 && to[a] >= 0 {
					y, x := from[a]/in.Width-to[a]/in.Width, from[a]%in.Width-to[a]%in.Width
					in.Jumps = in.Jumps || max(y, -y) > 1 || max(x, -x) > 1
				}
			}
		}
	}
	for e, yes := range appear { // what belongs to one agent is another's to another
		if yes || e < in.Owned && slices.Contains(appear[:in.Owned], true) {
			in.Appear = append(in.Appear, e)
		}
	}
	for e, yes := range change {
		if !yes && !slices.Contains(in.Appear, e) && (in.Jumps || len(in.Appear) > 0) {
			in.Still = append(in.Still, e)
		}
	}
}

// viewOf returns which cells were in view before a step and after it.
func viewOf(l *dataset.Layout, before, after []uint8) func(cell int) bool {
	if l.View == 0 {
		return func(int) bool { return true }
	}
	of, c := l.Obs(), len(l.Planes)
	at := func(planes []uint8) int {
		for i := 0; i < len(planes); i += c {
			if planes[i] != 0 {
				return i / c
			}
		}
		return -1
	}
	from, to := at(before), at(after)
	return func(cell int) bool {
		return from >= 0 && to >= 0 && of.InView(l.View, from, cell) && of.InView(l.View, to, cell)
	}
}

// split deals the episodes, and the rows to learn from to strata.
func (w *World) split() {
	w.strata = make([][]WorldRow, 2*len(w.Model.Rewards)+w.Model.Actions)
	for i, d := range w.Data {
		for part, seqs := range splitEpisodes(d, w.key.Child("split", i), func(nth, _ int) bool { return nth%3 == 1 }) {
			for _, row := range rowsOf(seqs) {
				at := WorldRow{int32(i), row}
				if w.Parts[part] = append(w.Parts[part], at); part == 0 {
					s := w.stratum(d, int(row))
					w.strata[s] = append(w.strata[s], at)
				}
			}
		}
	}
	w.strata = slices.DeleteFunc(w.strata, func(s []WorldRow) bool { return len(s) == 0 })
}

// stratum returns the kind of a row: the most that was paid in the step and
// whether someone stood by unpaid where a thing vanished or, if nobody was paid,
// the own action.
func (w *World) stratum(d *dataset.Data, row int) int {
	n, c, levels := d.Layout.Seats, len(d.Layout.Planes), len(w.Model.Rewards)
	rewards := d.Rewards[row*n : (row+1)*n]
	pay := slices.Max(rewards)
	if d.Layout.View > 0 { // those of others are not seen, nor is who stood by
		pay = d.Reward[row]
	}
	switch {
	case pay <= 0:
		return 2*levels + int(d.Action[row])
	case d.Layout.View > 0:
		return int(w.Model.Level(pay))
	}
	planes := d.Layout.Height * d.Layout.Width * c
	before, after := d.Obs[row*planes:(row+1)*planes], d.NextObs[row*planes:(row+1)*planes]
	for at, v := range before {
		if a := at % c; a >= n || v == 0 || rewards[a] > 0 {
			continue
		}
		first := at - at%c
		for e := first + n; e < first+c; e++ {
			if before[e] != 0 && after[e] == 0 { // what appears is chance, by which rows must not be chosen
				return levels + int(w.Model.Level(pay))
			}
		}
	}
	return int(w.Model.Level(pay))
}

// Fill writes a row of the data as row i of b.
func (w *World) Fill(b *world.Batch, i int, at WorldRow) {
	m, d, row := w.Model, w.Data[at.Data], int(at.Row)
	n, planes := m.Agents, m.Height*m.Width*m.Planes
	d.Observation(row, b.Obs[i*m.Len():(i+1)*m.Len()])
	for j, v := range d.NextObs[row*planes : (row+1)*planes] {
		b.Next[i*planes+j] = float32(v)
	}
	for a := range n {
		b.Joint[i*n+a] = int32(d.Joint[row*n+WorldAgent(m.Fault, a, int(d.Seat[row]), n)])
	}
	copy(b.NextFeat[i*m.Features:], d.NextFeat[row*m.Features:(row+1)*m.Features])
	copy(b.Reward[i*n:], d.Rewards[row*n:(row+1)*n])
	b.Over[i] = d.Over[row]
}

// hide takes out of row j of the batch what was not in view, if not everything was.
func (w *World) hide(j int, l game.Layout) {
	b := &w.batch
	if b.View == 0 {
		return
	}
	obs, next := b.Obs[j*l.Len():(j+1)*l.Len()], b.Next[j*l.PlanesLen():(j+1)*l.PlanesLen()]
	l.Hide(obs, b.View, l.CellOf(obs, 0))
	l.Features = 0
	l.Hide(next, b.View, l.CellOf(next, 0))
}

// WorldAgent returns whose action, ego-first, stands at place a of the joint
// action: a's own, unless actions are in seat order by mistake.
func WorldAgent(fault string, a, seat, n int) int {
	if fault == world.SeatOrder {
		return (a - seat + n) % n
	}
	return a
}

// fresh returns how many rows of a minibatch are the next ones of a pass; the others are rare.
func (w *World) fresh() int {
	return min(w.cfg.Batch-int(w.cfg.Rare*float64(w.cfg.Batch)), len(w.Parts[0]))
}

// steps returns how many gradient steps a pass has.
func (w *World) steps() int { return len(w.Parts[0]) / w.fresh() }

// pass goes through the rows once.
func (w *World) pass(step func(rows int) error) ([]agent.Stat, error) {
	r := w.key.Child("epoch", w.Epoch).Rand()
	order := make([]int, len(w.Parts[0]))
	r.Perm(order)
	fresh := w.fresh()
	rows := make([]WorldRow, fresh+int(w.cfg.Rare*float64(w.cfg.Batch)))
	var sum world.Losses
	for i := range w.steps() {
		if err := step(i * fresh); err != nil {
			return nil, err
		}
		for j := range fresh {
			rows[j] = w.Parts[0][order[i*fresh+j]]
		}
		for j := fresh; j < len(rows); j++ {
			s := w.strata[r.IntN(len(w.strata))]
			rows[j] = s[r.IntN(len(s))]
		}
		if _, err := w.train.Step(len(rows), &sum, func(s *nn.Shard[*world.Work]) world.Losses {
			return s.Work.Learn(s.Params, w.fill(rows, s.Lo, s.Hi), len(rows))
		}); err != nil {
			return nil, fmt.Errorf("pretrain: epoch %d of the world model: %w; lower lr", w.Epoch+1, err)
		}
	}
	return sum.Terms(), nil
}

// fill puts rows lo to before hi, of at most a batch, into their place of the batch, and returns that.
func (w *World) fill(rows []WorldRow, lo, hi int) *world.Batch {
	for j := lo; j < hi; j++ {
		w.Fill(&w.batch, j, rows[j])
		w.hide(j, w.Data[rows[j].Data].Layout.Obs())
	}
	b := w.batch.Part(w.Model.Input, lo, hi)
	return &b
}

// held scores the weights on the rows to choose by.
func (w *World) held(string) ([]agent.Stat, float64, error) {
	var sum world.Losses
	for rows := range slices.Chunk(w.Parts[1], w.cfg.Batch) {
		w.train.Sum(len(rows), &sum, func(s *nn.Shard[*world.Work]) world.Losses {
			return s.Work.Loss(s.Params, w.fill(rows, s.Lo, s.Hi))
		})
	}
	return sum.Terms(), sum.Total(), nil
}
