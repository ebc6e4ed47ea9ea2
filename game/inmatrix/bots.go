package inmatrix

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
)

// enough is how many resources a bot gathers before it looks for the other.
const enough = 5

// mirror returns what the last one whom the seat met had more of; stags at first.
func (st *State) mirror(s game.Seat) int {
	if st.met[s][GoalHare] > st.met[s][GoalStag] {
		return GoalHare
	}
	return GoalStag
}

// gather is the rule of the bots: gather one kind until there is enough of it and somebody to meet,
// then meet the nearest who is ready.
func (st *State) gather(s game.Seat, kind int) (mask game.Mask) {
	mask[grid.Stay] = !st.free(s)
	if mask[grid.Stay] {
		return mask
	}
	o := st.nearest(s)
	if o < 0 || st.have[s][kind] < enough && st.left(kind) {
		st.seek(s, kind, &mask)
	} else {
		st.meet(s, o, &mask)
	}
	if mask == (game.Mask{}) {
		mask[grid.Stay] = true
	}
	return mask
}

// left reports whether a resource of a kind is there.
func (st *State) left(kind int) bool {
	for _, sp := range st.spot[:len(st.g.spots)] {
		if sp.taken == 0 && int(sp.kind) == kind {
			return true
		}
	}
	return false
}

// nearest returns the nearest other who can be met, or -1.
func (st *State) nearest(s game.Seat) int {
	best, found := grid.Far, -1
	for o := range st.g.c.Agents {
		if game.Seat(o) == s || !st.free(game.Seat(o)) || !st.ready(o) {
			continue
		}
		if d := st.g.steps[st.Pos[o]][st.Pos[s]]; d < best {
			best, found = d, o
		}
	}
	return found
}

// seek marks the moves to the nearest resource of a kind, by cells without the other kind if it can.
func (st *State) seek(s game.Seat, kind int, mask *game.Mask) {
	best, target := grid.Far, grid.None
	for i, c := range st.g.spots {
		if sp := st.spot[i]; sp.taken == 0 && int(sp.kind) == kind && st.g.steps[c][st.Pos[s]] < best {
			best, target = st.g.steps[c][st.Pos[s]], c
		}
	}
	if target != grid.None {
		st.towards(s, target, kind, mask)
	}
}

// towards marks the moves to a cell: those without a resource of another kind, if there are any.
func (st *State) towards(s game.Seat, target int16, kind int, mask *game.Mask) {
	var spoilt game.Mask
	dist := st.g.steps[target]
	for k, to := range st.g.Next[st.Pos[s]] {
		if to == grid.None || dist[to] >= dist[st.Pos[s]] {
			continue
		}
		if i, there := st.lies(to); there && int(st.spot[i].kind) != kind {
			spoilt[k] = true
			continue
		}
		mask[k] = true
	}
	if *mask == (game.Mask{}) {
		*mask = spoilt
	}
}

// meet marks the beam if it would hit the other; the turn after which it would; else the moves nearer.
func (st *State) meet(s game.Seat, o int, mask *game.Mask) {
	f := st.face[s]
	switch {
	case st.hits(s, o, f):
		if mask[Interact] = st.cool[s] == 0; !mask[Interact] {
			mask[grid.Stay] = true
		}
	case st.hits(s, o, (f+3)%4):
		mask[TurnLeft] = true
	case st.hits(s, o, (f+1)%4), st.hits(s, o, (f+2)%4):
		mask[TurnRight] = true
	default:
		st.towards(s, st.Pos[o], st.mainly(s), mask)
	}
}

// mainly returns what a seat has more of.
func (st *State) mainly(s game.Seat) int {
	if st.have[s][GoalHare] > st.have[s][GoalStag] {
		return GoalHare
	}
	return GoalStag
}

// hits reports whether a beam in a direction would hit a seat.
func (st *State) hits(s game.Seat, o int, face int8) bool {
	for _, side := range [3]int8{3, 1, 0} {
		c := st.g.Next[st.Pos[s]][ahead[(face+side)%4]]
		for range reach {
			if c == grid.None {
				break
			}
			if at := st.at(c); at >= 0 {
				if at == o {
					return true
				}
				break
			}
			if _, there := st.lies(c); there {
				break
			}
			c = st.g.Next[c][ahead[face]]
		}
	}
	return false
}
