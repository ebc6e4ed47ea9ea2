package foraging

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/rng"
)

// flood fills st.dist with the moves from each cell to the nearest free cell
// beside one of the wanted items, around food and around all agents but s.
// Beyond them it is grid.Far; the cells of food and of those agents are below 0.
func (st *State) flood(items uint8, s game.Seat) {
	const closed = -1
	dist, q := st.dist, st.queue[:0]
	for i := range dist {
		dist[i] = grid.Far
	}
	for o, cell := range st.Pos[:st.g.c.Agents] {
		if game.Seat(o) != s {
			dist[cell] = closed
		}
	}
	for f := range st.g.c.Food {
		if st.left>>f&1 != 0 {
			dist[st.food[f]] = closed
		}
	}
	for f := range st.g.c.Food {
		if items>>f&1 == 0 {
			continue
		}
		for _, c := range st.g.board.Next[st.food[f]] {
			if c != grid.None && dist[c] == grid.Far {
				dist[c] = 0
				q = append(q, c)
			}
		}
	}
	for i := 0; i < len(q); i++ {
		for _, to := range st.g.board.Next[q[i]] {
			if to != grid.None && dist[to] == grid.Far {
				dist[to] = dist[q[i]] + 1
				q = append(q, to)
			}
		}
	}
}

// anyFood, soloFood and teamFood choose the items a walker wants, as bits.
func anyFood(st *State, _ game.Seat) uint8 { return st.left }

func soloFood(st *State, s game.Seat) uint8 {
	solo := uint8(0)
	for f := range st.g.c.Food {
		if int16(st.foodLevel[f]) <= st.level[s] {
			solo |= 1 << f
		}
	}
	if solo &= st.left; solo != 0 {
		return solo
	}
	return st.left
}

func teamFood(st *State, _ game.Seat) uint8 { return st.left & -st.left }

// wander is how often a walker takes any legal action on its way, so that two
// who want the same cell do not hold each other up for ever.
const wander = 0.1

// walker goes to the nearest of the items it wants along shortest paths around
// the other agents, ties at random, and loads beside it. If the others close all
// paths, it does anything legal.
type walker struct {
	name  string
	items func(st *State, s game.Seat) uint8
}

func (b walker) Name() string { return b.name }

// Reads returns that it looks at places, levels and food alone.
func (walker) Reads() game.Reads { return 0 }

func (b walker) Act(st game.State, s game.Seat, r *rng.Rand) int32 {
	var probs [actions]float32
	b.probs(st.(*State), s, &probs)
	return game.Sample(probs[:], r)
}

func (b walker) Probs(st game.State, s game.Seat, dst []float32) {
	var probs [actions]float32
	b.probs(st.(*State), s, &probs)
	copy(dst, probs[:])
}

func (b walker) probs(st *State, s game.Seat, probs *[actions]float32) {
	items, cell := b.items(st, s), st.Pos[s]
	if f := st.beside(cell); f >= 0 && items>>f&1 != 0 {
		probs[Load] = 1
		return
	}
	st.flood(items, s)
	var closer [actions]bool
	found := false
	for k, to := range st.g.board.Next[cell] {
		if to != grid.None && st.dist[to] >= 0 && st.dist[to] < st.dist[cell] {
			closer[k], found = true, true
		}
	}
	var legal [actions]bool
	st.Legal(s, legal[:])
	game.Spread(probs[:], legal[:])
	if !found {
		return
	}
	var straight [actions]float32
	game.Spread(straight[:], closer[:])
	for k := range probs {
		probs[k] = wander*probs[k] + (1-wander)*straight[k]
	}
}

var _ game.Policy = walker{}
