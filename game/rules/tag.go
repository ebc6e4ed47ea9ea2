package rules

import (
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/game"
)

// tag: predators share what a caught prey pays.
type tag struct {
	*ground
	blocks           *walls
	predators, preys int
	far              int
	share            float64   // of what a caught prey pays
	roles            []*Odds   // [seat]
	starts           []*spread // [seat] as predators
	hides            *spread
}

const prey = 1 // after the blocks

// Tag is the rules of tag.
func Tag(b *Book, p *Params) func() Law {
	r := tag{predators: p.Whole("predators"), preys: p.Whole("prey"), far: p.Whole("start")}
	parts := 1 << 20 // a share is a whole number of them, so that sums are exact
	if r.preys > 7 {
		parts = 1 << 18
	}
	r.share = math.Round(float64(parts)/float64(r.predators)) / float64(parts)
	g := &ground{
		b: b, n: r.predators + r.preys, size: p.Whole("size"), horizon: p.Whole("horizon"), radius: p.Whole("view"), traits: true,
		things: []string{"block", "prey"}, actions: moves(), has: block,
	}
	r.ground = g
	spec := g.spec(b.name)
	spec.Kind = game.ZeroSum
	b.SpecIs(spec)
	r.blocks = g.walls(p.Whole("blocks"))
	r.hides = g.spread("prey that appears")
	for s := range g.n {
		r.roles = append(r.roles, b.Chance("episodes in which seat %d is prey", s))
		r.starts = append(r.starts, g.spread(fmt.Sprintf("starts of seat %d as a predator", s)))
	}
	return func() Law { own := r; return g.follow(&own) }
}

// hideouts returns where prey may appear.
func (r *tag) hideouts(sc *scene, at []int) []bool {
	var hunters []int
	for s, c := range at {
		if sc.traits[s] != 1 && !slices.Contains(hunters, c) {
			hunters = append(hunters, c)
		}
	}
	d := r.distances(sc, hunters)
	enough := min(r.far, slices.Max(d))
	ok := make([]bool, len(d))
	for c := range ok {
		ok[c] = !r.blocked(sc, c) && d[c] >= enough
	}
	return ok
}

func (r *tag) start(sc *scene) {
	r.blocks.saw(sc)
	n := 0
	for s, role := range sc.traits {
		if role != 0 && role != 1 {
			r.b.Contradict("start", "seat %d has the role %s; the rules say 0, a predator, or 1, prey", s, amount(role))
		}
		r.roles[s].Saw(role == 1, float64(r.preys)/float64(r.n))
		if role == 1 {
			n++
		}
	}
	if n != r.preys {
		r.b.Contradict("start", "%d of %d seats are prey; the rules say %d", n, r.n, r.preys)
	}
	free, _ := r.free(sc)
	hide := r.hideouts(sc, sc.at)
	for s, c := range sc.at {
		if sc.traits[s] == 1 {
			r.appears(s, c, hide, "start")
			continue
		}
		r.starts[s].saw([]int{c}, free)
	}
	r.shows(sc, sc.on[prey], "start")
}

func (r *tag) appears(s, c int, hide []bool, kind string) {
	if c == gone || !hide[c] {
		r.b.Contradict(kind, "prey, seat %d, appears at %s; the rules say at least %d moves from every predator, or as far as there is a cell",
			s, r.place(c), r.far)
		return
	}
	r.hides.saw([]int{c}, hide)
}

// shows checks the plane of prey against roles and places.
func (r *tag) shows(sc *scene, on []bool, kind string) {
	for c, there := range on {
		is := false
		for s, at := range sc.at {
			is = is || at == c && sc.traits[s] == 1
		}
		if is != there {
			r.b.Contradict(kind, "the plane of prey shows %s at %s; by roles and places there is %s", some(there, "prey"),
				r.place(c), some(is, "prey"))
			return
		}
	}
}

func (r *tag) may(*scene, int, []bool) {}

// caught reports whether a predator is on the prey's cell after the moves, or has
// swapped cells with it.
func (r *tag) caught(sc *scene, at []int, s int) bool {
	for o := range at {
		if sc.traits[o] != 1 && (at[o] == at[s] || at[o] == sc.at[s] && sc.at[o] == at[s]) {
			return true
		}
	}
	return false
}

func (r *tag) play(sc *scene, _ []int32, out *outcome) {
	catches := 0.
	for s := range out.at {
		if sc.traits[s] == 1 && r.caught(sc, out.at, s) {
			catches++
			out.pays[s], out.drawn[s] = -r.share*float64(r.predators), true
		}
	}
	for s := range out.at {
		if sc.traits[s] != 1 {
			out.pays[s] = catches * r.share
		}
	}
}

func (r *tag) why(sc *scene, acts []int32, s int) string {
	at, catches := make([]int, r.n), 0
	for o, a := range acts {
		at[o] = sc.at[o]
		if a >= up && a <= right {
			at[o] = r.to(sc, sc.at[o], int(a))
		}
	}
	for o := range acts {
		if sc.traits[o] == 1 && r.caught(sc, at, o) {
			catches++
			if o == s {
				return "is prey and is caught"
			}
		}
	}
	if sc.traits[s] == 1 {
		return "is prey and is not caught"
	}
	return "is a predator while " + counted(catches, "prey is", "prey are") + " caught"
}

func (r *tag) arrives(was, now *scene, out *outcome) {
	at := slices.Clone(out.at)
	var hide []bool
	for s, drawn := range out.drawn {
		if drawn {
			if hide == nil {
				hide = r.hideouts(was, at)
			}
			r.appears(s, now.at[s], hide, "prey")
			out.at[s] = now.at[s]
		}
	}
	r.shows(now, now.on[prey], "prey")
	copy(out.on[prey], now.on[prey])
}
