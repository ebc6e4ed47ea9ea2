package pretrain

import (
	"context"
	"slices"
	"testing"

	"hop/card"
	"hop/dataset"
)

// vaeCardOf trains codes on data and judges them; spoil changes what is left of
// the training before.
func vaeCardOf(t *testing.T, d *dataset.Data, spoil func(*VAE)) *card.Card {
	t.Helper()
	v, err := NewVAE(smallVAE("b", 1), d, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Run(context.Background(), folder(t), nil); err != nil {
		t.Fatal(err)
	}
	if spoil != nil {
		spoil(v)
	}
	s, err := v.Judge()
	if err != nil {
		t.Fatal(err)
	}
	m, p := v.Model()
	k, err := VAECard(v.cfg, m.Describe(p), m.Actions, s)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

var soundChecks = []string{"agents that have left", "joint actions are ego-first", "every agent is learnt from", "every part learns", "keeps what it has learnt"}

// Faults 3, 4, 5, 9 and 10, planted into data and loop, are named by the card of
// codes; a sound run passes all five checks.
func TestSoundnessOfCodes(t *testing.T) {
	t.Run("sound", func(t *testing.T) {
		d, _ := goalData(t, 2500)
		k := vaeCardOf(t, d, nil)
		for _, name := range soundChecks {
			if c := k.Find(name); c == nil || c.Status != card.Good {
				t.Errorf("check %q of a sound run is %+v", name, c)
			}
		}
	})
	for _, f := range []struct {
		fault, check, word string
		data               func(d *dataset.Data)
		loop               func(v *VAE)
	}{
		{"3: not in the optimiser", "every part learns", "moa/act", nil, func(v *VAE) {
			part, _ := v.learn.Params.Find("moa/act/w")
			copy(v.learn.Params.W[part.Off:part.Off+part.Len], v.start[part.Off:part.Off+part.Len])
		}},
		{"4: rows of those who left", "agents that have left", "rows learnt from are of agents", func(d *dataset.Data) {
			c := len(d.Layout.Planes)
			for i := 0; i < len(d.Obs)/2; i += c {
				d.Obs[i] = 0
			}
		}, nil},
		{"5: joint actions by seat", "joint actions are ego-first", "own last action", func(d *dataset.Data) {
			n := d.Layout.Seats
			for row := range d.Len() {
				ego := slices.Clone(d.Last[row*n : (row+1)*n])
				for i, a := range ego {
					d.Last[row*n+(i+int(d.Seat[row]))%n] = a
				}
			}
		}, nil},
		{"9: never loaded", "keeps what it has learnt", "jumps back towards its start 2 times", nil, func(v *VAE) {
			v.past = nil
			for _, x := range []float64{1.5, 0.8, 0.5, 1.4, 0.8, 0.5, 1.4, 0.6} {
				v.past = append(v.past, epochTerms{Learn: map[string]float64{"action": x}})
			}
		}},
		{"10: only the first agent", "every agent is learnt from", "none of: agent 1, agent 2, agent 3", func(d *dataset.Data) {
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
