package cvae

import "github.com/hop-marl/hop/num/nn"

// Memory is what is remembered of each modelled agent, one place for each pair of
// env and co-player.
type Memory struct {
	h []float32 // [places][GRU]
	f []float32 // [places][Feature] of the observation before
}

// Memory returns empty memories for a number of places.
func (m *Model) Memory(places int) *Memory {
	return &Memory{make([]float32, places*m.GRU), make([]float32, places*m.Feature)}
}

// Forget empties one place: at an episode's start, or when its agent has left.
func (mem *Memory) Forget(m *Model, place int) {
	clear(mem.h[place*m.GRU : (place+1)*m.GRU])
	clear(mem.f[place*m.Feature : (place+1)*m.Feature])
}

// Add appends a row for Infer: what the modelled agent sees, and the joint action
// before it from that agent's viewpoint, -1 for none. It panics if the memory is
// full.
func (ws *Work) Add(obs []float32, last []int32) {
	at := ws.x.Rows()
	if at >= ws.rows {
		panic("cvae: more rows than the workspace holds")
	}
	ws.enc.Add(&ws.x, obs, nil)
	copy(ws.last[at*ws.m.Seats:(at+1)*ws.m.Seats], last)
}

// Infer advances the memory of each row's place by one step and computes q of the
// rows added since Reset. No place may come twice.
func (ws *Work) Infer(p *nn.Params, mem *Memory, places []int) {
	m, rows := ws.m, ws.x.Rows()
	if len(places) != rows {
		panic("cvae: as many places as rows are wanted")
	}
	clear(ws.in[:rows*m.step()])
	for i, at := range places {
		copy(ws.h[i*m.GRU:(i+1)*m.GRU], mem.h[at*m.GRU:])
		ws.before(i, mem.f[at*m.Feature:(at+1)*m.Feature])
	}
	m.gru.Step(p, ws.gru, ws.h, ws.in, rows)
	m.feature.ForwardSparse(p, ws.f[:rows*m.Feature], &ws.x)
	ws.head(p, ws.h, rows)
	for i, at := range places {
		copy(mem.h[at*m.GRU:(at+1)*m.GRU], ws.h[i*m.GRU:])
		copy(mem.f[at*m.Feature:(at+1)*m.Feature], ws.f[i*m.Feature:])
	}
}
