package pyenv

import (
	"encoding/json"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/bridge"
)

// Hosted is an environment that the Python process plays which started this program: agents of ours
// are asked to act in it. What came of a reset or a step stands in memory that the host writes, and
// nothing is started here. Make it with Host.
type Hosted struct {
	g     *Game
	there *block // the host's memory; nil until it is shared
}

// Host takes what the host says of its environment, as a worker would. From then on that is the
// environment which New returns, whatever a config names: this program starts no other.
func Host(c Config, said json.RawMessage) (*Hosted, error) {
	var a about
	if err := json.Unmarshal(said, &a); err != nil {
		return nil, err
	}
	h := &Hosted{g: &Game{cfg: c}}
	h.g.host = h
	if err := h.g.describe(a); err != nil {
		return nil, err
	}
	opened.Lock()
	defer opened.Unlock()
	opened.host = h
	return h, nil
}

// Arrays lists what the host must share, beside what it sees of any game.
func (h *Hosted) Arrays() []bridge.Array {
	list := h.g.arrays(1)[4:9] // the host knows its seeds and actions
	for i := range list {
		list[i].Name = "own_" + list[i].Name
	}
	return list
}

// Share takes the host's memory.
func (h *Hosted) Share(m *bridge.Memory) {
	h.there = &block{
		obs: bridge.Slice[float32](m, "own_obs"), mask: bridge.Slice[uint8](m, "own_mask"), alive: bridge.Slice[uint8](m, "own_alive"),
		cut: bridge.Slice[uint8](m, "own_cut"), reward: bridge.Slice[float32](m, "own_reward"),
	}
}

// Spec describes the game.
func (h *Hosted) Spec() game.Spec { return h.g.spec }

// Label names the environment.
func (h *Hosted) Label() string { return h.g.Label() }

// Bots lists the one policy that every environment has.
func (h *Hosted) Bots() []game.BotInfo { return h.g.Bots() }

// Agents returns what the environment calls its agents, by seat.
func (h *Hosted) Agents() []string { return h.g.Agents() }

// New returns the state of the host's one copy.
func (h *Hosted) New() game.State {
	st := h.g.newState()
	seats, k := h.g.spec.Seats, len(h.g.spec.Actions)
	st.at.b = &block{
		obs: make([]float32, seats*h.g.width), mask: make([]uint8, seats*k), alive: make([]uint8, seats),
		cut: make([]uint8, seats), reward: make([]float32, seats), action: make([]int32, seats),
		vector: make([]float32, seats*k),
	}
	return st
}

// played takes what the host has written of a step or, without actions, of a reset.
func (h *Hosted) played(st *state, actions []int32, rewards []float32) {
	if h.there == nil { // copies are reset once before the host has begun
		return
	}
	if actions != nil {
		st.check(actions)
	}
	mine := st.at.b
	copy(mine.obs, h.there.obs)
	copy(mine.mask, h.there.mask)
	copy(mine.alive, h.there.alive)
	copy(mine.cut, h.there.cut)
	copy(mine.reward, h.there.reward)
	if err := st.take(actions); err != nil {
		panic(&game.Failure{Err: err})
	}
	copy(rewards, mine.reward)
}
