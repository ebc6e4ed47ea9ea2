package rules

// commons: apples grow the likelier the more apples are left near by.
type commons struct {
	*ground
	lattice, reach, keep int
	growth, pays         float64
	starts               *starts
	grows                [5]*Odds // by how many apples are near
	again                *Odds    // apples where one was just harvested
}

const (
	patch = iota
	fruit
)

const pick = first

// Commons is the rules of commons.
func Commons(b *Book, p *Params) func() Law {
	g := &ground{
		b: b, n: p.Whole("agents"), size: p.Whole("size"), horizon: p.Whole("horizon"), radius: p.Whole("view"), pooled: p.Yes("pooled"),
		things: []string{"orchard", "apple"}, actions: moves("harvest"), has: -1,
	}
	r := commons{
		ground: g, lattice: p.Whole("apart"), reach: p.Whole("reach"), keep: p.Whole("keep"), growth: p.Number("growth"),
		pays: p.Number("pays"),
	}
	spec := g.spec(b.name)
	spec.Goals = []string{"spare", "strip"}
	b.SpecIs(spec)
	r.starts = g.starts(true)
	for i, name := range []string{"one apple", "two apples", "three apples", "four apples", "more than four apples"} {
		r.grows[i] = b.Chance("apples that grow where %s are near", name)
	}
	r.again = b.Chance("apples that are there again in the step in which they are harvested")
	return func() Law { own := r; return g.follow(&own) }
}

// inPatch reports whether a cell is the centre of a patch or beside one: rows and columns of
// centres are 1 and those that are a multiple of the lattice farther.
func (r *commons) inPatch(c int) bool {
	centre := func(y, x int) bool {
		return y >= 1 && x >= 1 && y < r.size && x < r.size && (y-1)%r.lattice == 0 && (x-1)%r.lattice == 0
	}
	y, x := c/r.size, c%r.size
	return centre(y, x) || centre(y-1, x) || centre(y+1, x) || centre(y, x-1) || centre(y, x+1)
}

func (r *commons) start(sc *scene) {
	for c := range r.size * r.size {
		if in := r.inPatch(c); sc.on[patch][c] != in || sc.on[fruit][c] != in {
			r.b.Contradict("start", "the ground at %s is not what the rules say: patches of five cells, %d from centre to centre, full of apples",
				r.place(c), r.lattice)
			break
		}
	}
	all, n := r.free(sc)
	r.starts.saw(sc, all, n)
}

func (r *commons) may(sc *scene, s int, legal []bool) { legal[pick] = sc.on[fruit][sc.at[s]] }

// around counts the apples within reach of a cell, but for its own.
func (r *commons) around(apples []bool, c int) int {
	n := 0
	for to, there := range apples {
		if there && to != c && r.apart(c, to) <= r.reach {
			n++
		}
	}
	return n
}

func (r *commons) play(sc *scene, acts []int32, out *outcome) {
	for s, a := range acts {
		if a != pick {
			continue
		}
		c := sc.at[s]
		out.goal[s] = 1
		if r.around(sc.on[fruit], c) >= r.keep {
			out.goal[s] = 0
		}
		out.pays[s] = r.pays / float64(crowd(sc, c, acts, pick))
		out.on[fruit][c] = false
	}
}

func (r *commons) why(sc *scene, acts []int32, s int) string {
	if acts[s] != pick {
		return "harvests nothing"
	}
	return "harvests an apple" + with(crowd(sc, sc.at[s], acts, pick)-1)
}

func (r *commons) arrives(was, now *scene, out *outcome) {
	left := append([]bool(nil), out.on[fruit]...) // by what the harvest left, whatever grows
	for c, there := range left {
		if there || !r.inPatch(c) {
			continue
		}
		n, grown := r.around(left, c), now.on[fruit][c]
		rate := min(1, r.growth*float64(n))
		switch {
		case grown && rate == 0:
			r.b.Contradict("apple", "an apple grows at %s, with %s at most %d moves away; the rules say none does", r.place(c),
				counted(n, "apple", "apples"), r.reach)
		case !grown && rate == 1:
			r.b.Contradict("apple", "no apple grows at %s, which the rules say is sure with %s at most %d moves away", r.place(c),
				counted(n, "apple", "apples"), r.reach)
		}
		if n > 0 {
			r.grows[min(n, len(r.grows))-1].Saw(grown, rate)
		}
		if was.on[fruit][c] {
			r.again.Saw(grown, rate)
		}
		out.on[fruit][c] = grown
	}
}
