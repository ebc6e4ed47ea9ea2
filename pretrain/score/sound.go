package score

import (
	"fmt"
	"slices"
	"strings"

	"hop/card"
	"hop/dataset"
	"hop/nn"
	"hop/pretrain"
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
			s.checked++
			if d.Last[row*l.Seats] != d.Action[row-1] {
				s.wrong++
			}
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
	k.Check("agents that have left", s.left == 0, false,
		fmt.Sprintf("%d of %d rows learnt from are of agents that are not on the board", s.left,
			s.rows), "record rows only while an agent is alive")
	k.Check("joint actions are ego-first", s.wrong == 0, false,
		fmt.Sprintf("in %d of %d rows the own last action that is observed is not the one recorded a step before", s.wrong, s.checked),
		"write the last joint action in the order of the planes: oneself, then the next seats, wrapping")
	var idle []string
	for a, n := range s.agents {
		if n == 0 {
			idle = append(idle, fmt.Sprintf("agent %d", a))
		}
	}
	k.Check("every agent is learnt from", len(idle) == 0, false,
		fmt.Sprintf("rows by agent: %v; none of: %s", s.agents, nameAll(idle)), "collect and learn from every agent's rows, not only the first's")
	k.Check("every part learns", len(s.still) == 0, false,
		fmt.Sprintf("%d of %d parts are where they started: %s", len(s.still), s.parts, nameAll(s.still)), "give the optimiser these parameters")
	checkSpikes(k, s.curve)
}

func nameAll(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
