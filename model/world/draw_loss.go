package world

import (
	"math"

	"github.com/hop-marl/hop/num/nn"
)

// learnAppear is the loss of the kinds of things that appear, given the true agents
// and kinds before. On return the next boards hold the true things of these kinds.
func (ws *Work) learnAppear(p *nn.Params, b *Batch, total float64, grad bool, l *Losses) {
	m, d := ws.m, &ws.draw
	if !m.appears() {
		return
	}
	for k, e := range m.Appear {
		ws.forwardSpots(p, k, b.Rows)
		dmany, dspot := d.many.grad(grad, 1), d.spot.grad(grad, 2)
		weight, at := float64(m.planeWeight(m.Agents+e)), 0
		for i := range b.Rows {
			if ws.done[i] {
				d.nats[i*len(m.Appear)+k] = 0
				continue
			}
			nats, none := ws.thingNats(b.Next[i*m.board():], i, at, e)
			d.nats[i*len(m.Appear)+k] = nats
			l.Appear.Sum += weight * nats
			if k == 0 {
				l.Appear.Weight++
				l.Appear.Rows++
			}
			if grad {
				unit := weight / total
				dmany[at] += float32(unit * (none - 1 + sigmoid(d.many.y[at])))
				ws.spotGrad(dspot, b.Next[i*m.board():], i, e, none, unit)
			}
			at++
		}
		if grad {
			m.many.backward(p, &d.many)
			m.spot.backward(p, &d.spot)
		}
		for i := range b.Rows {
			if ws.done[i] {
				continue
			}
			for cell := range m.cells() {
				ws.next[i].thing[cell] &^= 1 << e
				if b.Next[i*m.board()+cell*m.Planes+m.Agents+e] != 0 {
					ws.next[i].thing[cell] |= 1 << e
				}
			}
		}
	}
}

// thingNats returns the negative log-likelihood of kind e of row i, whose row of the
// net of numbers is at, and the probability, given what came, that none was put
// anywhere. It leaves in draw.where how likely each cell was to be the one.
func (ws *Work) thingNats(next []float32, i, at, e int) (nats, none float64) {
	m, d := ws.m, &ws.draw
	one, zero := logSigmoid(d.many.y[at]), logSigmoid(-d.many.y[at])
	where := ws.wheres(i)
	of := d.of[i*m.cells() : (i+1)*m.cells()]
	top := zero
	for cell, s := range of {
		bit := d.spot.y[2*s]
		if next[cell*m.Planes+m.Agents+e] == 0 {
			nats -= logSigmoid(-bit)
			continue
		}
		nats -= logSigmoid(bit)
		top = max(top, one+math.Log(max(where[cell], 1e-300))-logSigmoid(bit))
	}
	sum := math.Exp(zero - top)
	for cell, s := range of {
		if next[cell*m.Planes+m.Agents+e] != 0 {
			sum += math.Exp(one + math.Log(max(where[cell], 1e-300)) - logSigmoid(d.spot.y[2*s]) - top)
		}
	}
	total := top + math.Log(sum)
	return nats - total, math.Exp(zero - total)
}

// spotGrad adds the gradient of thingNats to the net of spots.
func (ws *Work) spotGrad(dspot, next []float32, i, e int, none, unit float64) {
	m, d := ws.m, &ws.draw
	of := d.of[i*m.cells() : (i+1)*m.cells()]
	// The sum over cells of their posteriors is 1 - none; each is in proportion to
	// where(c) / P(bit c is set).
	total := 0.
	share := func(cell int, s int32) float64 {
		return d.where[cell] * math.Exp(-logSigmoid(d.spot.y[2*s]))
	}
	for cell, s := range of {
		if next[cell*m.Planes+m.Agents+e] != 0 {
			total += share(cell, s)
		}
	}
	for cell, s := range of {
		bit, here := sigmoid(d.spot.y[2*s]), 0.
		if next[cell*m.Planes+m.Agents+e] != 0 {
			if total > 0 && !math.IsInf(total, 1) {
				here = (1 - none) * share(cell, s) / total
			}
			dspot[2*s] -= float32(unit * (1 - here) * (1 - bit))
		} else {
			dspot[2*s] += float32(unit * bit)
		}
		dspot[2*s+1] += float32(unit * ((1-none)*d.where[cell] - here))
	}
}

// learnJumps is the loss of where agents are after the step, whether their move led
// there or they were put there. It leaves in targets.weight what share of each row
// is the move's. Where the move is likely and a jump is not, the chance that a jump
// would have led to the same cell is left out.
func (ws *Work) learnJumps(p *nn.Params, total float64, grad bool) (l nn.Loss) {
	m, n, d := ws.m, ws.m.Agents, &ws.draw
	rows := ws.agent.x.Rows()
	d.rows = d.rows[:0]
	d.land.x.Reset(m.land.cols)
	for at, w := range ws.who[:rows] {
		i, a := int(w)/n, int(w)%n
		likely := ws.tgt.keep[at] && ws.move.LogProb(at, ws.tgt.class[at]) > -math.Ln2
		if likely && d.jump[at] < 0 || ws.next[i].at[a] < 0 {
			continue
		}
		copy(d.at, ws.next[i].at)
		for j := a; j < n; j++ { // oneself, and who is put somewhere later
			if j == a || ws.was[i].at[j] >= 0 && m.class(ws.was[i].at[j], ws.next[i].at[j]) < 0 {
				d.at[j] = -1
			}
		}
		m.landing(&d.land.x, &ws.was[i], &ws.next[i], d.at, a)
		d.rows = append(d.rows, int32(at))
	}
	m.land.forward(p, &d.land)
	dland := d.land.grad(grad, 1)
	asked := 0
	for at, w := range ws.who[:rows] {
		i, a := int(w)/n, int(w)%n
		weight := float64(ws.tgt.weight[at])
		stay := math.Inf(-1)
		if ws.tgt.keep[at] {
			stay = logSigmoid(-d.jump[at]) + float64(ws.move.LogProb(at, ws.tgt.class[at]))
		}
		nats, jumped := -stay, 0.
		if asked < len(d.rows) && int(d.rows[asked]) == at {
			first, cell := asked*m.cells(), int(ws.next[i].at[a])
			softmax(d.where, d.land.y[first:first+m.cells()], 1)
			leap := logSigmoid(d.jump[at]) + math.Log(max(d.where[cell], 1e-300))
			top := max(stay, leap)
			nats = -top - math.Log(math.Exp(stay-top)+math.Exp(leap-top))
			jumped = math.Exp(leap + nats)
			for c := range d.where {
				if grad {
					dland[first+c] += float32(weight / total * jumped * d.where[c])
				}
			}
			if grad {
				dland[first+cell] -= float32(weight / total * jumped)
			}
			asked++
		}
		d.moved[at], d.djump[at] = nats, float32(weight/total*(sigmoid(d.jump[at])-jumped))
		if math.IsInf(nats, 1) { // gone in a way that the model does not know
			d.moved[at], d.djump[at] = 0, 0
			continue
		}
		ws.tgt.weight[at] *= float32(1 - jumped)
		l.Sum += weight * nats
		l.Weight += weight
		l.Rows++
	}
	if grad {
		m.land.backward(p, &d.land)
	}
	return l
}
