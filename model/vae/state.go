package vae

import "github.com/hop-marl/hop/num/nn"

// DecodedCells writes the cell of each agent in the decoded state of row i, or
// Cells() for one that is gone, to dst[Agents]. It takes the likeliest cell of an
// agent's plane. With agents as bits an agent is gone only if hardly any chance is
// left that it is somewhere: below half of one cell in all.
func (ws *Work) DecodedCells(dst []int32, i int) {
	m, n := ws.m, ws.m.Cells()
	soft := m.softAgents()
	for a := range m.Input.Agents {
		if soft > 0 {
			dst[a] = argmax(ws.CellLogits[(i*soft+a)*(n+1) : (i*soft+a+1)*(n+1)])
			continue
		}
		mass, best, at := float32(0), float32(-1), int32(n)
		for c := range n {
			p := ws.Plane(i, a, c)
			mass += p
			if p > best {
				best, at = p, int32(c)
			}
		}
		if mass < 0.5 {
			at = int32(n)
		}
		dst[a] = at
	}
}

// Plane returns the raw probability that cell c of plane k is full in the decoded
// state of row i. It is valid after Learn or Evaluate.
func (ws *Work) Plane(i, k, c int) float32 {
	m, n, soft := ws.m, ws.m.Cells(), ws.m.softAgents()
	if k < soft {
		return ws.cell.P[(i*soft+k)*(n+1)+c]
	}
	return ws.bit.P[i*m.Bits()+c*(m.Planes-soft)+k-soft]
}

// Exact reports, for row i after Evaluate, whether every agent's cell was rebuilt,
// whether the whole state was, and whether rounding each cell at a half, the
// mistake of a threshold, would have hidden an agent that is there.
func (ws *Work) Exact(i int, scratch []int32) (cells, state, hidden bool) {
	m := ws.m
	a, b := m.Input.Agents, m.Bits()
	ws.DecodedCells(scratch, i)
	cells, state = true, true
	for k, want := range ws.Cell[i*a : (i+1)*a] {
		cells = cells && scratch[k] == want
		if want == int32(m.Cells()) {
			continue
		}
		top := float32(0)
		for c := range m.Cells() {
			top = max(top, ws.Plane(i, k, c))
		}
		hidden = hidden || top < 0.5
	}
	for j, x := range ws.BitLogits[i*b : (i+1)*b] {
		if (x > 0) != (ws.Bit[i*b+j] > 0.5) {
			state = false
		}
	}
	return cells, cells && state, hidden
}

func argmax(x []float32) int32 {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return int32(best)
}

// DecodeFrom decodes z[rows][Width] as they are, such as goals that another model
// inferred.
func (ws *Work) DecodeFrom(p *nn.Params, z []float32, rows int) {
	copy(ws.Z, z[:rows*ws.m.Width()])
	ws.decode(p, rows)
	m := ws.m
	if a := m.softAgents(); a > 0 {
		n := rows * a
		ws.cell.Set(ws.CellLogits[:n*(m.Cells()+1)], nil, n)
	}
	if b := m.Bits(); b > 0 {
		ws.bit.Set(ws.BitLogits[:rows*b], rows)
	}
}
