package pretrain

import (
	"math"
	"slices"

	"github.com/hop-marl/hop/model/cvae"
	"github.com/hop-marl/hop/num/config"
)

// Values are what the selector goes by: a number for every row of every part.
type Values struct {
	Of     [3][]float32
	Earned [3][]float32 // the recorded returns
	Learnt bool         // Of is what a network expects; else it is Earned
	Epochs []float64    // share of the variance of returns that was explained on the rows to choose by
}

// values computes the recorded returns and, if so set, teaches a network to
// expect them. It depends on the seed and the data alone, so that a resumed run
// finds the same.
func (c *CVAE) values() (*Values, error) {
	v := &Values{Learnt: c.Config.Value == "learnt"}
	for i := range c.Parts {
		v.Earned[i] = make([]float32, len(c.Parts[i].Rows))
		at := 0
		for _, q := range c.Parts[i].Seqs {
			hi := at + q.Hi - q.Lo
			cvae.Returns(v.Earned[i][at:hi], c.Data.Reward[q.Lo:q.Hi], float32(c.Config.Gamma))
			at = hi
		}
		v.Of[i] = v.Earned[i]
	}
	if !v.Learnt {
		return v, nil
	}
	net, err := cvae.NewValue(c.Config.ValueNet, c.Seqs[0].X.Cols, c.key.Child("value").Child("init"))
	if err != nil {
		return nil, config.At(err, "value_net", nil)
	}
	for i := range v.Of {
		v.Of[i] = make([]float32, len(v.Earned[i]))
	}
	best, weights := math.Inf(-1), slices.Clone(net.Params.W)
	r := c.key.Child("value").Child("order").Rand()
	err = net.Learn(&c.Seqs[0].X, v.Earned[0], &r, func(float64) error {
		net.Of(v.Of[1], &c.Seqs[1].X)
		e := Explained(v.Of[1], v.Earned[1])
		if v.Epochs = append(v.Epochs, e); e > best {
			best = e
			copy(weights, net.Params.W)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	copy(net.Params.W, weights)
	for i := range v.Of {
		net.Of(v.Of[i], &c.Seqs[i].X)
	}
	return v, nil
}

// Explained returns the share of the variance of want that got accounts for.
func Explained(got, want []float32) float64 {
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
