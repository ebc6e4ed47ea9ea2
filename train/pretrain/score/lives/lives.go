// Package lives says what models that read a whole life are worth, on lives that they
// have not learnt from: beside each other, beside the Bayes observer, who knows how every
// kind of the population acts and infers which one it sees, and beside nothing. All see
// the same steps, and are scored by how long the co-player has been seen.
package lives

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/model/sequence"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/train/pretrain"
	"github.com/hop-marl/hop/train/pretrain/score"
)

// Seen is what a predictor reaches after so much of a co-player has been seen.
type Seen struct {
	Seen string       `json:"seen"`
	Rows int          `json:"rows"`
	Top1 stats.Number `json:"top1"`
	CE   stats.Number `json:"ce"`   // of the action, nats
	Goal stats.Number `json:"goal"` // the likeliest goal is the one that is reached in the end
	Kind stats.Number `json:"kind"` // the likeliest kind is the true one
}

// Predictor is one of those that are compared.
type Predictor struct {
	Name     string `json:"name"`
	Describe string `json:"describe,omitempty"`
	All      Seen   `json:"all"`
	Episodes []Seen `json:"by_episodes"` // of the same life, seen before
	Steps    []Seen `json:"by_steps"`    // of the co-player, seen in the life
}

// Score is what a sequence model and those beside it are worth.
type Score struct {
	Predictors []*Predictor   `json:"predictors"`            // the model, those beside it, then the Bayes observer
	BayesError string         `json:"bayes_error,omitempty"` // why there is none
	Split      map[string]int `json:"split"`                 // histories
	BestEpoch  int            `json:"best_epoch"`
	Epochs     int            `json:"epochs"`
	Weights    int            `json:"weights"`
}

// Beside is another model that is scored on the same lives.
type Beside struct {
	Name   string
	Model  *sequence.Model
	Params *nn.Params
}

// Of scores a model and those beside it, and fills a card; g is the dataset's game, nil if
// that is not here.
func Of(t *pretrain.Sequence, g game.Game, beside []Beside) (*Score, *card.Card, error) {
	s := &Score{Split: map[string]int{}, BestEpoch: t.BestAt, Epochs: t.Epoch, Weights: t.Learner.Params.Len()}
	for i, name := range []string{"learn", "choose", "score"} {
		s.Split[name] = t.Parts[i].Len()
	}
	h := t.Parts[2]
	list := append([]Beside{{Name(t.Learner.Model), t.Learner.Model, t.Learner.Params}}, beside...)
	for i, b := range list {
		if i > 0 {
			if err := same(t.Data, b); err != nil {
				return nil, nil, err
			}
			h = t.Histories(b.Model, 2)
		}
		y := newTally(h, b.Model.Input)
		b.Model.Work().Each(b.Params, h.Lives, h.All, y.add)
		s.Predictors = append(s.Predictors, y.predictor(b.Name, b.Model.Describe(b.Params)))
	}
	h = t.Parts[2]
	bayes, err := observe(t.Data, g, h, t.Learner.Model.Input)
	if err != nil {
		s.BayesError = err.Error()
	} else {
		s.Predictors = append(s.Predictors, bayes)
	}
	return s, cardOf(t, s), nil
}

// same refuses a model of other agents or of another game.
func same(d *dataset.Data, b Beside) error {
	want, got := fmt.Sprintf("%+v", pretrain.SequenceInput(d)), fmt.Sprintf("%+v", b.Model.Input)
	if want != got {
		return fmt.Errorf("lives: %s reads %.300s, the data has %.300s; train it on data of the same game and kinds", b.Name, got, want)
	}
	return nil
}

// Name says in a word what a model's history is.
func Name(m *sequence.Model) string {
	if m.History == "none" || m.Across {
		return m.History
	}
	return m.History + ", one episode"
}

// tally counts what is predicted of rows, by how much was seen before.
type tally struct {
	h                     *pretrain.Histories
	kind                  []int32 // [rows]
	actions, goals, kinds *card.Classes
	episodes, steps       []*cell
	actionNames           []string
	goalNames, kindNames  []string
}

type cell struct{ actions, goals, kinds *card.Classes }

// none is the last class of goals.
const none = "none"

func newTally(h *pretrain.Histories, in sequence.Input) *tally {
	y := &tally{h: h, kind: make([]int32, h.Rows.Len()), kindNames: in.Kinds, goalNames: append(append([]string{}, in.Goals...), none)}
	for i, q := range h.Rows.Seqs {
		for row := q.Lo; row < q.Hi; row++ {
			y.kind[row] = h.Kind[i]
		}
	}
	for k := range in.Actions {
		y.actionNames = append(y.actionNames, fmt.Sprint(k))
	}
	all := y.cell()
	y.actions, y.goals, y.kinds = all.actions, all.goals, all.kinds
	return y
}

func (y *tally) cell() *cell {
	return &cell{card.NewClasses(y.actionNames), card.NewClasses(y.goalNames), card.NewClasses(y.kindNames)}
}

// stepCells are the numbers of steps seen that are told apart: 0, 1, 2 to 3, 4 to 7 and
// so on, the last one being all above.
const stepCells = 9

func stepCell(seen int32) int { return min(bits.Len32(uint32(seen)), stepCells-1) }

func stepName(i int) string {
	switch {
	case i < 2:
		return fmt.Sprint(i)
	case i == stepCells-1:
		return fmt.Sprintf("%d+", 1<<(i-1))
	}
	return fmt.Sprintf("%d-%d", 1<<(i-1), 1<<i-1)
}

func (y *tally) at(list *[]*cell, i int) *cell {
	for len(*list) <= i {
		*list = append(*list, y.cell())
	}
	return (*list)[i]
}

func (y *tally) add(row int, by sequence.Predicted) {
	h := y.h
	for _, c := range []*cell{{y.actions, y.goals, y.kinds}, y.at(&y.episodes, int(h.Past[row])), y.at(&y.steps, stepCell(h.Seen[row]))} {
		c.actions.Add(int(h.Rows.Action[row]), by.Action)
		c.goals.Add(int(h.Goal[row]), by.Goal)
		c.kinds.Add(int(y.kind[row]), by.Kind)
	}
}

func (c *cell) seen(name string) Seen {
	return Seen{name, c.actions.N, stats.Number(c.actions.Accuracy()), stats.Number(c.actions.CE()), stats.Number(c.goals.Accuracy()),
		stats.Number(c.kinds.Accuracy())}
}

func (y *tally) predictor(name, describe string) *Predictor {
	p := &Predictor{Name: name, Describe: describe, All: (&cell{y.actions, y.goals, y.kinds}).seen("any")}
	for i, c := range y.episodes {
		p.Episodes = append(p.Episodes, c.seen(fmt.Sprint(i)))
	}
	for i, c := range y.steps {
		p.Steps = append(p.Steps, c.seen(stepName(i)))
	}
	return p
}

// observe is the Bayes observer: it knows how every kind of the population acts, each as
// likely at first, and goes by what it has seen of the co-player in its life.
func observe(d *dataset.Data, g game.Game, h *pretrain.Histories, in sequence.Input) (*Predictor, error) {
	if g == nil {
		return nil, errors.New("the data are of a game that hop does not have, so nobody knows how its agents act")
	}
	if d.Population != nil {
		return nil, errors.New("the population has learnt agents, who cannot say how they act; collect bots with hop collect --among")
	}
	var types []game.Policy
	for _, name := range d.Bots {
		bot, err := game.NewBot(g, name)
		if err != nil {
			return nil, err
		}
		p, ok := bot.(game.Policy)
		if _, remembers := bot.(game.Watcher); !ok || remembers {
			return nil, fmt.Errorf("%s cannot say with what probability it acts, or remembers episodes", name)
		}
		types = append(types, p)
	}
	seats, lives := d.Layout.Seats, map[int]bool{}
	rowsAt := make([][]int32, d.Len()) // [rows of the dataset] a row for each observer
	for i, row := range h.Source {
		rowsAt[row] = append(rowsAt[row], int32(i))
		lives[int(h.Life[i])] = true
	}
	y := newTally(h, in)
	n, k := len(types), len(d.Layout.Actions)
	post, life := make([]float64, seats*seats*n), -1 // [observer][agent][types]
	probs, goal := make([]float32, n*k), make([]int, n)
	by := sequence.Predicted{Action: make(nn.Probs, k), Goal: make(nn.Probs, len(in.Goals)+1), Kind: make(nn.Probs, n)}
	err := score.Replay(d, g, func(e int) bool { return lives[pretrain.LifeOf(d, e)] }, func() {},
		func(st game.State, rows []int, _ []int32) {
			for _, row := range rows {
				if now := pretrain.LifeOf(d, int(d.Episode[row])); now != life {
					life = now
					for i := range post {
						post[i] = 1 / float64(n)
					}
				}
				seat := game.Seat(d.Seat[row])
				for t, p := range types {
					p.Probs(st, seat, probs[t*k:(t+1)*k])
					goal[t] = len(in.Goals)
					if q, ok := p.(game.Pursuer); ok {
						if after := q.Pursues(st, seat); after != game.NoGoal {
							goal[t] = after
						}
					}
				}
				for _, i := range rowsAt[row] {
					believed := post[(int(h.By[i])*seats+int(d.Agent[row]))*n:][:n]
					mix(by, believed, probs, goal)
					y.add(int(i), by)
					if h.Token[i] {
						update(believed, probs, int(d.Action[row]))
					}
				}
			}
		})
	return y.predictor("Bayes observer", ""), err
}

// mix writes what is predicted by somebody who believes that an agent is of each type with
// these probabilities; each type acts as probs [types][actions] and is after its goal.
func mix(by sequence.Predicted, believed []float64, probs []float32, goal []int) {
	clear(by.Action)
	clear(by.Goal)
	k := len(by.Action)
	for t, b := range believed {
		by.Kind[t] = float32(b)
		by.Goal[goal[t]] += float32(b)
		for a, x := range probs[t*k : (t+1)*k] {
			by.Action[a] += float32(b * float64(x))
		}
	}
}

// update applies Bayes' rule to an action. What no type would do teaches nothing.
func update(believed []float64, probs []float32, action int) {
	k, sum := len(probs)/len(believed), 0.
	for t, b := range believed {
		sum += b * float64(probs[t*k+action])
	}
	for t := range believed {
		if sum > 0 {
			believed[t] *= float64(probs[t*k+action]) / sum
		}
	}
}

// cardOf fills the card.
func cardOf(t *pretrain.Sequence, s *Score) *card.Card {
	own := s.Predictors[0]
	k := &card.Card{
		Title: "Sequence model: " + own.Describe,
		About: fmt.Sprintf("Learnt from %d histories, weights of epoch %d of %d chosen on %d, scored on %d rows of %d histories of other lives, "+
			"of %d episodes each.",
			s.Split["learn"], s.BestEpoch, s.Epochs, s.Split["choose"], own.All.Rows, s.Split["score"], max(t.Data.Life, 1)),
		Short: score.Short(t.Training, pretrain.DefaultSequence().Epochs,
			func(held map[string]float64) float64 { return held["ce"] }),
	}
	number := func(name string, lower bool, of func(Seen) stats.Number) {
		n := card.Number{Name: name, Value: float64(of(own.All)), N: own.All.Rows, Lower: lower}
		for _, p := range s.Predictors[1:] {
			if p.Name == "Bayes observer" {
				n.Limit = &card.Ref{Name: p.Name, Value: float64(of(p.All)), Loose: true}
			} else {
				n.Baselines = append(n.Baselines, card.Ref{Name: p.Name, Value: float64(of(p.All))})
			}
		}
		k.Add(n)
	}
	number("action: top-1", false, func(x Seen) stats.Number { return x.Top1 })
	number("action: cross-entropy", true, func(x Seen) stats.Number { return x.CE })
	number("goal reached in the end: top-1", false, func(x Seen) stats.Number { return x.Goal })
	number("kind: top-1", false, func(x Seen) stats.Number { return x.Kind })
	var still []string
	p := t.Learner.Params
	for _, part := range p.Parts {
		moved := false
		for i := part.Off; i < part.Off+part.Len; i++ {
			moved = moved || p.W[i] != t.Start[i]
		}
		if !moved {
			still = append(still, part.Name)
		}
	}
	k.Ask(check.EveryPart, len(still) == 0, false, fmt.Sprintf("%d of %d parts are where they started: %v", len(still), len(p.Parts), still))
	for _, by := range []struct {
		name, title, x string
		of             func(*Predictor) []Seen
	}{
		{"episodes", "By episodes seen", "episodes of the life before", func(p *Predictor) []Seen { return p.Episodes }},
		{"steps", "By steps seen", "steps of the co-player seen: 0, 1, 2-3, 4-7, ...", func(p *Predictor) []Seen { return p.Steps }},
	} {
		var ce, kind []plot.Line
		for _, p := range s.Predictors {
			var a, b []float64
			for _, x := range by.of(p) {
				a, b = append(a, float64(x.CE)), append(b, float64(x.Kind))
			}
			dash := p.Name == "Bayes observer"
			ce, kind = append(ce, plot.Line{Name: p.Name, Y: a, Dash: dash}), append(kind, plot.Line{Name: p.Name, Y: b, Dash: dash})
		}
		k.Figures = append(k.Figures,
			plot.Lines("sequence_ce_"+by.name, by.title+": what it does next", "Mean -ln p of what was played.",
				plot.Axes{X: by.x, Y: "nats"}, ce...),
			plot.Lines("sequence_kind_"+by.name, by.title+": which kind it is", "Share of steps at which the likeliest kind is the true one.",
				plot.Axes{X: by.x, Y: "share"}, kind...))
	}
	if s.BayesError != "" {
		k.Notes = append(k.Notes, "No Bayes observer: "+s.BayesError)
	}
	return k
}
