package sequence

import (
	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// Learning says how a model is trained.
type Learning struct {
	LR     float64 `yaml:"lr" doc:"Adam's learning rate at the start; it falls along half a cosine to a tenth" range:"0<..1"`
	Batch  int     `yaml:"batch" doc:"steps of a gradient step, in whole histories" range:"1..1048576"`
	Clip   float64 `yaml:"clip" doc:"largest norm of a gradient; 0: any" range:"0..1e9"`
	Share  float64 `yaml:"share" doc:"weight of the goal's and of the kind's cross-entropy beside the action's" range:"0..100"`
	Shards int     `yaml:"shards" doc:"parts of a batch that may run side by side, part of the numbers; 0: one for every 128 rows" range:"0..64"`
}

// DefaultLearning returns the settings of docs/opponents.md.
func DefaultLearning() Learning {
	return Learning{LR: 2e-3, Batch: 2048, Clip: 1, Share: 0.25}
}

// Validate returns everything that is wrong, joined.
func (c Learning) Validate() error { return config.Check(c) }

// Learner is a model with weights and optimiser.
type Learner struct {
	*Model
	*model.Learner[*Work, Terms]
	cfg   Learning
	known []int32
}

// NewLearner prepares to train for a number of steps.
func NewLearner(m *Model, p *nn.Params, cfg Learning, steps int, key rng.Key) (*Learner, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	var works []*Work
	for range model.Shards(cfg.Shards, cfg.Batch) {
		works = append(works, m.Work())
	}
	l := model.NewLearner[*Work, Terms](p, cfg.LR, cfg.Clip, steps, key, works)
	return &Learner{Model: m, Learner: l, cfg: cfg}, nil
}

// Batches cuts histories, in their order, into batches of at least Batch rows each.
func (c Learning) Batches(l *Lives, order []int32) (list [][]int32) {
	lo, rows := 0, 0
	for i, s := range order {
		if rows += l.Steps(int(s)); rows >= c.Batch || i == len(order)-1 {
			list = append(list, order[lo:i+1])
			lo, rows = i+1, 0
		}
	}
	return list
}

// Step takes one gradient step on a batch of histories. r draws whose kind is given.
func (l *Learner) Step(lives *Lives, part []int32, r *rng.Rand) (Terms, error) {
	rows := 0
	for _, i := range part {
		rows += lives.Steps(int(i))
	}
	l.known = append(l.known[:0], part...)
	l.given(l.known, lives, part, r)
	return l.Learner.Step(len(part), func(s *nn.Shard[*Work]) Terms {
		s.Work.load(lives, part[s.Lo:s.Hi], l.known[s.Lo:s.Hi])
		return s.Work.learn(s.Params, float32(l.cfg.Share), rows)
	})
}

// Each is Work.Each with the current weights.
func (l *Learner) Each(lives *Lives, part []int32, f func(row int, by Predicted)) {
	l.Model.Work().Each(l.Params, lives, part, f)
}
