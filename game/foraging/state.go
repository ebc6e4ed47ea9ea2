// Package foraging is level-based foraging (Albrecht and Ramamoorthy 2013), with
// the rules of the lbforaging package: agents and food have levels, and a food
// item is taken when the agents beside it who load have its level in sum.
//
// The rules are deterministic; only the start is drawn. Nobody leaves; an episode
// ends when all food is taken or the time is up. Nobody shares a cell or enters a
// food's: agents who want the same cell stay where they are, and so does who
// wants the cell of one that stays. Two may swap cells. (In lbforaging an agent
// can enter the cell of one that was itself held up; here it cannot.)
//
// All food of an episode is worth 1 together, each item in proportion to its
// level. With shared pay every seat gets the whole of it, else its takers split
// it by level. No outcome depends on seat numbers.
package foraging

import (
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/rng"
)

// State is one episode.
type State struct {
	g *Game
	play

	// The episode's fixed part, equal in two states whose id is equal. Items are
	// numbered by their cells, lowest first.
	id   uint64
	food [maxFood]int16 // cell
	near []int8         // [cells] the item beside the cell, of which there is at most one, or -1

	// Scratch of Reset and of the bots.
	dist  []int16 // [cells]
	queue []int16
	want  []int16 // [seats]
	stays []bool  // [seats]
}

// play is the part of a state that changes from step to step, and what belongs
// to seats or is small.
type play struct {
	grid.Players
	left      uint8         // bit f: item f is still there
	took      []int16       // [seats] the item taken in the last step, or game.NoGoal
	level     []int16       // [seats]
	foodLevel [maxFood]int8 // 0 if there was no room for the item
	total     int32         // sum of foodLevel
}

var (
	_ grid.State  = (*State)(nil)
	_ game.Goaler = (*State)(nil)
)

// Reset draws the agents on distinct cells, each with a level, then the food away
// from the border and from other food, so that no cell is beside two items.
func (st *State) Reset(r *rng.Rand) {
	c := &st.g.c
	st.start()
	for s := range c.Agents {
		cell := int16(r.IntN(st.g.board.Cells()))
		for st.seatOn(cell) >= 0 {
			cell = int16(r.IntN(st.g.board.Cells()))
		}
		st.Pos[s] = cell
		st.level[s] = int16(c.MinLevel + r.IntN(c.MaxLevel-c.MinLevel+1))
	}
	n := st.drawFood(r)
	top := st.weakestSum()
	for f := range n {
		level := top
		if !c.Coop {
			level = 1 + r.IntN(top)
		}
		st.foodLevel[f] = int8(level)
		st.total += int32(level)
	}
	st.left = uint8(1<<n - 1)
	st.id = r.Uint64() | 1
	st.settle()
}

// newPlay returns a play in which nobody is anywhere and nothing taken.
func (g *Game) newPlay() play {
	p := play{Players: grid.NewPlayers(g.c.Agents, g.c.View, 2)}
	p.took, p.level = p.Row(0), p.Row(1)
	p.start()
	return p
}

// start makes the play one in which nothing has happened.
func (p *play) start() {
	p.Clear()
	p.left, p.foodLevel, p.total = 0, [maxFood]int8{}, 0
	for s := range p.took {
		p.took[s] = game.NoGoal
	}
}

// follow makes the play equal to src.
func (p *play) follow(src *play) {
	p.Players.Follow(&src.Players)
	p.left, p.foodLevel, p.total = src.left, src.foodLevel, src.total
}

// drawFood draws up to the config's number of items, uniformly from the cells
// that are allowed, and returns how many there was room for.
func (st *State) drawFood(r *rng.Rand) int {
	for f := range st.food {
		st.food[f] = grid.None
	}
	n := 0
	for ; n < st.g.c.Food; n++ {
		room := st.queue[:0]
		for y := 1; y < st.g.c.Size-1; y++ {
			for x := 1; x < st.g.c.Size-1; x++ {
				if cell := int16(y*st.g.c.Size + x); st.seatOn(cell) < 0 && st.apart(cell, st.food[:n]) {
					room = append(room, cell)
				}
			}
		}
		if len(room) == 0 {
			break
		}
		cell := room[r.IntN(len(room))]
		i := n
		for ; i > 0 && st.food[i-1] > cell; i-- {
			st.food[i] = st.food[i-1]
		}
		st.food[i] = cell
	}
	return n
}

// apart reports whether no food is within two moves of the cell.
func (st *State) apart(cell int16, food []int16) bool {
	for _, f := range food {
		if f != grid.None && st.moves(cell, f) <= 2 {
			return false
		}
	}
	return true
}

// moves is the number of moves between two cells of an open board.
func (st *State) moves(a, b int16) int {
	w := st.g.c.Size
	return absInt(int(a)/w-int(b)/w) + absInt(int(a)%w-int(b)%w)
}

func absInt(x int) int { return max(x, -x) }

// weakestSum returns the levels of the three weakest agents together.
func (st *State) weakestSum() int {
	levels := st.want
	copy(levels, st.level)
	n := st.g.c.Agents
	sum := 0
	for i := range min(weakest, n) {
		for j := i + 1; j < n; j++ {
			if levels[j] < levels[i] {
				levels[i], levels[j] = levels[j], levels[i]
			}
		}
		sum += int(levels[i])
	}
	return sum
}

// settle fills near from where the food is.
func (st *State) settle() {
	for i := range st.near {
		st.near[i] = -1
	}
	for f, cell := range st.food {
		if cell == grid.None {
			continue
		}
		for _, to := range st.g.board.Next[cell] {
			if to != grid.None {
				st.near[to] = int8(f)
			}
		}
	}
}

// seatOn returns the seat on a cell, or -1.
func (st *State) seatOn(cell int16) int { return slices.Index(st.Pos, cell) }

// beside returns the item beside a cell that is still there, or -1.
func (st *State) beside(cell int16) int {
	if f := st.near[cell]; f >= 0 && st.left>>f&1 != 0 {
		return int(f)
	}
	return -1
}

// Reached returns the item that the seat took in the last step, as a goal.
func (st *State) Reached(s game.Seat) int { return int(st.took[s]) }

// Legal writes the seat's mask: moves that lead neither off the board nor onto
// food, stay, and load beside food. The cells of agents are open: whether one
// gets there depends on what the others do.
func (st *State) Legal(s game.Seat, dst []bool) {
	dst = dst[:actions]
	if st.Done {
		clear(dst)
		return
	}
	c := st.Pos[s]
	st.g.board.LegalMoves(c, dst)
	f := st.beside(c)
	dst[Load] = f >= 0
	if f >= 0 {
		for k, to := range st.g.board.Next[c] {
			if to == st.food[f] {
				dst[k] = false
			}
		}
	}
}

func (st *State) legal(s int, a int32) bool {
	c := st.Pos[s]
	switch {
	case a >= 0 && a < grid.Stay:
		to := st.g.board.Next[c][a]
		f := st.beside(c)
		return to != grid.None && (f < 0 || to != st.food[f])
	case a == grid.Stay:
		return true
	case a == Load:
		return st.beside(c) >= 0
	}
	return false
}

// Step plays one move: time, then all moves at once, then loading.
func (st *State) Step(acts []int32, rewards []float32, _ *rng.Rand) {
	game.Ready(st.Done, st.g.c.Agents, acts, rewards)
	loads := false
	for s, a := range acts {
		if !st.legal(s, a) {
			panic("foraging: illegal action")
		}
		rewards[s], st.took[s] = 0, game.NoGoal
		loads = loads || a == Load
	}
	st.Look(st.g.c.View, st.g.c.Size)
	st.T++
	st.move(acts)
	if loads {
		for f := range st.g.c.Food {
			if st.left>>f&1 != 0 {
				st.load(acts, rewards, int8(f))
			}
		}
	}
	for s, a := range acts {
		st.Last[s] = int8(a)
	}
	st.Done = st.left == 0 || int(st.T) >= st.g.c.Horizon
}

// move moves all agents at once. Those who want the same cell are held up, and
// then, again and again, those who want the cell of one that stays.
func (st *State) move(acts []int32) {
	want, stays := st.want, st.stays
	for s, a := range acts {
		want[s], stays[s] = st.Pos[s], true
		if a < grid.Stay {
			want[s], stays[s] = st.g.board.Next[st.Pos[s]][a], false
		}
	}
	for s := range acts {
		for o := range s {
			if want[o] == want[s] {
				stays[o], stays[s] = true, true
			}
		}
	}
	for again := true; again; {
		again = false
		for s := range acts {
			for o := range acts {
				if !stays[s] && stays[o] && st.Pos[o] == want[s] {
					stays[s], again = true, true
				}
			}
		}
	}
	for s := range acts {
		if !stays[s] {
			st.Pos[s] = want[s]
		}
	}
}

// load lets the agents who load beside item f take it, if they are strong enough.
func (st *State) load(acts []int32, rewards []float32, f int8) {
	strength := 0
	for s, a := range acts {
		if a == Load && st.near[st.Pos[s]] == f {
			strength += int(st.level[s])
		}
	}
	food := int(st.foodLevel[f])
	if strength < food {
		return
	}
	st.left &^= 1 << f
	for s, a := range acts {
		taker := a == Load && st.near[st.Pos[s]] == f
		if taker {
			st.took[s] = int16(f)
		}
		switch {
		case st.g.c.Shared:
			rewards[s] += float32(float64(food) / float64(st.total))
		case taker:
			rewards[s] = float32(float64(food*int(st.level[s])) / float64(strength*int(st.total)))
		}
	}
}

// Observe writes what is in the seat's view, the rest as 0.
func (st *State) Observe(s game.Seat, dst []float32) {
	st.ObserveWhole(s, dst)
	st.Hide(&st.g.spec.Obs, dst, s, st.g.c.View)
}

// ObserveWhole writes the planes (agents ego-first, then each item), the features
// (the agents' levels ego-first, as a part of the highest; the items' levels, as
// a part of the highest an item can have, 0 once taken), the mask, the time and
// the last joint action.
func (st *State) ObserveWhole(s game.Seat, dst []float32) {
	l := &st.g.spec.Obs
	c := &st.g.c
	clear(dst)
	n, planes := c.Agents, c.Agents+c.Food
	features := dst[l.FeaturesAt():]
	i := int(s)
	for k := range n {
		dst[int(st.Pos[i])*planes+k] = 1
		features[k] = float32(st.level[i]) / float32(c.MaxLevel)
		if i++; i == n {
			i = 0
		}
	}
	for f := range c.Food {
		if st.left>>f&1 != 0 {
			dst[int(st.food[f])*planes+n+f] = 1
			features[n+f] = float32(st.foodLevel[f]) / float32(st.g.topFood)
		}
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
	if st.id == o.id && st.id != 0 {
		return
	}
	st.id, st.food = o.id, o.food
	copy(st.near, o.near)
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
	if s := st.seatOn(c); s >= 0 {
		seats = append(seats, game.Seat(s))
	}
	for f := range st.g.c.Food {
		if st.left>>f&1 != 0 && st.food[f] == c {
			things = append(things, st.g.spec.Goals[f])
		}
	}
	return seats, things
}
