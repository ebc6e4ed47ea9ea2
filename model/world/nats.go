package world

import (
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
)

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
