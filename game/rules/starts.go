package rules

import (
	"math"
	"strconv"

	"github.com/hop-marl/hop/num/rng"
)

// spread counts where something appears that is drawn uniformly, by rows and by
// columns.
type spread struct{ rows, columns []*Odds }

func (g *ground) spread(what string) *spread {
	sp := &spread{}
	for i := range g.size {
		sp.rows = append(sp.rows, g.b.Chance("%s in row %d", what, i))
		sp.columns = append(sp.columns, g.b.Chance("%s in column %d", what, i))
	}
	return sp
}

// saw counts so many cells drawn at once, without laying back, from those allowed.
func (sp *spread) saw(cells []int, allowed []bool) {
	size := len(sp.rows)
	all := 0.
	rows, columns := make([]float64, size), make([]float64, size)
	for c, ok := range allowed {
		if ok {
			all++
			rows[c/size]++
			columns[c%size]++
		}
	}
	if all == 0 {
		return
	}
	n := float64(len(cells))
	gotRows, gotColumns := make([]float64, size), make([]float64, size)
	for _, c := range cells {
		gotRows[c/size]++
		gotColumns[c%size]++
	}
	for i := range size {
		p := rows[i] / all
		sp.rows[i].add(gotRows[i], n*p, n*p*(1-p), n)
		p = columns[i] / all
		sp.columns[i].add(gotColumns[i], n*p, n*p*(1-p), n)
	}
}

// free returns the cells without blocks.
func (g *ground) free(sc *scene) ([]bool, int) {
	free, n := make([]bool, g.size*g.size), 0
	for c := range free {
		if free[c] = !g.blocked(sc, c); free[c] {
			n++
		}
	}
	return free, n
}

// cells lists where a thing is.
func cells(on []bool) []int {
	var out []int
	for c, there := range on {
		if there {
			out = append(out, c)
		}
	}
	return out
}

// starts counts where seats start: each anywhere, and where they may share cells
// whatever the others do.
type starts struct {
	of       []*spread // [seat]
	cells    []*Odds   // [cell] starts of all seats; nil where there are too many
	together *Odds     // nil: they share none
}

func (g *ground) starts(shared bool) *starts {
	st := &starts{}
	if shared {
		st.together = g.b.Chance("starts of seats that follow each other on one cell")
	}
	for c := 0; g.size <= 10 && c < g.size*g.size; c++ {
		st.cells = append(st.cells, g.b.Chance("starts at %s", g.place(c)))
	}
	for s := range g.n {
		st.of = append(st.of, g.spread("starts of seat "+strconv.Itoa(s)))
	}
	return st
}

// saw counts the seats that start on any of the allowed cells.
func (st *starts) saw(sc *scene, allowed []bool, n int) {
	for s, c := range sc.at {
		st.of[s].saw([]int{c}, allowed)
		for at, o := range st.cells {
			if allowed[at] {
				o.Saw(at == c, 1/float64(n))
			}
		}
		if s > 0 && st.together != nil {
			st.together.Saw(c == sc.at[s-1], 1/float64(n))
		}
	}
}

// walls checks blocks: pieces of the four kinds that do not overlap, at most so
// many of them, around which all free cells are connected.
type walls struct {
	*ground
	pieces int
	count  *Odds   // blocked cells
	mean   float64 // of count at a start, by boards drawn here
	varied float64 // their variance
}

// boards is how many are drawn to know how many cells pieces block.
const boards = 3000

// walls returns the check of so many pieces. How many cells are blocked is asked
// where pieces have room, so that nothing else decides which boards are redrawn.
func (g *ground) walls(pieces int) *walls {
	w := &walls{ground: g, pieces: pieces}
	if pieces == 0 || 8*pieces > g.size*g.size {
		return w
	}
	w.count = g.b.Chance("blocked cells at the start")
	r := rng.New(1).Child("blocks").Rand()
	sc := g.scene()
	var sum, squares float64
	for range boards {
		n := float64(w.draw(&sc, &r))
		sum += n
		squares += n * n
	}
	w.mean = sum / boards
	w.varied = squares/boards - w.mean*w.mean
	return w
}

// draw draws pieces, each kind and orientation as likely, anywhere they fit; one
// that overlaps is dropped; all are drawn again until free cells are connected.
func (w *walls) draw(sc *scene, r *rng.Rand) int {
	on := sc.on[w.has]
	for {
		clear(on)
		n := 0
		for range w.pieces {
			kind := r.IntN(4)
			if kind == 3 {
				kind += r.IntN(2)
			}
			n += w.put(on, pieces[8*kind+r.IntN(8)], r)
		}
		if w.connected(sc) == gone {
			return n
		}
	}
}

// put puts a piece somewhere and returns how many cells it blocks.
func (w *walls) put(on []bool, shape [][2]int, r *rng.Rand) int {
	high, first, last := 0, 0, 0
	for _, p := range shape {
		high, first, last = max(high, p[0]), min(first, p[1]), max(last, p[1])
	}
	rows, columns := w.size-high, w.size-(last-first)
	if rows <= 0 || columns <= 0 {
		return 0
	}
	at := r.IntN(rows)*w.size + r.IntN(columns) - first
	for _, p := range shape {
		if on[at+p[0]*w.size+p[1]] {
			return 0
		}
	}
	for _, p := range shape {
		on[at+p[0]*w.size+p[1]] = true
	}
	return len(shape)
}

// connected returns a free cell that the first one does not reach; gone: none.
func (g *ground) connected(sc *scene) int {
	for c := range g.size * g.size {
		if g.blocked(sc, c) {
			continue
		}
		for to, d := range g.distances(sc, []int{c}) {
			if d < 0 && !g.blocked(sc, to) {
				return to
			}
		}
		return gone
	}
	return gone
}

// saw checks the blocks of a start.
func (w *walls) saw(sc *scene) {
	blocks := cells(sc.on[w.has])
	if w.count != nil {
		// The mean is itself from so many boards, not from all.
		w.count.add(float64(len(blocks)), w.mean, w.varied*(1+float64(w.count.n)/boards), float64(4*w.pieces))
	}
	if len(blocks) == 0 {
		return
	}
	if w.pieces == 0 {
		w.b.Contradict("start", "the board has %d blocked cells; the rules say none", len(blocks))
		return
	}
	if c := w.connected(sc); c != gone {
		w.b.Contradict("start", "blocks part the board: %s is not reached from all free cells; the rules say it is", w.place(c))
	}
	tries := 2000
	if !w.covered(append([]bool(nil), sc.on[w.has]...), len(blocks), w.pieces, &tries) {
		w.b.Contradict("start", "the %d blocked cells are not made of at most %d pieces of 3 in line, a corner of 3, 4 in line, S or L of 4",
			len(blocks), w.pieces)
	}
}

// pieces are the shapes of blocks, each in eight orientations, as offsets from
// their first cell in reading order: 3 in line, a corner of 3, 4 in line, S, L.
var pieces = orientations([][][2]int{
	{{0, 0}, {0, 1}, {0, 2}},
	{{0, 0}, {1, 0}, {1, 1}},
	{{0, 0}, {0, 1}, {0, 2}, {0, 3}},
	{{0, 1}, {0, 2}, {1, 0}, {1, 1}},
	{{0, 0}, {1, 0}, {2, 0}, {2, 1}},
})

func orientations(shapes [][][2]int) [][][2]int {
	var out [][][2]int
	for _, shape := range shapes {
		for turn := range 8 {
			turned := make([][2]int, len(shape))
			least := [2]int{math.MaxInt, 0}
			for i, p := range shape {
				for range turn % 4 {
					p = [2]int{p[1], -p[0]}
				}
				if turn >= 4 {
					p[1] = -p[1]
				}
				turned[i] = p
				if p[0] < least[0] || p[0] == least[0] && p[1] < least[1] {
					least = p
				}
			}
			for i := range turned {
				turned[i] = [2]int{turned[i][0] - least[0], turned[i][1] - least[1]}
			}
			out = append(out, turned)
		}
	}
	return out
}

// covered reports whether the cells that are left are so many pieces or fewer.
// Once it has tried for too long it says yes.
func (g *ground) covered(on []bool, left, most int, tries *int) bool {
	if left == 0 || *tries <= 0 {
		return true
	}
	*tries--
	if most == 0 || left > 4*most {
		return false
	}
	c := 0
	for !on[c] {
		c++
	}
	for _, shape := range pieces {
		fits := true
		for _, p := range shape {
			y, x := c/g.size+p[0], c%g.size+p[1]
			fits = fits && y >= 0 && y < g.size && x >= 0 && x < g.size && on[y*g.size+x]
		}
		if !fits {
			continue
		}
		for _, p := range shape {
			on[c+p[0]*g.size+p[1]] = false
		}
		if g.covered(on, left-len(shape), most-1, tries) {
			return true
		}
		for _, p := range shape {
			on[c+p[0]*g.size+p[1]] = true
		}
	}
	return false
}
