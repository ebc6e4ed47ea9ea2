package rules

import (
	"fmt"
	"math"
)

// cleanup: apples grow the faster the cleaner the river is.
type cleanup struct {
	*ground
	riverColumns, orchardColumns int
	pollution, growth            float64
	restoration, depletion       float64
	filled                       float64
	reach                        int
	pays                         float64
	starts                       *starts
	fillsAt                      *spread
	fills                        *Odds
	again                        *Odds    // apples where one was just harvested
	grows                        [4]*Odds // by how dirty the river is, between restoration and depletion
}

const (
	river = iota
	waste
	orchard
	apple
)

const (
	clean = first + iota
	harvest
)

// Cleanup is the rules of cleanup.
func Cleanup(b *Book, p *Params) func() Law {
	g := &ground{
		b: b, n: p.Whole("agents"), size: p.Whole("size"), horizon: p.Whole("horizon"), radius: p.Whole("view"), pooled: p.Yes("pooled"),
		things: []string{"river", "waste", "orchard", "apple"}, actions: moves("clean", "harvest"), has: -1,
	}
	r := cleanup{
		ground: g, riverColumns: p.Whole("river"), orchardColumns: p.Whole("orchard"), pollution: p.Number("pollution"),
		growth: p.Number("growth"), restoration: p.Number("restoration"), depletion: p.Number("depletion"), filled: p.Number("start"),
		reach: p.Whole("reach"), pays: p.Number("pays"),
	}
	spec := g.spec(b.name)
	spec.Goals = []string{"clean", "harvest"}
	b.SpecIs(spec)
	r.starts, r.fillsAt = g.starts(true), g.spread("river cells that fill with waste")
	r.fills = b.Chance("steps in which the river is polluted")
	r.again = b.Chance("apples that are there again in the step in which they are harvested")
	r.grows[0] = b.Chance("apples that grow while the river is clean enough for the full rate")
	for i, name := range []string{"clean", "middling", "dirty"} {
		r.grows[1+i] = b.Chance("apples that grow while the river is %s", name)
	}
	return func() Law { own := r; return g.follow(&own) }
}

func (r *cleanup) inRiver(c int) bool { return c%r.size < r.riverColumns }

func (r *cleanup) start(sc *scene) {
	for c := range r.size * r.size {
		if sc.on[river][c] != r.inRiver(c) || sc.on[orchard][c] != (c%r.size >= r.size-r.orchardColumns) {
			r.b.Contradict("start", "the ground at %s is not what the rules say: %d columns of river at the left, %d of orchard at the right",
				r.place(c), r.riverColumns, r.orchardColumns)
			break
		}
	}
	r.isMany(sc, waste, int(math.Round(r.filled*float64(r.riverColumns*r.size))))
	r.isMany(sc, apple, 0)
	wet := make([]bool, r.size*r.size)
	for c := range wet {
		wet[c] = r.inRiver(c)
		if sc.on[waste][c] && !wet[c] {
			r.b.Contradict("start", "waste lies at %s, which is not in the river", r.place(c))
		}
	}
	if list := cells(sc.on[waste]); len(list) > 0 {
		r.fillsAt.saw(list, wet)
	}
	all, n := r.free(sc)
	r.starts.saw(sc, all, n)
}

// apart is the number of moves between two cells of an open board.
func (g *ground) apart(a, b int) int {
	return max(a/g.size-b/g.size, b/g.size-a/g.size) + max(a%g.size-b%g.size, b%g.size-a%g.size)
}

func (r *cleanup) may(sc *scene, s int, legal []bool) {
	legal[harvest] = sc.on[apple][sc.at[s]]
	for c, there := range sc.on[waste] {
		legal[clean] = legal[clean] || there && r.apart(sc.at[s], c) <= r.reach
	}
}

func (r *cleanup) play(sc *scene, acts []int32, out *outcome) {
	for s, a := range acts {
		c := sc.at[s]
		switch a {
		case clean:
			out.goal[s] = 0
			for w := range out.on[waste] {
				if r.apart(c, w) <= r.reach {
					out.on[waste][w] = false
				}
			}
		case harvest:
			out.goal[s] = 1
			out.pays[s] = r.pays / float64(crowd(sc, c, acts, harvest))
			out.on[apple][c] = false
		}
	}
}

func (r *cleanup) why(sc *scene, acts []int32, s int) string {
	switch acts[s] {
	case clean:
		return "cleans"
	case harvest:
		return "harvests an apple" + with(crowd(sc, sc.at[s], acts, harvest)-1)
	}
	return "harvests nothing"
}

func (r *cleanup) arrives(was, now *scene, out *outcome) {
	all := r.riverColumns * r.size
	bare := make([]bool, r.size*r.size)
	bareCells := 0
	var filled []int
	for c := range bare {
		if bare[c] = r.inRiver(c) && !out.on[waste][c]; !bare[c] {
			continue
		}
		bareCells++
		if now.on[waste][c] {
			filled = append(filled, c)
		}
	}
	switch {
	case len(filled) > 1:
		r.b.Contradict("waste", "%d river cells fill with waste in one step; the rules say at most one", len(filled))
	case bareCells > 0:
		r.fills.Saw(len(filled) == 1, r.pollution)
		if len(filled) == 1 {
			r.fillsAt.saw(filled, bare)
		}
	}
	for _, c := range filled {
		out.on[waste][c] = true
	}
	w := float64(len(cells(now.on[waste]))) / float64(all)
	part := (r.depletion - w) / (r.depletion - r.restoration)
	rate := r.growth * max(0, min(1, part))
	if rate < 1e-12 {
		rate = 0
	}
	count := r.grows[0]
	if part < 1 {
		count = r.grows[1+min(2, int(3*(1-max(part, 0))))]
	}
	for c := range bare {
		if c%r.size < r.size-r.orchardColumns || out.on[apple][c] {
			continue
		}
		grown := now.on[apple][c]
		if grown && rate == 0 {
			r.b.Contradict("apple", "an apple grows at %s while %.0f %% of the river is waste; the rules say none from %.0f %% on, at a rate of %s",
				r.place(c), 100*w, 100*r.depletion, amount(r.growth))
		}
		if !grown && rate >= 1 {
			r.b.Contradict("apple", "no apple grows at %s, which the rules say is sure while %.0f %% of the river is waste", r.place(c), 100*w)
		}
		count.Saw(grown, rate)
		if was.on[apple][c] {
			r.again.Saw(grown, rate)
		}
		out.on[apple][c] = grown
	}
}

// counted says how many there are.
func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
