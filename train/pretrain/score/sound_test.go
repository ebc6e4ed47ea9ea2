package score

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/train/pretrain"
)

// vaeCardOf trains codes on data and scores them; spoil changes what is left of
// the training before.
func vaeCardOf(t *testing.T, d *dataset.Data, spoil func(*pretrain.VAE)) *card.Card {
	t.Helper()
	v := trainVAE(t, "b", 1, d)
	if spoil != nil {
		spoil(v)
	}
	_, k, err := VAE(t.Context(), v)
	must(t, err)
	return k
}

var soundChecks = []string{"agents that have left", "joint actions are ego-first", "every agent is learnt from", "every part learns",
	"keeps what it has learnt"}

// Faults that are planted into data and loop are named by the card of
// codes; a sound run passes all five checks.
func TestSoundnessOfCodes(t *testing.T) {
	t.Run("sound", func(t *testing.T) {
		d, _ := goalData(t, 2500)
		k := vaeCardOf(t, d, nil)
		for _, name := range soundChecks {
			if c := k.Find(name); c == nil || c.Status != check.Pass {
				t.Errorf("check %q of a sound run is %+v", name, c)
			}
		}
	})
	for _, f := range []struct {
		fault, check, word string
		data               func(d *dataset.Data)
		loop               func(v *pretrain.VAE)
	}{
		{"not in the optimiser", "every part learns", "moa/act", nil, func(v *pretrain.VAE) {
			part, _ := v.Learner.Params.Find("moa/act/w")
			copy(v.Learner.Params.W[part.Off:part.Off+part.Len], v.Start[part.Off:part.Off+part.Len])
		}},
		{"rows of those who left", "agents that have left", "rows learnt from are of agents", func(d *dataset.Data) {
			c := len(d.Layout.Planes)
			for i := 0; i < len(d.Obs)/2; i += c {
				d.Obs[i] = 0
			}
		}, nil},
		{"joint actions by seat", "joint actions are ego-first", "own last action", func(d *dataset.Data) {
			n := d.Layout.Seats
			for row := range d.Len() {
				ego := slices.Clone(d.Last[row*n : (row+1)*n])
				for i, a := range ego {
					d.Last[row*n+(i+int(d.Seat[row]))%n] = a
				}
			}
		}, nil},
		{"never loaded", "keeps what it has learnt", "jumps back towards its start 2 times", nil, func(v *pretrain.VAE) {
			v.Past = nil
			for _, x := range []float64{1.5, 0.8, 0.5, 1.4, 0.8, 0.5, 1.4, 0.6} {
				v.Past = append(v.Past, model.Epoch{Learn: map[string]float64{"action": x}})
			}
		}},
		{"only the first agent", "every agent is learnt from", "none of: agent 1, agent 2, agent 3", func(d *dataset.Data) {
			for row := range d.Len() {
				d.Agent[row] = 0
			}
		}, nil},
	} {
		t.Run(f.fault, func(t *testing.T) {
			d, _ := goalData(t, 2500)
			if f.data != nil {
				f.data(d)
			}
			broken(t, vaeCardOf(t, d, f.loop), f.check, f.word)
		})
	}
}

// A training is called short if it ended while it got better: after far fewer
// epochs than usual, or with a loss that was still falling clearly.
func TestShortTrainingsAreCalledShort(t *testing.T) {
	for _, c := range []struct {
		name   string
		best   int
		losses []float64
		want   string
	}{
		{"long", 6, []float64{2, 1.5, 1.2, 1.1, 1.05, 1.045}, ""},
		{"few", 2, []float64{2, 1.99}, "2 of the usual 6 epochs"},
		{"falling", 6, []float64{2, 1.8, 1.6, 1.4, 1.2, 1}, "still improving by 17 % per epoch"},
		{"both", 2, []float64{2, 1}, "2 of the usual 6 epochs, still improving by 50 % per epoch"},
		{"stopped by itself", 1, []float64{2, 2.1}, ""},
		{"at the limit", 6, []float64{2, 1e-3, 1e-4, 5e-5, 2e-5, 1e-5}, ""},
	} {
		past := make([]model.Epoch, len(c.losses))
		for i, x := range c.losses {
			past[i].Held = map[string]float64{"loss": x}
		}
		tr := &pretrain.Training{Epoch: len(past), BestAt: c.best, Past: past}
		if got := Short(tr, 6, func(held map[string]float64) float64 { return held["loss"] }); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
