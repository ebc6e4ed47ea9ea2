package sequence

import (
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
)

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
