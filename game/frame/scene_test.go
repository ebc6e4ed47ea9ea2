package frame_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/rng"
)

// A hunt of three on a board of n by n, of whom the others are of three kinds: planes of the
// agents, blocks and two kinds of things, then a mask, the time and the last joint action of six
// actions, of which four are moves.
const seats, kinds, actions, horizon = 3, 3, 6, 20

func hunt(n int) (frame.Input, frame.Sense) {
	l := frame.Layout{Height: n, Width: n, Planes: []string{"self", "a", "b", "block", "stag", "hare"}, Legal: actions, Time: 1, Last: seats}
	in := l.Input()
	in.Extra = kinds * (seats - 1)
	s := frame.Sense{Turn: true, Unordered: true, Distances: true}
	return in, s.Of(l, seats, horizon, []string{"wait", "up", "down", "left", "right", "hunt"})
}

// drawHunt draws an observation and what is said of the others.
func drawHunt(in frame.Input, s frame.Sense, r *rng.Rand) (obs, extra []float32) {
	obs, extra = make([]float32, in.Len()), make([]float32, in.Extra)
	cells := in.Height * in.Width
	shut := map[int]bool{}
	for range cells / 4 {
		cell := r.IntN(cells)
		shut[cell] = true
		obs[cell*in.Planes+3] = 1
	}
	free := func() int {
		for {
			if cell := r.IntN(cells); !shut[cell] {
				return cell
			}
		}
	}
	for p := range seats {
		obs[free()*in.Planes+p] = 1
	}
	for p := 4; p < in.Planes; p++ {
		for range 1 + r.IntN(3) {
			obs[free()*in.Planes+p] = 1
		}
	}
	for a := range actions {
		obs[s.LegalAt+a] = float32(r.IntN(2))
	}
	obs[s.TimeAt] = float32(r.IntN(horizon)) / horizon
	for p := range seats {
		obs[s.LastAt+p*actions+r.IntN(actions)] = 1
	}
	for p := range seats - 1 {
		extra[kinds*p+r.IntN(kinds)] = 1
	}
	return obs, extra
}

// row returns a row as column and sum of its entries, without those that are 0.
func row(f *frame.Frame, obs, extra []float32) map[int32]float32 {
	var s f32.Sparse
	s.Reset(f.Cols)
	f.Encoder().Add(&s, obs, extra)
	out := map[int32]float32{}
	for i, col := range s.Idx {
		if out[col] += s.Val[i]; out[col] == 0 {
			delete(out, col)
		}
	}
	return out
}

// turned shows an observation in another way: rows upside down (1), columns (2), and along the
// diagonal (4). It returns what each action looks like there.
func turned(in frame.Input, s frame.Sense, obs []float32, flip int) ([]float32, []int) {
	out := slices.Clone(obs)
	n := in.Height
	at := func(y, x int) (int, int) {
		if flip&1 != 0 {
			y = n - 1 - y
		}
		if flip&2 != 0 {
			x = n - 1 - x
		}
		if flip&4 != 0 {
			y, x = x, y
		}
		return y, x
	}
	for y := range n {
		for x := range n {
			ty, tx := at(y, x)
			copy(out[(ty*n+tx)*in.Planes:][:in.Planes], obs[(y*n+x)*in.Planes:])
		}
	}
	acts := []int{0, 1, 2, 3, 4, 5}
	oy, ox := at(0, 0)
	for a, step := range map[int][2]int{1: {-1, 0}, 2: {1, 0}, 3: {0, -1}, 4: {0, 1}} {
		ty, tx := at(step[0], step[1])
		for b, other := range map[int][2]int{1: {-1, 0}, 2: {1, 0}, 3: {0, -1}, 4: {0, 1}} {
			if other == [2]int{ty - oy, tx - ox} {
				acts[a] = b
			}
		}
	}
	for a, b := range acts {
		out[s.LegalAt+b] = obs[s.LegalAt+a]
		for p := range seats {
			out[s.LastAt+p*actions+b] = obs[s.LastAt+p*actions+a]
		}
	}
	return out, acts
}

// A board and its seven turned and mirrored images are one row, and what actions look like in
// it follows.
func TestTurnedBoardsAreOneRow(t *testing.T) {
	for _, n := range []int{4, 5} { // 5 has a middle, where views are equal
		in, s := hunt(n)
		f := frame.NewScene(frame.Egof, in, actions, s)
		r := rng.New(3).Rand()
		for range 60 {
			obs, extra := drawHunt(in, s, &r)
			var first f32.Sparse
			look := func(flip int) (x f32.Sparse, acts []int32) {
				seen, names := turned(in, s, obs, flip)
				x.Reset(f.Cols)
				f.Encoder().Add(&x, seen, extra)
				here := f.Turned(x.Idx)
				for a := range actions { // what the first board's action a looks like in the row
					to := int32(names[a])
					if here != nil {
						to = here[to]
					}
					acts = append(acts, to)
				}
				return x, acts
			}
			first, acts := look(0)
			for flip := range 8 {
				x, other := look(flip)
				if !slices.Equal(x.Idx[1:], first.Idx[1:]) || !slices.Equal(x.Val, first.Val) {
					t.Fatalf("%dx%d, flip %d: another row than as it lies:\n%v\n%v", n, n, flip, x.Idx, first.Idx)
				}
				if !slices.Equal(other, acts) {
					t.Fatalf("%dx%d, flip %d: actions look like %v, want %v", n, n, flip, other, acts)
				}
			}
		}
	}
}

// Without an order, co-players who change places with all that is said of them leave the row as
// it is; if what is said of them does not move along, it changes. The last columns count kinds.
func TestUnorderedCoPlayersMayChangePlaces(t *testing.T) {
	in, s := hunt(5)
	s.Turn, s.Distances = false, false
	f := frame.NewScene(frame.Egof, in, actions, s)
	r := rng.New(4).Rand()
	apart := 0
	for range 100 {
		obs, extra := drawHunt(in, s, &r)
		swapped, said := slices.Clone(obs), append(slices.Clone(extra[kinds:]), extra[:kinds]...)
		for cell := range in.Height * in.Width {
			swapped[cell*in.Planes+1], swapped[cell*in.Planes+2] = obs[cell*in.Planes+2], obs[cell*in.Planes+1]
		}
		copy(swapped[s.LastAt+actions:], obs[s.LastAt+2*actions:])
		copy(swapped[s.LastAt+2*actions:], obs[s.LastAt+actions:s.LastAt+2*actions])
		want := row(f, obs, extra)
		if got := row(f, swapped, said); !maps.Equal(got, want) {
			t.Fatalf("the same two in another order: %v, want %v", got, want)
		}
		for g := range kinds {
			if got := want[int32(f.Cols-kinds+g)]; got != extra[g]+extra[kinds+g] {
				t.Fatalf("kind %d: %v are said to be there, want %v", g, got, extra[g]+extra[kinds+g])
			}
		}
		if !slices.Equal(said, extra) && !slices.Equal(swapped, obs) {
			apart++
			if maps.Equal(row(f, swapped, extra), want) {
				t.Fatal("two of different kinds changed places and nothing shows it")
			}
		}
	}
	if apart < 20 {
		t.Errorf("only %d of 100 had different kinds", apart)
	}
}

// What distances say is what a slow search by rounds finds, on boards small and large.
func TestDistancesAreWalks(t *testing.T) {
	for _, n := range []int{4, 9} { // 9 by 9 are more than 64 cells
		in, s := hunt(n)
		s.Turn = false
		f := frame.NewScene(frame.Ego, in, actions, s)
		s.Distances = false
		first := int32(frame.NewScene(frame.Ego, in, actions, s).Cols)
		span := int32(2 * n)
		r := rng.New(5).Rand()
		for range 60 {
			obs, extra := drawHunt(in, s, &r)
			got := map[int32]float32{}
			for col, v := range row(f, obs, extra) {
				if col >= first {
					got[col-first] = v
				}
			}
			if want := walks(in, s, obs, span); !maps.Equal(got, want) {
				t.Fatalf("%dx%d: got %v\nwant %v", n, n, got, want)
			}
		}
	}
}

// walks is what distances are, written down: for each kind of things the two nearest to oneself
// (own distance, how many co-players are how far, moves, steps left), then for all co-players the one
// nearest to it (its distance, one's own, moves).
func walks(in frame.Input, s frame.Sense, obs []float32, span int32) map[int32]float32 {
	n, out := in.Height, map[int32]float32{}
	next := func(cell, d int) int {
		y, x := cell/n+[]int{-1, 1, 0, 0}[d], cell%n+[]int{0, 0, -1, 1}[d]
		if y < 0 || y >= n || x < 0 || x >= n || obs[(y*n+x)*in.Planes+3] != 0 {
			return -1
		}
		return y*n + x
	}
	far := func(from, to int) int32 { // by rounds
		near := map[int]bool{from: true}
		for d := int32(0); d < int32(n*n); d++ {
			if near[to] {
				return d
			}
			more := maps.Clone(near)
			for cell := range near {
				for k := range 4 {
					if c := next(cell, k); c >= 0 {
						more[c] = true
					}
				}
			}
			near = more
		}
		return frame.Far
	}
	var at [seats]int
	for cell := range n * n {
		for p := range seats {
			if obs[cell*in.Planes+p] != 0 {
				at[p] = cell
			}
		}
	}
	moves := func(cell int, do func(d int32)) {
		for d := range 4 {
			if to := next(at[0], d); to >= 0 && far(to, cell) < far(at[0], cell) {
				do(int32(d))
			}
		}
	}
	thing := 3*span + 4
	for k := range int32(2) {
		var cells []int
		for cell := range n * n {
			if obs[cell*in.Planes+4+int(k)] != 0 {
				cells = append(cells, cell)
			}
		}
		slices.SortStableFunc(cells, func(a, b int) int { return int(far(at[0], a) - far(at[0], b)) })
		base := k * (2*thing + 2*span + 4)
		for i, cell := range cells[:min(2, len(cells))] {
			col := base + int32(i)*thing
			out[col+min(far(at[0], cell), span-1)]++
			for p := 1; p < seats; p++ {
				out[col+span+min(far(at[p], cell), span-1)]++
			}
			moves(cell, func(d int32) { out[col+2*span+d]++ })
			left := int32(horizon*(1-obs[s.TimeAt])+0.5) - far(at[0], cell)
			out[col+2*span+4+min(max(left, 0), span-1)]++
		}
		for p := 1; p < seats; p++ {
			nearest := slices.MinFunc(cells, func(a, b int) int { return int(far(at[p], a) - far(at[p], b)) })
			col := base + 2*thing
			out[col+min(far(at[p], nearest), span-1)]++
			out[col+span+min(far(at[0], nearest), span-1)]++
			moves(nearest, func(d int32) { out[col+2*span+d]++ })
		}
	}
	return out
}

// What is measured from a cell is as of the cells that can be entered now, whatever was measured before.
func TestDistancesFromACellAreOfNow(t *testing.T) {
	r := rng.New(4).Rand()
	for _, size := range []int{4, 9} { // cells are bits, or too many for that
		w, dst, want := frame.NewWalk(size, size), make([]int32, size*size), make([]int32, size*size)
		for range 200 {
			if w.Open(); r.IntN(2) == 0 {
				w.Shut(r.IntN(size * size))
			}
			cell := int32(r.IntN(size * size))
			if w.Measure(want, cell); !slices.Equal(w.From(dst, cell), want) {
				t.Fatalf("from %d of a board of %d: %v, want %v", cell, size, w.From(dst, cell), want)
			}
		}
	}
}

// Narrow rows of scenes are rows on folded weights.
func TestNarrowScenesAreScenes(t *testing.T) {
	in, sense := hunt(4)
	for _, s := range []frame.Sense{{Turn: true}, {Unordered: true}, {Distances: true}, {Turn: true, Unordered: true, Distances: true}} {
		s.Meaning = sense.Meaning
		f := frame.NewScene(frame.Egof, in, actions, s)
		r := rng.New(6).Rand()
		w, folded := make([]float32, f.Cols), make([]float32, f.Cols)
		for i := range w {
			w[i] = float32(r.IntN(9)) // whole numbers, so that sums are exact
		}
		f.Fold(folded, w, 1, 0, 1)
		for range 20 {
			obs, extra := drawHunt(in, s, &r)
			var wide, narrow f32.Sparse
			wide.Reset(f.Cols)
			narrow.Reset(f.Cols)
			f.Encoder().Add(&wide, obs, extra)
			f.Encoder().AddNarrow(&narrow, obs, extra)
			if a, b := dot(&wide, w), dot(&narrow, folded); a != b || len(narrow.Idx) >= len(wide.Idx) {
				t.Fatalf("%+v: %v in %d entries, in a narrow row %v in %d", s, a, len(wide.Idx), b, len(narrow.Idx))
			}
		}
	}
}

func dot(x *f32.Sparse, w []float32) (sum float32) {
	for i, col := range x.Idx {
		sum += x.Val[i] * w[col]
	}
	return sum
}

func TestScenesAllocateNothing(t *testing.T) {
	in, s := hunt(8)
	f := frame.NewScene(frame.Egof, in, actions, s)
	r := rng.New(7).Rand()
	obs, extra := drawHunt(in, s, &r)
	e := f.Encoder()
	var x f32.Sparse
	add := func() {
		x.Reset(f.Cols)
		e.Add(&x, obs, extra)
		e.AddNarrow(&x, obs, extra)
	}
	add()
	if n := testing.AllocsPerRun(20, add); n != 0 {
		t.Errorf("a row allocates %v times, want 0", n)
	}
}

// Meanings come from files too, and nothing may reach outside of an observation.
func TestMeaningsThatReachOutsideAreRefused(t *testing.T) {
	in, s := hunt(4)
	if err := s.Validate(in, actions); err != nil {
		t.Fatal(err)
	}
	for i, change := range []func(m *frame.Meaning){
		func(m *frame.Meaning) { m.Seats = 7 }, func(m *frame.Meaning) { m.Moves[2] = 6 }, func(m *frame.Meaning) { m.Moves[0] = -1 },
		func(m *frame.Meaning) { m.Block = 6 }, func(m *frame.Meaning) { m.LegalAt = in.Len() - 5 }, func(m *frame.Meaning) { m.LastAt++ },
		func(m *frame.Meaning) { m.TimeAt = in.Len() }, func(m *frame.Meaning) { m.Horizon = -1 }, func(m *frame.Meaning) { m.LegalAt = -2 },
	} {
		m := s.Meaning
		if change(&m); m.Validate(in, actions) == nil {
			t.Errorf("fault %d was accepted: %s", i, fmt.Sprint(m))
		}
	}
}
