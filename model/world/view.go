package world

// Who sees no further than a view learns from what it saw: of a place, if it was in view before the
// step and after; of an agent, if it was seen after it or would have been wherever it went; of
// rewards, from its own; of the end, unless it left before.

// seen is which targets of a chunk were seen; empty: all were.
type seen struct {
	cells  []bool // [rows that go on][cells]
	agents []bool // [rows*Agents]
	own    []bool // [rows of the agents' net]
	ends   []bool // [rows]
}

// see finds out what was seen of the rows' targets.
func (ws *Work) see(b *Batch) {
	s := &ws.tgt.saw
	s.cells, s.agents, s.ends, s.own = s.cells[:0], s.agents[:0], s.ends[:0], s.own[:0]
	if b.View == 0 {
		*s = seen{}
		return
	}
	m, after := ws.m, ws.m.newBoard()
	for i := range b.Rows {
		was := &ws.was[i]
		after.planes(m, b.Next[i*m.board():(i+1)*m.board()])
		from, to := int(was.at[0]), int(after.at[0])
		for cell := 0; cell < m.cells() && !ws.done[i]; cell++ {
			s.cells = append(s.cells, m.inView(b.View, from, cell) && m.inView(b.View, to, cell))
		}
		for a, at := range was.at {
			s.agents = append(s.agents, a == 0 || after.at[a] >= 0 || at >= 0 && m.around(b.View, to, int(at)))
		}
		s.ends = append(s.ends, to >= 0 || b.Over[i] && was.t+1 >= m.Horizon)
	}
}

// inView reports whether a cell is in the view from another, -1 for that of nobody.
func (m *Model) inView(view, from, cell int) bool {
	dy, dx := from/m.Width-cell/m.Width, from%m.Width-cell%m.Width
	return from >= 0 && max(dy, -dy, dx, -dx) <= view
}

// around reports whether all that is one step from a cell is in the view from another.
func (m *Model) around(view, from, cell int) bool {
	var open [gone + 1]bool
	m.moves(open[:], cell)
	for q, on := range open[:reach] {
		if on && !m.inView(view, from, m.moved(cell, q)) {
			return false
		}
	}
	return true
}

// supposeThings puts on the next boards what the model says of places where it was not seen what
// became of them.
func (ws *Work) supposeThings(b *Batch) {
	m, at := ws.m, 0
	ws.takeThings(&Next{}, 0, b.Rows)
	for i := range b.Rows {
		if ws.done[i] {
			continue
		}
		for cell := range m.cells() {
			if saw := ws.tgt.saw.cells[at]; saw {
				set := uint32(0)
				for j := range m.things() {
					if b.Next[i*m.board()+cell*m.Planes+m.Agents+j] != 0 {
						set |= 1 << j
					}
				}
				ws.next[i].thing[cell] = set
			}
			at++
		}
	}
}

// paid returns which of the rows of the agents' net are of the one whose rewards are known; nil: all.
func (ws *Work) paid(b *Batch, rows int) []bool {
	if b.View == 0 {
		return nil
	}
	s := &ws.tgt.saw
	for _, w := range ws.who[:rows] {
		s.own = append(s.own, int(w)%ws.m.Agents == 0)
	}
	return s.own
}
