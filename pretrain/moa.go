package pretrain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"hop/card"
	"hop/dataset"
	"hop/field"
	obsframe "hop/frame"
	"hop/game"
	"hop/model/moa"
	"hop/nn"
	"hop/rng"
	"hop/runlog"
	"hop/safetensors"
)

// MOAConfig says how a model of others learns from recorded steps.
type MOAConfig struct {
	Model     moa.Config   `yaml:"model"`
	Learning  moa.Learning `yaml:"learning"`
	Condition string       `yaml:"condition" doc:"what the model is told about the agent: none; goal: the hand-made goal it reached in the end (episodes without one are left out, as in HOP); type: which bot it is" oneof:"none|goal|type"`
	Epochs    int          `yaml:"epochs" doc:"times the rows are gone through at most" range:"1..10000"`
	Patience  int          `yaml:"patience" doc:"stop after so many epochs without a better cross-entropy on episodes held out; 0: never" range:"0.."`
	Smooth    float64      `yaml:"smooth" doc:"epsilon of the belief that is judged with the model" range:"0..<1"`
}

// DefaultMOA returns the settings of docs/opponents.md for data of this layout:
// on a board with moves the model is told which of them lead nearer to things,
// and learns from turned and mirrored boards.
func DefaultMOA(l dataset.Layout) MOAConfig {
	c := MOAConfig{Model: moa.Default(), Learning: moa.DefaultLearning(), Condition: "none", Epochs: 10, Patience: 4, Smooth: 0.01}
	c.Model.Hidden = []int{256, 128, 128}
	c.Learning.Decay = 0.1
	in := MOAInput(l, 0)
	if c.Model.Ways = in.HasWays(); in.Planes == 0 {
		c.Model.Frame = obsframe.Board
	}
	if in.CanTurn() {
		c.Learning.Augment = "all"
	}
	return c
}

// Validate returns everything that is wrong, joined.
func (c MOAConfig) Validate() error {
	return errors.Join(field.Check(c), c.Model.Validate(), c.Learning.Validate())
}

// MOA is the training of a model of others on a dataset's episodes: 85 % to
// learn from, 5 % to choose the weights by, 10 % to judge them by.
type MOA struct {
	Learner *moa.Learner

	cfg  MOAConfig
	key  rng.Key
	data *dataset.Data

	rows                 *moa.Rows
	source               []int32 // [rows] each row's row in the dataset
	learn, choose, judge []int32 // sequences
	aimless              int     // sequences left out because they reached no goal

	epoch  int
	best   float64
	bestAt int
	bestW  []float32
	curve  MOACurve
}

// MOACurve is how the loss went.
type MOACurve struct {
	Steps  []float64 `json:"steps"`  // mean cross-entropy of every 32 gradient steps
	Learnt []float64 `json:"learnt"` // by epoch, on the way
	Held   []float64 `json:"held"`   // by epoch, on the episodes to choose by
	Top1   []float64 `json:"top1"`   // by epoch, on the same
}

// MOAProgress is what a watcher sees.
type MOAProgress struct {
	Rows, Total  int // learnt from so far, and at most
	Epoch        int // whole ones
	Epochs       int
	Learnt, Held float64 // of the last whole epoch
	Top1         float64
	Whole        bool // an epoch has just ended
}

// NewMOA prepares a run at its start.
func NewMOA(cfg MOAConfig, data *dataset.Data, seed uint64) (*MOA, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	t := &MOA{cfg: cfg, key: rng.New(seed), data: data, best: math.Inf(1)}
	var err error
	if t.Learner, err = moa.NewLearner(cfg.Model, cfg.Learning, MOAInput(data.Layout, cfg.condition(data)), t.key.Child("init")); err != nil {
		return nil, fmt.Errorf("pretrain: a model of others for this data: %w", err)
	}
	t.bestW = slices.Clone(t.Learner.Params.W)
	if t.load(); len(t.learn) == 0 || len(t.choose) == 0 || len(t.judge) == 0 {
		return nil, fmt.Errorf("pretrain: %d agents' episodes to learn from, %d to choose by and %d to judge by: too few (%d reached no goal); collect more", len(t.learn), len(t.choose), len(t.judge), t.aimless)
	}
	return t, nil
}

// condition returns the width of what the model is told.
func (c MOAConfig) condition(data *dataset.Data) int {
	switch c.Condition {
	case "goal":
		return len(data.Layout.Goals)
	case "type":
		return len(data.Bots)
	}
	return 0
}

// MOAInput says what a model of others reads in a game with this layout, with
// a condition of goalLen numbers.
func MOAInput(l dataset.Layout, goalLen int) moa.Input {
	planes := l.Height * l.Width * len(l.Planes)
	in := moa.Input{
		Input:   obsframe.Input{Height: l.Height, Width: l.Width, Planes: len(l.Planes), Rest: l.Features + l.Legal + l.Time + l.Last*l.Legal},
		Actions: len(l.Actions), GoalLen: goalLen, LegalAt: -1, LastAt: -1, Seats: l.Seats,
	}
	if l.Legal > 0 {
		in.LegalAt = planes + l.Features
		if l.Last > 0 {
			in.LastAt = in.LegalAt + l.Legal + l.Time
		}
	}
	in.Moves = moves(l.Actions)
	if i := slices.Index(l.Planes, "block"); i >= 0 {
		in.Blocks = []int{i}
	}
	return in
}

// moves finds the actions that go up, down, left and right.
func moves(actions []string) []int32 {
	var out []int32
	for _, name := range []string{"up", "down", "left", "right"} {
		i := slices.Index(actions, name)
		if i < 0 {
			return nil
		}
		out = append(out, int32(i))
	}
	return out
}

// load encodes all rows and deals whole episodes to the three parts.
func (t *MOA) load() {
	d, r := t.data, t.key.Child("split").Rand()
	t.rows = t.Learner.Model.NewRows()
	judge, rest := d.SplitByEpisode(0.10, &r)
	part := map[int]*[]int32{}
	for _, s := range judge.Sequences {
		part[s.Episode] = &t.judge
	}
	choose, chosen := t.key.Child("choose").Rand(), false
	for _, s := range rest.Sequences {
		if part[s.Episode] == nil {
			if part[s.Episode] = &t.learn; choose.Float64() < 0.05/0.90 {
				part[s.Episode], chosen = &t.choose, true
			}
		}
	}
	if n := len(rest.Sequences); n > 0 && !chosen { // so few that chance took none
		part[rest.Sequences[n-1].Episode] = &t.choose
	}
	obs, goal := make([]float32, d.ObsLen()), make([]float32, t.Learner.Model.GoalLen)
	for _, s := range d.Sequences {
		at := t.label(s.Lo)
		if at < 0 && t.cfg.Condition != "none" {
			t.aimless++
			continue
		}
		*part[s.Episode] = append(*part[s.Episode], int32(len(t.rows.Seqs)))
		t.rows.Begin()
		for i := s.Lo; i < s.Hi; i++ {
			d.Observation(i, obs)
			clear(goal)
			if len(goal) > 0 {
				goal[at] = 1
			}
			if t.rows.Add(obs, goal, int32(d.Action[i])) {
				t.source = append(t.source, int32(i))
			}
		}
	}
}

// label returns what the model is told about an agent that plays from this row
// on: the goal that it reaches in the end of the game, or its type.
func (t *MOA) label(row int) int {
	switch t.cfg.Condition {
	case "goal":
		return int(t.data.Goal[row])
	case "type":
		return int(t.data.Bot[row])
	}
	return game.NoGoal
}

// Run learns until the epochs are over or nothing gets better, or ctx ends. It
// leaves the best weights in the learner.
func (t *MOA) Run(ctx context.Context, run *runlog.Run, watch func(MOAProgress)) error {
	p := MOAProgress{Epochs: t.cfg.Epochs}
	for _, s := range t.learn {
		p.Total += int(t.rows.Seqs[s].Hi-t.rows.Seqs[s].Lo) * t.cfg.Epochs * t.cfg.Learning.Views
	}
	per := p.Total / t.cfg.Epochs
	rate := nn.Cosine(t.cfg.Learning.LR, t.cfg.Learning.LR/50, max(t.cfg.Epochs-1, 1))
	for t.epoch < t.cfg.Epochs && !t.stale() {
		r := t.key.Child("epoch", t.epoch).Rand()
		sum, n := 0., 0
		learnt, err := t.Learner.Epoch(t.rows, t.learn, rate(t.epoch), &r, func(done int, loss float64) error {
			if sum, n = sum+loss, n+1; n == 32 {
				t.curve.Steps = append(t.curve.Steps, sum/32)
				sum, n = 0, 0
			}
			if p.Rows, p.Epoch, p.Whole = t.epoch*per+done, t.epoch, false; watch != nil {
				watch(p)
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		held := t.classes(t.choose)
		t.epoch++
		t.curve.Learnt, t.curve.Held, t.curve.Top1 = append(t.curve.Learnt, learnt.Mean()), append(t.curve.Held, held.CE()), append(t.curve.Top1, held.Accuracy())
		if held.CE() < t.best {
			t.best, t.bestAt = held.CE(), t.epoch
			copy(t.bestW, t.Learner.Params.W)
		}
		if err := t.record(run, learnt, held); err != nil {
			return err
		}
		p.Epoch, p.Whole, p.Learnt, p.Held, p.Top1 = t.epoch, true, learnt.Mean(), held.CE(), held.Accuracy()
		if watch != nil {
			watch(p)
		}
	}
	copy(t.Learner.Params.W, t.bestW)
	return nil
}

// stale reports that nothing has got better for too long.
func (t *MOA) stale() bool { return t.cfg.Patience > 0 && t.epoch-t.bestAt >= t.cfg.Patience }

// record writes an epoch's numbers, tables and checkpoint.
func (t *MOA) record(run *runlog.Run, learnt nn.Loss, held *card.Classes) error {
	var rows []runlog.Row
	add := func(name string, v float64, n int) {
		rows = append(rows, runlog.Row{Step: int64(t.epoch), Name: name, Agent: -1, Value: v, N: n})
	}
	add("moa/ce_learnt", learnt.Mean(), learnt.Rows)
	add("moa/ce_held", held.CE(), held.N)
	add("moa/top1", held.Accuracy(), held.N)
	add("moa/top3", held.Accuracy3(), held.N)
	add("moa/ece", held.ECE(), held.N)
	if err := run.Log(rows); err != nil {
		return err
	}
	if err := held.Write(filepath.Join(run.Dir(), fmt.Sprintf("moa_eval_epoch%d", t.epoch-1))); err != nil {
		return err
	}
	body, err := t.Save()
	if err != nil {
		return err
	}
	return run.Checkpoint(int64(t.epoch), body, -held.CE(), runlog.Keep{Last: 2})
}

// classes judges the current weights on some sequences.
func (t *MOA) classes(seqs []int32) *card.Classes {
	c := card.NewClasses(t.data.Layout.Actions)
	t.Learner.Each(t.rows, seqs, func(row int, p nn.Probs) { c.Add(int(t.rows.Action[row]), p) })
	return c
}

// Save returns the training as it is after a whole epoch.
func (t *MOA) Save() ([]byte, error) {
	f := &safetensors.File{}
	t.Learner.Save(f, "")
	f.PutFloat32("best", t.bestW, len(t.bestW))
	f.PutInt64("epoch", []int64{int64(t.epoch), int64(t.bestAt)}, 2)
	curve, err := json.Marshal(t.curve)
	if err != nil {
		return nil, fmt.Errorf("pretrain: saving the model of others: %w", err)
	}
	f.PutBytes("curve", curve)
	return f.AppendBinary(nil)
}

// Load goes on from what Save returned.
func (t *MOA) Load(body []byte) error {
	f, err := safetensors.Parse(body)
	if err != nil {
		return err
	}
	var e [2]int64
	curve, err := f.Bytes("curve")
	err = errors.Join(err, f.Int64(e[:], "epoch", 2), f.Float32(t.bestW, "best", len(t.bestW)))
	if err == nil {
		err = errors.Join(json.Unmarshal(curve, &t.curve), t.Learner.Load(f, ""))
	}
	if err != nil {
		return fmt.Errorf("pretrain: loading the model of others: %w", err)
	}
	t.epoch, t.bestAt, t.best = int(e[0]), int(e[1]), math.Inf(1)
	if t.bestAt > 0 && t.bestAt <= len(t.curve.Held) {
		t.best = t.curve.Held[t.bestAt-1]
	}
	return nil
}
