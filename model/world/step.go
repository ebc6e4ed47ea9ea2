package world

import (
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// chunk is how many rows go through the networks at a time.
const chunk = 64

// Work is one goroutine's memory. It serves any number of rows.
type Work struct {
	m         *Model
	was, next []board // [chunk]
	done      []bool  // [chunk] nobody acts: the episode is over already
	cell      netWork //
	agent     netWork //
	reward    []float32
	dreward   []float32
	feature   netWork
	over      netWork
	legal     netWork
	dense     netWork
	place     *nn.Bernoulli
	move      *nn.Categorical
	pay       *nn.Categorical
	zero      *nn.Bernoulli
	end       *nn.Bernoulli
	mask      *nn.Bernoulli
	open      []bool  // [chunk*Agents][reach+1] moves that stay on the board
	who       []int32 // [chunk*Agents] row*Agents + agent of each row of the agents' net
	may       []bool  // [chunk*Agents][Actions] masks that only observations need
	tgt       targets
	draw      drawWork
	rs        []*rng.Rand // [chunk] a stream a row to draw from; nil: the likeliest is taken
}

// netWork is the memory of one net.
type netWork struct {
	x     f32.Sparse
	trunk *nn.MLPWork
	y, dy []float32 // [rows][out]
}

func (n *net) work(rows int) netWork {
	if n.cols == 0 {
		return netWork{}
	}
	out := n.head.Out
	return netWork{trunk: n.trunk.Work(rows), y: make([]float32, rows*out), dy: make([]float32, rows*out)}
}

func (n *net) forward(p *nn.Params, w *netWork) {
	n.trunk.ForwardSparse(p, w.trunk, &w.x)
	n.head.Forward(p, w.y, w.trunk.Y, w.x.Rows())
}

func (n *net) backward(p *nn.Params, w *netWork) {
	n.head.Backward(p, w.trunk.DY, w.dy, w.trunk.Y, w.y, w.x.Rows())
	n.trunk.BackwardSparse(p, w.trunk, &w.x)
}

// Work allocates memory.
func (m *Model) Work() *Work {
	n, cells, e := m.Agents, m.cells(), max(m.things(), 1)
	ws := &Work{m: m, done: make([]bool, chunk), open: make([]bool, chunk*n*(reach+1)), who: make([]int32, chunk*n),
		may: make([]bool, chunk*n*m.Actions)}
	for range chunk {
		ws.was, ws.next = append(ws.was, m.newBoard()), append(ws.next, m.newBoard())
	}
	ws.legal, ws.mask = m.legal.work(chunk*n), nn.NewBernoulli(m.Actions, chunk*n)
	ws.dense = m.dense.work(chunk)
	ws.cell, ws.place = m.cell.work(chunk*cells), nn.NewBernoulli(e, chunk*cells)
	ws.agent, ws.move = m.agent.work(chunk*n), nn.NewCategorical(reach+1, chunk*n)
	ws.over, ws.end = m.over.work(chunk), nn.NewBernoulli(1, chunk)
	ws.feature, ws.zero = m.feature.work(chunk), nn.NewBernoulli(max(len(m.Zeroes), 1), chunk)
	r := len(m.Rewards)
	ws.pay = nn.NewCategorical(r, chunk*n)
	ws.reward, ws.dreward = make([]float32, chunk*n*r), make([]float32, chunk*n*r)
	ws.tgt = newTargets(m)
	ws.draw = m.drawWork()
	return ws
}

// Next is where Step writes. Agents are numbered ego-first as in the
// observations given. A nil slice is not written, so a caller pays for the views
// it wants; slices may be views of a rollout's arrays.
type Next struct {
	Obs    [][]float32 // [Agents][rows][Len] what each agent observes, also one that has left
	Reward [][]float32 // [Agents][rows]
	End    [][]bool    // [Agents][rows] has left, or the episode is over
	Legal  [][]bool    // [Agents][rows][Actions], all false once ended
	Over   []bool      // [rows] nobody acts any more
	Doubt  []float32   // [rows] 1 - the probability of all that was asked for, in the model's own eyes

	Planes []float32   // [rows][H][W][Planes] raw probabilities, never rounded
	Mean   [][]float32 // [Agents][rows] expected rewards
	Gone   [][]float32 // [Agents][rows] probabilities of End
}

// view returns row i of width w of agent a's slice, nil if it is not wanted.
func view[T any](xs [][]T, a, i, w int) []T {
	if a >= len(xs) || xs[a] == nil {
		return nil
	}
	return xs[a][i*w : (i+1)*w]
}

func put[T any](xs [][]T, a, i int, v T) {
	if a < len(xs) && xs[a] != nil {
		xs[a][i] = v
	}
}

// Step predicts one step of every row, from obs[rows][Len], what one agent
// observes, and joint[rows][Agents], what everyone does, ego-first, -1 for who has
// left. Predictions are the likeliest outcome, so rollouts stay on the grid. A
// row in which nobody acts is over: it stays as it is and pays nothing. What an
// agent off the board does counts for nothing, and one on it that does nothing
// stays. It panics if obs or joint is too short.
func (ws *Work) Step(p *nn.Params, dst *Next, obs []float32, joint []int32, rows int) {
	ws.steps(p, dst, obs, joint, rows, nil)
}

// Sample is Step, but that what is not certain is drawn by its probability, row i
// from the stream rs[i] alone. Where the rules put one thing or one agent
// somewhere, one place is drawn. Doubt and the raw probabilities are those of Step,
// but that kinds of things that appear by chance leave no doubt.
func (ws *Work) Sample(p *nn.Params, dst *Next, obs []float32, joint []int32, rows int, rs []*rng.Rand) {
	ws.steps(p, dst, obs, joint, rows, rs[:rows])
}

func (ws *Work) steps(p *nn.Params, dst *Next, obs []float32, joint []int32, rows int, rs []*rng.Rand) {
	m := ws.m
	if len(obs) < rows*m.Len() || len(joint) < rows*m.Agents {
		panic("world: obs or joint is shorter than the rows")
	}
	for lo := 0; lo < rows; lo += chunk {
		hi := min(lo+chunk, rows)
		if ws.rs = nil; rs != nil {
			ws.rs = rs[lo:hi]
		}
		ws.step(p, dst, obs[lo*m.Len():hi*m.Len()], joint[lo*m.Agents:hi*m.Agents], lo, hi-lo)
	}
}

// step does one chunk, whose first row is row lo of dst.
func (ws *Work) step(p *nn.Params, dst *Next, obs []float32, joint []int32, lo, rows int) {
	m := ws.m
	ws.read(obs, joint, rows)
	if dst.Doubt != nil {
		f32.Fill(dst.Doubt[lo:lo+rows], 1)
	}
	if dst.Planes != nil {
		clear(dst.Planes[lo*m.board() : (lo+rows)*m.board()])
	}
	if m.Variant == Planes {
		ws.regress(p, dst, obs, joint, lo, rows)
	} else {
		ws.predictThings(p, dst, joint, lo, rows)
		ws.predictAgents(p, dst, joint, lo, rows)
		ws.predictFeatures(p, dst, lo, rows)
		if m.Features > 0 {
			ws.predictOver(p, dst, lo, rows)
		}
		if ws.rs != nil && m.appears() {
			ws.drawThings(p, rows)
		}
		if m.Features == 0 {
			ws.predictOver(p, dst, lo, rows)
		}
	}
	for i := range rows {
		for a := range m.Agents {
			ended := ws.next[i].at[a] < 0 || ws.done[i]
			put(dst.End, a, lo+i, ended)
		}
		if dst.Over != nil {
			dst.Over[lo+i] = ws.done[i]
		}
	}
	ws.masks(p, dst, lo, rows)
	for i := range rows {
		for a := range m.Agents {
			if o := view(dst.Obs, a, lo+i, m.Len()); o != nil {
				m.write(o, &ws.next[i], joint[i*m.Agents:(i+1)*m.Agents], a, ws.maskOf(dst, a, lo, i))
			}
		}
		if dst.Doubt != nil {
			dst.Doubt[lo+i] = 1 - dst.Doubt[lo+i]
		}
	}
}

// read fills the boards before the step and starts those after it as copies.
func (ws *Work) read(obs []float32, joint []int32, rows int) {
	m := ws.m
	for i := range rows {
		b, next, acts := &ws.was[i], &ws.next[i], joint[i*m.Agents:(i+1)*m.Agents]
		b.read(m, obs[i*m.Len():(i+1)*m.Len()])
		b.act(m, acts)
		next.from(b)
		ws.done[i] = true
		for _, k := range acts {
			ws.done[i] = ws.done[i] && k < 0
		}
	}
}

// from makes b what src is, without actions.
func (b *board) from(src *board) {
	copy(b.at, src.at)
	copy(b.thing, src.thing)
	copy(b.crowd, src.crowd)
	copy(b.feat, src.feat)
	b.t = src.t
}

// sure multiplies a row's probability by q.
func sure(dst *Next, row int, q float32) {
	if dst.Doubt != nil {
		dst.Doubt[row] *= q
	}
}

// predictThings fills the next boards' things.
func (ws *Work) predictThings(p *nn.Params, dst *Next, joint []int32, lo, rows int) {
	if ws.m.things() > 0 {
		ws.forwardThings(p, joint, rows)
		ws.takeThings(dst, lo, rows)
	}
}

// takeThings puts the likeliest things on the next boards, or draws them.
func (ws *Work) takeThings(dst *Next, lo, rows int) {
	m, e := ws.m, ws.m.things()
	at := 0
	for i := range rows {
		if ws.done[i] {
			if dst.Planes != nil {
				for cell, set := range ws.was[i].thing {
					bitsOf(set, func(j int) { dst.Planes[(lo+i)*m.board()+cell*m.Planes+m.Agents+j] = 1 })
				}
			}
			continue
		}
		for cell := range m.cells() {
			set := uint32(0)
			for j := range e {
				q := ws.place.P[at*e+j]
				appears := ws.rs != nil && m.draw>>j&1 != 0 // drawn later, given the likeliest
				switch was := ws.was[i].thing[cell] >> j & 1; {
				case ws.rs != nil && m.hold>>j&1 != 0: // as it was
					set |= was << j
				case ws.rs == nil || appears:
					if q > 0.5 {
						set |= 1 << j
					}
				case ws.rs[i].Float32() < q && (was != 0 || !m.Draws()): // of these kinds nothing appears
					set |= 1 << j
				}
				if !appears {
					sure(dst, lo+i, max(q, 1-q))
				}
				if dst.Planes != nil {
					dst.Planes[(lo+i)*m.board()+cell*m.Planes+m.Agents+j] = q
				}
			}
			ws.next[i].thing[cell] = set
			at++
		}
	}
}

// forwardThings runs the net of things on every cell of the rows that go on.
func (ws *Work) forwardThings(p *nn.Params, joint []int32, rows int) {
	m := ws.m
	ws.cell.x.Reset(m.cell.cols)
	for i := range rows {
		if ws.done[i] {
			continue
		}
		for cell := range m.cells() {
			m.placeRow(&ws.cell.x, &ws.was[i], joint[i*m.Agents:(i+1)*m.Agents], cell)
		}
	}
	m.cell.forward(p, &ws.cell)
	ws.place.Set(ws.cell.y, ws.cell.x.Rows())
}

// forwardAgents runs the agents' net on everyone who acts, given the next things.
func (ws *Work) forwardAgents(p *nn.Params, joint []int32, rows int) {
	m, n := ws.m, ws.m.Agents
	ws.agent.x.Reset(m.agent.cols)
	for i := range rows {
		for a, k := range joint[i*n : (i+1)*n] {
			if k < 0 || ws.was[i].at[a] < 0 {
				continue
			}
			at := ws.agent.x.Rows()
			m.agentRow(&ws.agent.x, &ws.was[i], &ws.next[i], joint[i*n:(i+1)*n], a)
			m.moves(ws.open[at*(reach+1):(at+1)*(reach+1)], int(ws.was[i].at[a]))
			ws.who[at] = int32(i*n + a)
		}
	}
	count := ws.agent.x.Rows()
	m.agent.forward(p, &ws.agent)
	m.reward.Forward(p, ws.reward, ws.agent.trunk.Y, count)
	ws.move.Set(ws.agent.y, ws.open, count)
	ws.pay.Set(ws.reward, nil, count)
	if m.jumps() {
		m.jump.Forward(p, ws.draw.jump, ws.agent.trunk.Y, count)
	}
}

// predictAgents fills the next boards' agents, and the rewards.
func (ws *Work) predictAgents(p *nn.Params, dst *Next, joint []int32, lo, rows int) {
	m, n := ws.m, ws.m.Agents
	ws.forwardAgents(p, joint, rows)
	for i := range rows {
		for a := range n {
			put(dst.Reward, a, lo+i, 0)
			put(dst.Mean, a, lo+i, 0)
			c, idle := int(ws.was[i].at[a]), joint[i*n+a] < 0
			gone := float32(1)
			if c >= 0 && !ws.done[i] {
				gone = 0
			}
			put(dst.Gone, a, lo+i, gone)
			if dst.Planes != nil && idle && c >= 0 {
				dst.Planes[(lo+i)*m.board()+c*m.Planes+a] = 1
			}
		}
	}
	for at, w := range ws.who[:ws.agent.x.Rows()] {
		i, a := int(w)/n, int(w)%n
		row, cell := lo+i, int(ws.was[i].at[a])
		_, q := ws.move.Row(at)
		best := int(ws.move.Mode(at))
		sure(dst, row, q[best])
		if ws.rs != nil {
			best = int(ws.move.Sample(at, ws.rs[i]))
		}
		if best == gone || ws.leaps(at, i) {
			ws.next[i].at[a] = -1
		} else {
			ws.next[i].at[a] = int16(m.moved(cell, best))
		}
		put(dst.Gone, a, row, q[gone])
		if dst.Planes != nil {
			for j, v := range q[:reach] {
				if v > 0 {
					dst.Planes[row*m.board()+m.moved(cell, j)*m.Planes+a] = v
				}
			}
		}
		_, pay := ws.pay.Row(at)
		level := ws.pay.Mode(at)
		sure(dst, row, pay[level])
		if ws.rs != nil {
			level = ws.pay.Sample(at, ws.rs[i])
		}
		put(dst.Reward, a, row, m.Rewards[level])
		if len(dst.Mean) > 0 {
			put(dst.Mean, a, row, f32.Dot(pay, m.Rewards))
		}
	}
	ws.drawLandings(p, rows)
	for i := range rows {
		ws.next[i].count()
		if !ws.done[i] {
			ws.next[i].t = min(ws.was[i].t+1, m.Horizon)
		}
	}
}

// forwardFeatures runs the net of the features on the rows that go on, given the
// next things.
func (ws *Work) forwardFeatures(p *nn.Params, rows int) {
	ws.feature.x.Reset(ws.m.feature.cols)
	for i := range rows {
		if !ws.done[i] {
			ws.m.featureRow(&ws.feature.x, &ws.was[i], &ws.next[i])
		}
	}
	ws.m.feature.forward(p, &ws.feature)
	ws.zero.Set(ws.feature.y, ws.feature.x.Rows())
}

// predictFeatures decides which features become 0.
func (ws *Work) predictFeatures(p *nn.Params, dst *Next, lo, rows int) {
	z := len(ws.m.Zeroes)
	if z == 0 {
		return
	}
	ws.forwardFeatures(p, rows)
	at := 0
	for i := range rows {
		if ws.done[i] {
			continue
		}
		for j, f := range ws.m.Zeroes {
			if ws.next[i].feat[f] == 0 {
				continue
			}
			q := ws.zero.P[at*z+j]
			if ws.says(q, i) {
				ws.next[i].feat[f] = 0
			}
			sure(dst, lo+i, max(q, 1-q))
		}
		at++
	}
}

// forwardOver runs the net of the end on the next boards.
func (ws *Work) forwardOver(p *nn.Params, rows int) {
	ws.over.x.Reset(ws.m.over.cols)
	for i := range rows {
		ws.m.overRow(&ws.over.x, &ws.next[i], ws.next[i].t)
	}
	ws.m.over.forward(p, &ws.over)
	ws.end.Set(ws.over.y, rows)
}

// predictOver decides who of the rows that went on is over now.
func (ws *Work) predictOver(p *nn.Params, dst *Next, lo, rows int) {
	if ws.m.Fault == NoEnd {
		return
	}
	ws.forwardOver(p, rows)
	for i := range rows {
		if ws.done[i] {
			continue
		}
		q := ws.end.P[i]
		ws.done[i] = ws.says(q, i)
		sure(dst, lo+i, max(q, 1-q))
		for a := range ws.m.Agents {
			if g := view(dst.Gone, a, lo+i, 1); g != nil {
				g[0] += (1 - g[0]) * q
			}
		}
	}
}

// maskOf returns where agent a's mask of row i of the chunk goes: where the caller
// wants it, or to memory of ws if only the observation needs it, or nowhere.
func (ws *Work) maskOf(dst *Next, a, lo, i int) []bool {
	m := ws.m
	if mask := view(dst.Legal, a, lo+i, m.Actions); mask != nil {
		return mask
	}
	if a >= len(dst.Obs) || dst.Obs[a] == nil {
		return nil
	}
	at := (i*m.Agents + a) * m.Actions
	return ws.may[at : at+m.Actions]
}

// masks predicts everyone's legal actions on the next boards.
func (ws *Work) masks(p *nn.Params, dst *Next, lo, rows int) {
	m, n := ws.m, ws.m.Agents
	if len(dst.Legal) == 0 && len(dst.Obs) == 0 {
		return
	}
	ws.legal.x.Reset(m.legal.cols)
	for i := range rows {
		for a := range n {
			mask := ws.maskOf(dst, a, lo, i)
			clear(mask)
			if mask == nil || ws.done[i] || ws.next[i].at[a] < 0 {
				continue
			}
			if m.Fault == NoEnd {
				for k := range mask {
					mask[k] = true
				}
				continue
			}
			ws.who[ws.legal.x.Rows()] = int32(i*n + a)
			m.legalRow(&ws.legal.x, &ws.next[i], a)
		}
	}
	count := ws.legal.x.Rows()
	m.legal.forward(p, &ws.legal)
	ws.mask.Set(ws.legal.y, count)
	for at, w := range ws.who[:count] {
		i, a := int(w)/n, int(w)%n
		mask := ws.maskOf(dst, a, lo, i)
		for k := range mask {
			q := ws.mask.P[at*m.Actions+k]
			mask[k] = q > 0.5 // the rules leave no choice
			sure(dst, lo+i, max(q, 1-q))
		}
	}
}
