// Package staghunt is Markov Stag-Hunt, the main game: four hunters, hares that
// anyone can catch for 1, and a stag that pays 10 to two or more who hunt it
// together. Who catches something leaves the map with the prey.
//
// The rules are deterministic; only the start is drawn. Prey never move. Agents
// share cells freely. No outcome depends on seat numbers.
//
// A state owns its board. CopyFrom copies the board only when the episode
// differs, so copying within an episode, as search does, moves about 200 bytes.
package staghunt

import (
	"math/bits"

	"hop/game"
	"hop/game/grid"
	"hop/rng"
)

// State is one episode.
type State struct {
	g *Game
	play

	// The episode's fixed part, equal in two states whose id is equal.
	id      uint64
	board   *grid.Board
	preyAt  []int8 // [cells] the prey that started there, or -1
	prey    [maxPrey]int16
	dist    [][]int16 // [prey][cells] moves to each prey, once asked for
	mapped  bool      // dist is filled
	scratch []int16
}

// play is the part of a state that changes from step to step.
type play struct {
	t, first int32 // steps so far; the step of the first catch, 0 if none
	over     bool
	left     uint64          // bit p: prey p is still on the map; stags first, then hares
	pos      [MaxSeats]int16 // cell, or grid.None once gone
	last     [MaxSeats]int8  // last action, -1 before the first and once gone
	caught   [MaxSeats]int8  // the goal reached, or game.NoGoal
	just     [MaxSeats]bool  // reached in the last step
}

var (
	_ game.State    = (*State)(nil)
	_ game.Goaler   = (*State)(nil)
	_ game.Permuter = (*State)(nil)
	_ game.Pictured = (*State)(nil)
)

// Reset draws blocks, prey on distinct free cells, and each agent on any free cell.
func (st *State) Reset(r *rng.Rand) {
	c := &st.g.c
	if c.Blocks > 0 {
		st.board.DrawBlocks(c.Blocks, c.Stags+c.Hares+1, st.scratch, r)
	}
	st.id = r.Uint64() | 1
	st.mapped = false
	st.play = play{}
	for i := range st.preyAt {
		st.preyAt[i] = -1
	}
	n := c.Stags + c.Hares
	for p := range n {
		cell := st.freeCell(r)
		for st.preyAt[cell] >= 0 {
			cell = st.freeCell(r)
		}
		st.prey[p], st.preyAt[cell] = cell, int8(p)
	}
	st.left = 1<<n - 1
	for s := range MaxSeats {
		st.pos[s], st.last[s], st.caught[s] = grid.None, -1, game.NoGoal
		if s < c.Agents {
			st.pos[s] = st.freeCell(r)
		}
	}
}

func (st *State) freeCell(r *rng.Rand) int16 {
	for {
		if c := r.IntN(len(st.preyAt)); !st.board.Blocked[c] {
			return int16(c)
		}
	}
}

// Alive reports whether the seat is still hunting.
func (st *State) Alive(s game.Seat) bool { return st.pos[s] != grid.None && !st.over }

// Over reports whether all are gone or the time is up.
func (st *State) Over() bool { return st.over }

// Reached returns the prey that the seat caught in the last step, as a goal.
func (st *State) Reached(s game.Seat) int {
	if !st.just[s] {
		return game.NoGoal
	}
	return int(st.caught[s])
}

// Caught returns what the seat has caught in this episode, as a goal, or NoGoal.
func (st *State) Caught(s game.Seat) int { return int(st.caught[s]) }

// Time returns the number of steps played.
func (st *State) Time() int { return int(st.t) }

// crowd returns how many hunters stand on a cell.
func (st *State) crowd(c int16) int {
	n := 0
	for _, p := range st.pos[:st.g.c.Agents] {
		if p == c {
			n++
		}
	}
	return n
}

// hereStag and hereHare report whether such a prey is left on a cell.
func (st *State) hereStag(c int16) bool {
	p := st.preyAt[c]
	return p >= 0 && int(p) < st.g.c.Stags && st.left>>p&1 != 0
}

func (st *State) hereHare(c int16) bool {
	p := int(st.preyAt[c])
	return p >= st.g.c.Stags && st.left>>p&1 != 0
}

// Legal writes the seat's mask: open moves, stay, hunt stag on a stag's cell
// with at least two hunters, hunt hare on a hare's cell.
func (st *State) Legal(s game.Seat, dst []bool) {
	dst = dst[:actions]
	if !st.Alive(s) {
		clear(dst)
		return
	}
	c := st.pos[s]
	st.board.LegalMoves(c, dst)
	dst[HuntStag] = st.hereStag(c) && st.crowd(c) >= 2
	dst[HuntHare] = st.hereHare(c)
}

func (st *State) legal(s int, a int32) bool {
	c := st.pos[s]
	switch {
	case a <= grid.Stay:
		return st.board.Open(c, a)
	case a == HuntStag:
		return st.hereStag(c) && st.crowd(c) >= 2
	case a == HuntHare:
		return st.hereHare(c)
	}
	return false
}

// Step plays one move: time, then all moves at once, then hare hunts, then stag
// hunts, then exits.
func (st *State) Step(acts []int32, rewards []float32, _ *rng.Rand) {
	game.Ready(st.over, st.g.c.Agents, acts, rewards)
	hunts := false
	for s, a := range acts {
		rewards[s], st.just[s] = 0, false
		if st.pos[s] == grid.None {
			if a != game.NoAction {
				panic("staghunt: a seat that has left must play NoAction")
			}
		} else if !st.legal(s, a) {
			panic("staghunt: illegal action")
		}
		hunts = hunts || a >= HuntStag
	}
	st.t++
	st.board.Walk(st.pos[:], st.last[:], acts)
	if hunts {
		st.hunt(acts, rewards, HuntHare)
		st.hunt(acts, rewards, HuntStag)
	}
	st.over = st.ends(&st.g.c)
}

// ends reports whether the rules end the episode here: the time is up, or the
// time after the first catch, or all are gone.
func (p *play) ends(c *Config) bool {
	if int(p.t) >= c.Horizon || c.EndAfter > 0 && p.first > 0 && int(p.t-p.first) >= c.EndAfter {
		return true
	}
	for _, cell := range p.pos[:c.Agents] {
		if cell != grid.None {
			return false
		}
	}
	return true
}

// hunt resolves one kind of hunt, cell by cell, and lets the hunters exit. A
// stag needs two; a hare one.
func (st *State) hunt(acts []int32, rewards []float32, kind int32) {
	c := &st.g.c
	pays, goal, need := c.HarePays, int8(GoalHare), 1
	if kind == HuntStag {
		pays, goal, need = c.StagPays, GoalStag, 2
	}
	for s, a := range acts {
		cell := st.pos[s]
		if a != kind || cell == grid.None {
			continue
		}
		hunters, total := 0, 0.
		for o, b := range acts {
			if b == kind && st.pos[o] == cell {
				hunters++
				total += st.g.weight(o, kind)
			}
		}
		if hunters < need {
			continue
		}
		for o, b := range acts {
			if b == kind && st.pos[o] == cell {
				rewards[o] = float32(pays * st.g.weight(o, kind) / total)
				st.caught[o], st.just[o] = goal, true
				st.pos[o] = grid.None
			}
		}
		st.left &^= 1 << st.preyAt[cell]
		if st.first == 0 {
			st.first = st.t
		}
	}
}

// weight is the seat's share of a prey: its strength at a stag, equal at a hare.
func (g *Game) weight(s int, kind int32) float64 {
	if kind == HuntStag {
		return g.strength[s]
	}
	return 1
}

// Observe writes the planes (agents ego-first, blocks, stags, hares), the mask,
// the time and the last joint action.
func (st *State) Observe(s game.Seat, dst []float32) {
	l := &st.g.spec.Obs
	c := &st.g.c
	clear(dst)
	n, planes := c.Agents, c.Agents+3
	plane := 0
	for _, half := range [2][]int16{st.pos[s:n], st.pos[:s]} {
		for _, p := range half {
			if p != grid.None {
				dst[int(p)*planes+plane] = 1
			}
			plane++
		}
	}
	for _, b := range st.board.Blocks {
		dst[int(b)*planes+n] = 1
	}
	for left := st.left; left != 0; left &= left - 1 {
		p, plane := bits.TrailingZeros64(left), n+1
		if p >= c.Stags {
			plane = n + 2
		}
		dst[int(st.prey[p])*planes+plane] = 1
	}
	var legal [actions]bool
	st.Legal(s, legal[:])
	l.Tail(dst, s, legal[:], int(st.t), c.Horizon, st.last[:n])
}

// CopyFrom makes the state equal to src. Within an episode it copies only what
// steps change.
func (st *State) CopyFrom(src game.State) {
	o := src.(*State)
	st.play = o.play
	if st.id == o.id && st.id != 0 {
		return
	}
	st.id, st.prey = o.id, o.prey
	st.mapped = false
	copy(st.preyAt, o.preyAt)
	st.board.CopyFrom(o.board)
}

// Permute makes the state equal to src with seat s moved to perm[s].
func (st *State) Permute(src game.State, perm []game.Seat) {
	o := src.(*State)
	st.CopyFrom(o)
	for s, to := range perm {
		st.pos[to], st.last[to], st.caught[to], st.just[to] = o.pos[s], o.last[s], o.caught[s], o.just[s]
	}
}

// Cell says what stands on a cell, for pictures.
func (st *State) Cell(y, x int, seats []game.Seat, things []string) ([]game.Seat, []string) {
	c := int16(y*st.g.c.Size + x)
	seats = grid.SeatsOn(seats, st.pos[:st.g.c.Agents], c)
	switch {
	case st.board.Blocked[c]:
		things = append(things, "block")
	case st.hereStag(c):
		things = append(things, "stag")
	case st.hereHare(c):
		things = append(things, "hare")
	}
	return seats, things
}
