package sequence

import (
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/safetensors"
)

// Memory is what is kept of the histories of agents that are watched, one place for
// each pair of env and co-player.
type Memory struct {
	Context []float32 // [places][Width] what the heads read

	m     *Model
	cache *nn.TransformerCache
}

// Memory returns empty memories for a number of places.
func (m *Model) Memory(places int) *Memory {
	mem := &Memory{m: m, Context: make([]float32, places*m.Width)}
	if m.History == "attention" {
		mem.cache = m.net.Cache(places)
	}
	return mem
}

// Forget empties one place: a life begins there, or an episode if nothing is remembered
// across them.
func (mem *Memory) Forget(place int) {
	clear(mem.At(place))
	if mem.cache != nil {
		mem.cache.Forget(place)
	}
}

// At returns a place's context, a view.
func (mem *Memory) At(place int) []float32 {
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
			copy(mem.At(at), ws.net.Y[i*w:(i+1)*w])
		}
	case "gru":
		ws.embed(p)
		for i, at := range places {
			copy(ws.cache[i*w:(i+1)*w], mem.At(at))
		}
		if ws.gru == nil {
			ws.gru = m.gru.Work(1, ws.tokens)
		}
		m.gru.Step(p, ws.gru, ws.cache, ws.emb, n)
		for i, at := range places {
			copy(mem.At(at), ws.cache[i*w:(i+1)*w])
		}
	}
}

// KindsOf writes how likely the agent of each context [rows][Width] is of each kind,
// [rows][Kinds].
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
func (mem *Memory) Load(f *safetensors.File, prefix string) error {
	if err := f.Float32(mem.Context, prefix+"context", len(mem.Context)); err != nil || mem.cache == nil {
		return err
	}
	return mem.cache.Load(f, prefix+"cache/")
}
