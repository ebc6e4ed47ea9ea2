package best

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/staghunt"
)

// value returns the best response's value of a state.
func (b *response) value(s *brState) float64 {
	if s.cell[0] == brGone || s.rem == 0 {
		return 0
	}
	alone := true
	for _, c := range s.cell[1:] {
		alone = alone && c == brGone
	}
	if alone {
		return b.alone(s)
	}
	cells := binary.LittleEndian.Uint64(s.cell[:])
	rest := s.left | uint64(s.rem)<<48
	if s.hit {
		rest |= 1 << 63
	}
	at := b.find(cells, rest)
	if slot := &b.table[at]; slot.gen == b.gen {
		return slot.value
	}
	if b.ended() {
		return 0
	}
	lo := b.enumerate(s)
	best := math.Inf(-1)
	for set := b.legal(s, 0); set != 0; set &= set - 1 {
		best = max(best, b.after(s, bits.TrailingZeros8(set), lo))
	}
	b.outcome = b.outcome[:lo]
	b.insert(cells, rest, best)
	return best
}

// ended asks the context, once in so many states, and counts those that are known.
func (b *response) ended() bool {
	if b.most > 0 && b.used >= b.most && b.stopped == nil {
		b.stopped = fmt.Errorf("oracle: best responses: more than %d states can follow", b.most)
	}
	if b.polled++; b.ctx != nil && b.polled&1023 == 0 && b.stopped == nil {
		b.stopped = b.ctx.Err()
	}
	return b.stopped != nil
}

// alone is the value once all others have left: the nearest hare in time.
func (b *response) alone(s *brState) float64 {
	d := b.near(int(s.cell[0]), s.left&^b.stags)
	if d == grid.Far || int(d)+1 > s.rem {
		return 0
	}
	return b.c.HarePays * math.Pow(b.discount, float64(d))
}

// after is the value of playing k now and the best response later.
func (b *response) after(s *brState, k, lo int) float64 {
	own, hunts := s.cell[0], k >= staghunt.HuntStag
	if k < grid.Stay {
		own = uint8(b.board.Next[own][k])
	}
	sum := 0.
	for i, hi := lo, len(b.outcome); i < hi; i++ {
		o := b.outcome[i]
		next := brState{cell: o.cell, left: s.left, rem: s.rem - 1, hit: s.hit}
		next.cell[0] = own
		reward := 0.
		if o.any || hunts {
			o.cell[0], o.hunt[0] = own, 0
			if hunts {
				o.hunt[0] = uint8(k)
			}
			reward = b.resolve(&next, &o)
		}
		sum += o.p * (reward + b.discount*b.value(&next))
	}
	return sum
}

// resolve lets successful hunters and their prey leave, and returns the focal
// player's reward.
func (b *response) resolve(next *brState, o *brOutcome) float64 {
	reward, caught := 0., false
	for i := range b.seat {
		kind := o.hunt[i]
		if kind == 0 {
			continue
		}
		cell, hunters, total := o.cell[i], 0, 0.
		for j := range b.seat {
			if o.hunt[j] == kind && o.cell[j] == cell {
				hunters++
				total += b.share(j, kind)
			}
		}
		if kind == staghunt.HuntStag && hunters < 2 {
			continue
		}
		next.left &^= 1 << b.preyAt[cell]
		next.cell[i], caught = brGone, true
		if i == 0 {
			pays := b.c.HarePays
			if kind == staghunt.HuntStag {
				pays = b.c.StagPays
			}
			reward = float64(float32(pays * b.share(0, kind) / total))
		}
	}
	if caught && b.c.EndAfter > 0 && !next.hit {
		next.hit, next.rem = true, min(next.rem, b.c.EndAfter)
	}
	b.sort(&next.cell)
	return reward
}

// share is a player's weight when a prey is split: strength at a stag, equal at
// a hare.
func (b *response) share(i int, kind uint8) float64 {
	if kind == staghunt.HuntStag {
		return b.weight[i]
	}
	return 1
}

// enumerate appends the others' joint moves with their probabilities to
// b.outcome and returns where they start.
func (b *response) enumerate(s *brState) int {
	lo := len(b.outcome)
	first := brOutcome{p: 1}
	for i := range first.cell {
		first.cell[i] = brGone
	}
	b.outcome = append(b.outcome, first)
	for i := 1; i < len(b.seat); i++ {
		if s.cell[i] == brGone {
			continue
		}
		set := b.mask(s, i)
		p := 1 / float64(bits.OnesCount8(set))
		hi := len(b.outcome)
		for more := set & (set - 1); more != 0; more &= more - 1 {
			for at := lo; at < hi; at++ {
				o := b.outcome[at]
				b.move(&o, i, s.cell[i], bits.TrailingZeros8(more), p)
				b.outcome = append(b.outcome, o)
			}
		}
		for at := lo; at < hi; at++ {
			b.move(&b.outcome[at], i, s.cell[i], bits.TrailingZeros8(set), p)
		}
	}
	for at := lo; at < len(b.outcome); at++ {
		if o := &b.outcome[at]; !o.any {
			b.sort(&o.cell)
		}
	}
	return lo
}

// move lets player i play k in a joint move.
func (b *response) move(o *brOutcome, i int, cell uint8, k int, p float64) {
	o.p *= p
	switch {
	case k < grid.Stay:
		cell = uint8(b.board.Next[cell][k])
	case k > grid.Stay:
		o.hunt[i], o.any = uint8(k), true
	}
	o.cell[i] = cell
}

// legal returns a bit for each legal action of player i.
func (b *response) legal(s *brState, i int) uint8 {
	c := s.cell[i]
	set := b.board.Moves[c] | 1<<grid.Stay
	if p := b.preyAt[c]; p >= 0 && s.left>>p&1 != 0 {
		if int(p) >= b.c.Stags {
			set |= 1 << staghunt.HuntHare
		} else if brCrowd(s, c) {
			set |= 1 << staghunt.HuntStag
		}
	}
	return set
}

// brCrowd reports whether at least two stand on a cell.
func brCrowd(s *brState, c uint8) bool {
	n := 0
	for _, o := range s.cell {
		if o == c {
			n++
		}
	}
	return n >= 2
}

// mask returns a bit for each of the equally likely actions of bot i.
func (b *response) mask(s *brState, i int) uint8 {
	c := s.cell[i]
	switch b.kind[i] {
	case brRandom:
		return b.legal(s, i)
	case brNH:
		return b.hareMask(s, i)
	case brDeadline:
		if d := b.near(int(c), s.left&^b.stags); d != grid.Far && s.rem <= int(d)+1 {
			return b.hareMask(s, i)
		}
	}
	d, set := b.towards(int(c), s.left&b.stags)
	switch {
	case d == grid.Far:
		return b.hareMask(s, i)
	case d > 0:
		return set
	case brCrowd(s, c):
		return 1 << staghunt.HuntStag
	}
	return 1 << grid.Stay
}

func (b *response) hareMask(s *brState, i int) uint8 {
	d, set := b.towards(int(s.cell[i]), s.left&^b.stags)
	switch {
	case d == grid.Far:
		return b.legal(s, i)
	case d == 0:
		return 1 << staghunt.HuntHare
	}
	return set
}

// near returns the distance to the nearest of a set of prey.
func (b *response) near(cell int, set uint64) int16 {
	best := grid.Far
	for ; set != 0; set &= set - 1 {
		best = min(best, b.dist[bits.TrailingZeros64(set)][cell])
	}
	return best
}

// towards returns the distance to the nearest of a set of prey, and a bit for
// each move on a shortest path to one that near.
func (b *response) towards(cell int, set uint64) (int16, uint8) {
	best := b.near(cell, set)
	if best == 0 || best == grid.Far {
		return best, 0
	}
	moves := uint8(0)
	for k, to := range b.board.Next[cell] {
		if to != grid.None && b.near(int(to), set) == best-1 {
			moves |= 1 << k
		}
	}
	return best, moves
}

// find returns the slot of a key, or the free one where it belongs.
func (b *response) find(cells, rest uint64) int {
	mask := len(b.table) - 1
	h := (cells ^ rest*0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93
	at := int(h>>32) & mask
	for {
		slot := &b.table[at]
		if slot.gen != b.gen || slot.cells == cells && slot.rest == rest {
			return at
		}
		at = (at + 1) & mask
	}
}

func (b *response) insert(cells, rest uint64, value float64) {
	if 2*b.used >= len(b.table) {
		old := b.table
		b.table = make([]brSlot, 2*len(old))
		for _, slot := range old {
			if slot.gen == b.gen {
				b.table[b.find(slot.cells, slot.rest)] = slot
			}
		}
	}
	b.table[b.find(cells, rest)] = brSlot{cells, rest, value, b.gen}
	b.used++
}
