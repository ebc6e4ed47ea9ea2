// Package score says what models taught before a run are worth, on episodes that
// they did not learn from, and fills their report cards: numbers beside what costs
// nothing and what is possible, checks that name faults, figures.
package score

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/train/pretrain"
)

// soundness is whether a model was taught from sound rows and learnt at all: what
// the cards of codes and of subgoals ask first.
type soundness struct {
	rows    int
	left    int      // rows whose own plane shows nobody
	checked int      // rows whose own last action could be checked
	wrong   int      // and was not the one recorded a step before
	agents  []int    // rows of each agent
	still   []string // parts whose weights are where they started
	parts   int
	curve   []float64 // the learnt loss by epoch
}

// soundOf looks at the rows that are learnt from.
func soundOf(d *dataset.Data, part *pretrain.Part) soundness {
	l := d.Layout
	s := soundness{rows: len(part.Rows), agents: make([]int, l.Seats)}
	cells, c := l.Height*l.Width, len(l.Planes)
	for _, row := range part.Rows {
		planes := d.Obs[int(row)*cells*c : int(row+1)*cells*c]
		there := false
		for i := 0; i < len(planes); i += c {
			there = there || planes[i] != 0
		}
		if !there {
			s.left++
		}
		s.agents[d.Agent[row]]++
	}
	for _, q := range part.Seqs {
		for row := q.Lo + 1; l.Last > 0 && row < q.Hi; row++ {
			known, wrong, _ := check.Joint(0, d.Last[row*l.Seats:row*l.Seats+1], d.Action[row-1:row])
			s.checked, s.wrong = s.checked+known, s.wrong+wrong
		}
	}
	return s
}

// learnt adds how the weights went since the start of the training.
func (s soundness) learnt(t *pretrain.Training, p *nn.Params, term string) soundness {
	s.parts = len(p.Parts)
	for _, part := range p.Parts {
		if lo, hi := part.Off, part.Off+part.Len; slices.Equal(t.Start[lo:hi], p.W[lo:hi]) {
			s.still = append(s.still, part.Name)
		}
	}
	for _, e := range t.Past {
		s.curve = append(s.curve, e.Learn[term])
	}
	return s
}

// check adds the questions to a card.
func (s soundness) check(k *card.Card) {
	k.Ask(check.HasLeft, s.left == 0, false,
		fmt.Sprintf("%d of %d rows learnt from are of agents that are not on the board", s.left, s.rows))
	askOrder(k, s.wrong, s.checked)
	var idle []string
	for a, n := range s.agents {
		if n == 0 {
			idle = append(idle, fmt.Sprintf("agent %d", a))
		}
	}
	k.Check("every agent is learnt from", len(idle) == 0, false,
		fmt.Sprintf("rows by agent: %v; none of: %s", s.agents, nameAll(idle)), "collect and learn from every agent's rows, not only the first's")
	k.Ask(check.EveryPart, len(s.still) == 0, false,
		fmt.Sprintf("%d of %d parts are where they started: %s", len(s.still), s.parts, nameAll(s.still)))
	askSpikes(k, s.curve)
}

// askOrder asks whether joint actions are observed in the order of the planes.
func askOrder(k *card.Card, wrong, rows int) {
	k.Ask(check.EgoFirst, wrong == 0, false,
		fmt.Sprintf("in %d of %d rows the own last action that is observed is not the one recorded a step before", wrong, rows))
}

// askSpikes asks whether the loss keeps jumping back to where it began, as it
// does when a model is saved but a fresh one goes on.
func askSpikes(k *card.Card, curve []float64) {
	at := check.Spikes(curve)
	why := "the loss never jumps back to where it began"
	if len(at) == 1 {
		why = fmt.Sprintf("the loss jumps back towards its start once, at point %d of %d", at[0], len(curve))
	} else if len(at) > 1 {
		why = fmt.Sprintf("the loss jumps back towards its start %d times, every %d points or so", len(at), (at[len(at)-1]-at[0])/(len(at)-1))
	}
	k.Ask(check.Keeps, len(at) == 0, len(at) == 1, why)
}

// Short says why a training was too short to judge its model by, "" if it was
// not: its last epoch was its best, and either there were far fewer than usual or
// the loss on the episodes to choose by was still falling clearly.
func Short(t *pretrain.Training, usual int, loss func(held map[string]float64) float64) string {
	if t.BestAt < t.Epoch {
		return ""
	}
	var curve []float64
	for _, e := range t.Past {
		curve = append(curve, loss(e.Held))
	}
	var why []string
	if 2*t.Epoch < usual {
		why = append(why, fmt.Sprintf("%d of the usual %d epochs", t.Epoch, usual))
	}
	if rate := check.Falling(curve); rate > 0 {
		why = append(why, fmt.Sprintf("still improving by %.0f %% per epoch", 100*rate))
	}
	return strings.Join(why, ", ")
}

func nameAll(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
