package vae

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/hop-marl/hop/game/frame"
)

// Codes are z of some rows, with what is known of each row afterwards.
type Codes struct {
	Dim   int
	Z     []float32 // [n][Dim] means
	Label []int     // [n] the goal finally reached, -1 if none
}

// Probe is a softmax regression from z to the label: what z says about the goal
// plainly.
type Probe struct {
	Classes, Dim int
	W            []float64 // [Dim+1][Classes], the last row the bias
	mean, scale  []float64
}

// FitProbe fits a probe by gradient descent with momentum on all rows at once,
// from zero, with a small pull towards zero: the problem is convex, so the answer
// does not depend on chance. Rows without a label are left out; of more than 20,000
// others, evenly spaced ones are taken.
func FitProbe(c Codes, classes int) *Probe {
	p := &Probe{Classes: classes, Dim: c.Dim, W: make([]float64, (c.Dim+1)*classes), mean: make([]float64, c.Dim),
		scale: make([]float64, c.Dim)}
	var rows []int
	for i, l := range c.Label {
		if l >= 0 {
			rows = append(rows, i)
		}
	}
	const most = 20000
	if n := len(rows); n > most {
		for i := range most {
			rows[i] = rows[i*n/most]
		}
		rows = rows[:most]
	}
	if len(rows) == 0 {
		return p
	}
	p.standardise(c, rows)
	const steps, lr, momentum, decay = 300, 0.5, 0.9, 1e-4
	grad, vel := make([]float64, len(p.W)), make([]float64, len(p.W))
	x, prob := make([]float64, c.Dim+1), make([]float64, classes)
	for range steps {
		for k, w := range p.W {
			grad[k] = decay * w
		}
		for _, i := range rows {
			p.input(x, c.Z[i*c.Dim:(i+1)*c.Dim])
			p.predict(prob, x)
			prob[c.Label[i]]--
			for d, v := range x {
				for k, e := range prob {
					grad[d*classes+k] += v * e / float64(len(rows))
				}
			}
		}
		for k := range p.W {
			vel[k] = momentum*vel[k] - lr*(1-momentum)*grad[k]
			p.W[k] += vel[k]
		}
	}
	return p
}

// standardise finds the mean and the spread of each dimension.
func (p *Probe) standardise(c Codes, rows []int) {
	for d := range p.Dim {
		sum, sq := 0., 0.
		for _, i := range rows {
			sum += float64(c.Z[i*c.Dim+d])
		}
		p.mean[d] = sum / float64(len(rows))
		for _, i := range rows {
			e := float64(c.Z[i*c.Dim+d]) - p.mean[d]
			sq += e * e
		}
		p.scale[d] = 1 / math.Sqrt(sq/float64(len(rows))+1e-12)
	}
}

func (p *Probe) input(x []float64, z []float32) {
	for d, v := range z {
		x[d] = (float64(v) - p.mean[d]) * p.scale[d]
	}
	x[p.Dim] = 1
}

func (p *Probe) predict(dst, x []float64) {
	clear(dst)
	for d, v := range x {
		for k := range dst {
			dst[k] += v * p.W[d*p.Classes+k]
		}
	}
	top, sum := math.Inf(-1), 0.
	for _, v := range dst {
		top = max(top, v)
	}
	for k, v := range dst {
		dst[k] = math.Exp(v - top)
		sum += dst[k]
	}
	for k := range dst {
		dst[k] /= sum
	}
}

// Score is how well a probe does on rows it was not fitted to.
type Score struct {
	Accuracy float64
	CE       float64 // nats
	Majority float64 // accuracy of always naming the most frequent label
	Info     float64 // nats: entropy of the label minus CE, a lower bound on the mutual information of z and label
	N        int
}

// Score says how good the probe is.
func (p *Probe) Score(c Codes) Score {
	var s Score
	count := make([]int, p.Classes)
	x, prob := make([]float64, c.Dim+1), make([]float64, p.Classes)
	for i, l := range c.Label {
		if l < 0 {
			continue
		}
		p.input(x, c.Z[i*c.Dim:(i+1)*c.Dim])
		p.predict(prob, x)
		best := 0
		for k, v := range prob {
			if v > prob[best] {
				best = k
			}
		}
		if best == l {
			s.Accuracy++
		}
		s.CE -= math.Log(max(prob[l], 1e-9))
		count[l]++
		s.N++
	}
	if s.N == 0 {
		return s
	}
	n := float64(s.N)
	s.Accuracy /= n
	s.CE /= n
	for _, k := range count {
		q := float64(k) / n
		s.Majority = max(s.Majority, q)
		if q > 0 {
			s.Info -= q * math.Log(q)
		}
	}
	s.Info -= s.CE
	return s
}

// Active returns how many dimensions of z vary with the state: those whose mean
// has a variance above 0.01 over the rows (Burda et al. 2016).
func Active(c Codes) int {
	n := 0
	col := make([]float64, len(c.Label))
	for d := range c.Dim {
		for i := range col {
			col[i] = float64(c.Z[i*c.Dim+d])
		}
		if stat.Variance(col, nil) > 0.01 {
			n++
		}
	}
	return n
}

// Map projects the rows onto the two directions in which z varies most, and
// returns the share of the variance that these hold. Signs are fixed, so that the
// same z give the same picture. With one dimension, y is zero.
func Map(c Codes) (x, y []float64, share float64) {
	n := len(c.Label)
	x, y = make([]float64, n), make([]float64, n)
	if n < 2 {
		return x, y, 0
	}
	data := mat.NewDense(n, c.Dim, nil)
	for i, v := range c.Z[:n*c.Dim] {
		data.Set(i/c.Dim, i%c.Dim, float64(v))
	}
	var cov mat.SymDense
	stat.CovarianceMatrix(&cov, data, nil)
	var eig mat.EigenSym
	if !eig.Factorize(&cov, true) {
		return x, y, 0
	}
	values := eig.Values(nil)
	var vec mat.Dense
	eig.VectorsTo(&vec)
	total := 0.
	for _, v := range values {
		total += max(v, 0)
	}
	for k, dst := range [][]float64{x, y} {
		if k >= c.Dim {
			break
		}
		col := c.Dim - 1 - k
		sign, top := 1., 0.
		for d := range c.Dim {
			if v := vec.At(d, col); math.Abs(v) > top+1e-9 {
				top, sign = math.Abs(v), math.Copysign(1, v)
			}
		}
		for i := range n {
			for d := range c.Dim {
				dst[i] += sign * vec.At(d, col) * float64(c.Z[i*c.Dim+d])
			}
		}
		if total > 0 {
			share += max(values[col], 0) / total
		}
	}
	return x, y, share
}

// Gate says when inferring a goal is worth it: when the modelled agent is within
// Distance steps, walls not counted, of something it could want. Elsewhere its
// goal is the neutral one, zeros.
type Gate struct {
	Layout   frame.Input
	Prey     []int // planes of the things it could want
	Distance int   // negative: the gate is always open
}

// NewGate returns a gate over the boards of a layout for so many seats: what an agent
// could want is all that is neither an agent nor a block.
func NewGate(l frame.Layout, seats, distance int) Gate {
	return Gate{Layout: l.Input(), Prey: l.Meaning(seats, 0, nil).Things(len(l.Planes)), Distance: distance}
}

// Open reports whether to infer the goal of the agent whose observation this is. An
// agent that is not on the board has no goal.
func (g Gate) Open(obs []float32) bool {
	if g.Distance < 0 {
		return true
	}
	h, w, c := g.Layout.Height, g.Layout.Width, g.Layout.Planes
	me := -1
	for at := range h * w {
		if obs[at*c] > 0.5 {
			me = at
			break
		}
	}
	if me < 0 {
		return false
	}
	y, x := me/w, me%w
	for row := max(0, y-g.Distance); row <= min(h-1, y+g.Distance); row++ {
		left := g.Distance - abs(row-y)
		for col := max(0, x-left); col <= min(w-1, x+left); col++ {
			for _, k := range g.Prey {
				if obs[(row*w+col)*c+k] > 0.5 {
					return true
				}
			}
		}
	}
	return false
}

// Apply writes the neutral goal over z unless the gate is open, and reports
// whether it is.
func (g Gate) Apply(z, obs []float32) bool {
	if g.Open(obs) {
		return true
	}
	clear(z)
	return false
}

func abs(x int) int {
	if x < 0 {
		return -x
	}
	return x
}
