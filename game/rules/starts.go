package rules

import (
	"strconv"
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
