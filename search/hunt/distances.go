package hunt

import (
	"math/bits"

	"github.com/hop-marl/hop/game/grid"
)

// distances lead from every cell to the nearest of a set of prey.
type distances struct {
	set uint64
	to  []uint32 // [cells] distance << 8 | crossing | moves on a shortest path
	aim []uint64 // [cells] those of the set that are nearest
}

// noSet is the set of distances that has not been found; there are never 64 prey.
const noSet = 1<<64 - 1

// far is a distance that no path has, crossing the bit in distances.to that says that a
// shortest path may lead over the cell of a stag that is not its aim.
const (
	far      = int(grid.Far)
	crossing = 1 << 7
)

// to returns the distance from a cell to the nearest of a set of prey and the
// moves that lead there.
func (v *decision) to(set uint64, cell uint16) (d int, moves uint32) {
	x := v.distance(set).to[cell]
	return int(x >> 8), x & (crossing - 1)
}

// distance returns the distances to a set of prey, valid until the next call.
func (v *decision) distance(set uint64) *distances {
	if w := &v.distances[(set^set>>6)&63]; w.set == set {
		return w
	}
	return v.find(set)
}

func (v *decision) find(set uint64) *distances {
	w := &v.distances[(set^set>>6)&63]
	w.set = set
	for c := range w.to {
		d, aim := grid.Far, uint64(0)
		for s := set; s != 0; s &= s - 1 {
			p := bits.TrailingZeros64(s)
			if x := v.dist[p][c]; x < d {
				d, aim = x, 1<<p
			} else if x == d {
				aim |= 1 << p
			}
		}
		w.to[c], w.aim[c] = uint32(d)<<8, aim
		if v.stag[c] && d > 0 {
			w.to[c] |= crossing
		}
	}
	for c, x := range w.to {
		d := x >> 8
		if d == 0 || int(d) == far {
			continue
		}
		for k, to := range v.board.Next[c] {
			if to != grid.None && w.to[to]>>8 == d-1 {
				w.to[c] |= 1 << k
			}
		}
	}
	for again := true; again; { // who leads to a crossing is one
		again = false
		for c, x := range w.to {
			if x&crossing != 0 {
				continue
			}
			for moves := x & (crossing - 1); moves != 0; moves &= moves - 1 {
				if w.to[v.board.Next[c][bits.TrailingZeros32(moves)]]&crossing != 0 {
					w.to[c] |= crossing
					again = true
				}
			}
		}
	}
	return w
}
