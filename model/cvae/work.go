package cvae

import (
	"math"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// Terms are the parts of the loss over the rows that counted.
type Terms struct {
	Feature nn.Loss // mean squared error of the rebuilt feature
	KL      nn.Loss // KL(q || p), summed over the dimensions; of discrete goals KL(p || q), over the variables; with Contrast InfoNCE
}

// Plus returns the terms over the rows of both.
func (t Terms) Plus(u Terms) Terms { return Terms{t.Feature.Plus(u.Feature), t.KL.Plus(u.KL)} }

// Work is one goroutine's memory for up to a number of rows.
type Work struct {
	// Mu and LogVar are q of each row after Forward or Infer: [rows][Dim]. Of discrete
	// goals Mu is the classes' probabilities and LogVar is zeros.
	Mu, LogVar []float32

	m     *Model
	rows  int
	x     f32.Sparse
	enc   *frame.Encoder
	seq   nn.Seq
	last  []int32 // [rows][Seats]
	alive []bool  // [rows]: not padding

	f, df, in, din []float32 // [rows][Feature], [rows][step]
	cat, dcat      []float32 // [rows][GRU+Feature]
	gru            *nn.GRUWork
	trunk          *nn.MLPWork
	q, p           *nn.Gaussian // of continuous goals
	class          *classWork   // of discrete ones
	pmu, plv       []float32    // [rows][Dim]
	g, sel, dg     []float32    // [rows][Dim] what the decoder reads, drawn from p, its gradient
	chosen         []bool       // [rows] the decoder reads the selected g
	gin, dgin      []float32    // [rows][Dim+GRU]
	dec, ddec      []float32
	out, dout      []float32
	target         []float32 // [rows][Feature]
	h              []float32 // [rows][GRU] for Infer
}

// Work allocates memory for up to rows rows, whatever the lengths of their
// sequences.
func (m *Model) Work(rows int) *Work {
	n := func(k int) []float32 { return make([]float32, rows*k) }
	last := m.dec.Out
	ws := &Work{
		m: m, rows: rows, enc: m.obs.Encoder(), last: make([]int32, rows*m.Seats), alive: make([]bool, rows),
		Mu: n(m.Dim), LogVar: n(m.Dim), f: n(m.Feature), df: n(m.Feature), in: n(m.step()), din: n(m.step()),
		cat: n(m.GRU + m.Feature), dcat: n(m.GRU + m.Feature), gru: m.gru.Work(1, rows), trunk: m.trunk.Work(rows),
		pmu: n(m.Dim), plv: n(m.Dim),
		g: n(m.Dim), sel: n(m.Dim), dg: n(m.Dim), chosen: make([]bool, rows),
		gin: n(m.Dim + m.GRU), dgin: n(m.Dim + m.GRU), dec: n(last), ddec: n(last),
		out: n(m.Feature), dout: n(m.Feature), target: n(m.Feature), h: n(m.GRU),
	}
	if m.Classes > 0 {
		ws.class = newClassWork(m, rows)
	} else {
		ws.q, ws.p = nn.NewGaussian(m.Dim, rows), nn.NewGaussian(m.Dim, rows)
	}
	ws.Reset()
	return ws
}

// Reset forgets the rows.
func (ws *Work) Reset() { ws.x.Reset(ws.m.obs.Cols) }

// Load takes the picked sequences, padded at the end to the longest, time-major. It
// panics if they do not fit.
func (ws *Work) Load(src *Sequences, pick []int) {
	m := ws.m
	steps := 0
	for _, i := range pick {
		steps = max(steps, src.Steps(i))
	}
	if steps*len(pick) > ws.rows {
		panic("cvae: more rows than the workspace holds")
	}
	ws.Reset()
	ws.seq = nn.Seq{T: steps, N: len(pick), Alive: ws.alive[:steps*len(pick)]}
	for t := range steps {
		for n, i := range pick {
			at := t*len(pick) + n
			ws.alive[at] = t < src.Steps(i)
			if !ws.alive[at] {
				ws.x.EndRow()
				continue
			}
			row := src.Lo[i] + t
			lo, hi := src.X.Ptr[row], src.X.Ptr[row+1]
			ws.x.Idx = append(ws.x.Idx, src.X.Idx[lo:hi]...)
			ws.x.Val = append(ws.x.Val, src.X.Val[lo:hi]...)
			ws.x.EndRow()
			copy(ws.last[at*m.Seats:(at+1)*m.Seats], src.Last[row*m.Seats:])
			if src.Mu != nil {
				copy(ws.pmu[at*m.Dim:(at+1)*m.Dim], src.Mu[row*m.Dim:])
				copy(ws.plv[at*m.Dim:(at+1)*m.Dim], src.LogVar[row*m.Dim:])
			}
		}
	}
}

// Row returns where step t of the n-th loaded sequence lies in Mu and LogVar.
func (ws *Work) Row(t, n int) int { return t*ws.seq.N + n }

// Forward computes q of all loaded rows.
func (ws *Work) Forward(p *nn.Params) {
	m, n := ws.m, ws.seq.N
	rows := ws.seq.T * n
	m.feature.ForwardSparse(p, ws.f[:rows*m.Feature], &ws.x)
	clear(ws.in[:rows*m.step()])
	for i := range rows {
		if i < n {
			ws.before(i, nil) // nothing was seen before
			continue
		}
		ws.before(i, ws.f[(i-n)*m.Feature:(i-n+1)*m.Feature])
	}
	clear(ws.gru.H0)
	m.gru.Forward(p, ws.gru, ws.in, ws.seq)
	ws.head(p, ws.gru.Y, rows)
}

// before fills in what the memory reads at row i: the feature and the joint action
// before it.
func (ws *Work) before(i int, f []float32) {
	m := ws.m
	in := ws.in[i*m.step() : (i+1)*m.step()]
	copy(in, f)
	for s, a := range ws.last[i*m.Seats : (i+1)*m.Seats] {
		if a >= 0 {
			in[m.Feature+s*m.Actions+int(a)] = 1
		}
	}
}

// head computes q from the memory h and the features.
func (ws *Work) head(p *nn.Params, h []float32, rows int) {
	m, w := ws.m, ws.m.GRU+ws.m.Feature
	for i := range rows {
		copy(ws.cat[i*w:], h[i*m.GRU:(i+1)*m.GRU])
		copy(ws.cat[i*w+m.GRU:(i+1)*w], ws.f[i*m.Feature:])
	}
	m.trunk.Forward(p, ws.trunk, ws.cat, rows)
	if m.Classes > 0 {
		ws.class.head(p, ws, rows)
		return
	}
	m.mu.Forward(p, ws.Mu, ws.trunk.Y, rows)
	m.logvar.Forward(p, ws.LogVar, ws.trunk.Y, rows)
}

// Weights say how a gradient is taken: the weight of the KL term, the probability
// that the decoder reads the selected g and not the inferred one, and the
// temperature of discrete goals. With Contrast the KL term is InfoNCE.
type Weights struct {
	KL, Mix, Tau float64
	Contrast     bool
}

// Learn adds the gradients of the loaded sequences to params.G and returns the
// terms. total is the number of rows of the whole minibatch.
func (ws *Work) Learn(params *nn.Params, w Weights, total int, r *rng.Rand) Terms {
	ws.Forward(params)
	copy(ws.target, ws.f[:ws.seq.T*ws.seq.N*ws.m.Feature])
	ws.draw(w, r)
	return ws.losses(params, w, total)
}

// draw samples from q and p and mixes.
func (ws *Work) draw(w Weights, r *rng.Rand) {
	rows := ws.seq.T * ws.seq.N
	for i := range rows {
		ws.chosen[i] = r.Float64() < w.Mix
	}
	if ws.class != nil {
		ws.class.draw(ws, rows, w.Tau, r)
		ws.blend(rows)
		return
	}
	ws.p.Set(ws.pmu, ws.plv, rows)
	ws.p.Sample(ws.sel, ws.alive[:rows], r)
	ws.q.Set(ws.Mu, ws.LogVar, rows)
	ws.q.Sample(ws.g, ws.alive[:rows], r)
	ws.blend(rows)
}

// blend puts the selected g in place of the inferred one where it was chosen.
func (ws *Work) blend(rows int) {
	d := ws.m.Dim
	for i := range rows {
		if ws.chosen[i] {
			copy(ws.g[i*d:(i+1)*d], ws.sel[i*d:])
		}
	}
}

// losses goes through the decoder, takes both terms and goes all the way back.
func (ws *Work) losses(p *nn.Params, weigh Weights, total int) Terms {
	m := ws.m
	rows := ws.seq.T * ws.seq.N
	all := nn.Rows{N: rows, Alive: ws.alive[:rows], Total: float64(total)}
	w := m.Dim + m.GRU
	for i := range rows {
		copy(ws.gin[i*w:], ws.g[i*m.Dim:(i+1)*m.Dim])
		copy(ws.gin[i*w+m.Dim:(i+1)*w], ws.gru.Y[i*m.GRU:])
	}
	m.dec.Forward(p, ws.dec, ws.gin, rows)
	m.out.Forward(p, ws.out, ws.dec, rows)
	clear(ws.dout[:rows*m.Feature])
	var t Terms
	t.Feature = nn.MSE(ws.dout, ws.out, ws.target, m.Feature, all)
	m.out.Backward(p, ws.ddec, ws.dout, ws.dec, ws.out, rows)
	m.dec.Backward(p, ws.dgin, ws.ddec, ws.gin, ws.dec, rows)
	for i := range rows {
		if dg := ws.dg[i*m.Dim : (i+1)*m.Dim]; ws.chosen[i] {
			clear(dg) // p is fixed
		} else {
			copy(dg, ws.dgin[i*w:])
		}
	}
	all.Scale = float32(weigh.KL)
	switch {
	case ws.class != nil:
		t.KL = ws.class.grad(ws, all)
	case weigh.Contrast:
		ws.q.SampleGrad(ws.dg)
		t.KL = contrast(ws.q.DMu, ws.q.DLogVar, ws.Mu, ws.LogVar, ws.pmu, m.Dim, all)
	default:
		ws.q.SampleGrad(ws.dg)
		t.KL = ws.q.KL(ws.p, true, all)
	}
	ws.back(p, rows)
	return t
}

// back goes from the gradients of q and of the decoder's memory to the weights.
func (ws *Work) back(p *nn.Params, rows int) {
	m, n := ws.m, ws.seq.N
	if ws.class != nil {
		m.mu.Backward(p, ws.trunk.DY, ws.class.dlogits, ws.trunk.Y, ws.class.logits, rows)
	} else {
		m.mu.Backward(p, ws.trunk.DY, ws.q.DMu, ws.trunk.Y, ws.Mu, rows)
		m.logvar.BackwardAdd(p, ws.trunk.DY, ws.q.DLogVar, ws.trunk.Y, ws.LogVar, rows)
	}
	m.trunk.Backward(p, ws.trunk, ws.dcat, ws.cat, rows)
	w, dw := m.GRU+m.Feature, m.Dim+m.GRU
	for i := range rows {
		dy := ws.gru.DY[i*m.GRU : (i+1)*m.GRU]
		f32.Add(dy, ws.dcat[i*w:i*w+m.GRU], ws.dgin[i*dw+m.Dim:(i+1)*dw])
		copy(ws.df[i*m.Feature:(i+1)*m.Feature], ws.dcat[i*w+m.GRU:])
	}
	m.gru.Backward(p, ws.gru, ws.din, ws.in, ws.seq)
	for i := n; i < rows; i++ {
		df := ws.df[(i-n)*m.Feature : (i-n+1)*m.Feature]
		f32.Add(df, df, ws.din[i*m.step():i*m.step()+m.Feature])
	}
	m.feature.BackwardSparse(p, ws.df[:rows*m.Feature], &ws.x, ws.f[:rows*m.Feature])
}

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
