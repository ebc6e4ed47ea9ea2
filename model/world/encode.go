package world

import (
	"math/bits"

	"github.com/hop-marl/hop/num/f32"
)

// seen returns a set of things as agent i sees it: what belongs to agents is
// numbered from i on.
func (in *Input) seen(set uint32, i int) uint32 {
	if in.Owned == 0 || i == 0 {
		return set
	}
	all := uint32(1)<<in.Owned - 1
	owned := set & all
	return set&^all | (owned>>i|owned<<(in.Owned-i))&all
}

// kind returns which kind of thing is kind e to agent i.
func (in *Input) kind(e, i int) int {
	if e < in.Owned {
		return (e + i) % in.Owned
	}
	return e
}

// patch appends the places around a cell, as agent i sees them, to the row that is
// being built.
func (m *Model) patch(s *f32.Sparse, b *board, cell, i int, acts bool) {
	width := m.base
	if acts {
		width = m.site
	}
	y, x := cell/m.Width, cell%m.Width
	off, outside := 0, int32(m.things())
	for dy := -1; dy <= 1; dy++ {
		for dx := -1; dx <= 1; dx++ {
			yy, xx := y+dy, x+dx
			if yy < 0 || yy >= m.Height || xx < 0 || xx >= m.Width {
				s.AppendEntry(int32(off)+outside, 1)
			} else if c := yy*m.Width + xx; b.thing[c] != 0 || b.crowd[c] != 0 {
				m.place(s, b, c, i, off, acts)
			}
			off += width
		}
	}
}

// place appends one place from column off on: what lies there and how many agents
// stand there or, with acts, how many do what. Counts are thermometers: one column
// for "at least j". The column after the things is for places off the board. Things
// are as agent i sees them.
func (m *Model) place(s *f32.Sparse, b *board, c, i, off int, acts bool) {
	e, n := m.things(), m.Agents
	for set := m.seen(b.thing[c], i); set != 0; set &= set - 1 {
		s.AppendEntry(int32(off+bits.TrailingZeros32(set)), 1)
	}
	crowd := int(b.crowd[c])
	if crowd == 0 {
		return
	}
	if !acts || m.Fault == MeanPool { // else everyone is counted by what they do
		for j := range crowd {
			s.AppendEntry(int32(off+e+1+j), 1)
		}
	}
	if !acts {
		return
	}
	for k, v := range b.acts[c*m.Actions : (c+1)*m.Actions] {
		for j := range int(v) {
			s.AppendEntry(int32(off+m.base+k*n+j), 1)
		}
	}
}

// mean appends the mean of the co-players' one-hot actions, from column off on,
// which is all that MeanPool knows of them.
func (m *Model) mean(s *f32.Sparse, joint []int32, off int) {
	if m.Fault != MeanPool || m.Agents < 2 {
		return
	}
	for k := range m.Actions {
		v := 0
		for _, a := range joint[1:] {
			if int(a) == k {
				v++
			}
		}
		if v > 0 {
			s.AppendEntry(int32(off+k), float32(v)/float32(m.Agents-1))
		}
	}
}

// placeRow appends one cell's row of the net of things.
func (m *Model) placeRow(s *f32.Sparse, b *board, joint []int32, cell int) {
	m.patch(s, b, cell, 0, true)
	m.mean(s, joint, reach*m.site)
	if m.Features > 0 {
		off := reach*m.site + m.Actions
		m.marked(s, b, joint, cell, off)
		off += m.markedCols()
		m.values(s, b, b.thing[cell], off)
		off += m.valuesCols()
		for i, c := range b.at {
			if int(c) == cell {
				m.pairs(s, b, joint, i, off)
			}
		}
	}
	s.EndRow()
}

// placeCols returns the width of cells' rows.
func (m *Model) placeCols() int {
	cols := reach*m.site + m.Actions
	if m.Features > 0 {
		cols += m.markedCols() + m.valuesCols() + m.pairsCols()
	}
	return cols
}

// visible is how far around a place agents are seen with their features, and wide
// how many cells along a side that is. It is further than the cells around a
// place, since two who want the same cell may come from its two sides.
const (
	visible = 2
	wide    = 2*visible + 1
)

// far returns the number of cell among those visible from centre, false if it is
// none of them.
func (m *Model) far(centre, cell int) (int, bool) {
	dy, dx := cell/m.Width-centre/m.Width+visible, cell%m.Width-centre%m.Width+visible
	return dy*wide + dx, dy >= 0 && dy < wide && dx >= 0 && dx < wide
}

// does returns agent i's action, Actions if it does nothing or is not known.
func (m *Model) does(joint []int32, i int) int {
	if k := int(joint[i]); k >= 0 && (i == 0 || m.Fault != MeanPool) {
		return k
	}
	return m.Actions
}

// marked appends the agents visible from a cell from column off on: where each is,
// its feature and its action.
func (m *Model) marked(s *f32.Sparse, b *board, joint []int32, cell, off int) {
	for i, c := range b.at {
		if at, ok := m.far(cell, int(c)); ok && c >= 0 {
			s.AppendEntry(int32(off+(at*len(m.Values)+int(b.level[i]))*(m.Actions+1)+m.does(joint, i)), 1)
		}
	}
}

func (m *Model) markedCols() int { return wide * wide * len(m.Values) * (m.Actions + 1) }

// pairs appends the agents visible from agent i from column off on: where each is
// and what it does, apart for each of i's own actions, since two who swap cells or
// want the same one meet.
func (m *Model) pairs(s *f32.Sparse, b *board, joint []int32, i, off int) {
	acts := m.Actions + 1
	off += m.does(joint, i) * wide * wide * acts
	for j, c := range b.at {
		if at, ok := m.far(int(b.at[i]), int(c)); ok && c >= 0 && j != i {
			s.AppendEntry(int32(off+at*acts+m.does(joint, j)), 1)
		}
	}
}

func (m *Model) pairsCols() int { return (m.Actions + 1) * wide * wide * (m.Actions + 1) }

// values appends the features that are the same for everyone from column off on,
// apart for each kind of thing in set.
func (m *Model) values(s *f32.Sparse, b *board, set uint32, off int) {
	for ; set != 0; set &= set - 1 {
		from := off + bits.TrailingZeros32(set)*m.common()*len(m.Values)
		for f, level := range b.level[m.Agents:] {
			s.AppendEntry(int32(from+f*len(m.Values)+int(level)), 1)
		}
	}
}

func (m *Model) valuesCols() int { return m.things() * m.common() * len(m.Values) }

// agentRow appends agent i's row: the places around it, its action and, apart for
// each action, its own place, which things vanish there and how many of each kind
// vanish in all. Apart means that what befalls those who hunt says nothing about
// those who stand by.
func (m *Model) agentRow(s *f32.Sparse, b, next *board, joint []int32, i int) {
	cell, e := int(b.at[i]), m.things()
	m.patch(s, b, cell, i, true)
	off, k := reach*m.site, m.Actions // where the own action is not known
	if i == 0 || m.Fault != MeanPool {
		k = int(joint[i])
	}
	s.AppendEntry(int32(off+k), 1)
	off += m.Actions + 1 + k*(m.site+e+e*vanishCap)
	m.place(s, b, cell, i, off, true)
	off += m.site
	for set := m.seen(b.vanished(next, cell), i); set != 0; set &= set - 1 {
		s.AppendEntry(int32(off+bits.TrailingZeros32(set)), 1)
	}
	off += e
	for j := range e {
		for v := range min(b.things(m.kind(j, i))-next.things(m.kind(j, i)), vanishCap) {
			s.AppendEntry(int32(off+j*vanishCap+v), 1)
		}
	}
	off = m.plainCols()
	m.mean(s, joint, off-m.Actions)
	if m.Features > 0 {
		m.featured(s, b, next, joint, i, off)
	}
	s.EndRow()
}

// featured appends what an agent's row has in games with features: its own
// feature with its action, the visible agents with theirs, and the features that
// are the same for everyone apart for each kind of thing that vanishes anywhere.
func (m *Model) featured(s *f32.Sparse, b, next *board, joint []int32, i, off int) {
	acts := m.Actions + 1
	s.AppendEntry(int32(off+int(b.level[i])*acts+m.does(joint, i)), 1)
	off += len(m.Values) * acts
	m.marked(s, b, joint, int(b.at[i]), off)
	off += m.markedCols()
	m.pairs(s, b, joint, i, off)
	off += m.pairsCols()
	gone := uint32(0)
	for e := range m.things() {
		if k := m.kind(e, i); b.things(k) > next.things(k) {
			gone |= 1 << e
		}
	}
	m.values(s, b, gone, off)
}

// plainCols returns the width of agents' rows in games without features.
func (m *Model) plainCols() int {
	e := m.things()
	return reach*m.site + m.Actions + 1 + (m.Actions+1)*(m.site+e+e*vanishCap) + m.Actions
}

// agentCols returns the width of agents' rows.
func (m *Model) agentCols() int {
	cols := m.plainCols()
	if m.Features > 0 {
		cols += len(m.Values)*(m.Actions+1) + m.markedCols() + m.pairsCols() + m.valuesCols()
	}
	return cols
}

// featureRow appends the row of the features that may become 0: how many things
// of each kind vanish and are left, and what the features are.
func (m *Model) featureRow(s *f32.Sparse, b, next *board) {
	off := 0
	for e := range m.things() {
		for v := range min(b.things(e)-next.things(e), vanishCap) {
			s.AppendEntry(int32(off+v), 1)
		}
		s.AppendEntry(int32(off+vanishCap+min(next.things(e), vanishCap)), 1)
		off += 2*vanishCap + 1
	}
	for f, level := range b.level[m.Agents:] {
		s.AppendEntry(int32(off+f*len(m.Values)+int(level)), 1)
	}
	s.EndRow()
}

func (m *Model) featureCols() int { return m.things()*(2*vanishCap+1) + m.common()*len(m.Values) }

// overRow appends the row of the end: who and what is left on the next board, and
// the time then.
func (m *Model) overRow(s *f32.Sparse, next *board, t int) {
	s.AppendEntry(int32(next.left()), 1)
	off := m.Agents + 1
	for j := range m.things() {
		s.AppendEntry(int32(off+min(next.things(j), vanishCap)), 1)
		off += vanishCap + 1
	}
	s.AppendEntry(int32(off+min(t, m.Horizon)), 1)
	s.AppendEntry(int32(off+m.Horizon+1), float32(t)/float32(m.Horizon))
	s.EndRow()
}

// legalRow appends the row of agent i's mask on a board: the places around it
// and, apart for each kind of thing, how many agents stand on its own.
func (m *Model) legalRow(s *f32.Sparse, b *board, i int) {
	cell := int(b.at[i])
	m.patch(s, b, cell, i, false)
	for set := m.seen(b.thing[cell], i); set != 0; set &= set - 1 {
		off := reach*m.base + bits.TrailingZeros32(set)*m.Agents
		for j := range int(b.crowd[cell]) {
			s.AppendEntry(int32(off+j), 1)
		}
	}
	s.EndRow()
}

// denseRow appends the row of the plane regression: all planes, all actions and
// the time.
func (m *Model) denseRow(s *f32.Sparse, obs []float32, joint []int32) {
	for i, v := range obs[:m.board()] {
		if v != 0 {
			s.AppendEntry(int32(i), v)
		}
	}
	off := m.board()
	for i, k := range joint {
		if k >= 0 && (i == 0 || m.Fault != MeanPool) {
			s.AppendEntry(int32(off+i*m.Actions)+k, 1)
		}
	}
	m.mean(s, joint, off+m.Actions)
	if m.Time > 0 {
		s.AppendEntry(int32(off+m.Agents*m.Actions), obs[m.timeAt()])
	}
	s.EndRow()
}

// moves writes which of the nine places around a cell are on the board, and
// whether leaving is possible.
func (m *Model) moves(dst []bool, cell int) {
	y, x := cell/m.Width, cell%m.Width
	for q := range reach {
		yy, xx := y+q/3-1, x+q%3-1
		dst[q] = yy >= 0 && yy < m.Height && xx >= 0 && xx < m.Width
	}
	dst[gone] = m.Fault != NoEnd
}

// moved returns the cell that class q leads to from cell.
func (m *Model) moved(cell, q int) int { return cell + (q/3-1)*m.Width + q%3 - 1 }

// class returns the class of going from one cell to another, -1 if it is further
// than one cell.
func (m *Model) class(from, to int16) int32 {
	if to < 0 {
		return gone
	}
	dy, dx := int(to)/m.Width-int(from)/m.Width, int(to)%m.Width-int(from)%m.Width
	if dy < -1 || dy > 1 || dx < -1 || dx > 1 {
		return -1
	}
	return int32((dy+1)*3 + dx + 1)
}

// View writes what the agent at offset s, ego-first, observes, from what agent 0
// observes: the agents' planes, what belongs to them, their features and the last
// joint action turned, all else equal.
// The mask is each agent's own and cannot be turned: legal is s's, nil for none.
// dst and obs must not overlap.
func (in Input) View(dst, obs []float32, s int, legal []bool) {
	n, c, k := in.Agents, in.Planes, in.Actions
	if len(dst) != in.Len() || len(obs) != in.Len() {
		panic("world: an observation has the wrong length")
	}
	for at := 0; at < in.board(); at += c {
		copy(dst[at:], obs[at+s:at+n])
		copy(dst[at+n-s:], obs[at:at+s])
		copy(dst[at+n:at+c], obs[at+n:])
		if in.Owned > 0 {
			copy(dst[at+n:], obs[at+n+s:at+2*n])
			copy(dst[at+2*n-s:], obs[at+n:at+n+s])
		}
	}
	if in.Features > 0 {
		feat, was := dst[in.board():in.legalAt()], obs[in.board():in.legalAt()]
		copy(feat, was[s:n])
		copy(feat[n-s:], was[:s])
		copy(feat[n:], was[n:])
	}
	for i := range in.Legal {
		dst[in.legalAt()+i] = 0
		if i < len(legal) && legal[i] {
			dst[in.legalAt()+i] = 1
		}
	}
	copy(dst[in.timeAt():in.lastAt()], obs[in.timeAt():])
	if in.Last > 0 {
		last, was := dst[in.lastAt():], obs[in.lastAt():]
		copy(last, was[s*k:n*k])
		copy(last[(n-s)*k:], was[:s*k])
	}
}

// write writes what agent s observes of a board after joint was played.
func (m *Model) write(dst []float32, b *board, joint []int32, s int, legal []bool) {
	n, c, k := m.Agents, m.Planes, m.Actions
	clear(dst)
	for i := range n {
		if cell := int(b.at[(s+i)%n]); cell >= 0 {
			dst[cell*c+i] = 1
		}
	}
	for cell, set := range b.thing {
		bitsOf(m.seen(set, s), func(e int) { dst[cell*c+n+e] = 1 })
	}
	for f, v := range b.feat {
		if f < n {
			v = b.feat[(s+f)%n]
		}
		dst[m.board()+f] = v
	}
	for i, ok := range legal[:min(len(legal), m.Legal)] {
		if ok {
			dst[m.legalAt()+i] = 1
		}
	}
	if m.Time > 0 {
		dst[m.timeAt()] = float32(b.t) / float32(m.Horizon)
	}
	for i := range m.Last {
		if a := joint[(s+i)%n]; a >= 0 {
			dst[m.lastAt()+i*k+int(a)] = 1
		}
	}
}
