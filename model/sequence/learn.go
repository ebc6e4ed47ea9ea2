package sequence

import (
	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/f32"
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

// Lives are histories to learn from or to be scored on: one for each life, observer and
// modelled agent, or one for each of its episodes if nothing is remembered across them.
type Lives struct {
	Rows   *moa.Rows // the steps to predict; a sequence is a history
	Goal   []int32   // [rows] the goal reached in the end; the last class: none
	Kind   []int32   // [histories] of the population
	Before []int32   // [rows] tokens of its history before the row
	Tokens []nn.Span // [histories] where its tokens lie in X
	X      f32.Sparse

	m     *Model
	zeros []float32
}

// NewLives returns an empty set for models of this shape.
func (m *Model) NewLives() *Lives {
	l := &Lives{m: m, Rows: m.Act.NewRows(), zeros: make([]float32, m.Act.GoalLen)}
	l.X.Reset(m.cols())
	return l
}

// Begin starts a history with an agent of a kind.
func (l *Lives) Begin(kind int32) {
	l.Rows.Begin()
	l.Kind = append(l.Kind, kind)
	l.Tokens = append(l.Tokens, nn.Span{Off: l.X.Rows()})
}

// Add appends a step to predict and, if the observer saw what came of it, to read from
// then on. goal is the one that is reached in the end, or game.NoGoal. It reports
// whether the step was taken in.
func (l *Lives) Add(t Token, goal int32, seen bool) bool {
	n := len(l.Tokens) - 1
	if !l.Rows.Add(t.Obs, l.zeros, t.Action) {
		return false
	}
	if goal < 0 {
		goal = int32(len(l.m.Goals))
	}
	l.Goal, l.Before = append(l.Goal, goal), append(l.Before, int32(l.Tokens[n].Len))
	if seen {
		l.m.token(&l.X, &l.Rows.X, l.Rows.Len()-1, t)
		l.Tokens[n].Len++
	}
	return true
}

// Len returns the number of histories.
func (l *Lives) Len() int { return len(l.Kind) }

// Steps returns how many rows a history has.
func (l *Lives) Steps(i int) int { return int(l.Rows.Seqs[i].Hi - l.Rows.Seqs[i].Lo) }
