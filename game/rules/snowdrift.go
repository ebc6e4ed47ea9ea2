package rules

// snowdrift: a drift's removal pays everyone and costs its removers.
type snowdrift struct {
	*ground
	blocks     *walls
	drifts     int
	pays, cost float64
	starts     *starts
	driftsAt   *spread
	number     []int // [cell] of the drift that lay there at the start
}

const drift = 1 // after the blocks

const remove = first

// Snowdrift is the rules of the snowdrift game.
func Snowdrift(b *Book, p *Params) func() Law {
	g := &ground{
		b: b, n: p.Whole("agents"), size: p.Whole("size"), horizon: p.Whole("horizon"), radius: p.Whole("view"),
		things: []string{"block", "drift"}, actions: moves("remove"), has: block,
	}
	r := snowdrift{ground: g, drifts: p.Whole("drifts"), pays: p.Number("pays"), cost: p.Number("cost")}
	spec := g.spec(b.name)
	spec.Goals, spec.Deterministic = numbered("drift", r.drifts), true
	b.SpecIs(spec)
	r.blocks = g.walls(p.Whole("blocks"))
	r.starts, r.driftsAt = g.starts(true), g.spread("drifts at the start")
	return func() Law { own := r; return g.follow(&own) }
}

func (r *snowdrift) start(sc *scene) {
	r.blocks.saw(sc)
	r.isMany(sc, drift, r.drifts)
	r.isFree(sc, drift)
	r.number = make([]int, r.size*r.size)
	for i, c := range cells(sc.on[drift]) {
		r.number[c] = i
	}
	free, n := r.free(sc)
	r.starts.saw(sc, free, n)
	r.driftsAt.saw(cells(sc.on[drift]), free)
}

func (r *snowdrift) may(sc *scene, s int, legal []bool) { legal[remove] = sc.on[drift][sc.at[s]] }

func (r *snowdrift) play(sc *scene, acts []int32, out *outcome) {
	for s, a := range acts {
		if c := sc.at[s]; a == remove {
			out.pays[s] -= r.cost / float64(crowd(sc, c, acts, remove))
			out.goal[s] = r.number[c]
			out.on[drift][c] = false
		}
	}
	removed := len(cells(sc.on[drift])) - len(cells(out.on[drift]))
	for s := range acts {
		out.pays[s] += float64(removed) * r.pays
	}
	out.over = len(cells(out.on[drift])) == 0
}

func (r *snowdrift) why(sc *scene, acts []int32, s int) string {
	gone := map[int]bool{}
	for o, a := range acts {
		if a == remove {
			gone[sc.at[o]] = true
		}
	}
	drifts := ", while " + counted(len(gone), "drift is", "drifts are") + " removed in all"
	if acts[s] == remove {
		return "removes a drift" + with(crowd(sc, sc.at[s], acts, remove)-1) + drifts
	}
	return "removes nothing" + drifts
}

func (r *snowdrift) arrives(*scene, *scene, *outcome) {}
