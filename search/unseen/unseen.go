// Package unseen is what an agent believes of the part of a board that it does not see, and
// boards drawn from that belief.
//
// A Belief is told what one seat observes, step after step, and nothing else: it holds no state
// of the game and cannot be handed one. Of each co-player it keeps how likely it is on each
// cell, or gone: where it was last seen, from there at random over cells that are open as far as
// is known, each step ruled out where it would have been seen (a Bayes filter; who stands on
// what can be caught may catch it and leave). Of things it keeps where they were last seen; what
// the rules say there must be more of lies anywhere that has never been looked at, each cell as
// likely. Draw draws a whole board, of which what is in view is what is observed.
//
// All that is remembered is one slice of numbers, so it is saved and restored exactly.
package unseen

import (
	"fmt"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// Kind is what is taken to be where nothing is seen.
type Kind string

// The kinds, by how much they suppose.
const (
	Gone  Kind = "gone"  // nothing and nobody
	Seen  Kind = "seen"  // what was last seen there; who was never seen is nowhere
	Drawn Kind = "drawn" // a draw from the belief
)

// Belief is one seat's. It is for one goroutine.
type Belief struct {
	l      game.Layout
	view   int
	others int
	cells  int
	things []game.Thing

	W     []float32   // all that is remembered: the slices below are views of it
	at    [][]float32 // [others][cells+1] how likely a co-player is on each cell; the last: it has left
	last  []float32   // [others] where it was last seen, -1: not yet
	known []float32   // [cells] 1: has been in view
	found []float32   // [cells] 1 + the kind of thing that was found there; 0: none
	is    []float32   // [cells] 1 + the kind of thing that is there, as far as is known

	here   []int     // [others] the cell on which a co-player is seen, -1: none
	walked []float32 // [cells+1] scratch
	free   []int     // [cells] scratch
	open   []bool    // [cells] moves lead there
	dense  float32   // of what one seat can catch, on cells that were never seen
}

// New returns the belief of somebody who has seen nothing. It is an error if the game's players
// cannot suppose what its view hides.
func New(g game.Game) (*Belief, error) {
	h, ok := game.As[game.Hiding](g)
	s := g.Spec()
	if !ok || s.View == 0 {
		return nil, fmt.Errorf("unseen: nothing can be supposed of what game.view hides in %s", s.Name)
	}
	n, cells := s.Seats-1, s.Obs.Height*s.Obs.Width
	b := &Belief{
		l: s.Obs, view: s.View, others: n, cells: cells, things: h.Things(), W: make([]float32, n*(cells+2)+3*cells),
		walked: make([]float32, cells+1), here: make([]int, n), free: make([]int, 0, cells), open: make([]bool, cells),
	}
	rest := b.W
	take := func(n int) (part []float32) {
		part, rest = rest[:n:n], rest[n:]
		return part
	}
	for range n {
		b.at = append(b.at, take(cells+1))
	}
	b.last, b.known, b.found, b.is = take(n), take(cells), take(cells), take(cells)
	b.Reset()
	return b, nil
}

// Reset begins an episode: nothing has been seen, and everybody is anywhere.
func (b *Belief) Reset() {
	clear(b.W)
	for k, p := range b.at {
		b.last[k] = -1
		for c := range b.cells {
			p[c] = 1 / float32(b.cells)
		}
	}
}

// At returns how likely the co-player k+1 seats further on is on each cell and, last, how likely
// it has left; a view.
func (b *Belief) At(k int) []float32 { return b.at[k] }

// See takes in the next observation of an episode.
func (b *Belief) See(obs []float32) {
	me := b.l.CellOf(obs, 0)
	if me < 0 {
		return
	}
	if seen := sum(b.known); seen > 0 { // not the first
		b.reach(me)
		b.dense = b.density(seen)
		for k := range b.at {
			b.walk(k, me)
		}
	}
	b.look(obs, me)
	b.reach(me)
	for k, p := range b.at {
		b.rule(k, p, me)
	}
}

func sum(xs []float32) (sum float32) {
	for _, x := range xs {
		sum += x
	}
	return sum
}

// wall reports whether nobody can stand on a cell, as far as is known.
func (b *Belief) wall(c int) bool { return b.is[c] > 0 && b.things[int(b.is[c])-1].Takes == 0 }

// each calls do for the cells that are one move from a cell.
func (b *Belief) each(c int, do func(to int)) {
	y, x := c/b.l.Width, c%b.l.Width
	for _, d := range [4][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}} {
		if yy, xx := y+d[0], x+d[1]; yy >= 0 && yy < b.l.Height && xx >= 0 && xx < b.l.Width && !b.wall(yy*b.l.Width+xx) {
			do(yy*b.l.Width + xx)
		}
	}
}

// reach finds the cells to which moves lead from where oneself stands: nobody and nothing is on any
// other.
func (b *Belief) reach(me int) {
	clear(b.open)
	b.free, b.open[me] = append(b.free[:0], me), true
	for len(b.free) > 0 {
		c := b.free[len(b.free)-1]
		b.free = b.free[:len(b.free)-1]
		b.each(c, func(to int) {
			if !b.open[to] {
				b.free, b.open[to] = append(b.free, to), true
			}
		})
	}
}

// walk lets a co-player take a step: any move, to stay, or to catch what is there, each as likely.
// Who catches has left. me is where oneself stands.
func (b *Belief) walk(k, me int) {
	p, next := b.at[k], b.walked
	clear(next)
	next[b.cells] = p[b.cells]
	for c, x := range p[:b.cells] {
		if x == 0 {
			continue
		}
		options := float32(1)
		b.each(c, func(int) { options++ })
		catches := b.catches(k, c, me)
		next[b.cells] += x * catches / (options + catches)
		x /= options + catches
		next[c] += x
		b.each(c, func(to int) { next[to] += x })
	}
	copy(p, next)
}

// catches returns how likely there is something on a cell that the co-player can catch.
func (b *Belief) catches(k, c, me int) float32 {
	if b.known[c] == 0 {
		return b.dense
	}
	if b.is[c] == 0 || b.wall(c) {
		return 0
	}
	company := float32(0)
	if me == c {
		company = 1
	}
	for o, p := range b.at {
		if o != k {
			company += p[c]
		}
	}
	if b.things[int(b.is[c])-1].Takes <= 1 {
		return 1
	}
	return min(company, 1)
}

// density returns how likely something that one seat can catch lies on a cell that was never
// seen, if so many were.
func (b *Belief) density(seen float32) float32 {
	missing := 0
	for kind, t := range b.things {
		if t.Takes == 1 {
			missing += b.missing(kind)
		}
	}
	return float32(missing) / max(1, float32(b.cells)-seen)
}

// missing returns how many things of a kind have never been seen.
func (b *Belief) missing(kind int) int {
	n := b.things[kind].Count
	for _, f := range b.found {
		if int(f) == kind+1 {
			n--
		}
	}
	return max(n, 0)
}

// look takes in what is in view.
func (b *Belief) look(obs []float32, me int) {
	planes, n, caught := len(b.l.Planes), b.others+1, 0
	for k := range b.here {
		b.here[k] = -1
	}
	for c := range b.cells {
		if !b.l.InView(b.view, me, c) {
			continue
		}
		shows, was := obs[c*planes:(c+1)*planes], b.is[c]
		b.known[c], b.is[c] = 1, 0
		for k := range b.here {
			if shows[k+1] != 0 {
				b.here[k], b.last[k] = c, float32(c)
			}
		}
		for kind, x := range shows[n:] {
			if x != 0 {
				b.is[c], b.found[c] = float32(kind+1), float32(kind+1)
			}
		}
		if was > 0 && b.is[c] == 0 {
			caught++
		}
	}
	for range caught {
		b.caught()
	}
}

// caught takes in that something is no longer there: somebody who is not seen has left with it.
func (b *Belief) caught() {
	nobody := float32(1)
	for k, p := range b.at {
		if b.here[k] < 0 {
			nobody *= 1 - p[b.cells]
		}
	}
	if nobody == 0 || nobody == 1 {
		return
	}
	for _, p := range b.at { // Bayes' rule: not nobody; those who are seen are put there afterwards
		to := min(p[b.cells]/(1-nobody), 1)
		for c := range p[:b.cells] {
			p[c] *= (1 - to) / (1 - p[b.cells])
		}
		p[b.cells] = to
	}
}

// rule puts a co-player where it is seen, or where it is not seen to be.
func (b *Belief) rule(k int, p []float32, me int) {
	if at := b.here[k]; at >= 0 {
		clear(p)
		p[at] = 1
		return
	}
	sum := p[b.cells]
	for c := range b.cells {
		if b.l.InView(b.view, me, c) || !b.open[c] {
			p[c] = 0
		}
		sum += p[c]
	}
	if sum < 1e-6 { // more than can be: it went where no step leads, as far as is known
		b.anywhere(p, me)
		return
	}
	for c := range p {
		p[c] /= sum
	}
}

// anywhere spreads a co-player over all that is out of view, and over having left.
func (b *Belief) anywhere(p []float32, me int) {
	sum := float32(1)
	for c := range b.cells {
		if p[c] = 0; !b.l.InView(b.view, me, c) && b.open[c] {
			p[c] = 1
			sum++
		}
	}
	p[b.cells] = 1
	for c := range p {
		p[c] /= sum
	}
}

// Draw writes a whole board to dst: what obs, the last observation, shows, and what may be where
// it shows nothing.
func (b *Belief) Draw(dst, obs []float32, by Kind, r *rng.Rand) {
	copy(dst, obs)
	me := b.l.CellOf(obs, 0)
	if by == Gone || me < 0 {
		return
	}
	planes, n := len(b.l.Planes), b.others+1
	for c := range b.cells {
		if kind := int(b.is[c]); kind > 0 && !b.l.InView(b.view, me, c) {
			dst[c*planes+n+kind-1] = 1
		}
	}
	if by == Seen {
		for k, c := range b.last {
			if c := int(c); b.here[k] < 0 && c >= 0 && !b.l.InView(b.view, me, c) {
				dst[c*planes+k+1] = 1
			}
		}
		return
	}
	b.scatter(dst, r)
	b.seat(dst, r)
}

// scatter puts things that were never found on cells that were never seen.
func (b *Belief) scatter(dst []float32, r *rng.Rand) {
	planes, n := len(b.l.Planes), b.others+1
	b.free = b.free[:0]
	for c, known := range b.known {
		if known == 0 && b.open[c] {
			b.free = append(b.free, c)
		}
	}
	for kind := range b.things {
		for range b.missing(kind) {
			if len(b.free) == 0 {
				return
			}
			i := r.IntN(len(b.free))
			dst[b.free[i]*planes+n+kind] = 1
			b.free[i] = b.free[len(b.free)-1]
			b.free = b.free[:len(b.free)-1]
		}
	}
}

// seat puts co-players who are not seen somewhere, or takes them to have left with something.
func (b *Belief) seat(dst []float32, r *rng.Rand) {
	planes, left := len(b.l.Planes), 0
	for k, p := range b.at {
		if b.here[k] >= 0 {
			continue
		}
		if c := int(rng.Pick(p, r.Float32())); c < b.cells {
			dst[c*planes+k+1] = 1
		} else {
			left++
		}
	}
	for c, f := range b.found { // what was seen to be there and is not was caught by some of them
		if f > 0 && b.is[c] == 0 {
			left -= b.things[int(f)-1].Takes
		}
	}
	b.take(dst, left, r)
}

// take takes away what so many who have left must have caught out of view: of which kind is
// drawn, each that they are enough for as likely.
func (b *Belief) take(dst []float32, left int, r *rng.Rand) {
	for left > 0 {
		first, took := r.IntN(len(b.things)), false
		for i := 0; i < len(b.things) && !took; i++ {
			kind := (first + i) % len(b.things)
			if needs := b.things[kind].Takes; needs > 0 && needs <= left && b.remove(dst, kind, r) {
				left, took = left-needs, true
			}
		}
		if !took {
			return
		}
	}
}

// remove takes one thing of a kind from where it is not seen; false: there is none.
func (b *Belief) remove(dst []float32, kind int, r *rng.Rand) bool {
	planes, n := len(b.l.Planes), b.others+1
	b.free = b.free[:0]
	me := b.l.CellOf(dst, 0)
	for c := range b.cells {
		if dst[c*planes+n+kind] != 0 && !b.l.InView(b.view, me, c) {
			b.free = append(b.free, c)
		}
	}
	if len(b.free) == 0 {
		return false
	}
	dst[b.free[r.IntN(len(b.free))]*planes+n+kind] = 0
	return true
}
