package rules

import (
	"fmt"

	"github.com/hop-marl/hop/game"
)

// staghunt: hares for anyone, stags for two or more; who catches something leaves.
type staghunt struct {
	*ground
	blocks             *walls
	stags, hares       int
	stagPays, harePays float64
	endAfter           int
	strength           []float64 // [seat]
	starts             *starts
	stagsAt, haresAt   *spread
	onPrey             *Odds
	caught             int // the step of this episode's first catch; 0: none yet
}

const (
	block = iota
	stag
	hare
)

const (
	huntStag = first + iota
	huntHare
)

// StagHunt is the rules of the stag hunt.
func StagHunt(b *Book, p *Params) func() Law {
	g := &ground{
		b: b, n: p.Whole("agents"), size: p.Whole("size"), horizon: p.Whole("horizon"), radius: p.Whole("view"),
		things: []string{"block", "stag", "hare"}, actions: moves("hunt stag", "hunt hare"), has: block,
	}
	r := staghunt{
		ground: g, stags: p.Whole("stags"), hares: p.Whole("hares"), stagPays: p.Number("stag_pays"),
		harePays: p.Number("hare_pays"), endAfter: p.Whole("end_after_first_catch"), strength: p.List("player_strength"),
	}
	spec := g.spec(b.name)
	spec.Goals, spec.Deterministic = []string{"stag", "hare"}, true
	if len(r.strength) == 0 {
		for range g.n {
			r.strength = append(r.strength, 1)
		}
	}
	for _, x := range r.strength {
		spec.Symmetric = spec.Symmetric && x == r.strength[0]
	}
	b.SpecIs(spec)
	r.blocks = g.walls(p.Whole("blocks"))
	r.starts, r.stagsAt, r.haresAt = g.starts(true), g.spread("stags at the start"), g.spread("hares at the start")
	r.onPrey = b.Chance("seats that start on prey")
	return func() Law { own := r; return g.follow(&own) }
}

// isMany notes a start with another number of things than the rules say.
func (g *ground) isMany(sc *scene, thing, want int) {
	if got := len(cells(sc.on[thing])); got != want {
		g.b.Contradict("start", "an episode starts with %s on %d cells; the rules say on %d", g.things[thing], got, want)
	}
}

// isFree notes a thing on a block at the start.
func (g *ground) isFree(sc *scene, thing int) {
	for _, c := range cells(sc.on[thing]) {
		if g.blocked(sc, c) {
			g.b.Contradict("start", "%s starts on a block, at %s", g.things[thing], g.place(c))
		}
	}
}

func (r *staghunt) start(sc *scene) {
	r.caught = 0
	r.blocks.saw(sc)
	r.isMany(sc, stag, r.stags)
	r.isMany(sc, hare, r.hares)
	r.isFree(sc, stag)
	r.isFree(sc, hare)
	for _, c := range cells(sc.on[stag]) {
		if sc.on[hare][c] {
			r.b.Contradict("start", "a stag and a hare start on one cell, %s; prey starts on distinct cells", r.place(c))
		}
	}
	free, n := r.free(sc)
	r.starts.saw(sc, free, n)
	if r.stags > 0 {
		r.stagsAt.saw(cells(sc.on[stag]), free)
	}
	if r.hares > 0 {
		r.haresAt.saw(cells(sc.on[hare]), free)
	}
	for _, c := range sc.at {
		r.onPrey.Saw(sc.on[stag][c] || sc.on[hare][c], float64(r.stags+r.hares)/float64(n))
	}
}

// crowd counts the seats on a cell, of those who play an action if it is not none.
func crowd(sc *scene, c int, acts []int32, action int32) int {
	n := 0
	for s, at := range sc.at {
		if at == c && (acts == nil || acts[s] == action) {
			n++
		}
	}
	return n
}

func (r *staghunt) may(sc *scene, s int, legal []bool) {
	c := sc.at[s]
	legal[huntStag] = sc.on[stag][c] && crowd(sc, c, nil, 0) >= 2
	legal[huntHare] = sc.on[hare][c]
}

func (r *staghunt) play(sc *scene, acts []int32, out *outcome) {
	catch := false
	for s, a := range acts {
		c := sc.at[s]
		switch {
		case a == huntHare:
			out.pays[s] = r.harePays / float64(crowd(sc, c, acts, huntHare))
			out.at[s], out.goal[s], out.on[hare][c], catch = gone, 1, false, true
		case a == huntStag && crowd(sc, c, acts, huntStag) >= 2:
			all := 0.
			for o, b := range acts {
				if b == huntStag && sc.at[o] == c {
					all += r.strength[o]
				}
			}
			out.pays[s] = r.stagPays * r.strength[s] / all
			out.at[s], out.goal[s], out.on[stag][c], catch = gone, 0, false, true
		}
	}
	if catch && r.caught == 0 {
		r.caught = sc.t + 1
	}
	out.over = r.endAfter > 0 && r.caught > 0 && sc.t+1-r.caught >= r.endAfter
	left := true
	for _, c := range out.at {
		left = left && c == gone
	}
	out.over = out.over || left
}

func (r *staghunt) why(sc *scene, acts []int32, s int) string {
	switch a := acts[s]; a {
	case huntHare, huntStag:
		prey := "hare"
		if a == huntStag {
			prey = "stag"
		}
		return "hunts a " + prey + with(crowd(sc, sc.at[s], acts, a)-1)
	case game.NoAction:
		return "has left"
	}
	return "hunts nothing"
}

// with says how many others take part.
func with(others int) string {
	switch others {
	case 0:
		return " alone"
	case 1:
		return " with one other"
	}
	return fmt.Sprintf(" with %d others", others)
}

func (r *staghunt) arrives(*scene, *scene, *outcome) {}
