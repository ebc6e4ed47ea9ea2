package actor

import "github.com/hop-marl/hop/num/nn"

// Leaves is a network that evaluates states as a search asks it (search.Net): rows are
// added, then computed together. Values are in the game's own reward.
type Leaves struct {
	ws     *Work
	params *nn.Params
	scale  float32 // of rewards in its values
}

// Leaves returns the network with weights, for up to rows states at a time.
func (m *Model) Leaves(p *nn.Params, scale float32, rows int) *Leaves {
	return &Leaves{m.Work(rows), p, scale}
}

// Add adds a state.
func (n *Leaves) Add(obs, goal []float32) { n.ws.Add(obs, goal) }

// Run computes the rows that were added and forgets them; the results are views.
func (n *Leaves) Run() (logits, value []float32) {
	n.ws.Forward(n.params)
	rows := n.ws.X.Rows()
	value = n.ws.Value[:rows]
	for i := range value {
		value[i] /= n.scale
	}
	n.ws.Reset()
	return n.ws.Logits[:rows*n.ws.m.Actions], value
}
