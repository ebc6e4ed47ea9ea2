package cvae

import (
	"math"

	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// classWork is what discrete goals need of a Work: q is Dim/Classes variables of
// Classes classes a row.
type classWork struct {
	groups  int
	logits  nn.Logits       // [rows][Dim]
	dlogits []float32       // [rows][Dim]
	q       *nn.Categorical // [rows*groups][Classes]
	gumbel  *nn.Gumbel
	alive   []bool // [rows*groups]
}

func newClassWork(m *Model, rows int) *classWork {
	n := m.Dim / m.Classes
	return &classWork{
		groups: n, logits: make(nn.Logits, rows*m.Dim), dlogits: make([]float32, rows*m.Dim), q: nn.NewCategorical(m.Classes, rows*n),
		gumbel: nn.NewGumbel(m.Classes, rows*n), alive: make([]bool, rows*n),
	}
}

// head computes q, its probabilities where a normal q has its means.
func (c *classWork) head(p *nn.Params, ws *Work, rows int) {
	ws.m.mu.Forward(p, c.logits, ws.trunk.Y, rows)
	c.q.Set(c.logits, nil, rows*c.groups)
	copy(ws.Mu, c.q.P)
}

// draw draws one-hot classes from p and from q; those of q let gradients through.
func (c *classWork) draw(ws *Work, rows int, tau float64, r *rng.Rand) {
	d := ws.m.Dim
	for i := range rows {
		for g := range c.groups {
			c.alive[i*c.groups+g] = ws.alive[i]
		}
		if clear(ws.sel[i*d : (i+1)*d]); ws.alive[i] {
			ws.m.Draw(ws.sel[i*d:(i+1)*d], ws.pmu[i*d:(i+1)*d], nil, 1, r)
		}
	}
	c.gumbel.Sample(ws.g, c.logits[:rows*d], c.alive[:rows*c.groups], float32(tau), r)
}

// grad writes the gradient of the logits, which comes back through the draw and
// from KL(p || q), and returns the latter. Of normal distributions OMG takes
// KL(q || p). Classes are nearly sure, and many states that lie ahead are possible:
// KL(q || p) would ask q to name the likeliest of them alone, KL(p || q) asks for how
// likely each is, which is what trees draw from.
func (c *classWork) grad(ws *Work, rows nn.Rows) nn.Loss {
	d := ws.m.Dim
	clear(c.dlogits[:rows.N*d])
	c.gumbel.Grad(c.dlogits, ws.dg)
	unit := rows.Scale / float32(rows.Total)
	var l nn.Loss
	for i := range rows.N {
		if !ws.alive[i] {
			continue
		}
		l.Sum += ws.m.KL(ws.Mu[i*d:(i+1)*d], ws.pmu[i*d:(i+1)*d])
		l.Weight++
		l.Rows++
		for k, p := range ws.pmu[i*d : (i+1)*d] {
			c.dlogits[i*d+k] += (ws.Mu[i*d+k] - p) * unit
		}
	}
	return l
}

// Draw draws g from a distribution: mu + spread sd eps, eps standard normal; of
// discrete goals one class of each variable, one-hot, and with spread 0 their
// probabilities. logvar may be nil then.
func (m *Model) Draw(dst, mu, logvar []float32, spread float64, r *rng.Rand) {
	if m.Classes == 0 {
		for i, x := range mu {
			dst[i] = x + float32(spread*math.Exp(0.5*float64(logvar[i]))*r.Norm())
		}
		return
	}
	if copy(dst, mu); spread == 0 {
		return
	}
	clear(dst[:m.Dim])
	for lo := 0; lo < m.Dim; lo += m.Classes {
		if k := rng.Pick(mu[lo:lo+m.Classes], r.Float32()); k >= 0 {
			dst[lo+int(k)] = 1
		}
	}
}

// Near is Draw for who keeps standard deviations: a point, or a class of each variable.
func (m *Model) Near(dst, mu, sd []float32, spread float64, r *rng.Rand) {
	if m.Classes > 0 {
		m.Draw(dst, mu, nil, spread, r)
		return
	}
	for k, x := range mu {
		dst[k] = x + float32(spread)*sd[k]*float32(r.Norm())
	}
}

// Cloud is points drawn around what is inferred, always by the same random numbers, so that
// whoever looks at it changes nothing. Its zero value is ready.
type Cloud struct {
	Points [][]float32 // [64][Dim]
	normal []float32   // [64][Dim] of a point that is one of a continuum
}

// Draw draws the points as Near does.
func (c *Cloud) Draw(m *Model, mu, sd []float32, spread float64) {
	r := rng.New(1).Child("words").Rand() // the name is part of the numbers
	fresh := c.Points == nil
	for i := range 64 {
		if fresh {
			c.Points = append(c.Points, make([]float32, len(mu)))
		}
		switch z := c.Points[i]; {
		case m.Classes > 0:
			m.Near(z, mu, sd, spread, &r)
		default:
			for k, x := range mu {
				if fresh { // logarithms and cosines take longer than all else here
					c.normal = append(c.normal, float32(r.Norm()))
				}
				z[k] = x + float32(spread)*sd[k]*c.normal[i*len(mu)+k]
			}
		}
	}
}

// KL returns KL(p || q) of discrete goals, summed over the variables: how far what is
// inferred is from the probabilities p of a subgoal's classes.
func (m *Model) KL(q, p []float32) float64 {
	sum := 0.
	for i, x := range p {
		if x > 0 {
			sum += float64(x) * (math.Log(float64(x)) - math.Log(max(float64(q[i]), 1e-12)))
		}
	}
	return sum
}
