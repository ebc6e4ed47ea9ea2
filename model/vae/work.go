package vae

import (
	"math"

	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// Terms are the parts of the losses, each over the rows that counted. A part that
// a loss does not have stays empty. Cells and Bits together are the
// reconstruction; in loss B the decoder only reads along (its gradient does not
// reach the encoder), so that a z can still be shown as a state.
type Terms struct {
	Cells  nn.Loss // -ln p of the agents' cells, summed over agents
	Bits   nn.Loss // -ln p of the other planes' cells, summed
	KL     nn.Loss // from the prior: standard normal, or uniform classes
	Action nn.Loss // -ln p of the action (loss B)
	// Blur is, for discrete goals, ln(classes) less the information that a class
	// gives about the state, over the batch: 0 if every state has one sure class and
	// all are used equally often.
	Blur    nn.Loss
	Outcome nn.Loss // -ln p of the agent's last action, given by z alone (loss B)
}

// Weights say how much the terms count, and the temperature of discrete goals.
type Weights struct{ KL, Blur, Tau float64 }

// Plus returns the terms over the rows of both.
func (t Terms) Plus(u Terms) Terms {
	return Terms{t.Cells.Plus(u.Cells), t.Bits.Plus(u.Bits), t.KL.Plus(u.KL), t.Action.Plus(u.Action), t.Blur.Plus(u.Blur),
		t.Outcome.Plus(u.Outcome)}
}

// Work is one goroutine's memory for up to a number of rows.
type Work struct {
	X, O   f32.Sparse // what the encoder and the model of the action read
	Cell   []int32    // [rows][Agents] targets
	Bit    []float32  // [rows][Bits]
	Legal  []bool     // [rows][Actions]
	Action []int32    // [rows]

	Mu, LogVar []float32       // [rows][Dim] after Encode
	Class      *nn.Categorical // [rows*Groups][Discrete] after Encode
	Z          []float32       // [rows][Width] after Sample or Mean

	CellLogits nn.Logits       // [rows][Agents][cells+1] after Decode
	BitLogits  nn.Logits       // [rows][Bits]
	Acts       *nn.Categorical // [rows][Actions] after Predict

	m               *Model
	rows            int
	trunk, dec      *nn.MLPWork
	conv            *model.ConvWork
	post            *nn.Gaussian
	gumbel          *nn.Gumbel
	logits          nn.Logits
	dlogits         []float32 // [rows][Groups*Discrete]
	dsure           []float32 // [rows][Groups*Discrete]
	mean            []float32 // [Discrete]
	dz, dzdec       []float32 // [rows][Width]
	cell            *nn.Categorical
	bit             *nn.Bernoulli
	dcell, dbit     []float32
	cat, mix, act   []float32
	dcat, dmix, da  []float32
	ending, dending []float32 // [rows][Actions]
	ends            *nn.Categorical
	end             []int32 // [rows]
	known           []bool  // [rows] the outcome is
}

// Work allocates memory for up to rows rows.
func (m *Model) Work(rows int) *Work {
	n := func(k int) []float32 { return make([]float32, rows*k) }
	ws := &Work{m: m, rows: rows, Z: n(m.Width()), dz: n(m.Width()), dzdec: n(m.Width())}
	ws.Cell, ws.Bit = make([]int32, rows*m.Input.Agents), n(m.Bits())
	if m.Net == "conv" {
		ws.conv = m.conv.Work(rows)
	} else {
		ws.trunk = m.trunk.Work(rows)
	}
	if m.Discrete > 0 {
		ws.logits, ws.dlogits, ws.mean = nn.Logits(n(m.Width())), n(m.Width()), make([]float32, m.Discrete)
		ws.dsure = n(m.Width())
		ws.Class, ws.gumbel = nn.NewCategorical(m.Discrete, rows*m.Groups), nn.NewGumbel(m.Discrete, rows*m.Groups)
	} else {
		ws.Mu, ws.LogVar, ws.post = n(m.Dim), n(m.Dim), nn.NewGaussian(m.Dim, rows)
	}
	ws.dec = m.dec.Work(rows)
	if a := m.softAgents(); a > 0 {
		ws.CellLogits, ws.dcell = nn.Logits(n(a*(m.Cells()+1))), n(a*(m.Cells()+1))
		ws.cell = nn.NewCategorical(m.Cells()+1, rows*a)
	}
	if b := m.Bits(); b > 0 {
		ws.BitLogits, ws.dbit, ws.bit = nn.Logits(n(b)), n(b), nn.NewBernoulli(b, rows)
	}
	if m.Config.Loss == "b" {
		ws.Legal, ws.Action = make([]bool, rows*m.Actions), make([]int32, rows)
		cat := m.MOA + m.Width()
		ws.cat, ws.mix, ws.act = n(cat), n(m.MOA), n(m.Actions)
		ws.dcat, ws.dmix, ws.da = n(cat), n(m.MOA), n(m.Actions)
		ws.Acts = nn.NewCategorical(m.Actions, rows)
		ws.ending, ws.dending, ws.ends = n(m.Actions), n(m.Actions), nn.NewCategorical(m.Actions, rows)
		ws.end, ws.known = make([]int32, rows), make([]bool, rows)
	}
	ws.Reset()
	return ws
}

// Reset forgets the rows.
func (ws *Work) Reset() {
	ws.X.Reset(ws.m.state.Cols)
	ws.O.Reset(ws.m.obs.Cols)
}

// Add appends row i of src. It panics if the memory is full.
func (ws *Work) Add(src *Rows, i int) { ws.AddAhead(src, i, i) }

// AddAhead appends row i of src as the state, and row j, a later one of the same
// agent, as the step whose action is to be predicted.
func (ws *Work) AddAhead(src *Rows, i, j int) {
	m, at := ws.m, ws.X.Rows()
	if at >= ws.rows {
		panic("vae: more rows than the workspace holds")
	}
	ws.X.AppendFrom(&src.State, i)
	a, b, k := m.Input.Agents, m.Bits(), m.Actions
	copy(ws.Cell[at*a:(at+1)*a], src.Cell[i*a:(i+1)*a])
	for c, v := range src.Bit[i*b : (i+1)*b] {
		ws.Bit[at*b+c] = float32(v)
	}
	if m.Config.Loss == "b" {
		ws.O.AppendFrom(&src.Obs, j)
		ws.Action[at], ws.end[at], ws.known[at] = src.Action[j], src.Outcome[i], src.Outcome[i] != nn.NoClass
		copy(ws.Legal[at*k:(at+1)*k], src.Legal[j*k:(j+1)*k])
	}
}

// Encode computes the distribution of z of the rows.
func (ws *Work) Encode(p *nn.Params) {
	m, rows := ws.m, ws.X.Rows()
	y := ws.features(p)
	if m.Discrete > 0 {
		m.logits.Forward(p, ws.logits, y, rows)
		ws.Class.Set(ws.logits, nil, rows*m.Groups)
		return
	}
	m.mu.Forward(p, ws.Mu, y, rows)
	m.logvar.Forward(p, ws.LogVar, y, rows)
	ws.post.Set(ws.Mu, ws.LogVar, rows)
}

func (ws *Work) features(p *nn.Params) []float32 {
	if ws.m.Net == "conv" {
		ws.m.conv.ForwardSparse(p, ws.conv, &ws.X)
		return ws.conv.Y
	}
	ws.m.trunk.ForwardSparse(p, ws.trunk, &ws.X)
	return ws.trunk.Y
}

// Mean sets Z to the mean of its distribution: for discrete goals, to the
// probabilities of the classes.
func (ws *Work) Mean() {
	n := ws.X.Rows() * ws.m.Width()
	if ws.m.Discrete > 0 {
		copy(ws.Z[:n], ws.Class.P)
		return
	}
	copy(ws.Z[:n], ws.Mu)
}

// Mode sets Z to the likeliest value: the mean, or the likeliest classes.
func (ws *Work) Mode() {
	if ws.m.Discrete == 0 {
		ws.Mean()
		return
	}
	n := ws.X.Rows() * ws.m.Groups
	clear(ws.Z[:n*ws.m.Discrete])
	for i := range n {
		ws.Z[i*ws.m.Discrete+int(ws.Class.Mode(i))] = 1
	}
}

// Sample draws Z. tau is the temperature of discrete goals.
func (ws *Work) Sample(tau float64, r *rng.Rand) {
	if rows := ws.X.Rows(); ws.m.Discrete > 0 {
		ws.gumbel.Sample(ws.Z, ws.logits[:rows*ws.m.Width()], nil, float32(tau), r)
		return
	}
	ws.post.Sample(ws.Z, nil, r)
}

// Decode computes the state that Z stands for.
func (ws *Work) Decode(p *nn.Params) { ws.decode(p, ws.X.Rows()) }

func (ws *Work) decode(p *nn.Params, rows int) {
	m := ws.m
	m.dec.Forward(p, ws.dec, ws.Z, rows)
	if a := m.softAgents(); a > 0 {
		m.cells.Forward(p, ws.CellLogits, ws.dec.Y, rows)
	}
	if m.Bits() > 0 {
		m.bits.Forward(p, ws.BitLogits, ws.dec.Y, rows)
	}
}

// Predict computes the distribution of the action given observation and Z.
func (ws *Work) Predict(p *nn.Params) {
	m, rows := ws.m, ws.O.Rows()
	m.look.ForwardSparse(p, ws.mix[:rows*m.MOA], &ws.O)
	w, z := m.MOA+m.Width(), m.Width()
	for i := range rows {
		copy(ws.cat[i*w:], ws.mix[i*m.MOA:(i+1)*m.MOA])
		copy(ws.cat[i*w+m.MOA:], ws.Z[i*z:(i+1)*z])
	}
	m.mix.Forward(p, ws.mix, ws.cat, rows)
	m.act.Forward(p, ws.act, ws.mix, rows)
	ws.Acts.Set(nn.Logits(ws.act[:rows*m.Actions]), ws.Legal, rows)
}

// Learn adds the gradients of one part of a minibatch to p.G and returns the
// terms. z is sampled; total is the number of rows of the whole minibatch.
func (ws *Work) Learn(p *nn.Params, w Weights, total int, r *rng.Rand) Terms {
	ws.Encode(p)
	ws.Sample(w.Tau, r)
	return ws.learn(p, w, total, true)
}

// learn is Learn from the Z that is there. Without readout, loss B leaves the
// decoder alone.
func (ws *Work) learn(p *nn.Params, w Weights, total int, readout bool) Terms {
	m, rows := ws.m, ws.X.Rows()
	if rows == 0 {
		return Terms{}
	}
	all := nn.Rows{N: rows, Total: float64(total)}
	var t Terms
	dz := ws.dz[:rows*m.Width()]
	clear(ws.dlogits)
	if m.Config.Loss == "b" {
		ws.Predict(p)
		t.Action = ws.action(p, dz, all)
		if m.Outcome > 0 {
			t.Outcome = ws.learnOutcome(p, dz, all)
		}
		if readout {
			t.Cells, t.Bits = ws.rebuild(p, ws.dzdec, all)
		}
	} else {
		t.Cells, t.Bits = ws.rebuild(p, dz, all)
	}
	if m.Discrete > 0 {
		t.Blur = ws.blur(float32(w.Blur)*float32(rows)/float32(total), rows)
	}
	all.Scale = float32(w.KL)
	t.KL = ws.encoder(p, dz, all)
	return t
}

// rebuild adds the gradients of the reconstruction and writes that of z to dz.
func (ws *Work) rebuild(p *nn.Params, dz []float32, all nn.Rows) (cells, bits nn.Loss) {
	m, rows := ws.m, all.N
	ws.decode(p, rows)
	clear(ws.dec.DY)
	if a := m.softAgents(); a > 0 {
		n := rows * a
		ws.cell.Set(ws.CellLogits[:n*(m.Cells()+1)], nil, n)
		clear(ws.dcell[:n*(m.Cells()+1)])
		each := ws.cell.CrossEntropy(ws.dcell, ws.Cell[:n], nil, nn.Rows{N: n, Total: all.Total})
		cells = nn.Loss{Sum: each.Sum, Weight: float64(rows), Rows: rows}
		m.cells.BackwardAdd(p, ws.dec.DY, ws.dcell, ws.dec.Y, ws.CellLogits, rows)
	}
	if b := m.Bits(); b > 0 {
		ws.bit.Set(ws.BitLogits[:rows*b], rows)
		clear(ws.dbit[:rows*b])
		things := all
		things.Scale = float32(m.Things)
		bits = ws.bit.Loss(ws.dbit, ws.Bit[:rows*b], things)
		m.bits.BackwardAdd(p, ws.dec.DY, ws.dbit, ws.dec.Y, ws.BitLogits, rows)
	}
	m.dec.Backward(p, ws.dec, dz, ws.Z, rows)
	return cells, bits
}

// sure returns what the last action is predicted from: z as it was drawn, or, for
// discrete goals, the probabilities of the classes. One draw among classes says
// so little at first that they settle on whatever else tells them apart before
// it is heard.
func (ws *Work) sure() []float32 {
	if ws.m.Discrete > 0 {
		return ws.Class.P
	}
	return ws.Z
}

// outcome computes what z alone says about the last action, and its loss.
func (ws *Work) outcome(p *nn.Params, rows int) nn.Loss {
	ws.m.outcome.Forward(p, ws.ending, ws.sure(), rows)
	ws.ends.Set(nn.Logits(ws.ending[:rows*ws.m.Actions]), nil, rows)
	return ws.ends.CrossEntropy(nil, ws.end, nil, nn.Rows{N: rows, Alive: ws.known[:rows]})
}

// learnOutcome is outcome with its gradients, which it adds to dz, or to those of
// the classes' logits.
func (ws *Work) learnOutcome(p *nn.Params, dz []float32, all nn.Rows) nn.Loss {
	m, rows := ws.m, all.N
	loss := ws.outcome(p, rows)
	clear(ws.dending[:rows*m.Actions])
	ws.ends.CrossEntropy(ws.dending, ws.end, nil, nn.Rows{N: rows, Alive: ws.known[:rows], Total: all.Total, Scale: float32(m.Outcome)})
	if m.Discrete == 0 {
		m.outcome.BackwardAdd(p, dz, ws.dending, ws.Z, ws.ending, rows)
		return loss
	}
	m.outcome.Backward(p, ws.dsure, ws.dending, ws.Class.P, ws.ending, rows)
	for i := range rows * m.Groups {
		_, q := ws.Class.Row(i)
		d, to := ws.dsure[i*m.Discrete:(i+1)*m.Discrete], ws.dlogits[i*m.Discrete:(i+1)*m.Discrete]
		mean := f32.Dot(q, d)
		for k, v := range q {
			to[k] += v * (d[k] - mean)
		}
	}
	return loss
}

// action adds the gradients of the model of the action and writes that of z to dz.
func (ws *Work) action(p *nn.Params, dz []float32, all nn.Rows) nn.Loss {
	m, rows := ws.m, all.N
	clear(ws.da[:rows*m.Actions])
	loss := ws.Acts.CrossEntropy(ws.da, ws.Action, nil, all)
	m.act.Backward(p, ws.dmix, ws.da, ws.mix, ws.act, rows)
	m.mix.Backward(p, ws.dcat, ws.dmix, ws.cat, ws.mix, rows)
	w, z := m.MOA+m.Width(), m.Width()
	for i := range rows {
		copy(ws.mix[i*m.MOA:(i+1)*m.MOA], ws.cat[i*w:])
		copy(ws.dmix[i*m.MOA:(i+1)*m.MOA], ws.dcat[i*w:])
		copy(dz[i*z:(i+1)*z], ws.dcat[i*w+m.MOA:(i+1)*w])
	}
	m.look.BackwardSparse(p, ws.dmix[:rows*m.MOA], &ws.O, ws.mix[:rows*m.MOA])
	return loss
}

// encoder takes the KL and goes back from dz through the sample and the encoder.
func (ws *Work) encoder(p *nn.Params, dz []float32, all nn.Rows) nn.Loss {
	m, rows := ws.m, all.N
	var y, dy []float32
	if m.Net == "conv" {
		y, dy = ws.conv.Y, ws.conv.DY
	} else {
		y, dy = ws.trunk.Y, ws.trunk.DY
	}
	var kl nn.Loss
	if m.Discrete > 0 {
		n := rows * m.Width()
		ws.gumbel.Grad(ws.dlogits[:n], dz)
		kl = ws.uniform(all)
		m.logits.Backward(p, dy, ws.dlogits, y, ws.logits, rows)
	} else {
		ws.post.SampleGrad(dz)
		if all.Scale > 0 {
			kl = ws.post.KLStandard(all)
		} else {
			kl = ws.kl(rows)
		}
		m.mu.Backward(p, dy, ws.post.DMu, y, ws.Mu, rows)
		m.logvar.BackwardAdd(p, dy, ws.post.DLogVar, y, ws.LogVar, rows)
	}
	if m.Net == "conv" {
		m.conv.Backward(p, ws.conv, rows)
	} else {
		m.trunk.BackwardSparse(p, ws.trunk, &ws.X)
	}
	return kl
}

// kl returns the divergence from the standard normal without its gradient: an
// nn.Rows of Scale 0 would mean 1.
func (ws *Work) kl(rows int) nn.Loss {
	l := nn.Loss{Weight: float64(rows), Rows: rows}
	for i, mu := range ws.Mu[:rows*ws.m.Dim] {
		l.Sum += 0.5 * (float64(mu)*float64(mu) + float64(ws.post.Var[i]) - 1 - float64(ws.LogVar[i]))
	}
	return l
}

// uniform is the divergence of the classes from uniform ones, summed over groups;
// it adds to dlogits.
func (ws *Work) uniform(all nn.Rows) nn.Loss {
	m := ws.m
	l := nn.Loss{Weight: float64(all.N), Rows: all.N}
	unit := all.Scale / float32(all.Total)
	for i := range all.N * m.Groups {
		l.Sum += math.Log(float64(m.Discrete)) - float64(ws.Class.Entropy(i))
		ws.Class.Grad(ws.dlogits[i*m.Discrete:(i+1)*m.Discrete], i, 0, 0, -unit)
	}
	return l
}

// blur is ln K - H(mean class) + mean H(class) of the rows, averaged over groups; it
// adds to dlogits. The first two ask for balance, the last for sureness.
func (ws *Work) blur(weight float32, rows int) nn.Loss {
	m, k := ws.m, ws.m.Discrete
	l := nn.Loss{Weight: float64(rows), Rows: rows}
	for g := range m.Groups {
		clear(ws.mean)
		for i := range rows {
			_, p := ws.Class.Row(i*m.Groups + g)
			f32.Axpy(ws.mean, 1/float32(rows), p)
		}
		for j, q := range ws.mean {
			l.Sum += float64(rows) * float64(q) * math.Log(max(float64(q)*float64(k), 1e-30)) / float64(m.Groups)
			ws.mean[j] = float32(math.Log(max(float64(q), 1e-30))) * weight / float32(rows*m.Groups)
		}
		for i := range rows {
			_, p := ws.Class.Row(i*m.Groups + g)
			d := ws.dlogits[(i*m.Groups+g)*k : (i*m.Groups+g+1)*k]
			mid := f32.Dot(p, ws.mean)
			for j, q := range p {
				d[j] += q * (ws.mean[j] - mid)
			}
			l.Sum += float64(ws.Class.Entropy(i*m.Groups+g)) / float64(m.Groups)
			ws.Class.Grad(d, i*m.Groups+g, 0, 0, weight/float32(rows*m.Groups))
		}
	}
	return l
}

// Evaluate returns the terms of the rows at the mean of z, without gradients.
func (ws *Work) Evaluate(p *nn.Params) Terms {
	m, rows := ws.m, ws.X.Rows()
	all := nn.Rows{N: rows}
	var t Terms
	ws.Encode(p)
	ws.Mode()
	ws.Decode(p)
	if a := m.softAgents(); a > 0 {
		n := rows * a
		ws.cell.Set(ws.CellLogits[:n*(m.Cells()+1)], nil, n)
		t.Cells = ws.cell.CrossEntropy(nil, ws.Cell[:n], nil, nn.Rows{N: n})
		t.Cells.Weight, t.Cells.Rows = float64(rows), rows
	}
	if b := m.Bits(); b > 0 {
		ws.bit.Set(ws.BitLogits[:rows*b], rows)
		t.Bits = ws.bit.Loss(nil, ws.Bit[:rows*b], all)
	}
	if m.Discrete > 0 {
		t.Blur = ws.blur(0, rows)
		t.KL = nn.Loss{Weight: float64(rows), Rows: rows}
		for i := range rows * m.Groups {
			t.KL.Sum += math.Log(float64(m.Discrete)) - float64(ws.Class.Entropy(i))
		}
	} else {
		t.KL = ws.kl(rows)
	}
	if m.Config.Loss == "b" {
		ws.Predict(p)
		t.Action = ws.Acts.CrossEntropy(nil, ws.Action, nil, all)
		if m.Outcome > 0 {
			t.Outcome = ws.outcome(p, rows)
		}
	}
	return t
}
