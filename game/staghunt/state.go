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

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/rng"
)

// State is one episode.
type State struct {
	g *Game
	play

	// The episode's fixed part.
	board  grid.Ground
	preyAt []int8 // [cells] the prey that started there, or -1
	prey   [maxPrey]int16
}

// play is the part of a state that changes from step to step.
type play struct {
	grid.Players
	first  int32   // the step of the first catch, 0 if none
	left   uint64  // bit p: prey p is still on the map; stags first, then hares
	caught []int16 // [seats] the goal reached, or game.NoGoal
	just   []int16 // [seats] 1: reached in the last step
}

var (
	_ grid.State  = (*State)(nil)
	_ game.Goaler = (*State)(nil)
)

// Reset draws blocks, prey on distinct free cells, and each agent on any free cell.
func (st *State) Reset(r *rng.Rand) {
	c := &st.g.c
	st.board.Draw(c.Blocks, c.Stags+c.Hares+1, r)
	st.start()
	for i := range st.preyAt {
		st.preyAt[i] = -1
	}
	n := c.Stags + c.Hares
	for p := range n {
		cell := st.board.FreeCell(r)
		for st.preyAt[cell] >= 0 {
			cell = st.board.FreeCell(r)
		}
		st.prey[p], st.preyAt[cell] = cell, int8(p)
	}
	st.left = 1<<n - 1
	for s := range c.Agents {
		st.Pos[s] = st.board.FreeCell(r)
	}
}

// newPlay returns seats who are nowhere and have caught nothing.
func (g *Game) newPlay() play {
	p := play{Players: grid.NewPlayers(g.c.Agents, g.c.View, 2)}
	p.caught, p.just = p.Row(0), p.Row(1)
	p.start()
	return p
}

// start makes the play one in which nothing has happened.
func (p *play) start() {
	p.Clear()
	p.first, p.left = 0, 0
	for s := range p.caught {
		p.caught[s] = game.NoGoal
	}
}

// follow makes the play equal to src.
func (p *play) follow(src *play) {
	p.Players.Follow(&src.Players)
	p.first, p.left = src.first, src.left
}

// Alive reports whether the seat is still hunting.
func (st *State) Alive(s game.Seat) bool { return st.Pos[s] != grid.None && !st.Done }

// Reached returns the prey that the seat caught in the last step, as a goal.
func (st *State) Reached(s game.Seat) int {
	if st.just[s] == 0 {
		return game.NoGoal
	}
	return int(st.caught[s])
}

// Caught returns what the seat has caught in this episode, as a goal, or NoGoal.
func (st *State) Caught(s game.Seat) int { return int(st.caught[s]) }

// crowd returns how many hunters stand on a cell.
func (st *State) crowd(c int16) int {
	n := 0
	for _, p := range st.Pos {
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
	c := st.Pos[s]
	st.board.LegalMoves(c, dst)
	dst[HuntStag] = st.hereStag(c) && st.crowd(c) >= 2
	dst[HuntHare] = st.hereHare(c)
}

func (st *State) legal(s int, a int32) bool {
	c := st.Pos[s]
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
	game.Ready(st.Done, st.g.c.Agents, acts, rewards)
	hunts := false
	for s, a := range acts {
		rewards[s], st.just[s] = 0, 0
		if st.Pos[s] == grid.None {
			if a != game.NoAction {
				panic("staghunt: a seat that has left must play NoAction")
			}
		} else if !st.legal(s, a) {
			panic("staghunt: illegal action")
		}
		hunts = hunts || a >= HuntStag
	}
	st.Look(st.g.c.View, st.g.c.Size)
	st.T++
	st.board.Walk(st.Pos, st.Last, acts)
	if hunts {
		st.hunt(acts, rewards, HuntHare)
		st.hunt(acts, rewards, HuntStag)
	}
	st.Done = st.ends(&st.g.c)
}

// ends reports whether the rules end the episode here: the time is up, or the
// time after the first catch, or all are gone.
func (p *play) ends(c *Config) bool {
	if int(p.T) >= c.Horizon || c.EndAfter > 0 && p.first > 0 && int(p.T-p.first) >= c.EndAfter {
		return true
	}
	for _, cell := range p.Pos {
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
	pays, goal, need := c.HarePays, int16(GoalHare), 1
	if kind == HuntStag {
		pays, goal, need = c.StagPays, GoalStag, 2
	}
	for s, a := range acts {
		cell := st.Pos[s]
		if a != kind || cell == grid.None {
			continue
		}
		hunters, total := 0, 0.
		for o, b := range acts {
			if b == kind && st.Pos[o] == cell {
				hunters++
				total += st.g.weight(o, kind)
			}
		}
		if hunters < need {
			continue
		}
		for o, b := range acts {
			if b == kind && st.Pos[o] == cell {
				rewards[o] = float32(pays * st.g.weight(o, kind) / total)
				st.caught[o], st.just[o] = goal, 1
				st.Pos[o] = grid.None
			}
		}
		st.left &^= 1 << st.preyAt[cell]
		if st.first == 0 {
			st.first = st.T
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

// Observe writes what is in the seat's view, the rest as 0.
func (st *State) Observe(s game.Seat, dst []float32) {
	st.ObserveWhole(s, dst)
	st.Hide(&st.g.spec.Obs, dst, s, st.g.c.View)
}

// ObserveWhole writes the planes (agents ego-first, blocks, stags, hares), the mask,
// the time and the last joint action.
func (st *State) ObserveWhole(s game.Seat, dst []float32) {
	l := &st.g.spec.Obs
	c := &st.g.c
	clear(dst)
	n, planes := c.Agents, c.Agents+3
	st.Show(dst, s, l)
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
	l.Tail(dst, s, legal[:], int(st.T), c.Horizon, st.Last)
}

// CopyFrom makes the state equal to src. Within an episode it copies only what
// steps change.
func (st *State) CopyFrom(src game.State) {
	o := src.(*State)
	st.follow(&o.play)
	if st.board.Follow(&o.board) {
		st.prey = o.prey
		copy(st.preyAt, o.preyAt)
	}
}

// Permute makes the state equal to src with seat s moved to perm[s].
func (st *State) Permute(src game.State, perm []game.Seat) {
	o := src.(*State)
	st.CopyFrom(o)
	st.Relabel(&o.Players, perm)
}

// Cell says what stands on a cell, for pictures.
func (st *State) Cell(y, x int, seats []game.Seat, things []string) ([]game.Seat, []string) {
	c := int16(y*st.g.c.Size + x)
	seats = grid.SeatsOn(seats, st.Pos, c)
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
