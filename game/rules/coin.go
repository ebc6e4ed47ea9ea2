package rules

import (
	"fmt"
	"slices"
)

// coin: whoever takes a coin is paid; its owner is harmed if another did.
type coin struct {
	*ground
	pays, harm  float64
	byAction    bool
	pause, from int
	grow        float64 // above 0 there are many coins
	starts      *starts
	drops       *spread
	owners      []*Odds // [seat]
	sides       []*Odds // [side] boards of so many rows, and of so many columns
	grown       *Odds
	wait        int  // steps to be played without a coin
	dropping    bool // a new coin appears in this step
}

const take = first

// Coin is the rules of the coin game.
func Coin(b *Book, p *Params) func() Law {
	g := &ground{b: b, n: p.Whole("agents"), size: p.Whole("size"), horizon: p.Whole("horizon"), radius: p.Whole("view"),
		actions: moves(), has: -1, egoThings: true, wraps: p.Yes("wrap"), hidden: p.Yes("hidden"), forgets: !p.Yes("memory"),
		solid: p.Yes("solid"), least: p.Whole("least"), stop: p.Number("stop")}
	g.things = numbered("coin", g.n)
	r := coin{ground: g, pays: p.Number("pays"), harm: p.Number("harm"), byAction: p.Text("take") == "action", pause: p.Whole("pause"),
		from: p.Whole("from"), grow: p.Number("grow")}
	if r.byAction {
		g.actions = moves("take")
	}
	if r.from > 0 {
		g.has, g.things = g.n, append(g.things, "block")
		for side := r.from; side <= g.size; side++ {
			r.sides = append(r.sides, b.Chance("boards of %d rows", side), b.Chance("boards of %d columns", side))
		}
	}
	spec := g.spec(b.name)
	spec.Goals = []string{"own", "other"}
	b.SpecIs(spec)
	r.starts, r.drops = g.starts(!g.solid), g.spread("new coins")
	for s := range g.n {
		r.owners = append(r.owners, b.Chance("new coins of seat %d", s))
	}
	r.grown, g.stopped = b.Chance("cells that grow a coin"), b.Chance("ends by chance")
	g.firstOf = b.Chance("moves to one cell in which the seat of the higher number is first")
	return func() Law { own := r; return g.follow(&own) }
}

// owner returns whose coin lies on a cell, or gone.
func (r *coin) owner(sc *scene, cell int) int {
	for s := range r.n {
		if cell != gone && sc.on[s][cell] {
			return s
		}
	}
	return gone
}

// lies returns the last coin's cell and owner, and how many coins there are.
func (r *coin) lies(sc *scene) (cell, owner, n int) {
	cell, owner = gone, gone
	for c := range r.size * r.size {
		for s, on := range sc.on[:r.n] {
			if on[c] {
				cell, owner = c, s
				n++
			}
		}
	}
	return cell, owner, n
}

// dropped checks a coin that has just appeared.
func (r *coin) dropped(sc *scene, kind, when string) bool {
	cell, owner, n := r.lies(sc)
	if n != 1 {
		r.b.Contradict(kind, "%s there are %d coins; the rules say one", when, n)
		return false
	}
	free, _ := r.free(sc)
	if !free[cell] {
		r.b.Contradict(kind, "%s a coin appears in a wall, at %s", when, r.place(cell))
	}
	for s, c := range sc.at {
		free[c] = false
		if c == cell {
			r.b.Contradict(kind, "%s a coin appears on seat %d, at %s; the rules say on a cell without agents", when, s, r.place(c))
			return true
		}
	}
	r.drops.saw([]int{cell}, free)
	r.owns(owner)
	return true
}

// owns counts whose a new coin is.
func (r *coin) owns(owner int) {
	for s, o := range r.owners {
		o.Saw(s == owner, 1/float64(r.n))
	}
}

func (r *coin) start(sc *scene) {
	r.wait = 0
	if r.from > 0 {
		r.walled(sc)
	}
	all, n := r.free(sc)
	r.starts.saw(sc, all, n)
	r.apart(sc, "start")
	if r.grow == 0 {
		r.dropped(sc, "start", "at the start")
	} else if _, _, n := r.lies(sc); n > 0 {
		r.b.Contradict("start", "an episode starts with %d coins; the rules say that they grow", n)
	}
}

// walled checks that all but the first rows and columns are walls.
func (r *coin) walled(sc *scene) {
	rows, columns := 0, 0
	for i := range r.size {
		if !r.blocked(sc, i*r.size) {
			rows++
		}
		if !r.blocked(sc, i) {
			columns++
		}
	}
	for c := range r.size * r.size {
		if r.blocked(sc, c) != (c/r.size >= rows || c%r.size >= columns) {
			r.b.Contradict("start", "%s at %s; the rules say that walls fill what is beyond %d rows and %d columns", some(r.blocked(sc, c), "wall"),
				r.place(c), rows, columns)
			return
		}
	}
	if min(rows, columns) < r.from {
		r.b.Contradict("start", "the board has %d rows and %d columns; the rules say %d or more", rows, columns, r.from)
	}
	for i, o := range r.sides {
		o.Saw(r.from+i/2 == [2]int{rows, columns}[i%2], 1/float64(r.size-r.from+1))
	}
}

// apart checks that no two seats are on one cell where they are solid.
func (r *coin) apart(sc *scene, kind string) {
	for s, c := range sc.at {
		if r.solid && slices.Contains(sc.at[:s], c) {
			r.b.Contradict(kind, "seat %d stands at %s, where another does", s, r.place(c))
		}
	}
}

func (r *coin) may(sc *scene, s int, legal []bool) {
	if r.byAction {
		legal[take] = r.owner(sc, sc.at[s]) != gone
	}
}

// takes returns whose coin a seat takes, after the moves, or gone.
func (r *coin) takes(sc *scene, at []int, acts []int32, s int) int {
	if r.byAction && acts[s] != take {
		return gone
	}
	return r.owner(sc, at[s])
}

func (r *coin) play(sc *scene, acts []int32, out *outcome) {
	taken, robbed := false, map[int]bool{}
	for s := range acts {
		owner, cell := r.takes(sc, out.at, acts, s), out.at[s]
		if owner == gone {
			continue
		}
		taken = true
		out.pays[s] += r.pays
		out.goal[s] = 0
		if s != owner {
			if out.goal[s] = 1; !robbed[cell] {
				robbed[cell] = true
				out.pays[owner] -= r.harm
			}
		}
		out.on[owner][cell] = false
	}
	_, _, n := r.lies(sc)
	r.dropping = false
	switch {
	case r.grow > 0:
	case taken:
		r.wait = r.pause
		r.dropping = r.pause == 0
	case n == 0:
		r.wait--
		r.dropping = r.wait == 0
	}
}

func (r *coin) why(sc *scene, acts []int32, s int) string {
	at := make([]int, r.n)
	for o, a := range acts {
		at[o] = sc.at[o]
		if a >= up && a <= right {
			at[o] = r.to(sc, sc.at[o], int(a))
		}
	}
	others := 0
	for o := range acts {
		if o != s && r.takes(sc, at, acts, o) != gone {
			others++
		}
	}
	_, _, n := r.lies(sc)
	switch owner := r.takes(sc, at, acts, s); {
	case n == 0:
		return "plays while there is no coin"
	case owner == s:
		return "takes its own coin" + with(others)
	case owner != gone:
		return fmt.Sprintf("takes seat %d's coin", owner) + with(others)
	}
	return "takes no coin, while " + counted(others, "other does", "others do")
}

func (r *coin) arrives(_, now *scene, out *outcome) {
	r.apart(now, "moves")
	if r.grow > 0 {
		r.grew(now, out)
		return
	}
	_, _, left := r.lies(&scene{on: out.on})
	_, _, there := r.lies(now)
	if !r.dropping && (left > 0 || there == 0) {
		return
	}
	if !r.dropping {
		r.b.Contradict("coin", "a new coin appears %d steps too early; the rules say that %s played without one", r.wait,
			counted(r.pause, "step is", "steps are"))
	}
	if r.dropped(now, "coin", "after "+counted(r.pause, "step", "steps")+" without one") {
		for s := range out.on {
			copy(out.on[s], now.on[s])
		}
	}
}

// grew takes over coins that have grown where there was none and nobody stands.
func (r *coin) grew(now *scene, out *outcome) {
	for c := range r.size * r.size {
		if r.blocked(now, c) || slices.Contains(now.at, c) || r.owner(&scene{on: out.on}, c) != gone {
			continue
		}
		owner := r.owner(now, c)
		if r.grown.Saw(owner != gone, r.grow); owner != gone {
			r.owns(owner)
			out.on[owner][c] = true
		}
	}
}
