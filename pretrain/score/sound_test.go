package score

import (
	"slices"
	"testing"

	"hop/card"
	"hop/check"
	"hop/dataset"
	"hop/model"
	"hop/pretrain"
)

// vaeCardOf trains codes on data and scores them; spoil changes what is left of
// the training before.
func vaeCardOf(t *testing.T, d *dataset.Data, spoil func(*pretrain.VAE)) *card.Card {
	t.Helper()
	v := trainVAE(t, "b", 1, d)
	if spoil != nil {
		spoil(v)
	}
	_, k, err := VAE(v)
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
