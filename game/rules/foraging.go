package rules

import (
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/game"
)

// foraging: food is taken by agents beside it whose levels reach its own.
type foraging struct {
	*ground
	food          int
	least, most   int
	coop, shared  bool
	top           int // the highest level that food can have
	starts        *starts
	levels        []*Odds // of agents
	strong, easy  *Odds   // food of the highest and of the lowest level
	upper, lefter *Odds   // food in the halves of the board
	level         []int   // [seat]
	worth         []int   // [item] level at the start; 0: there was no room
	total         int
}

const load = first

// Foraging is the rules of level-based foraging.
func Foraging(b *Book, p *Params) func() Law {
	g := &ground{
		b: b, n: p.Whole("agents"), size: p.Whole("size"), horizon: p.Whole("horizon"), radius: p.Whole("view"),
		features: p.Whole("food"), traits: true,
		actions: moves("load"), has: -1,
	}
	g.things = numbered("food", g.features)
	r := foraging{
		ground: g, food: g.features, least: p.Whole("min_level"), most: p.Whole("max_level"), coop: p.Yes("coop"), shared: p.Yes("shared"),
	}
	r.top = min(3, g.n) * r.most
	spec := g.spec(b.name)
	spec.Goals, spec.Deterministic = g.things, true
	if r.shared {
		spec.Kind = game.Cooperative
	}
	b.SpecIs(spec)
	r.starts = g.starts(false)
	for k := r.least; k <= r.most; k++ {
		r.levels = append(r.levels, b.Chance("agents of level %d", k))
	}
	r.strong, r.easy = b.Chance("food of the highest level that its agents allow"), b.Chance("food of level 1")
	r.upper, r.lefter = b.Chance("food in the upper rather than the lower half"), b.Chance("food in the left rather than the right half")
	return func() Law {
		own := r
		own.level, own.worth = make([]int, g.n), make([]int, r.food)
		return g.follow(&own)
	}
}

// whole reads a level from a feature that is a part of the highest.
func (r *foraging) whole(feature float64, of int, what string) int {
	x := feature * float64(of)
	k := int(math.Round(x))
	if math.Abs(x-float64(k)) > 1e-4 {
		r.b.Contradict("start", "the level of %s is seen as %s, which is no whole part of %d", what, amount(feature), of)
	}
	return k
}

func (r *foraging) start(sc *scene) {
	all, n := r.free(sc)
	r.starts.saw(sc, all, n)
	for s, c := range sc.at {
		if slices.Contains(sc.at[:s], c) {
			r.b.Contradict("start", "two seats start on one cell, %s; the rules say on distinct cells", r.place(c))
		}
		r.level[s] = r.whole(sc.traits[s], r.most, fmt.Sprintf("seat %d", s))
		if r.level[s] < r.least || r.level[s] > r.most {
			r.b.Contradict("start", "seat %d has level %d; the rules say from %d to %d", s, r.level[s], r.least, r.most)
			continue
		}
		for k, o := range r.levels {
			o.Saw(r.level[s] == r.least+k, 1/float64(len(r.levels)))
		}
	}
	weakest := slices.Sorted(slices.Values(r.level))[:min(3, r.n)]
	need := 0
	for _, level := range weakest {
		need += level
	}
	r.total = 0
	var at []int
	halves := [2]float64{}
	for f := range r.food {
		r.worth[f] = r.whole(sc.items[f], r.top, r.things[f])
		r.total += r.worth[f]
		list := cells(sc.on[f])
		switch {
		case len(list) > 1:
			r.b.Contradict("start", "%s lies on %d cells; the rules say one", r.things[f], len(list))
			return
		case len(list) == 0:
			if r.worth[f] != 0 {
				r.b.Contradict("start", "%s is nowhere, yet has level %d", r.things[f], r.worth[f])
			}
			r.roomless(sc, at, f)
			continue
		}
		c := list[0]
		if len(at) > 0 && at[len(at)-1] >= c || len(at) < f {
			r.b.Contradict("start", "%s at %s is not numbered row by row", r.things[f], r.place(c))
		}
		if !r.allowed(sc, at, c) {
			r.b.Contradict("start", "%s starts at %s; the rules say inside the border, not on an agent, more than two moves from other food",
				r.things[f], r.place(c))
		}
		at = append(at, c)
		switch level := r.worth[f]; {
		case r.coop && level != need:
			r.b.Contradict("start", "%s has level %d; with coop the rules say %d, the sum of the three lowest of %v",
				r.things[f], level, need, r.level)
		case level < 1 || level > need:
			r.b.Contradict("start", "%s has level %d; the rules say from 1 to %d, the sum of the three lowest of %v",
				r.things[f], level, need, r.level)
		case !r.coop:
			r.strong.Saw(level == need, 1/float64(need))
			r.easy.Saw(level == 1, 1/float64(need))
		}
		halves[0] += side(c/r.size, r.size)
		halves[1] += side(c%r.size, r.size)
	}
	// Boards in a mirror are as likely.
	most := float64(r.food)
	r.upper.add(halves[0], 0, most*most, most)
	r.lefter.add(halves[1], 0, most*most, most)
}

// side is 1 in the first half of a line, -1 in the second.
func side(i, size int) float64 {
	switch {
	case 2*i+1 < size:
		return 1
	case 2*i+1 > size:
		return -1
	}
	return 0
}

// allowed reports whether food may lie on a cell beside other food.
func (r *foraging) allowed(sc *scene, food []int, c int) bool {
	y, x := c/r.size, c%r.size
	if y == 0 || x == 0 || y == r.size-1 || x == r.size-1 || slices.Contains(sc.at, c) {
		return false
	}
	for _, o := range food {
		if r.apart(c, o) <= 2 {
			return false
		}
	}
	return true
}

// roomless checks that there was no room for an item that is missing.
func (r *foraging) roomless(sc *scene, food []int, f int) {
	for g := f; g < r.food; g++ {
		if len(cells(sc.on[g])) > 0 {
			return // a later item says that they are not numbered row by row
		}
	}
	for c := range r.size * r.size {
		if r.allowed(sc, food, c) {
			r.b.Contradict("start", "there are %d items of food though there is room for another at %s; the rules say %d",
				len(food), r.place(c), r.food)
			return
		}
	}
}

// beside returns the item beside a cell, -1 if there is none.
func (r *foraging) beside(sc *scene, c int) int {
	for f, on := range sc.on {
		for at, there := range on {
			if there && r.apart(at, c) == 1 {
				return f
			}
		}
	}
	return -1
}

func (r *foraging) may(sc *scene, s int, legal []bool) {
	f := r.beside(sc, sc.at[s])
	legal[load] = f >= 0
	for move := up; move <= right; move++ {
		if to := r.to(sc, sc.at[s], move); f >= 0 && to != gone && sc.on[f][to] {
			legal[move] = false
		}
	}
}

func (r *foraging) play(sc *scene, acts []int32, out *outcome) {
	// Who wants the cell that another wants, or the cell of one that stays, stays.
	held := make([]bool, r.n)
	for s := range acts {
		for o := range acts {
			held[s] = held[s] || o != s && out.at[o] == out.at[s]
		}
		held[s] = held[s] || out.at[s] == sc.at[s]
	}
	for more := true; more; {
		more = false
		for s := range acts {
			for o := range acts {
				if !held[s] && held[o] && o != s && sc.at[o] == out.at[s] {
					held[s], more = true, true
				}
			}
		}
	}
	for s := range acts {
		if held[s] {
			out.at[s] = sc.at[s]
		}
	}
	rest := 0
	for f := range sc.on {
		loaders := r.loaders(sc, acts, f)
		sum := 0
		for _, s := range loaders {
			sum += r.level[s]
		}
		if len(loaders) == 0 || sum < r.worth[f] {
			rest += len(cells(sc.on[f]))
			continue
		}
		clear(out.on[f])
		worth := float64(r.worth[f]) / float64(r.total)
		for s := range acts {
			took := slices.Contains(loaders, s)
			if took {
				out.goal[s] = f
			}
			switch {
			case r.shared:
				out.pays[s] += worth
			case took:
				out.pays[s] += worth * float64(r.level[s]) / float64(sum)
			}
		}
	}
	out.over = rest == 0
}

// loaders lists who loads an item.
func (r *foraging) loaders(sc *scene, acts []int32, f int) []int {
	var out []int
	for s, a := range acts {
		if a == load && r.beside(sc, sc.at[s]) == f {
			out = append(out, s)
		}
	}
	return out
}

func (r *foraging) why(sc *scene, acts []int32, s int) string {
	says := ""
	for f := range sc.on {
		list := r.loaders(sc, acts, f)
		if len(list) == 0 {
			continue
		}
		var levels []int
		for _, o := range list {
			levels = append(levels, r.level[o])
		}
		says += fmt.Sprintf("; an item of level %d of %d in all is loaded by levels %v", r.worth[f], r.total, levels)
	}
	if acts[s] == load {
		return fmt.Sprintf("loads with level %d (%s)", r.level[s], says[min(2, len(says)):])
	}
	if says == "" {
		return "loads nothing, as nobody does"
	}
	return fmt.Sprintf("loads nothing (%s)", says[2:])
}

func (r *foraging) arrives(*scene, *scene, *outcome) {}
