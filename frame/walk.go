package frame

// Walk measures how far apart cells are for those who walk around what cannot be
// entered. Each goroutine has its own.
type Walk struct {
	Dist []int32 // [cells] steps from where Measure began; Far: no way leads there

	next  [][4]int32 // [cells] the cells up, down, left and right, -1 off the board
	shut  []bool     // [cells] cannot be entered
	queue []int32
}

// Far is the distance of what cannot be reached.
const Far = 1 << 30

// NewWalk returns a walk on an open board.
func NewWalk(height, width int) *Walk {
	n := height * width
	w := &Walk{Dist: make([]int32, n), next: make([][4]int32, n), shut: make([]bool, n), queue: make([]int32, 0, n)}
	for cell := range w.next {
		y, x := cell/width, cell%width
		for d, to := range [4][2]int{{y - 1, x}, {y + 1, x}, {y, x - 1}, {y, x + 1}} {
			w.next[cell][d] = -1
			if to[0] >= 0 && to[1] >= 0 && to[0] < height && to[1] < width {
				w.next[cell][d] = int32(to[0]*width + to[1])
			}
		}
	}
	return w
}

// Open lets every cell be entered.
func (w *Walk) Open() { clear(w.shut) }

// Shut lets a cell be entered no more.
func (w *Walk) Shut(cell int) { w.shut[cell] = true }

// Step returns the cell that a move up, down, left or right leads to, -1 if it
// cannot be entered.
func (w *Walk) Step(at, d int) int {
	to := w.next[at][d]
	if to >= 0 && w.shut[to] {
		return -1
	}
	return int(to)
}

// Measure fills Dist with each cell's distance to the nearest of those given. One may
// stand on a cell that cannot be entered.
func (w *Walk) Measure(from ...int32) {
	for cell := range w.Dist {
		w.Dist[cell] = Far
	}
	queue := w.queue[:0]
	for _, cell := range from {
		w.Dist[cell] = 0
		queue = append(queue, cell)
	}
	for i := 0; i < len(queue); i++ {
		at := queue[i]
		d := w.Dist[at] + 1
		for _, to := range w.next[at] {
			if to >= 0 && !w.shut[to] && w.Dist[to] == Far {
				w.Dist[to] = d
				queue = append(queue, to)
			}
		}
	}
	w.queue = queue[:0]
}
