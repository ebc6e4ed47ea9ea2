package pretrain

import (
	"errors"
	"fmt"
	"math"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/model/sequence"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/dataset"
)

// SequenceConfig says how a sequence model learns from recorded lives.
type SequenceConfig struct {
	Model    sequence.Config   `yaml:"model"`
	Learning sequence.Learning `yaml:"learning"`
	Epochs   int               `yaml:"epochs" doc:"times the lives are gone through at most" range:"1..10000"`
	Patience int               `yaml:"patience" doc:"stop after so many epochs without a better cross-entropy on lives held out; 0: never" range:"0.."`
}

// DefaultSequence returns the settings of docs/opponents.md.
func DefaultSequence() SequenceConfig {
	c := SequenceConfig{Model: sequence.Default(), Learning: sequence.DefaultLearning(), Epochs: 12, Patience: 4}
	c.Model.Head.Distances = true
	return c
}

// For returns the settings for data of this layout: without what needs a board where there is none.
func (c SequenceConfig) For(l dataset.Layout) SequenceConfig {
	in := moa.NewInput(frame.Layout(l.Obs()), l.Seats, l.Actions, 0)
	if c.Model.Head.Distances = c.Model.Head.Distances && in.HasDistances(); in.Planes == 0 {
		c.Model.Head.Frame = frame.Board
	}
	return c
}

// Validate returns everything that is wrong, joined.
func (c SequenceConfig) Validate() error {
	return errors.Join(config.Check(c), config.At(c.Model.Validate(), "model", nil), config.At(c.Learning.Validate(), "learning", nil))
}

// Sequence is the training of a sequence model on a dataset's lives: 80 % to learn from,
// 5 % to choose the weights by, 15 % to score them by.
type Sequence struct {
	*Training
	Config  SequenceConfig
	Data    *dataset.Data
	Learner *sequence.Learner
	Parts   [3]*Histories
	key     rng.Key
}

// Histories are some of a dataset's lives in a model's form, each as one observer saw
// one of its co-players.
type Histories struct {
	*sequence.Lives
	All    []int32 // every history
	Source []int32 // [rows] its row in the dataset
	Life   []int32 // [rows] of which life
	By     []int32 // [rows] the observer
	Past   []int32 // [rows] episodes of the life that came before
	Seen   []int32 // [rows] steps of the agent that the observer had seen in the life
	Token  []bool  // [rows] the observer saw what came of it
}

// LifeOf returns the life that an episode belongs to.
func LifeOf(d *dataset.Data, episode int) int { return episode / max(d.Life, 1) }

// NewHistories puts the wanted lives into a model's form. Every agent is seen by each of
// the others, from an episode's start until that one leaves: nobody sees what happens when
// it is gone, nor what comes of the step by which it leaves. With a view it is seen while it is in
// it, as what the observer then sees, told from its place.
func NewHistories(d *dataset.Data, m *sequence.Model, want func(life int) bool) *Histories {
	h := &Histories{Lives: m.NewLives()}
	n, obs := d.Layout.Seats, make([]float32, d.ObsLen())
	for lo := 0; lo < len(d.Sequences); {
		life, hi := LifeOf(d, d.Sequences[lo].Episode), lo
		for hi < len(d.Sequences) && LifeOf(d, d.Sequences[hi].Episode) == life {
			hi += n // everyone plays from an episode's start
		}
		episodes := d.Sequences[lo:hi]
		if lo = hi; !want(life) {
			continue
		}
		for pair := range n * n {
			a, by, seen := pair/n, pair%n, int32(0)
			for e := 0; a != by && e*n < len(episodes); e++ {
				q, watcher := episodes[e*n+a], episodes[e*n+by]
				if e == 0 || !m.Across {
					h.All = append(h.All, int32(h.Len()))
					h.Begin(int32(d.Bot[q.Lo]))
				}
				place := (int(d.Seat[watcher.Lo]) - int(d.Seat[q.Lo]) + n) % n
				for row := q.Lo; row < q.Hi && d.Alive[row*n+place]; row++ {
					d.Observation(row, obs)
					asSeen(&d.Layout, obs, place)
					token := sequence.Token{Obs: obs, Action: int32(d.Action[row]), Start: row == q.Lo,
						Left: d.End[row] != batch.Going, Reached: int(d.Goal[row])}
					sees := d.NextAlive[row*n+place]
					if !h.Add(token, int32(d.Goal[row]), sees) {
						continue
					}
					h.Source, h.Life, h.By = append(h.Source, int32(row)), append(h.Life, int32(life)), append(h.By, int32(by))
					h.Past, h.Seen = append(h.Past, int32(e)), append(h.Seen, seen)
					if h.Token = append(h.Token, sees); sees {
						seen++
					}
				}
			}
		}
	}
	return h
}

// asSeen makes what one agent would see of the whole board what the observer, who sits so many
// places further on, sees from its place: of whom is out of view, nothing.
func asSeen(of *dataset.Layout, obs []float32, place int) {
	if of.View == 0 {
		return
	}
	l := of.Obs()
	l.Hide(obs, of.View, l.CellOf(obs, place))
	for k := range l.Last {
		if l.CellOf(obs, k) < 0 {
			clear(obs[l.LastAt()+k*l.Legal:][:l.Legal])
		}
	}
	for k := l.LegalAt(); k < l.TimeAt(); k++ { // what it may do nobody else sees
		obs[k] = 1
	}
}

// SequenceInput says what a model of a dataset's agents reads.
func SequenceInput(d *dataset.Data) sequence.Input {
	l := d.Layout
	return sequence.Input{Input: moa.NewInput(frame.Layout(l.Obs()), l.Seats, l.Actions, 0), Goals: l.Goals, Kinds: d.Bots}
}

// NewSequence prepares a run at its start.
func NewSequence(cfg SequenceConfig, data *dataset.Data, seed uint64) (*Sequence, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if data.Layout.Seats < 2 {
		return nil, errors.New("pretrain: there is nobody to model in a game of one seat")
	}
	t := &Sequence{Config: cfg, key: rng.New(seed), Data: data}
	in := SequenceInput(data)
	m, p, err := sequence.New(cfg.Model, in, t.key.Child("init"))
	if err != nil {
		return nil, fmt.Errorf("pretrain: a sequence model for this data: %w", err)
	}
	for i := range t.Parts {
		if t.Parts[i] = t.Histories(m, i); t.Parts[i].Len() == 0 {
			return nil, fmt.Errorf("pretrain: %d episodes in lives of %d are too few to learn from, choose by and score; collect more, "+
				"or shorter lives (hop collect --life)", data.Episodes, max(data.Life, 1))
		}
	}
	steps := cfg.Epochs * len(cfg.Learning.Batches(t.Parts[0].Lives, t.Parts[0].All))
	if t.Learner, err = sequence.NewLearner(m, p, cfg.Learning, steps, t.key.Child("learn")); err != nil {
		return nil, config.At(err, "learning", nil)
	}
	t.Training = newTraining(settings{
		kind: "sequence", metrics: [2]string{"sequence/learn/", "sequence/held/"}, epochs: cfg.Epochs, patience: cfg.Patience,
		rows: t.Parts[0].Rows.Len(), config: cfg.Model, input: in, params: p, learner: t.Learner, epoch: t,
	})
	return t, nil
}

// Histories returns those of a part, in the form of a model: 0 to learn from, 1 to
// choose by, 2 to score. A life is of the same part for every model.
func (t *Sequence) Histories(m *sequence.Model, part int) *Histories {
	n := LifeOf(t.Data, t.Data.Episodes-1) + 1
	order, r := make([]int, n), t.key.Child("split").Rand()
	r.Perm(order)
	choose, scored := max(n/20, 1), max(n*3/20, 1)
	return NewHistories(t.Data, m, func(life int) bool {
		switch at := order[life]; {
		case at < choose:
			return part == 1
		case at < choose+scored:
			return part == 2
		}
		return part == 0
	})
}

// pass goes through the lives once.
func (t *Sequence) pass(step func(rows int) error) ([]agent.Stat, error) {
	r := t.key.Child("epoch", t.Epoch).Rand()
	h := t.Parts[0]
	order := make([]int, len(h.All))
	r.Perm(order)
	all := make([]int32, len(order))
	for i, k := range order {
		all[i] = int32(k)
	}
	var sum sequence.Terms
	done := 0
	for _, part := range t.Config.Learning.Batches(h.Lives, all) {
		terms, err := t.Learner.Step(h.Lives, part, &r)
		if err != nil {
			return nil, fmt.Errorf("pretrain: %w", err)
		}
		sum = sum.Plus(terms)
		done += terms.Action.Rows
		if err := step(done); err != nil {
			return nil, err
		}
	}
	return losses(sum.Action, sum.Goal, sum.Kind), nil
}

func losses(action, goal, kind nn.Loss) []agent.Stat {
	return []agent.Stat{{Name: "ce", Value: action.Mean(), N: action.Rows}, {Name: "goal_ce", Value: goal.Mean(), N: goal.Rows},
		{Name: "kind_ce", Value: kind.Mean(), N: kind.Rows}}
}

// held scores the weights on the lives to choose by.
func (t *Sequence) held(string) ([]agent.Stat, float64, error) {
	h := t.Parts[1]
	var action, goal, kind nn.Loss
	of := make([]int32, h.Rows.Len())
	for i, s := range h.Rows.Seqs {
		for row := s.Lo; row < s.Hi; row++ {
			of[row] = h.Kind[i]
		}
	}
	add := func(l *nn.Loss, p float32) {
		l.Sum, l.Weight, l.Rows = l.Sum-math.Log(max(float64(p), 1e-9)), l.Weight+1, l.Rows+1
	}
	t.Learner.Each(h.Lives, h.All, func(row int, by sequence.Predicted) {
		add(&action, by.Action[h.Rows.Action[row]])
		add(&goal, by.Goal[h.Goal[row]])
		add(&kind, by.Kind[of[row]])
	})
	return losses(action, goal, kind), action.Mean(), nil
}
