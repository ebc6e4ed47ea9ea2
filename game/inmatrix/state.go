// Package inmatrix is a matrix game on a map, as in Melting Pot's substrates "in the matrix"
// (Agapiou et al. 2022): agents gather resources of two kinds, and whoever catches another in a
// short beam plays the matrix game with it, each with the mixture that it has gathered. By default
// it is the repeated stag hunt.
//
// Two who have met stand still, are paid, leave the board with nothing in hand and come back on a
// free start. Nobody leaves for good. An episode ends by chance, which nobody foresees. Who moves
// first where two want one cell is drawn in every step; so no outcome depends on seat numbers.
//
// A state is one value and shares nothing but the game's constant map.
package inmatrix

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/rng"
)

// maxSpots and maxSeats bound the resources of a map and who plays on it.
const (
	maxSpots = 96
	maxSeats = 8
)

// State is one episode.
type State struct {
	g *Game
	play
	order [maxSeats]int // scratch: who moves first
}

// play is all that changes.
type play struct {
	grid.Players
	stopped bool               // the episode is over by chance
	face    [maxSeats]int8     // where the seat looks: 0 up, then clockwise
	have    [maxSeats][2]int16 // what it has gathered
	met     [maxSeats][2]int16 // what the last one had whom it met; 0, 0: none
	frozen  [maxSeats]int8     // steps until it is paid, 0 if it is free
	away    [maxSeats]int8     // steps until it is back, 0 if it is on the board
	cool    [maxSeats]int8     // steps until its next beam
	reached [maxSeats]int8     // the goal reached in the last step, or game.NoGoal
	spot    [maxSpots]spot
}

// follow makes the play equal to src.
func (p *play) follow(src *play) {
	own := p.Players
	own.Follow(&src.Players)
	*p = *src
	p.Players = own
}

// spot is a place of a resource.
type spot struct {
	kind  int8
	taken int8 // steps since it was taken, at most delay; 0: it is there
	hurt  int8 // beams that have hit it
}

var (
	_ grid.State   = (*State)(nil)
	_ game.Goaler  = (*State)(nil)
	_ game.Limited = (*State)(nil)
	_ game.Whole   = (*State)(nil)
)

// Reset draws the kinds of the open spots, and each agent's start and direction.
func (st *State) Reset(r *rng.Rand) {
	st.Clear()
	st.play = play{Players: st.Players}
	for i, kind := range st.g.kind {
		if kind == either {
			kind = int8(r.IntN(2))
		}
		st.spot[i].kind = kind
	}
	for s := range st.g.c.Agents {
		st.appear(s, r)
		st.reached[s] = game.NoGoal
	}
}

// appear puts a seat on a start where nobody stands.
func (st *State) appear(s int, r *rng.Rand) {
	for {
		c := st.g.starts[r.IntN(len(st.g.starts))]
		if st.at(c) < 0 {
			st.Pos[s], st.face[s] = c, int8(r.IntN(4))
			return
		}
	}
}

// at returns who stands on a cell, or -1.
func (st *State) at(c int16) int {
	for s, p := range st.Pos {
		if p == c {
			return s
		}
	}
	return -1
}

// lies reports whether there is a resource on a cell, and which spot it is.
func (st *State) lies(c int16) (spot int8, there bool) {
	i := st.g.spotAt[c]
	return i, i >= 0 && st.spot[i].taken == 0
}

// Reached returns what the seat had more of when it met somebody in the last step, as a goal.
func (st *State) Reached(s game.Seat) int { return int(st.reached[s]) }

// Cut reports whether the episode ended at the limit from outside.
func (st *State) Cut() bool { return st.Done && !st.stopped }

// free reports whether a seat may do anything.
func (st *State) free(s game.Seat) bool { return st.Pos[s] != grid.None && st.frozen[s] == 0 }

// Legal writes the seat's mask: stay alone where it is frozen or away; else moves into open cells,
// turns, and a beam once it has cooled.
func (st *State) Legal(s game.Seat, dst []bool) {
	dst = dst[:actions]
	clear(dst)
	if st.Done {
		return
	}
	dst[grid.Stay] = true
	if st.free(s) {
		st.g.LegalMoves(st.Pos[s], dst)
		dst[TurnLeft], dst[TurnRight], dst[Interact] = true, true, st.cool[s] == 0
	}
}

// Step plays one move, in Melting Pot's order: moves and turns, beams, returns to the board,
// resources that come back, pay.
func (st *State) Step(acts []int32, rewards []float32, r *rng.Rand) {
	n := st.g.c.Agents
	game.Ready(st.Done, n, acts, rewards)
	for s, a := range acts {
		rewards[s] = 0
		if a < 0 || a >= actions || a != grid.Stay && !st.may(game.Seat(s), a) {
			panic("inmatrix: illegal action")
		}
	}
	st.Look(st.g.c.View, st.g.W)
	st.T++
	order := st.order[:n]
	r.Perm(order)
	for _, s := range order {
		st.move(s, acts[s])
	}
	st.beams(order, acts)
	st.comeBack(order, r)
	st.regrow(r)
	st.settle(rewards)
	st.stopped = int(st.T) >= st.g.c.Least && st.T%interval == 0 && r.Float64() < st.g.c.Stop
	st.Done = st.stopped || int(st.T) >= st.g.c.Horizon
}

// may reports whether an action other than stay is legal.
func (st *State) may(s game.Seat, a int32) bool {
	switch {
	case !st.free(s):
		return false
	case a < grid.Stay:
		return st.g.Open(st.Pos[s], a)
	}
	return a != Interact || st.cool[s] == 0
}

// move turns a seat, or moves it where nobody stands; it takes what lies there.
func (st *State) move(s int, a int32) {
	st.Last[s], st.reached[s] = int8(a), game.NoGoal
	switch {
	case a == TurnLeft:
		st.face[s] = (st.face[s] + 3) % 4
	case a == TurnRight:
		st.face[s] = (st.face[s] + 1) % 4
	case a < grid.Stay:
		to := st.g.Next[st.Pos[s]][a]
		if st.at(to) >= 0 {
			return
		}
		st.Pos[s] = to
		if i, there := st.lies(to); there {
			st.have[s][st.spot[i].kind]++
			st.spot[i] = spot{kind: st.spot[i].kind, taken: 1}
		}
	}
}

// ahead is the move of each direction.
var ahead = [4]int{grid.Up, grid.Right, grid.Down, grid.Left}

// beams fires everybody's beam, each of three rays: from the cells on both sides and from the one
// ahead. In one step nobody is in two beams.
func (st *State) beams(order []int, acts []int32) {
	var busy [maxSeats]bool
	for s := range acts {
		if st.cool[s] > 0 && st.frozen[s] == 0 {
			st.cool[s]--
		}
	}
	for _, s := range order {
		if acts[s] != Interact {
			continue
		}
		st.cool[s] = cooling
		f := st.face[s]
		for _, side := range [3]int8{3, 1, 0} { // to the left, to the right, ahead
			st.ray(s, st.g.Next[st.Pos[s]][ahead[(f+side)%4]], f, &busy)
		}
	}
}

// ray hits the first thing on its way.
func (st *State) ray(s int, c int16, face int8, busy *[maxSeats]bool) {
	for range reach {
		if c == grid.None {
			return
		}
		if o := st.at(c); o >= 0 {
			st.hit(s, o, busy)
			return
		}
		if i, there := st.lies(c); there {
			if st.spot[i].hurt++; st.spot[i].hurt < health {
				return
			}
			st.spot[i] = spot{kind: st.spot[i].kind, taken: 1}
		}
		c = st.g.Next[c][ahead[face]]
	}
}

// hit lets two meet who both have gathered something and are free.
func (st *State) hit(s, o int, busy *[maxSeats]bool) {
	if busy[s] || busy[o] {
		return
	}
	busy[s], busy[o] = true, true
	if st.frozen[s] > 0 || st.frozen[o] > 0 || !st.ready(s) || !st.ready(o) {
		return
	}
	st.met[s], st.met[o] = st.have[o], st.have[s]
	for _, k := range [2]int{s, o} {
		st.frozen[k] = int8(st.g.c.Freeze) + 1
		switch have := st.have[k]; {
		case have[0] > have[1]:
			st.reached[k] = GoalStag
		case have[1] > have[0]:
			st.reached[k] = GoalHare
		}
	}
}

// ready reports whether a seat has gathered anything.
func (st *State) ready(s int) bool { return st.have[s] != [2]int16{} }

// comeBack puts those on the board whose time away is over.
func (st *State) comeBack(order []int, r *rng.Rand) {
	for _, s := range order {
		if st.away[s] == 0 {
			continue
		}
		if st.away[s]--; st.away[s] == 0 {
			st.appear(s, r)
		}
	}
}

// regrow lets resources come back where nobody stands.
func (st *State) regrow(r *rng.Rand) {
	nobody := st.g.c.Refill
	for _, c := range st.Pos {
		nobody = nobody && c == grid.None
	}
	for i, c := range st.g.spots {
		sp := &st.spot[i]
		switch {
		case sp.taken == 0:
		case nobody:
			sp.taken = 0
		case sp.taken <= delay:
			sp.taken++
		case r.Float64() < st.g.c.Regrow && st.at(c) < 0:
			sp.taken = 0
		}
	}
}

// settle pays those who have stood still for long enough, and takes them off the board.
func (st *State) settle(rewards []float32) {
	for s := range rewards {
		if st.frozen[s] == 0 {
			continue
		}
		if st.frozen[s]--; st.frozen[s] == 0 {
			rewards[s] = float32(st.g.payoff(st.have[s], st.met[s]))
			st.have[s], st.Pos[s], st.away[s], st.cool[s] = [2]int16{}, grid.None, int8(st.g.c.Away), 0
		}
	}
}

// Observe writes what is in the seat's view, the rest as 0.
func (st *State) Observe(s game.Seat, dst []float32) {
	st.show(s, dst)
	st.Hide(&st.g.spec.Obs, dst, s, st.g.c.View)
	st.self(s, dst)
}

// ObserveWhole writes the same of the whole board.
func (st *State) ObserveWhole(s game.Seat, dst []float32) {
	st.show(s, dst)
	st.self(s, dst)
}

// show writes the planes (agents ego-first, walls, resources, and on everybody's cell where it
// looks and whether it has gathered anything), what is coming to each who stands still, the mask and
// the last joint action.
func (st *State) show(s game.Seat, dst []float32) {
	copy(dst, st.g.walls)
	l, n := &st.g.spec.Obs, st.g.c.Agents
	all := n + planes
	st.Show(dst, s, l)
	for i, c := range st.g.spots {
		if sp := st.spot[i]; sp.taken == 0 {
			dst[int(c)*all+n+planeStag+int(sp.kind)] = 1
		}
	}
	for k := range n {
		o := (int(s) + k) % n
		c := st.Pos[o]
		if c == grid.None {
			continue
		}
		at := dst[int(c)*all+n:]
		at[planeFacing+int(st.face[o])] = 1
		if st.ready(o) {
			at[planeReady] = 1
		}
		if st.frozen[o] > 0 {
			dst[l.FeaturesAt()+k] = float32(st.g.payoff(st.have[o], st.met[o]))
		}
	}
	var legal [actions]bool
	st.Legal(s, legal[:])
	l.Tail(dst, s, legal[:], int(st.T), st.g.c.Horizon, st.Last)
}

// self writes what a seat knows of itself alone: the share of stags and the amount in its hands,
// whether it has met anybody and what share of stags that one had, the steps before its next beam
// and until it is paid.
func (st *State) self(s game.Seat, dst []float32) {
	f := dst[st.g.spec.Obs.FeaturesAt()+st.g.c.Agents:][:own]
	clear(f)
	have := st.have[s]
	f[0], f[1] = float32(share(have)), float32(have[0]+have[1])/10
	if st.met[s] != [2]int16{} {
		f[2], f[3] = 1, float32(share(st.met[s]))
	}
	f[4], f[5] = float32(st.cool[s])/cooling, float32(st.frozen[s])/float32(st.g.c.Freeze+1)
}

// CopyFrom makes the state equal to src.
func (st *State) CopyFrom(src game.State) { st.follow(&src.(*State).play) }

// Permute makes the state equal to src with seat s moved to perm[s].
func (st *State) Permute(src game.State, perm []game.Seat) {
	o := src.(*State)
	st.follow(&o.play)
	st.Relabel(&o.Players, perm)
	for s, to := range perm {
		st.face[to], st.have[to], st.met[to] = o.face[s], o.have[s], o.met[s]
		st.frozen[to], st.away[to], st.cool[to], st.reached[to] = o.frozen[s], o.away[s], o.cool[s], o.reached[s]
	}
}

// Cell says what stands on a cell, for pictures.
func (st *State) Cell(y, x int, seats []game.Seat, things []string) ([]game.Seat, []string) {
	c := int16(y*st.g.W + x)
	seats = grid.SeatsOn(seats, st.Pos, c)
	if st.g.Blocked[c] {
		things = append(things, "block")
	} else if i, there := st.lies(c); there {
		things = append(things, st.g.spec.Goals[st.spot[i].kind])
	}
	return seats, things
}
