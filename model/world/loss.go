package world

import (
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
)

// Batch is steps to learn from: what one agent observed, what all did, ego-first,
// and what came of it.
type Batch struct {
	Rows   int
	Obs    []float32 // [Rows][Len]
	Joint  []int32   // [Rows][Agents]
	Next   []float32 // [Rows][H][W][Planes] the planes after the step
	Reward []float32 // [Rows][Agents]
	Over   []bool    // [Rows] the episode is over after it

	NextFeat []float32 // [Rows][Features] the features after the step
	View     int       // how far the one who observed sees, before and after: what lies beyond is on no plane; 0: everything
}

// Part returns rows lo to before hi of a batch of such observations, as views.
func (b *Batch) Part(in Input, lo, hi int) Batch {
	n, f := in.Agents, in.Features
	return Batch{
		hi - lo, b.Obs[lo*in.Len() : hi*in.Len()], b.Joint[lo*n : hi*n], b.Next[lo*in.board() : hi*in.board()], b.Reward[lo*n : hi*n],
		b.Over[lo:hi], b.NextFeat[lo*f : hi*f], b.View,
	}
}

// Losses are the terms of the loss, each a mean over its own rows: places,
// agents, steps or masks.
type Losses struct {
	Things, Move, Reward, Over, Legal nn.Loss // variant heads: cross-entropies in nats
	Planes                            nn.Loss // variant planes: squared errors
	Features                          nn.Loss // cross-entropy of what becomes 0
	Appear                            nn.Loss // negative log-likelihood of the kinds of things that appear, all together
	Far                               int     // agents that went further than one cell, which were left out
}

// Plus returns the losses over the rows of both.
func (l Losses) Plus(k Losses) Losses {
	return Losses{
		l.Things.Plus(k.Things), l.Move.Plus(k.Move), l.Reward.Plus(k.Reward), l.Over.Plus(k.Over), l.Legal.Plus(k.Legal),
		l.Planes.Plus(k.Planes), l.Features.Plus(k.Features), l.Appear.Plus(k.Appear), l.Far + k.Far,
	}
}

// Total returns the sum of the terms.
func (l Losses) Total() float64 {
	return l.Things.Mean() + l.Move.Mean() + l.Reward.Mean() + l.Over.Mean() + l.Legal.Mean() + l.Planes.Mean() + l.Features.Mean() +
		l.Appear.Mean()
}

// Terms lists what has been learnt from, by name.
func (l Losses) Terms() []agent.Stat {
	var out []agent.Stat
	for _, t := range []struct {
		name string
		loss nn.Loss
	}{{"things", l.Things}, {"move", l.Move}, {"reward", l.Reward}, {"over", l.Over}, {"legal", l.Legal}, {"planes", l.Planes},
		{"features", l.Features}, {"appear", l.Appear}} {
		if t.loss.Rows > 0 {
			out = append(out, agent.Stat{Name: t.name, Value: t.loss.Mean(), N: t.loss.Rows})
		}
	}
	return out
}

// targets is what a chunk should have predicted.
type targets struct {
	thing  []float32 // [chunk*cells][things]
	class  []int32   // [chunk*Agents]
	level  []int32   // [chunk*Agents]
	keep   []bool    // [chunk*Agents] that moved as the model can say
	saw    seen      // what came of it as far as that was seen; empty: all was
	weight []float32 // [chunk*Agents]
	over   []float32 // [chunk]
	zero   []float32 // [chunk][Zeroes]
	mask   []float32 // [chunk][Actions]
	dense  []float32 // [chunk][board+Agents+1]
	each   []float32 // [board+Agents+1] weights
}

func newTargets(m *Model) targets {
	n, e := m.Agents, max(m.things(), 1)
	return targets{
		thing: make([]float32, chunk*m.cells()*e), class: make([]int32, chunk*n), level: make([]int32, chunk*n),
		keep: make([]bool, chunk*n), weight: make([]float32, chunk*n), over: make([]float32, chunk), zero: make([]float32, chunk*len(m.Zeroes)),
		mask: make([]float32, chunk*m.Actions), dense: make([]float32, chunk*(m.board()+n+1)),
	}
}

// planeWeight returns the factor of plane c.
func (m *Model) planeWeight(c int) float32 {
	if len(m.Weights) == 0 {
		return 1
	}
	return float32(m.Weights[c])
}

// Learn adds the gradients of the batch's loss to p.G. total is how many rows the
// whole batch has, of which these may be a shard. Agents and rewards learn given
// what truly became of the things, and the end given the true next board. In games
// with features they learn given what the model itself says of the things, as they
// are used: what the rules take away and put elsewhere by chance, such as a caught
// prey, would else not be seen to be taken. So they do where things appear by
// chance.
func (ws *Work) Learn(p *nn.Params, b *Batch, total int) Losses {
	return ws.losses(p, b, total, true)
}

// Loss is Learn without gradients.
func (ws *Work) Loss(p *nn.Params, b *Batch) Losses { return ws.losses(p, b, b.Rows, false) }

func (ws *Work) losses(p *nn.Params, b *Batch, total int, grad bool) Losses {
	m := ws.m
	var sum Losses
	for lo := 0; lo < b.Rows; lo += chunk {
		hi := min(lo+chunk, b.Rows)
		part := b.Part(m.Input, lo, hi)
		ws.read(part.Obs, part.Joint, part.Rows)
		l := ws.learnLegal(p, &part, float64(total), grad)
		if m.Variant == Planes {
			l.Planes = ws.learnPlanes(p, &part, float64(total), grad)
		} else {
			ws.learnRules(p, &part, float64(total), grad, &l)
		}
		sum = sum.Plus(l)
	}
	return sum
}

// learnLegal is the loss of the own mask on the board before the step.
func (ws *Work) learnLegal(p *nn.Params, b *Batch, total float64, grad bool) (l Losses) {
	m := ws.m
	if m.Legal == 0 {
		return l
	}
	ws.legal.x.Reset(m.legal.cols)
	for i := range b.Rows {
		if ws.was[i].at[0] < 0 {
			continue
		}
		at := ws.legal.x.Rows()
		copy(ws.tgt.mask[at*m.Actions:(at+1)*m.Actions], b.Obs[i*m.Len()+m.legalAt():])
		m.legalRow(&ws.legal.x, &ws.was[i], 0)
	}
	rows := ws.legal.x.Rows()
	m.legal.forward(p, &ws.legal)
	ws.mask.Set(ws.legal.y, rows)
	l.Legal = ws.mask.Loss(ws.legal.grad(grad, m.Actions), ws.tgt.mask, nn.Rows{N: rows, Total: total})
	if grad {
		m.legal.backward(p, &ws.legal)
	}
	return l
}

// grad returns where the gradient of the outputs goes, cleared, nil if none is
// wanted.
func (w *netWork) grad(want bool, out int) []float32 {
	if !want {
		return nil
	}
	clear(w.dy[:w.x.Rows()*out])
	return w.dy
}

// learnRules is the loss of everything that a step decides.
func (ws *Work) learnRules(p *nn.Params, b *Batch, total float64, grad bool, l *Losses) {
	m, n, e := ws.m, ws.m.Agents, ws.m.things()
	ws.see(b)
	if e > 0 {
		ws.thingTargets(b)
		ws.forwardThings(p, b.Joint, b.Rows)
		rows := ws.cell.x.Rows()
		ws.place.Weight = nil
		if len(m.Weights) > 0 {
			ws.place.Weight = ws.tgt.thingWeights(m)
		}
		l.Things = ws.place.Loss(ws.cell.grad(grad, e), ws.tgt.thing, nn.Rows{N: rows, Alive: ws.tgt.saw.cells, Total: total})
		if grad {
			m.cell.backward(p, &ws.cell)
		}
	}
	for i := range b.Rows { // what came of it, for the rest
		next := b.Next[i*m.board() : (i+1)*m.board()]
		ws.next[i].planes(m, next)
		ws.next[i].t = ws.was[i].t + 1
	}
	if (m.Features > 0 || m.Draws()) && e > 0 {
		ws.takeThings(&Next{}, 0, b.Rows)
	} else if b.View > 0 {
		ws.supposeThings(b)
	}
	if len(m.Zeroes) > 0 {
		l.Features = ws.learnFeatures(p, b, total, grad)
	}
	ws.forwardAgents(p, b.Joint, b.Rows)
	rows := ws.agent.x.Rows()
	for at, w := range ws.who[:rows] {
		i, a := int(w)/n, int(w)%n
		class := m.class(ws.was[i].at[a], ws.next[i].at[a])
		ws.tgt.keep[at] = class >= 0 && ws.open[at*(reach+1)+int(max(class, 0))] && (b.View == 0 || ws.tgt.saw.agents[w])
		if class < 0 && !m.jumps() {
			l.Far++
		}
		ws.tgt.class[at], ws.tgt.level[at], ws.tgt.weight[at] = class, m.Level(b.Reward[w]), m.planeWeight(a)
	}
	of := nn.Rows{N: rows, Alive: ws.tgt.keep, Weight: ws.tgt.weight, Total: total}
	if m.jumps() {
		jumped := ws.learnJumps(p, total, grad)
		ws.move.CrossEntropy(ws.agent.grad(grad, reach+1), ws.tgt.class, nil, of)
		l.Move = jumped
	} else {
		l.Move = ws.move.CrossEntropy(ws.agent.grad(grad, reach+1), ws.tgt.class, nil, of)
	}
	var d []float32
	if grad {
		d = ws.dreward[:rows*len(m.Rewards)]
		clear(d)
	}
	l.Reward = ws.pay.CrossEntropy(d, ws.tgt.level, nil, nn.Rows{N: rows, Alive: ws.paid(b, rows), Total: total})
	if grad {
		trunk := ws.agent.trunk
		m.agent.head.Backward(p, trunk.DY, ws.agent.dy, trunk.Y, ws.agent.y, rows)
		m.reward.BackwardAdd(p, trunk.DY, d, trunk.Y, ws.reward, rows)
		if m.jumps() {
			m.jump.BackwardAdd(p, trunk.DY, ws.draw.djump, trunk.Y, ws.draw.jump, rows)
		}
		m.agent.trunk.BackwardSparse(p, trunk, &ws.agent.x)
	}
	if m.Features > 0 { // the end is learnt given what it will be given
		ws.learnOver(p, b, total, grad, l)
		ws.learnAppear(p, b, total, grad, l)
	} else {
		ws.learnAppear(p, b, total, grad, l)
		ws.learnOver(p, b, total, grad, l)
	}
}

// learnOver is the loss of the episode's end.
func (ws *Work) learnOver(p *nn.Params, b *Batch, total float64, grad bool, l *Losses) {
	m := ws.m
	if m.Fault == NoEnd {
		return
	}
	for i := range b.Rows {
		ws.tgt.over[i] = 0
		if b.Over[i] {
			ws.tgt.over[i] = 1
		}
	}
	ws.forwardOver(p, b.Rows)
	l.Over = ws.end.Loss(ws.over.grad(grad, 1), ws.tgt.over, nn.Rows{N: b.Rows, Alive: ws.tgt.saw.ends, Total: total})
	if grad {
		m.over.backward(p, &ws.over)
	}
}

// learnFeatures is the loss of which features are 0 after the step.
func (ws *Work) learnFeatures(p *nn.Params, b *Batch, total float64, grad bool) nn.Loss {
	m, z := ws.m, len(ws.m.Zeroes)
	at := 0
	for i := range b.Rows {
		if ws.done[i] {
			continue
		}
		for j, f := range m.Zeroes {
			ws.tgt.zero[at*z+j] = 0
			if b.NextFeat[i*m.Features+f] == 0 {
				ws.tgt.zero[at*z+j] = 1
			}
		}
		at++
	}
	ws.forwardFeatures(p, b.Rows)
	l := ws.zero.Loss(ws.feature.grad(grad, z), ws.tgt.zero, nn.Rows{N: at, Total: total})
	if grad {
		m.feature.backward(p, &ws.feature)
	}
	return l
}

// thingTargets fills the things' targets of the rows that go on.
func (ws *Work) thingTargets(b *Batch) {
	m, n, e := ws.m, ws.m.Agents, ws.m.things()
	at := 0
	for i := range b.Rows {
		if ws.done[i] {
			continue
		}
		for cell := range m.cells() {
			off := i*m.board() + cell*m.Planes + n
			at += copy(ws.tgt.thing[at:], b.Next[off:off+e])
		}
	}
}

// thingWeights returns the factors of the things' planes.
func (t *targets) thingWeights(m *Model) []float32 {
	t.each = t.each[:0]
	for e := range m.things() {
		t.each = append(t.each, m.planeWeight(m.Agents+e))
	}
	return t.each
}

// learnPlanes is the plane regression's loss: squared errors of planes, rewards
// and end, each plane with its factor.
func (ws *Work) learnPlanes(p *nn.Params, b *Batch, total float64, grad bool) nn.Loss {
	m, n := ws.m, ws.m.Agents
	out := m.dense.head.Out
	ws.forwardDense(p, b.Obs, b.Joint, b.Rows)
	for i := range b.Rows {
		t := ws.tgt.dense[i*out : (i+1)*out]
		copy(t, b.Next[i*m.board():(i+1)*m.board()])
		copy(t[m.board():], b.Reward[i*n:(i+1)*n])
		t[out-1] = 0
		if b.Over[i] {
			t[out-1] = 1
		}
	}
	l := nn.Loss{Weight: float64(b.Rows), Rows: b.Rows}
	d := ws.dense.grad(grad, out)
	for i := range b.Rows {
		sum := 0.
		for j := range out {
			w := float32(1)
			if j < m.board() {
				w = m.planeWeight(j % m.Planes)
			}
			e := ws.dense.y[i*out+j] - ws.tgt.dense[i*out+j]
			sum += float64(w * e * e)
			if grad {
				d[i*out+j] = 2 * w * e / (float32(out) * float32(total))
			}
		}
		l.Sum += sum / float64(out)
	}
	if grad {
		m.dense.backward(p, &ws.dense)
	}
	return l
}

// The columns of Nats after one for each plane.
const (
	NatsReward   = iota // everyone's rewards
	NatsFeatures        // the features that may become 0
	NatsOver            // the episode's end
	natsMore
)

// Impossible is what an outcome costs, in nats, that the model says cannot be.
const Impossible = 20

// NatsCols is how many numbers Nats writes a row.
func (in Input) NatsCols() int { return in.Planes + natsMore }

// Nats writes what each part of each row costs the model, minus the logarithm of its
// probability: dst[Rows][NatsCols], a column a plane, then the rewards, the features
// and the end. Each part is given what truly came before it, as in learning, so a
// row's sum is the cost of the whole step, but for masks. It is for the variant heads.
func (ws *Work) Nats(p *nn.Params, b *Batch, dst []float64) {
	m := ws.m
	cols := m.NatsCols()
	clear(dst[:b.Rows*cols])
	for lo := 0; lo < b.Rows; lo += chunk {
		hi := min(lo+chunk, b.Rows)
		part := b.Part(m.Input, lo, hi)
		ws.losses(p, &part, part.Rows, false)
		ws.nats(dst[lo*cols:hi*cols], &part)
	}
}

// held returns what a kind of thing costs that stays as it is.
func (ws *Work) held(b *Batch, i, e int) float64 {
	m := ws.m
	for cell, set := range ws.was[i].thing {
		if b.Next[i*m.board()+cell*m.Planes+m.Agents+e] != float32(set>>e&1) {
			return Impossible
		}
	}
	return 0
}

// nats reads off what the last losses were over.
func (ws *Work) nats(dst []float64, b *Batch) {
	m, n, cols, e := ws.m, ws.m.Agents, ws.m.NatsCols(), ws.m.things()
	bit := func(logit, target float32) float64 {
		if target > 0 {
			return -logSigmoid(logit)
		}
		return -logSigmoid(-logit)
	}
	z, cell, row := len(m.Zeroes), 0, 0
	for i := range b.Rows {
		out := dst[i*cols : (i+1)*cols]
		out[m.Planes+NatsOver] = bit(ws.over.y[i], ws.tgt.over[i])
		if ws.done[i] {
			continue
		}
		for range m.cells() {
			for j := range e {
				out[n+j] += bit(ws.cell.y[cell*e+j], ws.tgt.thing[cell*e+j])
			}
			cell++
		}
		for j := range e {
			if m.hold>>j&1 != 0 {
				out[n+j] = ws.held(b, i, j)
			}
		}
		if m.appears() {
			for k, j := range m.Appear {
				out[n+j] = ws.draw.nats[i*len(m.Appear)+k]
			}
		}
		for j, f := range m.Zeroes {
			if ws.was[i].feat[f] != 0 {
				out[m.Planes+NatsFeatures] += bit(ws.feature.y[row*z+j], ws.tgt.zero[row*z+j])
			}
		}
		row++
	}
	for at, w := range ws.who[:ws.agent.x.Rows()] {
		out := dst[int(w)/n*cols:]
		switch class := ws.tgt.class[at]; {
		case m.jumps():
			out[int(w)%n] = ws.draw.moved[at]
		case class < 0 || ws.move.LogProb(at, class) == f32.LogZero:
			out[int(w)%n] = Impossible
		default:
			out[int(w)%n] = -float64(ws.move.LogProb(at, class))
		}
		out[m.Planes+NatsReward] -= float64(ws.pay.LogProb(at, ws.tgt.level[at]))
	}
}
