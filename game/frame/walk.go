package frame

import "math/bits"

// Walk measures how far apart cells are for those who walk around what cannot be
// entered. Each goroutine has its own.
type Walk struct {
	next  [][4]int32 // [cells] the cells up, down, left and right, -1 off the board
	shut  []bool     // [cells] cannot be entered
	queue []int32

	// Boards of up to 64 cells are sets of bits, and all cells of one distance are found at once.
	small             bool
	width             int
	open, left, right uint64 // cells that can be entered; those of the first and of the last column

	rows  []int32 // [cells][cells] what From has measured
	known uint64  // from which cells, while those of then could be entered
	then  uint64
}

// Far is the distance of what cannot be reached.
const Far = 1 << 30

// NewWalk returns a walk on a board without blocks.
func NewWalk(height, width int) *Walk {
	n := height * width
	w := &Walk{next: make([][4]int32, n), shut: make([]bool, n), queue: make([]int32, 0, n),
		small: n <= 64, width: width}
	for cell := range w.next {
		y, x := cell/width, cell%width
		for d, to := range [4][2]int{{y - 1, x}, {y + 1, x}, {y, x - 1}, {y, x + 1}} {
			w.next[cell][d] = -1
			if to[0] >= 0 && to[1] >= 0 && to[0] < height && to[1] < width {
				w.next[cell][d] = int32(to[0]*width + to[1])
			}
		}
		if w.small && x == 0 {
			w.left |= 1 << cell
		}
		if w.small && x == width-1 {
			w.right |= 1 << cell
		}
	}
	if w.small {
		w.rows = make([]int32, n*n)
	}
	w.Open()
	return w
}

// Open lets every cell be entered.
func (w *Walk) Open() {
	clear(w.shut)
	w.open = 1<<len(w.shut) - 1
}

// Shut lets a cell be entered no more.
func (w *Walk) Shut(cell int) {
	w.shut[cell] = true
	w.open &^= 1 << cell
}

// Step returns the cell that a move up, down, left or right leads to, -1 if it
// cannot be entered.
func (w *Walk) Step(at, d int) int {
	to := w.next[at][d]
	if to >= 0 && w.shut[to] {
		return -1
	}
	return int(to)
}

// Measure writes to dst [cells] how many steps each is from the nearest of those given; Far: no
// way leads there. One may stand on a cell that cannot be entered.
func (w *Walk) Measure(dst []int32, from ...int32) {
	for cell := range dst {
		dst[cell] = Far
	}
	queue := w.queue[:0]
	at := uint64(0)
	for _, cell := range from {
		dst[cell] = 0
		queue = append(queue, cell)
		at |= 1 << cell
	}
	if w.small {
		w.flood(dst, at)
		return
	}
	for i := 0; i < len(queue); i++ {
		at := queue[i]
		d := dst[at] + 1
		for _, to := range w.next[at] {
			if to >= 0 && !w.shut[to] && dst[to] == Far {
				dst[to] = d
				queue = append(queue, to)
			}
		}
	}
	w.queue = queue[:0]
}

// From returns how many steps each cell is from one. On small boards it is a view of what was measured before with
// the same cells open, else it is measured into dst.
func (w *Walk) From(dst []int32, cell int32) []int32 {
	if !w.small {
		w.Measure(dst, cell)
		return dst
	}
	if w.then != w.open {
		w.known, w.then = 0, w.open
	}
	n := len(w.shut)
	row := w.rows[int(cell)*n : (int(cell)+1)*n]
	if w.known>>cell&1 == 0 {
		w.Measure(row, cell)
		w.known |= 1 << cell
	}
	return row
}

// flood is Measure for sets of bits.
func (w *Walk) flood(dst []int32, at uint64) {
	seen := at
	for d := int32(1); at != 0; d++ {
		at = (at<<w.width | at>>w.width | at&^w.right<<1 | at&^w.left>>1) & w.open &^ seen
		seen |= at
		for set := at; set != 0; set &= set - 1 {
			dst[bits.TrailingZeros64(set)] = d
		}
	}
}
