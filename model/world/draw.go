package world

import (
	"math"

	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// What the rules draw. The nets of things and agents say what is likeliest; where
// chance decides, one bit a cell would put none or several where the rules put one.
// So kinds of things that appear (Input.Appear) are drawn after the agents, one
// kind after the other, each given the likeliest things and the kinds before it:
//
//	next = bits | one            one: with probability many, one place, drawn by a softmax over the cells
//	P(next) = prod P(bit) * (1 - many + many * sum over c in next of where(c) / P(bit c is set))
//
// and an agent that may be put elsewhere (Input.Jumps) goes to
//
//	P(cell) = (1 - jump) * P(its move leads there) + jump * where(cell)
//
// The likelihoods are exact, whichever of the two put something there, and learnt
// as they are. What is put somewhere depends on what lies there, who stands there or
// in sight, with its feature, and on how many there are of each kind that appears.

// Draws reports whether the model knows how the rules draw.
func (m *Model) Draws() bool { return m.jumps() || m.appears() }

func (m *Model) jumps() bool   { return m.Jumps && !m.Apart && m.Variant == Heads }
func (m *Model) appears() bool { return len(m.Appear) > 0 && !m.Apart && m.Variant == Heads }

// countCap bounds what is counted of the things of one kind on the board.
const countCap = 32

// counts appends from column off on how many there are of each kind that appears,
// before and after the step, and which of these kinds is drawn.
func (m *Model) counts(s *f32.Sparse, was, now *board, kind, off int) {
	for _, e := range m.Appear {
		for v := range min(was.things(e), countCap) {
			s.AppendEntry(int32(off+v), 1)
		}
		off += countCap
		for v := range min(now.things(e), countCap) {
			s.AppendEntry(int32(off+v), 1)
		}
		off += countCap
	}
	s.AppendEntry(int32(off+kind), 1)
}

func (m *Model) countCols() int { return len(m.Appear) * (2*countCap + 1) }

// stand appends from column off on how many agents stand on a cell and, in games
// with features, who is in sight of it with which feature. at is where they are.
func (m *Model) stand(s *f32.Sparse, b *board, at []int16, cell, off int) {
	crowd := 0
	for _, c := range at {
		if int(c) == cell {
			s.AppendEntry(int32(off+crowd), 1)
			crowd++
		}
	}
	off += m.Agents
	if m.Features == 0 {
		return
	}
	for i, c := range at {
		if q, ok := m.far(cell, int(c)); ok && c >= 0 {
			s.AppendEntry(int32(off+q*len(m.Values)+int(b.level[i])), 1)
		}
	}
}

func (m *Model) standCols() int { return m.Agents + wide*wide*len(m.Values) }

// spotRow appends a cell's row of the net of what appears: what lay and lies there,
// who stands there, and how much there is in all.
func (m *Model) spotRow(s *f32.Sparse, was, now *board, cell, kind int) {
	bitsOf(was.thing[cell], func(e int) { s.AppendEntry(int32(e), 1) })
	off := m.things()
	bitsOf(now.thing[cell], func(e int) { s.AppendEntry(int32(off+e), 1) })
	off += m.things()
	m.stand(s, was, now.at, cell, off)
	m.counts(s, was, now, kind, off+m.standCols())
	s.EndRow()
}

func (m *Model) spotCols() int { return 2*m.things() + m.standCols() + m.countCols() }

// landRow appends a cell's row of where agent i is put: what lies there, as it sees
// it, its own feature, and where the others are.
func (m *Model) landRow(s *f32.Sparse, was, now *board, at []int16, cell, i int) {
	bitsOf(m.seen(now.thing[cell], i), func(e int) { s.AppendEntry(int32(e), 1) })
	off := m.things()
	if m.Features > 0 {
		s.AppendEntry(int32(off)+was.level[i], 1)
		off += len(m.Values)
	}
	m.stand(s, was, at, cell, off)
	s.EndRow()
}

func (m *Model) landCols() int { return m.things() + len(m.Values) + m.standCols() }

// drawWork is the memory of what is drawn.
type drawWork struct {
	many, spot, land netWork

	jump, djump []float32 // [chunk*Agents] logits of the jumps, and their gradient
	leap        []bool    // [chunk*Agents] who jumps, to be put somewhere
	at          []int16   // [Agents] where the others are
	rows        []int32   // rows of the agents' net whose landing is asked for
	of          []int32   // [chunk*cells] the row of the net of spots that each cell is
	lean        []float32 // [chunk*cells] what is put on the logit of each row's bit
	where       []float64 // [cells] probabilities, then responsibilities
	nats        []float64 // [chunk][Appear] negative log-likelihoods of the last losses
	moved       []float64 // [chunk*Agents] and of the agents' cells
}

func (m *Model) drawWork() drawWork {
	n, cells := m.Agents, m.cells()
	if !m.Draws() {
		return drawWork{}
	}
	d := drawWork{
		many: m.many.work(chunk), spot: m.spot.work(chunk * cells), land: m.land.work(chunk * n * cells),
		jump: make([]float32, chunk*n), djump: make([]float32, chunk*n), leap: make([]bool, chunk*n), at: make([]int16, n),
		rows: make([]int32, 0, chunk*n), of: make([]int32, chunk*cells), lean: make([]float32, chunk*cells), where: make([]float64, cells),
		nats: make([]float64, chunk*len(m.Appear)), moved: make([]float64, chunk*n),
	}
	return d
}

// says decides a bit of row i: the likelier, or a draw.
func (ws *Work) says(q float32, i int) bool {
	if ws.rs != nil {
		return ws.rs[i].Float32() < q
	}
	return q > 0.5
}

// leaps draws whether the agent of row at of the agents' net is put elsewhere.
func (ws *Work) leaps(at, i int) bool {
	if ws.rs == nil || !ws.m.jumps() {
		return false
	}
	leap := ws.rs[i].Float32() < float32(sigmoid(ws.draw.jump[at]))
	ws.draw.leap[ws.who[at]] = leap
	return leap
}

func sigmoid(x float32) float64 { return 1 / (1 + math.Exp(-float64(x))) }

// logSigmoid is the logarithm of sigmoid, of any x.
func logSigmoid(x float32) float64 {
	v := float64(x)
	return min(v, 0) - math.Log1p(math.Exp(-math.Abs(v)))
}

// drawLandings puts who jumps somewhere, one agent after the other, given where the
// others are.
func (ws *Work) drawLandings(p *nn.Params, rows int) {
	m, n, d := ws.m, ws.m.Agents, &ws.draw
	if ws.rs == nil || !m.jumps() {
		return
	}
	for a := range n {
		d.land.x.Reset(m.land.cols)
		asked := false
		for i := range rows {
			if d.leap[i*n+a] {
				asked = true
				m.landing(&d.land.x, &ws.was[i], &ws.next[i], ws.next[i].at, a)
			}
		}
		if !asked {
			continue
		}
		m.land.forward(p, &d.land)
		at := 0
		for i := range rows {
			if !d.leap[i*n+a] {
				continue
			}
			d.leap[i*n+a] = false
			softmax(d.where, d.land.y[at:at+m.cells()], 1)
			ws.next[i].at[a] = int16(pick(d.where, ws.rs[i]))
			at += m.cells()
		}
	}
}

// landing appends the rows of all cells for agent a.
func (m *Model) landing(s *f32.Sparse, was, now *board, at []int16, a int) {
	for cell := range m.cells() {
		m.landRow(s, was, now, at, cell, a)
	}
}

// softmax writes the probabilities of len(dst) logits, stride apart.
func softmax(dst []float64, logits []float32, stride int) {
	top, sum := math.Inf(-1), 0.
	for c := range dst {
		top = max(top, float64(logits[c*stride]))
	}
	for c := range dst {
		dst[c] = math.Exp(float64(logits[c*stride]) - top)
		sum += dst[c]
	}
	for c := range dst {
		dst[c] /= sum
	}
}

func pick(p []float64, r *rng.Rand) int32 { return rng.Pick(p, r.Float64()) }

// lean is put on the logits of the bits, towards what is likeliest there, so that at
// first things that appear are taken for ones that are put somewhere, not for ones
// that grow on every cell by itself, and others stay.
const lean = 6

// forwardSpots runs the nets of kind number k of those that appear on the rows that
// go on. Cells that look alike share a row.
func (ws *Work) forwardSpots(p *nn.Params, k, rows int) {
	m, d := ws.m, &ws.draw
	d.many.x.Reset(m.many.cols)
	d.spot.x.Reset(m.spot.cols)
	for i := range rows {
		if ws.done[i] {
			continue
		}
		was, now := &ws.was[i], &ws.next[i]
		m.counts(&d.many.x, was, now, k, 0)
		d.many.x.EndRow()
		of := d.of[i*m.cells() : (i+1)*m.cells()]
		for cell := range of {
			same := -1
			for c := 0; m.Features == 0 && c < cell; c++ {
				if was.thing[c] == was.thing[cell] && now.thing[c] == now.thing[cell] && now.crowd[c] == now.crowd[cell] {
					same = c
					break
				}
			}
			if same >= 0 {
				of[cell] = of[same]
				continue
			}
			of[cell] = int32(d.spot.x.Rows())
			d.lean[of[cell]] = -lean
			if now.thing[cell]>>m.Appear[k]&1 != 0 {
				d.lean[of[cell]] = lean
			}
			m.spotRow(&d.spot.x, was, now, cell, k)
		}
	}
	m.many.forward(p, &d.many)
	m.spot.forward(p, &d.spot)
	for s, x := range d.lean[:d.spot.x.Rows()] {
		d.spot.y[2*s] += x
	}
}

// wheres writes the probability of each cell of row i to be the one.
func (ws *Work) wheres(i int) []float64 {
	d, w := &ws.draw, ws.draw.where
	top, sum := math.Inf(-1), 0.
	of := d.of[i*len(w) : (i+1)*len(w)]
	for _, s := range of {
		top = max(top, float64(d.spot.y[2*s+1]))
	}
	for c, s := range of {
		w[c] = math.Exp(float64(d.spot.y[2*s+1]) - top)
		sum += w[c]
	}
	for c := range w {
		w[c] /= sum
	}
	return w
}

// drawThings draws the kinds of things that appear.
func (ws *Work) drawThings(p *nn.Params, rows int) {
	m, d := ws.m, &ws.draw
	for k, e := range m.Appear {
		ws.forwardSpots(p, k, rows)
		at := 0
		for i := range rows {
			if ws.done[i] {
				continue
			}
			r, now := ws.rs[i], &ws.next[i]
			for cell, s := range d.of[i*m.cells() : (i+1)*m.cells()] {
				now.thing[cell] &^= 1 << e
				if r.Float64() < sigmoid(d.spot.y[2*s]) {
					now.thing[cell] |= 1 << e
				}
			}
			if r.Float64() < sigmoid(d.many.y[at]) {
				now.thing[pick(ws.wheres(i), r)] |= 1 << e
			}
			at++
		}
	}
}

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
