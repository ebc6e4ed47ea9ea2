package world

import (
	"math/bits"

	"hop/f32"
)

// patch appends the places around a cell to the row that is being built.
func (m *Model) patch(s *f32.Sparse, b *board, cell int, acts bool) {
	width := m.base
	if acts {
		width = m.site
	}
	y, x := cell/m.Width, cell%m.Width
	off := 0
	for dy := -1; dy <= 1; dy++ {
		for dx := -1; dx <= 1; dx++ {
			yy, xx := y+dy, x+dx
			if yy < 0 || yy >= m.Height || xx < 0 || xx >= m.Width {
				s.AppendEntry(int32(off+m.things()), 1)
			} else {
				m.place(s, b, yy*m.Width+xx, off, acts)
			}
			off += width
		}
	}
}

// place appends one place from column off on: what lies there and how many agents
// stand there or, with acts, how many do what. Counts are thermometers: one column
// for "at least j". The column after the things is for places off the board.
func (m *Model) place(s *f32.Sparse, b *board, c, off int, acts bool) {
	e, n := m.things(), m.Agents
	for set := b.thing[c]; set != 0; set &= set - 1 {
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
	m.patch(s, b, cell, true)
	m.mean(s, joint, reach*m.site)
	s.EndRow()
}

// agentRow appends agent i's row: the places around it, its action and, apart for
// each action, its own place, which things vanish there and how many of each kind
// vanish in all. Apart means that what befalls those who hunt says nothing about
// those who stand by.
func (m *Model) agentRow(s *f32.Sparse, b, next *board, joint []int32, i int) {
	cell, e := int(b.at[i]), m.things()
	m.patch(s, b, cell, true)
	off, k := reach*m.site, m.Actions // where the own action is not known
	if i == 0 || m.Fault != MeanPool {
		k = int(joint[i])
	}
	s.AppendEntry(int32(off+k), 1)
	off += m.Actions + 1 + k*(m.site+e+e*vanishCap)
	m.place(s, b, cell, off, true)
	off += m.site
	for set := b.vanished(next, cell); set != 0; set &= set - 1 {
		s.AppendEntry(int32(off+bits.TrailingZeros32(set)), 1)
	}
	off += e
	for j := range e {
		for v := range min(b.things(j)-next.things(j), vanishCap) {
			s.AppendEntry(int32(off+j*vanishCap+v), 1)
		}
	}
	m.mean(s, joint, m.agentCols()-m.Actions)
	s.EndRow()
}

// agentCols returns the width of agents' rows.
func (m *Model) agentCols() int {
	e := m.things()
	return reach*m.site + m.Actions + 1 + (m.Actions+1)*(m.site+e+e*vanishCap) + m.Actions
}

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
	m.patch(s, b, cell, false)
	for set := b.thing[cell]; set != 0; set &= set - 1 {
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
