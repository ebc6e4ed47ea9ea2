package pretrain

import (
	"math"
	"slices"

	"hop/field"
	"hop/model/cvae"
)

// stateValues are what the selector goes by: a number for every row of every
// part.
type stateValues struct {
	of     [3][]float32
	earned [3][]float32 // the recorded returns
	learnt bool
	epochs []float64 // share of the variance of returns that was explained on the rows to choose by
}

// CVAEValue is what a learnt value of states is worth on the judged rows.
type CVAEValue struct {
	Explained float64   `json:"explained"` // 1 - squared error / variance of the recorded returns
	Agrees    float64   `json:"agrees"`    // share of rows whose subgoal is the one that the recorded return picks
	Epochs    []float64 `json:"epochs"`    // Explained on the rows to choose by, after each
}

// values computes the recorded returns and, if so set, teaches a network to
// expect them. It depends on the seed and the data alone, so that a resumed run
// finds the same.
func (c *CVAE) values() (*stateValues, error) {
	v := &stateValues{learnt: c.cfg.Value == "learnt"}
	for i := range c.parts {
		v.earned[i] = make([]float32, len(c.parts[i].rows))
		at := 0
		for _, q := range c.parts[i].seqs {
			hi := at + q.Hi - q.Lo
			cvae.Returns(v.earned[i][at:hi], c.data.Reward[q.Lo:q.Hi], float32(c.cfg.Gamma))
			at = hi
		}
		v.of[i] = v.earned[i]
	}
	if !v.learnt {
		return v, nil
	}
	net, err := cvae.NewValue(c.cfg.ValueNet, c.seqs[0].X.Cols, c.key.Child("value").Child("init"))
	if err != nil {
		return nil, field.At(err, "value_net", nil)
	}
	for i := range v.of {
		v.of[i] = make([]float32, len(v.earned[i]))
	}
	best, weights := math.Inf(-1), slices.Clone(net.Params.W)
	r := c.key.Child("value").Child("order").Rand()
	err = net.Learn(&c.seqs[0].X, v.earned[0], &r, func(float64) error {
		net.Of(v.of[1], &c.seqs[1].X)
		e := explained(v.of[1], v.earned[1])
		if v.epochs = append(v.epochs, e); e > best {
			best = e
			copy(weights, net.Params.W)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	copy(net.Params.W, weights)
	for i := range v.of {
		net.Of(v.of[i], &c.seqs[i].X)
	}
	return v, nil
}

// explained returns the share of the variance of want that got accounts for.
func explained(got, want []float32) float64 {
	mean, square, spread := 0., 0., 0.
	for _, w := range want {
		mean += float64(w) / float64(len(want))
	}
	for i, w := range want {
		square += float64(got[i]-w) * float64(got[i]-w)
		spread += (float64(w) - mean) * (float64(w) - mean)
	}
	return 1 - square/max(spread, 1e-12)
}

// judge returns what the learnt values are worth, nil if they are the recorded
// returns.
func (v *stateValues) judge(c *CVAE) *CVAEValue {
	if !v.learnt {
		return nil
	}
	s, same := c.seqs[2], 0
	for k := range s.Len() {
		for row := s.Lo[k]; row < s.Lo[k+1]; row++ {
			if c.pick(row, s.Lo[k+1], v.of[2]) == c.pick(row, s.Lo[k+1], v.earned[2]) {
				same++
			}
		}
	}
	return &CVAEValue{Explained: explained(v.of[2], v.earned[2]), Agrees: float64(same) / float64(s.Rows()), Epochs: v.epochs}
}
