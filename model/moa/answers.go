package moa

import "slices"

// Answers is a learner's model as a search asks it: it takes rows one by one and answers them
// together. Who acts at random, or is beyond the gate, is nobody by the goal's last numbers: it
// has equal logits, and the network is not asked.
type Answers struct {
	l      *Learner
	ws     *Work
	who    int       // where in a goal it says whom it is about
	asked  []bool    // [rows]
	logits []float32 // [rows][Actions]
}

// Answers returns the model for up to rows rows at a time. With who as long as goals, nobody
// is known.
func (l *Learner) Answers(rows, who int) *Answers {
	return &Answers{l: l, ws: l.Model.Work(rows), who: who, asked: make([]bool, 0, rows), logits: make([]float32, rows*l.Model.Actions)}
}

// Add adds a row.
func (n *Answers) Add(obs, goal []float32) {
	ask := slices.ContainsFunc(goal[n.who:], func(x float32) bool { return x != 0 })
	if n.asked = append(n.asked, ask); ask {
		n.ws.Add(obs, goal)
	}
}

// Rows returns how many of the rows that were added the network is asked about.
func (n *Answers) Rows() int { return n.ws.Rows() }

// Run computes the rows that were added and forgets them. The logits are a view; there are no
// values.
func (n *Answers) Run() (logits, value []float32) {
	k, at := n.l.Model.Actions, 0
	if n.ws.Rows() > 0 {
		n.ws.Forward(n.l.Params)
	}
	for i, ask := range n.asked {
		row := n.logits[i*k : (i+1)*k]
		if clear(row); ask {
			copy(row, n.ws.Logits[at*k:])
			at++
		}
	}
	logits = n.logits[:len(n.asked)*k]
	n.asked = n.asked[:0]
	n.ws.Reset()
	return logits, nil
}
