package actor

import (
	"errors"

	"github.com/hop-marl/hop/num/nn"
)

// Stack is the network as layers, each of which reads what the one before wrote, for who computes
// it elsewhere. The last layer's outputs are the logits, then the value.
type Stack struct {
	// Flat is how many numbers of a row, which come first, the first layer reads, of so many
	// Channels a cell. The Rest joins what the first dense layer after convolutions reads.
	Flat, Channels, Rest int
	// Apart says what else stands for a column of an encoded row; see frame.Frame.Apart.
	Apart  Apart
	Layers []Layer
}

// Apart is what frame.Frame.Apart says.
type Apart struct{ Columns, Others, Wide, First int }

// Layer is a 3x3 convolution of H by W cells, or a dense layer: of one cell.
type Layer struct {
	H, W, In, Out int
	Act           nn.Act
	Weights, Bias nn.Span // [3][3][In][Out] or [In][Out], and [Out]
}

// Convolves reports whether it is a convolution.
func (l Layer) Convolves() bool { return l.H*l.W > 1 }

// Taps returns how many cells of its input a cell of its output reads.
func (l Layer) Taps() int {
	if l.Convolves() {
		return 9
	}
	return 1
}

// Stack returns the network as layers, or why it is none.
func (m *Model) Stack() (Stack, error) {
	switch {
	case m.LSTM > 0:
		return Stack{}, errors.New("it has an LSTM (actor.lstm)")
	case m.Separate:
		return Stack{}, errors.New("policy and value have layers of their own (actor.separate)")
	case m.Continuous:
		return Stack{}, errors.New("its actions are vectors")
	case m.frame.Turns():
		return Stack{}, errors.New("boards are turned (actor.turn)")
	case m.Net == "picture":
		return Stack{}, errors.New("it reads pictures (actor.net)")
	}
	cols := m.frame.Cols
	s := Stack{Flat: cols, Channels: cols}
	s.Apart.Columns, s.Apart.Others, s.Apart.Wide, s.Apart.First = m.frame.Apart()
	dense := m.trunk.Layers
	if m.convolves() {
		convs, flat := m.conv.Planes()
		s.Flat, s.Channels, s.Rest = flat, convs[0].In, cols-flat
		for _, c := range convs {
			w, b := c.Spans()
			s.Layers = append(s.Layers, Layer{c.H, c.W, c.In, c.Out, c.Act, w, b})
		}
		dense = []nn.Dense{m.dense}
	}
	for _, d := range append(dense[:len(dense):len(dense)], m.head) {
		w, b := d.Spans()
		s.Layers = append(s.Layers, Layer{1, 1, d.In, d.Out, d.Act, w, b})
	}
	return s, nil
}
