package reference

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// Net is a network's weights by the names of its parts, in float64. A part's last
// dimension is its columns, all others together its rows.
type Net map[string]*Mat

// LoadNet reads the tensors whose names begin with prefix. An empty net is an
// error: a reference of nothing agrees with everything.
func LoadNet(f *safetensors.File, prefix string) (Net, error) {
	net := Net{}
	for _, t := range f.Tensors {
		name, ok := strings.CutPrefix(t.Name, prefix)
		if !ok {
			continue
		}
		rows, cols := 1, t.Shape[len(t.Shape)-1]
		for _, n := range t.Shape[:len(t.Shape)-1] {
			rows *= n
		}
		m := NewMat(rows, cols)
		if len(t.Data) != 4*len(m.V) {
			return nil, fmt.Errorf("reference: tensor %s is no array of float32", t.Name)
		}
		for i := range m.V {
			m.V[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:])))
		}
		net[name] = m
	}
	if len(net) == 0 {
		return nil, fmt.Errorf("reference: there are no tensors %s*", prefix)
	}
	return net, nil
}

// Clone returns a copy without gradients.
func (n Net) Clone() Net {
	out := Net{}
	for name, m := range n {
		c := NewMat(m.Rows, m.Cols)
		copy(c.V, m.V)
		out[name] = c
	}
	return out
}

// names returns the parts in a fixed order.
func (n Net) names() []string { return slices.Sorted(maps.Keys(n)) }

// Adam is the optimiser of Kingma and Ba (2015), algorithm 1.
type Adam struct {
	Mean, Square Net // the two moments
	Steps        int
	Eps          float64
}

// Load reads moments and steps from under prefix.
func (o *Adam) Load(f *safetensors.File, prefix string) error {
	mean, err1 := LoadNet(f, prefix+"mean/")
	square, err2 := LoadNet(f, prefix+"square/")
	var steps [1]int64
	err := errors.Join(err1, err2, f.Int64(steps[:], prefix+"steps", 1))
	for name, m := range square {
		if slices.Min(m.V) < 0 {
			err = errors.Join(err, fmt.Errorf("reference: mean squares of %s are below 0", name))
		}
	}
	o.Mean, o.Square, o.Steps = mean, square, int(steps[0])
	return err
}

// Step moves net along its gradients, scaled down together to a norm of at most
// clip unless that is 0, clears them and returns the norm before.
func (o *Adam) Step(net Net, lr, clip float64) float64 {
	const beta1, beta2 = 0.9, 0.999
	norm, scale := net.steep(clip)
	o.Steps++
	c1, c2 := 1-math.Pow(beta1, float64(o.Steps)), 1-math.Pow(beta2, float64(o.Steps))
	for name, m := range net {
		mean, square := o.Mean[name].V, o.Square[name].V
		for i, g := range m.G {
			g *= scale
			mean[i] = beta1*mean[i] + (1-beta1)*g
			square[i] = beta2*square[i] + (1-beta2)*g*g
			m.V[i] -= lr * (mean[i] / c1) / (math.Sqrt(square[i]/c2) + o.Eps)
			m.G[i] = 0
		}
	}
	return norm
}

// Rate is the learning rate by which a step took a network from before to after, given the optimiser then and the decay of weights.
func (before Net) Rate(after Net, o *Adam, decay float64) float64 {
	c1, c2 := 1-math.Pow(.9, float64(o.Steps)), 1-math.Pow(.999, float64(o.Steps))
	var along, all float64
	for name, m := range before {
		mean, square := o.Mean[name].V, o.Square[name].V
		for i, w := range m.V {
			by := mean[i]/c1/(math.Sqrt(square[i]/c2)+o.Eps) + decay*w
			along, all = along+by*(w-after[name].V[i]), all+by*by
		}
	}
	return along / all
}

// steep returns the norm of a network's gradients, and what scales that down to clip, unless clip is 0.
func (n Net) steep(clip float64) (norm, scale float64) {
	for _, name := range n.names() {
		for _, g := range n[name].G {
			norm += g * g
		}
	}
	if norm = math.Sqrt(norm); clip > 0 && norm > clip {
		return norm, clip / norm
	}
	return norm, 1
}

// Gradients returns the gradients of a network, scaled down together to a norm of at most clip unless that is 0.
func (n Net) Gradients(clip float64) Net {
	_, scale := n.steep(clip)
	out := Net{}
	for name, m := range n {
		out[name] = NewMat(m.Rows, m.Cols)
		add(out[name].V, scale, m.G)
	}
	return out
}

// Change says how one network's change compares with its reference's.
type Change struct {
	Cosine float64 // of the two changes; 1: the same direction
	Length float64 // of the change over the reference's; 1: as long
	Part   string  // the part that differs most, "" if none does
	Parts  []Change

	Name string // of a part
}

// Agree is how near a change must be to its reference's: float32 differs from float64
// by far less, a slip by far more.
const (
	agreeCosine = 0.9998
	agreeLength = 0.005
	smallShare  = 1e-4 // parts that change less are only rounding
	anywhere    = 0.5  // of the reference's length: how far chance may take a change that something can still be said of
)

// Same reports whether direction and length agree, of the whole and of each part
// that matters.
func (c Change) Same() bool { return c.Part == "" && near(c.Cosine, c.Length) }

func near(cosine, length float64) bool {
	return cosine >= agreeCosine && math.Abs(length-1) <= agreeLength
}

// Within reports whether a change, and the part of it that differs most, are off their reference's by no more than agreement
// allows and some times what chance alone took another one from it. What points away from the reference is not, but where
// chance takes it anywhere.
func (c Change) Within(chance Change) bool {
	within := func(c, chance Change, cosine, length float64) bool {
		far := chance.Far()
		if far > anywhere {
			return true
		}
		far = min(1, 5*far)
		return math.Abs(c.Length-1) <= length+far && math.Sqrt(2*max(0, 1-c.Cosine)) <= math.Sqrt(2*(1-cosine))+far
	}
	if !within(c, chance, agreeCosine, agreeLength) {
		return false
	}
	if chance.Far() > anywhere {
		return true
	}
	i := slices.IndexFunc(c.Parts, func(p Change) bool { return p.Name == c.Part })
	return i < 0 || within(c.Parts[i], chance.Parts[i], agreePart, agreePartLength)
}

// Beyond reports whether a change is off by half of itself or more while chance hardly moves one: no ratio at a clip and no
// digit makes up for that.
func (c Change) Beyond(chance Change) bool { return c.Far() > .5 && chance.Far() < .02 }

// Far is the distance of a change from its reference's, in lengths of that.
func (c Change) Far() float64 { return math.Sqrt(max(0, 1+c.Length*c.Length-2*c.Length*c.Cosine)) }

// Widen makes of what two changes are off, in all and part by part, the larger.
func (c *Change) Widen(by Change) {
	if c.Parts == nil {
		*c = by
		return
	}
	parts := c.Parts
	for i, p := range by.Parts {
		if p.Far() > parts[i].Far() {
			parts[i] = p
		}
	}
	if by.Far() > c.Far() {
		*c = by
	}
	c.Parts = parts
}

// shake moves every weight by a share of itself, up or down; no seed moves none.
func (n Net) shake(share float64, seed uint64) {
	if seed == 0 {
		return
	}
	r := rng.New(seed).Child("shake").Rand()
	for _, name := range n.names() {
		for i := range n[name].V {
			n[name].V[i] *= 1 + share*(2*float64(r.IntN(2))-1)
		}
	}
}

// Shaken returns the network with every weight moved by its last digits.
func (n Net) Shaken(seed uint64) Net {
	out := n.Clone()
	out.shake(1.2e-7, seed)
	return out
}

// Compare compares how a network became got with how it became want. Parts that want
// leaves where they are must stay there.
func (before Net) Compare(got, want Net) Change {
	var c Change
	var dot, gg, ww float64
	type sums struct{ dot, gg, ww float64 }
	all := map[string]sums{}
	for _, name := range before.names() {
		var s sums
		for i, v := range before[name].V {
			g, w := got[name].V[i]-v, want[name].V[i]-v
			s.dot, s.gg, s.ww = s.dot+g*w, s.gg+g*g, s.ww+w*w
		}
		all[name] = s
		dot, gg, ww = dot+s.dot, gg+s.gg, ww+s.ww
	}
	c.Cosine, c.Length = cosine(dot, gg, ww), length(gg, ww)
	worst := 0.
	for _, name := range before.names() {
		s := all[name]
		p := Change{Name: name, Cosine: cosine(s.dot, s.gg, s.ww), Length: length(s.gg, s.ww)}
		c.Parts = append(c.Parts, p)
		matters := max(s.gg, s.ww) > smallShare*max(gg, ww)
		if off := max(1-p.Cosine, math.Abs(p.Length-1)); matters && off > worst {
			if worst = off; p.Cosine < agreePart || math.Abs(p.Length-1) > agreePartLength {
				c.Part = name
			}
		}
	}
	return c
}

// A part of a network is small, and Adam makes much of what little reaches it: a
// gradient near 0 has a direction that rounding decides.
const (
	agreePart       = 0.995
	agreePartLength = 0.02
)

func cosine(dot, gg, ww float64) float64 {
	if gg == 0 && ww == 0 {
		return 1
	}
	if gg == 0 || ww == 0 {
		return 0
	}
	return dot / math.Sqrt(gg*ww)
}

func length(gg, ww float64) float64 {
	if gg == ww {
		return 1
	}
	return math.Sqrt(gg / max(ww, 1e-300))
}
