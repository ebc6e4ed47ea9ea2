package world

import "github.com/hop-marl/hop/num/nn"

// regress is the plane regression's step: the next board is what is nearest to
// its numbers, an agent where its plane is largest, gone if the plane sums to less
// than a half, a thing where its plane is above a half. Nothing keeps an agent
// from jumping; that is the point of the comparison.
func (ws *Work) regress(p *nn.Params, dst *Next, obs []float32, joint []int32, lo, rows int) {
	m, n, c := ws.m, ws.m.Agents, ws.m.Planes
	ws.forwardDense(p, obs, joint, rows)
	for i := range rows {
		next, y := &ws.next[i], ws.dense.y[i*m.dense.head.Out:(i+1)*m.dense.head.Out]
		if dst.Planes != nil {
			copy(dst.Planes[(lo+i)*m.board():], y[:m.board()])
		}
		if ws.done[i] {
			for a := range n {
				put(dst.Reward, a, lo+i, 0)
				put(dst.Mean, a, lo+i, 0)
				put(dst.Gone, a, lo+i, 1)
			}
			continue
		}
		for a := range n {
			best, sum := 0, float32(0)
			for cell := range m.cells() {
				sum += y[cell*c+a]
				if y[cell*c+a] > y[best*c+a] {
					best = cell
				}
			}
			next.at[a] = int16(best)
			if sum < 0.5 && m.Fault != NoEnd {
				next.at[a] = -1
			}
			sure(dst, lo+i, min(max(y[best*c+a], 0), 1))
			put(dst.Reward, a, lo+i, y[m.board()+a])
			put(dst.Mean, a, lo+i, y[m.board()+a])
			put(dst.Gone, a, lo+i, min(max(1-sum, 0), 1))
		}
		for cell := range m.cells() {
			next.thing[cell] = 0
			for e := range m.things() {
				if y[cell*c+n+e] > 0.5 {
					next.thing[cell] |= 1 << e
				}
			}
		}
		next.count()
		next.t = min(ws.was[i].t+1, m.Horizon)
		ws.done[i] = y[m.board()+n] > 0.5 && m.Fault != NoEnd
	}
}

func (ws *Work) forwardDense(p *nn.Params, obs []float32, joint []int32, rows int) {
	m := ws.m
	ws.dense.x.Reset(m.dense.cols)
	for i := range rows {
		m.denseRow(&ws.dense.x, obs[i*m.Len():(i+1)*m.Len()], joint[i*m.Agents:(i+1)*m.Agents])
	}
	m.dense.forward(p, &ws.dense)
}
