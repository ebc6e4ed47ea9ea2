package grid_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/rng"
)

// board reads rows of '.' and '#'.
func board(rows ...string) *grid.Board {
	b := grid.New(len(rows), len(rows[0]))
	for y, row := range rows {
		for x, ch := range row {
			b.Blocked[y*b.W+x] = ch == '#'
		}
	}
	b.Link()
	return b
}

func show(b *grid.Board) string {
	s := ""
	for c, blocked := range b.Blocked {
		if blocked {
			s += "#"
		} else {
			s += "."
		}
		if c%b.W == b.W-1 {
			s += "\n"
		}
	}
	return s
}

// The obvious twin: a move changes one coordinate by one.
func TestLinkAgreesWithCoordinates(t *testing.T) {
	r := rng.New(1).Rand()
	for range 50 {
		b := grid.New(1+r.IntN(6), 1+r.IntN(6))
		for c := range b.Blocked {
			b.Blocked[c] = r.IntN(3) == 0
		}
		b.Link()
		var blocks []int16
		for c := range b.Cells() {
			y, x := c/b.W, c%b.W
			if b.Blocked[c] {
				blocks = append(blocks, int16(c))
			}
			legal := make([]bool, 5)
			b.LegalMoves(int16(c), legal)
			for k, d := range [][2]int{grid.Up: {-1, 0}, grid.Down: {1, 0}, grid.Left: {0, -1}, grid.Right: {0, 1}} {
				to := [2]int{y + d[0], x + d[1]}
				want := grid.None
				if !b.Blocked[c] && to[0] >= 0 && to[0] < b.H && to[1] >= 0 && to[1] < b.W && !b.Blocked[to[0]*b.W+to[1]] {
					want = int16(to[0]*b.W + to[1])
				}
				if got := b.Next[c][k]; got != want || legal[k] != (want != grid.None) || (b.Moves[c]>>k&1 == 1) != legal[k] {
					t.Fatalf("%s from cell %d of\n%sleads to %d, want %d; mask %v", grid.Actions()[k], c, show(b), got, want, legal[k])
				}
			}
			if !legal[grid.Stay] {
				t.Fatalf("may not stay on %d", c)
			}
		}
		if !slices.Equal(b.Blocks, blocks) {
			t.Fatalf("blocks %v, want %v", b.Blocks, blocks)
		}
	}
}

func TestDistancesGoAroundBlocks(t *testing.T) {
	b := board(
		".#.#",
		".#..",
		"...#",
	)
	got := make([]int16, b.Cells())
	b.Distances(got, 2)
	f := grid.Far
	want := []int16{6, f, 0, f, 5, f, 1, 2, 4, 3, 2, f}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	b = board("..#.", "..#.")
	got = got[:b.Cells()]
	b.Distances(got, 0)
	if want := []int16{0, 1, f, f, 1, 2, f, f}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestConnected(t *testing.T) {
	for _, c := range []struct {
		name string
		rows []string
		want bool
	}{
		{"open", []string{"...", "..."}, true},
		{"a bridge", []string{".#.", "..."}, true},
		{"a wall", []string{".#.", ".#."}, false},
		{"a corner cut off", []string{"#..", ".#.", "..."}, true},
		{"a corner cut off for good", []string{".#.", "#..", "..."}, false},
		{"nothing free", []string{"##"}, false},
		{"one cell free", []string{"#."}, true},
	} {
		b := board(c.rows...)
		if got := b.Connected(make([]int16, b.Cells())); got != c.want {
			t.Errorf("%s: connected %v, want %v", c.name, got, c.want)
		}
	}
}

func TestCopyIsIndependent(t *testing.T) {
	a, b := board("..#", "#.."), board("###", "...")
	b.CopyFrom(a)
	if !slices.Equal(a.Blocked, b.Blocked) || !slices.Equal(a.Next, b.Next) || !slices.Equal(a.Moves, b.Moves) ||
		!slices.Equal(a.Blocks, b.Blocks) {
		t.Errorf("the copy of\n%sis\n%s", show(a), show(b))
	}
	b.Blocked[0] = true
	b.Link()
	if a.Blocked[0] || a.Moves[0] == 0 || !slices.Equal(a.Blocks, []int16{2, 3}) {
		t.Error("a change of the copy changed the original")
	}
}

// canonical names a piece whatever its place and orientation.
func canonical(cells [][2]int) string {
	best := ""
	for turn := range 8 {
		var p [][2]int
		for _, c := range cells {
			y, x := c[0], c[1]
			if turn&1 != 0 {
				y, x = x, y
			}
			if turn&2 != 0 {
				y = -y
			}
			if turn&4 != 0 {
				x = -x
			}
			p = append(p, [2]int{y, x})
		}
		lo := p[0]
		for _, c := range p {
			lo = [2]int{min(lo[0], c[0]), min(lo[1], c[1])}
		}
		for i := range p {
			p[i] = [2]int{p[i][0] - lo[0], p[i][1] - lo[1]}
		}
		slices.SortFunc(p, func(a, b [2]int) int { return a[0]*100 + a[1] - b[0]*100 - b[1] })
		if s := fmt.Sprint(p); best == "" || s < best {
			best = s
		}
	}
	return best
}

// One piece on an open board is one of the shapes, and each of the four kinds is
// drawn equally often, in all its orientations. Bounds are 5 standard errors.
func TestPiecesAreOfTheFourKinds(t *testing.T) {
	names := map[string]string{
		canonical([][2]int{{0, 0}, {0, 1}, {0, 2}}):         "straight 3",
		canonical([][2]int{{0, 0}, {0, 1}, {1, 0}}):         "corner 3",
		canonical([][2]int{{0, 0}, {0, 1}, {0, 2}, {0, 3}}): "straight 4",
		canonical([][2]int{{0, 0}, {0, 1}, {1, 1}, {1, 2}}): "S",
		canonical([][2]int{{0, 0}, {0, 1}, {0, 2}, {1, 2}}): "L",
	}
	const n = 8000
	share := map[string]float64{"straight 3": 1. / 4, "corner 3": 1. / 4, "straight 4": 1. / 4, "S": 1. / 8, "L": 1. / 8}
	turns := map[string]int{"straight 3": 2, "corner 3": 4, "straight 4": 2, "S": 4, "L": 8}
	count := map[string]int{}
	seen := map[string]map[string]bool{}
	b := grid.New(9, 9)
	r := rng.New(2).Rand()
	scratch := make([]int16, b.Cells())
	for range n {
		b.DrawBlocks(1, 1, scratch, &r)
		var cells [][2]int
		for _, c := range b.Blocks {
			cells = append(cells, [2]int{int(c) / b.W, int(c) % b.W})
		}
		if len(cells) == 0 {
			t.Fatal("no piece was drawn")
		}
		name, ok := names[canonical(cells)]
		if !ok {
			t.Fatalf("a piece of no known shape:\n%s", show(b))
		}
		count[name]++
		if seen[name] == nil {
			seen[name] = map[string]bool{}
		}
		for i := range cells {
			cells[i] = [2]int{cells[i][0] - int(b.Blocks[0])/b.W, cells[i][1] - int(b.Blocks[0])%b.W}
		}
		seen[name][fmt.Sprint(cells)] = true
	}
	for name, p := range share {
		if got := float64(count[name]); math.Abs(got-n*p) > 5*math.Sqrt(n*p*(1-p)) {
			t.Errorf("%s drawn %v times of %d, want about %.0f", name, got, n, n*p)
		}
		if len(seen[name]) != turns[name] {
			t.Errorf("%s drawn in %d orientations, want %d", name, len(seen[name]), turns[name])
		}
	}
}

// Pieces never overlap, so several are a disjoint union of shapes: three or four
// cells each, never more than there were pieces.
func TestBlocksConnected(t *testing.T) {
	r := rng.New(3).Rand()
	for _, c := range []struct{ size, pieces, free int }{{4, 2, 6}, {6, 4, 7}, {8, 5, 7}, {8, 12, 7}} {
		b := grid.New(c.size, c.size)
		scratch := make([]int16, b.Cells())
		dropped := 0
		for range 2000 {
			b.DrawBlocks(c.pieces, c.free, scratch, &r)
			n := len(b.Blocks)
			if n > 4*c.pieces || b.Cells()-n < c.free {
				t.Fatalf("%d blocked cells of %d pieces with %d to be free:\n%s", n, c.pieces, c.free, show(b))
			}
			if n < 3*c.pieces {
				dropped++
			}
			if !b.Connected(scratch) {
				t.Fatalf("not connected:\n%s", show(b))
			}
			if strings.Count(show(b), "#") != n {
				t.Fatalf("Blocks lists %d cells of\n%s", n, show(b))
			}
		}
		if c.pieces == 12 && dropped == 0 {
			t.Error("12 pieces on 8x8 never overlapped: an overlapping piece must be dropped")
		}
	}
}

// Two pieces that do not overlap block 6, 7 or 8 cells; one alone 3 or 4.
func TestOverlappingPieceIsDropped(t *testing.T) {
	b := grid.New(5, 5)
	r := rng.New(6).Rand()
	count := map[int]int{}
	for range 2000 {
		b.DrawBlocks(2, 1, make([]int16, 25), &r)
		count[len(b.Blocks)]++
	}
	if count[5] > 0 || count[3] == 0 || count[4] == 0 || count[6]+count[7]+count[8] == 0 {
		t.Errorf("blocked cells %v, want 3, 4, 6, 7 and 8 only", count)
	}
}

func TestImpossibleBlocksLeaveTheBoardOpen(t *testing.T) {
	b := grid.New(3, 3)
	r := rng.New(4).Rand()
	b.DrawBlocks(3, 9, make([]int16, 9), &r)
	if len(b.Blocks) != 0 || strings.Contains(show(b), "#") {
		t.Errorf("nine free cells of nine wanted, got\n%s", show(b))
	}
	b = grid.New(2, 2) // nothing but the corner fits
	for range 100 {
		b.DrawBlocks(1, 1, make([]int16, 4), &r)
		if n := len(b.Blocks); n != 0 && n != 3 {
			t.Fatalf("%d blocks on 2x2:\n%s", n, show(b))
		}
	}
}

func TestBoardsDoNotAllocate(t *testing.T) {
	b, c := grid.New(8, 8), grid.New(8, 8)
	r := rng.New(5).Rand()
	scratch := make([]int16, 64)
	if n := testing.AllocsPerRun(10, func() {
		for range 50 {
			b.DrawBlocks(5, 7, scratch, &r)
			c.CopyFrom(b)
			c.Distances(scratch, 0)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
