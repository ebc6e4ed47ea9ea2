package pretrain

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/cvae"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/store/dataset"
)

// MOAConfig says how a model of others learns from recorded steps.
type MOAConfig struct {
	Model     moa.Config   `yaml:"model"`
	Learning  moa.Learning `yaml:"learning"`
	Condition string       `yaml:"condition" doc:"what the model is told about the agent: none; goal: the hand-made goal it reached in the end (episodes without one are left out, as in HOP); type: which bot it is; kind: which of the population it is, and its goal as it is inferred from its history (steps of those who act at random are left out)" oneof:"none|goal|type|kind"`
	Epochs    int          `yaml:"epochs" doc:"times the rows are gone through at most" range:"1..10000"`
	Patience  int          `yaml:"patience" doc:"stop after so many epochs without a better cross-entropy on episodes held out; 0: never" range:"0.."`
	Smooth    float64      `yaml:"smooth" doc:"epsilon of the belief that is scored with the model" range:"0..<1"`
}

// DefaultMOA returns the settings of docs/opponents.md: on a board with moves the model is
// told which of them lead nearer to things, and learns from turned and mirrored boards.
func DefaultMOA() MOAConfig {
	c := MOAConfig{Model: moa.Default(), Learning: moa.DefaultLearning(), Condition: "none", Epochs: 10, Patience: 4, Smooth: 0.01}
	c.Model.Hidden, c.Model.Distances = []int{256, 128, 128}, true
	c.Learning.Decay, c.Learning.Augment = 0.1, "all"
	return c
}

// For returns the settings for data of this layout: without what needs a board, or one that can be
// turned, where there is none.
func (c MOAConfig) For(l dataset.Layout) MOAConfig {
	in := moa.NewInput(frame.Layout(l.Obs()), l.Seats, l.Actions, 0)
	if c.Model.Distances = c.Model.Distances && in.HasDistances(); in.Planes == 0 {
		c.Model.Frame = frame.Board
	}
	if !in.CanTurn() {
		c.Learning.Augment = "none"
	}
	return c
}

// Validate returns everything that is wrong, joined.
func (c MOAConfig) Validate() error {
	return errors.Join(config.Check(c), c.Model.Validate(), c.Learning.Validate())
}

// MOA is the training of a model of others on a dataset's episodes: 85 % to
// learn from, 5 % to choose the weights by, 10 % to score them by.
type MOA struct {
	*Training
	Config  MOAConfig
	Data    *dataset.Data
	Learner *moa.Learner
	Rows    *moa.Rows
	Source  []int32    // [rows] each row's row in the dataset
	Parts   [3][]int32 // sequences to learn from, to choose by, to score
	Aimless int        // sequences left out because they reached no goal, or acted at random
	Kinds   []string   // condition kind: the population without those who act at random
	key     rng.Key
	infer   *Inferring
	seqs    *cvae.Work
}

// Inferring is the inference of goals that a model of others is given, with its
// weights.
type Inferring struct {
	Model  *cvae.Model
	Params *nn.Params
}

// NewMOA prepares a run at its start. infer is for the condition kind alone.
func NewMOA(cfg MOAConfig, data *dataset.Data, infer *Inferring, seed uint64) (*MOA, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	t := &MOA{Config: cfg, key: rng.New(seed), Data: data, infer: infer}
	l := data.Layout
	if infer != nil && cfg.Condition != "kind" {
		return nil, fmt.Errorf("pretrain: a model of others with the condition %s is given no inferred goals; leave --cvae out, or use "+
			"--condition kind", cfg.Condition)
	}
	if cfg.Condition == "kind" {
		if infer == nil {
			return nil, errors.New("pretrain: a model of others that is given goals needs their inference; name one with --cvae")
		}
		if want := (cvae.Input{Input: frame.Layout(l.Obs()).Input(), Seats: l.Seats, Actions: len(l.Actions)}); infer.Model.Input != want {
			return nil, fmt.Errorf("pretrain: the inference of goals reads %+v, the data has %+v; train one on this data", infer.Model.Input, want)
		}
		t.Kinds = slices.DeleteFunc(slices.Clone(data.Bots), func(name string) bool { return name == "random" })
	}
	in := moa.NewInput(frame.Layout(l.Obs()), l.Seats, l.Actions, t.condition(data))
	var err error
	if t.Learner, err = moa.NewLearner(cfg.Model, cfg.Learning, in, t.key.Child("init")); err != nil {
		return nil, fmt.Errorf("pretrain: a model of others for this data: %w", err)
	}
	if t.split(); len(t.Parts[0]) == 0 || len(t.Parts[1]) == 0 || len(t.Parts[2]) == 0 {
		return nil, fmt.Errorf("pretrain: %d agents' episodes to learn from, %d to choose by and %d to score: too few (%d reached no goal); "+
			"collect more",
			len(t.Parts[0]), len(t.Parts[1]), len(t.Parts[2]), t.Aimless)
	}
	t.Training = newTraining(settings{
		kind: "moa", metrics: [2]string{"moa/", "moa/"}, epochs: cfg.Epochs, patience: cfg.Patience, rows: t.Len(0) * cfg.Learning.Views,
		config: cfg.Model, input: in, params: t.Learner.Params, learner: t.Learner, epoch: t, beside: t.saveReached,
	})
	return t, nil
}

// saveReached notes how often agents of each kind reached each goal in the end.
func (t *MOA) saveReached(f *safetensors.File) {
	goals := len(t.Data.Layout.Goals)
	if len(t.Kinds) == 0 || goals == 0 {
		return
	}
	count := make([]float32, len(t.Kinds)*goals)
	for _, q := range t.Data.Sequences {
		if k, g := t.Label(q.Lo), int(t.Data.Goal[q.Lo]); k >= 0 && g >= 0 {
			count[k*goals+g]++
		}
	}
	f.PutFloat32(moa.Reached, count, len(t.Kinds), goals)
}

// Len returns the number of rows of a part.
func (t *MOA) Len(part int) int {
	n := 0
	for _, s := range t.Parts[part] {
		n += int(t.Rows.Seqs[s].Hi - t.Rows.Seqs[s].Lo)
	}
	return n
}

// condition returns the width of what the model is told.
func (t *MOA) condition(data *dataset.Data) int {
	switch t.Config.Condition {
	case "kind":
		return t.infer.Model.Dim + len(t.Kinds)
	case "goal":
		return len(data.Layout.Goals)
	case "type":
		return len(data.Bots)
	}
	return 0
}

// split encodes all rows and deals whole episodes to the three parts.
func (t *MOA) split() {
	d, r := t.Data, t.key.Child("split").Rand()
	t.Rows = t.Learner.Model.NewRows()
	scored, rest := d.SplitByEpisode(0.10, &r)
	part := map[int]int{}
	for _, s := range scored.Sequences {
		part[s.Episode] = 2
	}
	choose, chosen := t.key.Child("choose").Rand(), false
	for _, s := range rest.Sequences {
		if _, dealt := part[s.Episode]; !dealt {
			if part[s.Episode] = 0; choose.Float64() < 0.05/0.90 {
				part[s.Episode], chosen = 1, true
			}
		}
	}
	if n := len(rest.Sequences); n > 0 && !chosen { // so few that chance took none
		part[rest.Sequences[n-1].Episode] = 1
	}
	obs, goal := make([]float32, d.ObsLen()), make([]float32, t.Learner.Model.GoalLen)
	draw, first := t.key.Child("goals").Rand(), 0
	for _, s := range d.Sequences {
		at := t.Label(s.Lo)
		if at < 0 && t.Config.Condition != "none" {
			t.Aimless++
			continue
		}
		to := &t.Parts[part[s.Episode]]
		*to = append(*to, int32(len(t.Rows.Seqs)))
		t.Rows.Begin()
		var codes []float32
		if t.infer != nil {
			codes = t.inferred(s, obs, &draw)
			first = t.infer.Model.Dim
		}
		for i := s.Lo; i < s.Hi; i++ {
			d.Observation(i, obs)
			clear(goal)
			if len(goal) > 0 {
				goal[first+at] = 1
			}
			if t.infer != nil {
				copy(goal, codes[(i-s.Lo)*first:(i-s.Lo+1)*first])
			}
			if t.Rows.Add(obs, goal, int32(d.Action[i])) {
				t.Source = append(t.Source, int32(i))
			}
		}
	}
}

// Label returns what the model is given about an agent that plays from this row
// on: the goal that it reaches in the end of the game, or its type.
func (t *MOA) Label(row int) int {
	switch t.Config.Condition {
	case "goal":
		return int(t.Data.Goal[row])
	case "type":
		return int(t.Data.Bot[row])
	case "kind":
		return slices.Index(t.Kinds, t.Data.Bots[t.Data.Bot[row]])
	}
	return game.NoGoal
}

// inferred returns a draw of what is inferred at every step of a sequence from its
// history, [steps][Dim].
func (t *MOA) inferred(q dataset.Sequence, obs []float32, r *rng.Rand) []float32 {
	m, d := t.infer.Model, t.Data
	s := m.Sequences()
	addSequence(s, m, d, q, obs)
	if t.seqs == nil {
		t.seqs = m.Work(d.Layout.Horizon)
	}
	t.seqs.Load(s, []int{0})
	t.seqs.Forward(t.infer.Params)
	codes := make([]float32, (q.Hi-q.Lo)*m.Dim)
	for i := range q.Hi - q.Lo {
		from := t.seqs.Row(i, 0) * m.Dim
		m.Draw(codes[i*m.Dim:(i+1)*m.Dim], t.seqs.Mu[from:from+m.Dim], t.seqs.LogVar[from:from+m.Dim], 1, r)
	}
	return codes
}

// pass goes through the rows once and keeps the mean loss of every 32 steps.
func (t *MOA) pass(step func(rows int) error) ([]agent.Stat, error) {
	r := t.key.Child("epoch", t.Epoch).Rand()
	lr := t.Config.Learning.LR
	rate := nn.Cosine(lr, lr/50, max(t.Config.Epochs-1, 1))(t.Epoch)
	sum, n := 0., 0
	t.steps = nil
	learnt, err := t.Learner.Epoch(t.Rows, t.Parts[0], rate, &r, func(done int, loss float64) error {
		if sum, n = sum+loss, n+1; n == 32 {
			t.steps = append(t.steps, sum/32)
			sum, n = 0, 0
		}
		return step(done)
	})
	return []agent.Stat{{Name: "ce_learnt", Value: learnt.Mean(), N: learnt.Rows}}, err
}

// held scores the weights on the episodes to choose by, and writes the tables of
// the epoch into the run's folder.
func (t *MOA) held(dir string) ([]agent.Stat, float64, error) {
	c := t.Classes(1)
	terms := []agent.Stat{
		{Name: "ce_held", Value: c.CE(), N: c.N}, {Name: "top1", Value: c.Accuracy(), N: c.N},
		{Name: "top3", Value: c.Accuracy3(), N: c.N}, {Name: "ece", Value: c.ECE(), N: c.N},
	}
	return terms, c.CE(), c.Write(filepath.Join(dir, fmt.Sprintf("moa_eval_epoch%d", t.Epoch)))
}

// Classes scores the current weights on a part.
func (t *MOA) Classes(part int) *card.Classes {
	c := card.NewClasses(t.Data.Layout.Actions)
	t.Learner.Each(t.Rows, t.Parts[part], func(row int, p nn.Probs) { c.Add(int(t.Rows.Action[row]), p) })
	return c
}
