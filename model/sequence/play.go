package sequence

import (
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/safetensors"
)

// Memory is what is kept of the histories of agents that are watched, one place for
// each pair of env and co-player.
type Memory struct {
	Context []float32 // [places][Width] what was read

	m     *Model
	read  []float32 // [places][ReadLen] what the heads read of it: its code, or itself
	first []float32 // [ReadLen] of who has read nothing
	cache *nn.TransformerCache
}

// Memory returns empty memories for a number of places.
func (m *Model) Memory(p *nn.Params, places int) *Memory {
	mem := &Memory{m: m, Context: make([]float32, places*m.Width)}
	if m.History == "attention" {
		mem.cache = m.net.Cache(places)
	}
	if mem.read = mem.Context; m.Code > 0 {
		mem.read, mem.first = make([]float32, places*m.Code), make([]float32, m.Code)
		m.code.Forward(p, mem.first, make([]float32, m.Width), 1)
		for at := range places {
			copy(mem.At(at), mem.first)
		}
	}
	return mem
}

// Forget empties one place: a life begins there, or an episode if nothing is remembered
// across them.
func (mem *Memory) Forget(place int) {
	clear(mem.context(place))
	copy(mem.At(place), mem.first)
	if mem.cache != nil {
		mem.cache.Forget(place)
	}
}

// At returns what the heads read of a place, [ReadLen], a view.
func (mem *Memory) At(place int) []float32 {
	n := mem.m.ReadLen()
	return mem.read[place*n : (place+1)*n]
}

// context returns a place's context, a view.
func (mem *Memory) context(place int) []float32 {
	w := mem.m.Width
	return mem.Context[place*w : (place+1)*w]
}

// Room makes room for so many tokens of one Read, so that it allocates nothing.
func (ws *Work) Room(tokens int) { ws.grow(tokens, tokens, 1) }

// Reset forgets the tokens that were added.
func (ws *Work) Reset() { ws.X.Reset(ws.m.cols()) }

// Add appends a token for Read.
func (ws *Work) Add(t Token) {
	ws.one.Reset()
	ws.one.Add(t.Obs, ws.full)
	ws.m.token(&ws.X, &ws.one.X, 0, t)
}

// Read takes in the tokens that were added since Reset, one for each of the places, no
// place twice, and advances their contexts.
func (ws *Work) Read(p *nn.Params, mem *Memory, places []int) {
	m, w, n := ws.m, ws.m.Width, ws.X.Rows()
	if n != len(places) || n > ws.tokens && m.History != "none" {
		panic("sequence: as many places as tokens are wanted, and room for them")
	}
	if n == 0 {
		return
	}
	switch m.History {
	case "attention":
		ws.embed(p)
		m.net.Step(p, ws.net, mem.cache, places)
		for i, at := range places {
			copy(mem.context(at), ws.net.Y[i*w:(i+1)*w])
		}
	case "gru":
		ws.embed(p)
		for i, at := range places {
			copy(ws.cache[i*w:(i+1)*w], mem.context(at))
		}
		if ws.gru == nil {
			ws.gru = m.gru.Work(1, ws.tokens)
		}
		m.gru.Step(p, ws.gru, ws.cache, ws.emb, n)
		for i, at := range places {
			copy(mem.context(at), ws.cache[i*w:(i+1)*w])
		}
	}
	if m.Code > 0 {
		mem.code(p, places, ws)
	}
}

// code computes the codes of some places.
func (mem *Memory) code(p *nn.Params, places []int, ws *Work) {
	w, k := mem.m.Width, mem.m.Code
	for i, at := range places {
		copy(ws.ctx[i*w:(i+1)*w], mem.context(at))
	}
	mem.m.code.Forward(p, ws.read, ws.ctx, len(places))
	for i, at := range places {
		copy(mem.At(at), ws.read[i*k:(i+1)*k])
	}
}

// KindsOf writes how likely each agent is of each kind, [rows][Kinds], by what the heads read of
// it, [rows][ReadLen].
func (ws *Work) KindsOf(p *nn.Params, dst, contexts []float32) {
	m, k := ws.m, len(ws.m.Kinds)
	rows := len(dst) / k
	if clear(ws.Kind[:rows*k]); m.History != "none" {
		m.kind.Forward(p, ws.Kind, contexts, rows)
	}
	nn.Softmax(dst, ws.Kind, rows, k)
}

// Save adds all memories to f under prefix.
func (mem *Memory) Save(f *safetensors.File, prefix string) {
	f.PutFloat32(prefix+"context", mem.Context, len(mem.Context))
	if mem.cache != nil {
		mem.cache.Save(f, prefix+"cache/")
	}
}

// Load restores what Save stored for as many places, exactly.
func (mem *Memory) Load(p *nn.Params, f *safetensors.File, prefix string) error {
	if err := f.Float32(mem.Context, prefix+"context", len(mem.Context)); err != nil {
		return err
	}
	if mem.m.Code > 0 {
		ws := mem.m.Work()
		ws.Room(1)
		for at := range len(mem.Context) / mem.m.Width {
			mem.code(p, []int{at}, ws)
		}
	}
	if mem.cache == nil {
		return nil
	}
	return mem.cache.Load(f, prefix+"cache/")
}
