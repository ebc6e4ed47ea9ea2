package rules

import "fmt"

// coin: whoever takes a coin is paid; its owner is harmed if another did.
type coin struct {
	*ground
	pays, harm float64
	byAction   bool
	pause      int
	starts     *starts
	drops      *spread
	owners     []*Odds // [seat]
	wait       int     // steps to be played without a coin
	dropping   bool    // a new coin appears in this step
}

const take = first

// Coin is the rules of the coin game.
func Coin(b *Book, p *Params) func() Law {
	g := &ground{b: b, n: p.Whole("agents"), size: p.Whole("size"), horizon: p.Whole("horizon"), radius: p.Whole("view"),
		actions: moves(), has: -1, egoThings: true, wraps: p.Yes("wrap"), hidden: p.Yes("hidden"), forgets: !p.Yes("memory")}
	g.things = numbered("coin", g.n)
	r := coin{ground: g, pays: p.Number("pays"), harm: p.Number("harm"), byAction: p.Text("take") == "action", pause: p.Whole("pause")}
	if r.byAction {
		g.actions = moves("take")
	}
	spec := g.spec(b.name)
	spec.Goals = []string{"own", "other"}
	b.SpecIs(spec)
	r.starts, r.drops = g.starts(true), g.spread("new coins")
	for s := range g.n {
		r.owners = append(r.owners, b.Chance("new coins of seat %d", s))
	}
	return func() Law { own := r; return g.follow(&own) }
}

// lies returns the coin's cell and owner, and how many coins there are.
func lies(sc *scene) (cell, owner, n int) {
	cell, owner = gone, gone
	for s, on := range sc.on {
		for c, there := range on {
			if there {
				cell, owner = c, s
				n++
			}
		}
	}
	return cell, owner, n
}

// dropped checks a coin that has just appeared.
func (r *coin) dropped(sc *scene, kind, when string) bool {
	cell, owner, n := lies(sc)
	if n != 1 {
		r.b.Contradict(kind, "%s there are %d coins; the rules say one", when, n)
		return false
	}
	free := make([]bool, r.size*r.size)
	for c := range free {
		free[c] = true
	}
	for s, c := range sc.at {
		free[c] = false
		if c == cell {
			r.b.Contradict(kind, "%s a coin appears on seat %d, at %s; the rules say on a cell without agents", when, s, r.place(c))
			return true
		}
	}
	r.drops.saw([]int{cell}, free)
	for s, o := range r.owners {
		o.Saw(s == owner, 1/float64(r.n))
	}
	return true
}

func (r *coin) start(sc *scene) {
	r.wait = 0
	all, n := r.free(sc)
	r.starts.saw(sc, all, n)
	r.dropped(sc, "start", "at the start")
}

func (r *coin) may(sc *scene, s int, legal []bool) {
	if r.byAction {
		cell, _, _ := lies(sc)
		legal[take] = sc.at[s] == cell
	}
}

// takers returns who takes the coin, after the moves.
func (r *coin) takes(at []int, cell int, acts []int32, s int) bool {
	return cell != gone && at[s] == cell && (!r.byAction || acts[s] == take)
}

func (r *coin) play(sc *scene, acts []int32, out *outcome) {
	cell, owner, n := lies(sc)
	taken, robbed := false, false
	for s := range acts {
		if r.takes(out.at, cell, acts, s) {
			taken = true
			out.pays[s], out.goal[s] = r.pays, 0
			if s != owner {
				out.goal[s], robbed = 1, true
			}
		}
	}
	if robbed {
		out.pays[owner] -= r.harm
	}
	r.dropping = false
	switch {
	case taken:
		out.on[owner][cell] = false
		r.wait = r.pause
		r.dropping = r.pause == 0
	case n == 0:
		r.wait--
		r.dropping = r.wait == 0
	}
}

func (r *coin) why(sc *scene, acts []int32, s int) string {
	cell, owner, _ := lies(sc)
	at := make([]int, r.n)
	for o, a := range acts {
		at[o] = sc.at[o]
		if a >= up && a <= right {
			at[o] = r.to(sc, sc.at[o], int(a))
		}
	}
	others := 0
	for o := range acts {
		if o != s && r.takes(at, cell, acts, o) {
			others++
		}
	}
	whose := "its own coin"
	if owner != s {
		whose = fmt.Sprintf("seat %d's coin", owner)
	}
	switch {
	case cell == gone:
		return "plays while there is no coin"
	case r.takes(at, cell, acts, s):
		return "takes " + whose + with(others)
	}
	return "does not take " + whose + ", which " + counted(others, "other takes", "others take")
}

func (r *coin) arrives(_, now *scene, out *outcome) {
	_, _, left := lies(&scene{on: out.on})
	_, _, there := lies(now)
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
