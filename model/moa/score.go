package moa

import (
	"fmt"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/store/card"
)

// Score is an agent's model of others' on a window that the model has
// not learnt from: of all of them together, and of each co-player by itself.
// Add rows as the model predicts them, then read Stats.
//
// The names, by agent: moa/top1, moa/ce, moa/sure (mean probability of the
// likeliest action), moa/uniform (what guessing among the
// legal actions gets), moa/floor (below which a softmax of a softmax cannot
// fall), moa/dead (rows of agents that had left and were taken in), moa/wrong
// (rows that do not show the modelled agent's own last action first), moa/still
// (parts of the network that are where they started); and for each co-player j
// others/j/top1, ce, ece, sure, rows, and recall/ACTION of every action played.
type Score struct {
	others  []agent.ID
	of      []*card.Classes // [others]
	uniform float64
	floor   float64
}

// NewScore scores predictions about some co-players.
func NewScore(others []agent.ID, actions []string) *Score {
	s := &Score{others: others}
	for range others {
		s.of = append(s.of, card.NewClasses(actions))
	}
	return s
}

// add counts a row: co-player j of the list did action, for which the model gave
// probs [Actions]; legal is its mask.
func (s *Score) add(j int, action int32, probs nn.Probs, legal []bool) {
	s.of[j].Add(int(action), probs)
	n := 0
	for _, ok := range legal {
		if ok {
			n++
		}
	}
	s.uniform += 1 / float64(n)
	s.floor += check.SoftmaxFloor(n)
}

// AddAll adds all rows of a set; who is the co-player of each sequence.
func (s *Score) AddAll(l *Learner, rows *Rows, seqs, who []int32) {
	k := l.Model.Actions
	of := make([]int32, rows.Len())
	for i, q := range seqs {
		for row := rows.Seqs[q].Lo; row < rows.Seqs[q].Hi; row++ {
			of[row] = who[i]
		}
	}
	l.Each(rows, seqs, func(row int, probs nn.Probs) {
		s.add(int(of[row]), rows.Action[row], probs, rows.Legal[row*k:(row+1)*k])
	})
}

// Stats returns the numbers. A co-player without rows has only that one, 0.
func (s *Score) Stats(l *Learner, rows *Rows) []agent.Stat {
	n, top, nll, sure := 0, 0., 0., 0.
	for _, c := range s.of {
		if c.N > 0 {
			n, top, nll, sure = n+c.N, top+c.Top1, nll+c.NLL, sure+c.Sure()*float64(c.N)
		}
	}
	var out []agent.Stat
	add := func(name string, v float64, n int) { out = append(out, agent.Stat{Name: name, Value: v, N: n}) }
	if n > 0 {
		m := float64(n)
		dead := 0
		if rows.Keep {
			dead = rows.Left
		}
		add("moa/top1", top/m, n)
		add("moa/ce", nll/m, n)
		add("moa/sure", sure/m, n)
		add("moa/uniform", s.uniform/m, n)
		add("moa/floor", s.floor/m, n)
		add("moa/dead", float64(dead), n)
		add("moa/wrong", float64(rows.Wrong), rows.Steps)
		add("moa/still", float64(len(l.Still())), n)
	}
	for j, c := range s.of {
		at := fmt.Sprintf("others/%d/", s.others[j])
		add(at+"rows", float64(c.N), c.N)
		if c.N == 0 {
			continue
		}
		add(at+"top1", c.Accuracy(), c.N)
		add(at+"ce", c.CE(), c.N)
		add(at+"ece", c.ECE(), c.N)
		add(at+"sure", c.Sure(), c.N)
		for k, name := range c.Names {
			if r := c.Class(k); r.Count > 0 {
				add(at+"recall/"+name, r.Recall, r.Count)
			}
		}
	}
	return out
}
