package score

import (
	"fmt"
	"math"

	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/train/pretrain"
)

// MOADrift is where a model is off on average: an action of a step that it
// predicts more or less often than it is taken. The calibration error looks at the
// likeliest action alone and does not see this.
type MOADrift struct {
	Step      int     `json:"step"` // of the episode
	Action    string  `json:"action"`
	Predicted float64 `json:"predicted"` // mean probability
	Taken     float64 `json:"taken"`     // share of rows
	Z         float64 `json:"z"`         // their difference in standard errors
	Rows      int     `json:"rows"`
}

// drifts sums up by step and action. Agents of one episode are of one team, so
// what chance does is measured between episodes.
type drifts struct {
	names []string
	n     []int       // [step]
	p     [][]float64 // [step][action] sum of probabilities
	was   [][]float64 // how often it was taken
	gap   [][]float64 // was - p of the present episode
	v     [][]float64 // sum of squares of past episodes' gaps

	episode int
}

// add counts a row. Rows of an episode come together.
func (d *drifts) add(episode, step, action int, probs nn.Probs) {
	if episode != d.episode {
		d.close()
		d.episode = episode
	}
	for len(d.n) <= step {
		d.n = append(d.n, 0)
		for _, sum := range []*[][]float64{&d.p, &d.was, &d.gap, &d.v} {
			*sum = append(*sum, make([]float64, len(d.names)))
		}
	}
	d.n[step]++
	d.was[step][action]++
	d.gap[step][action]++
	for k, p := range probs {
		d.p[step][k] += float64(p)
		d.gap[step][k] -= float64(p)
	}
}

// close ends an episode.
func (d *drifts) close() {
	for t, gap := range d.gap {
		for k, g := range gap {
			d.v[t][k] += g * g
		}
		clear(gap)
	}
}

// worst returns the difference that chance explains least, of steps with at
// least a hundred rows; differences below 0.01 do not count. Nil: there is none.
func (d *drifts) worst() *MOADrift {
	d.close()
	var out *MOADrift
	for t, rows := range d.n {
		if rows < 100 {
			continue
		}
		n := float64(rows)
		for k, name := range d.names {
			gap := math.Abs(d.p[t][k] - d.was[t][k])
			if z := gap / math.Sqrt(max(d.v[t][k], 1)); gap > 0.01*n && (out == nil || z > out.Z) {
				out = &MOADrift{t, name, d.p[t][k] / n, d.was[t][k] / n, z, rows}
			}
		}
	}
	return out
}

// driftOf scores the current weights.
func driftOf(t *pretrain.MOA) *MOADrift {
	d := &drifts{names: t.Data.Layout.Actions}
	t.Learner.Each(t.Rows, t.Parts[2], func(row int, p nn.Probs) {
		at := t.Source[row]
		d.add(int(t.Data.Episode[at]), int(t.Data.T[at]), int(t.Rows.Action[row]), p)
	})
	return d.worst()
}

// check asks whether actions are predicted as often as they are taken, at every
// step. Of a hundred numbers that are right, one is beyond five standard errors
// in fewer than one run of ten thousand.
func (d *MOADrift) check(k *card.Card, balance bool) {
	why, ok, weak := "every action is predicted as often as it is taken, at every step, within 0.01 or five standard errors", true, true
	if d != nil && d.Z > 5 {
		ok, weak = false, math.Abs(d.Predicted-d.Taken) < 0.1
		why = fmt.Sprintf("at step %d, %s has %.3f on average and is taken in %.3f of %d rows, %.0f standard errors off", d.Step, d.Action,
			d.Predicted, d.Taken, d.Rows, d.Z)
	}
	fix := "see whether batches are drawn from all rows alike: sorted by length or kind, they are weighed wrongly"
	if balance {
		fix = "learning.balance does this; turn it off where probabilities are used as such"
	}
	k.Check("right on average at every step", ok, weak, why, fix)
}
