package reference

import (
	"slices"

	"github.com/hop-marl/hop/game/frame"
)

// view is an observation as a network looks at it.
type view struct {
	obs  []float32
	acts []int32 // [Actions] what each action looks like there; nil: what it is
}

// look turns and mirrors an observation, if the network does, so that oneself stands on the
// lowest cell that it can be brought to, numbered row by row; of several such views it is the one
// whose numbers come last in the order of words, the first of equals.
func (a Actor) look(obs []float32) view {
	best, lowest := view{obs: obs}, a.Height*a.Width
	if !a.Sense.Turn {
		return best
	}
	for flip := range 8 {
		if flip&4 != 0 && a.Height != a.Width {
			break
		}
		v := a.turned(turn{flip: flip}, obs)
		at := 0
		for at < a.Height*a.Width && v.obs[at*a.Planes] == 0 {
			at++
		}
		if at < lowest || at == lowest && best.acts != nil && slices.Compare(v.obs, best.obs) > 0 {
			best, lowest = v, at
		}
	}
	return best
}

// turned shows an observation after a turn: cells, the mask, and everyone's last actions.
func (a Actor) turned(t turn, obs []float32) view {
	s := a.Sense
	v := view{slices.Clone(obs), make([]int32, a.Actions)}
	for k := range v.acts {
		v.acts[k] = int32(k)
	}
	for d, m := range moves {
		y, x := t.cell(1+m[0], 1+m[1], 3, 3)
		v.acts[s.Moves[d]] = s.Moves[slices.Index(moves[:], [2]int{y - 1, x - 1})]
	}
	for y := range a.Height {
		for x := range a.Width {
			ty, tx := t.cell(y, x, a.Height, a.Width)
			copy(v.obs[(ty*a.Width+tx)*a.Planes:][:a.Planes], obs[(y*a.Width+x)*a.Planes:])
		}
	}
	for k, to := range v.acts {
		v.obs[s.LegalAt+int(to)] = obs[s.LegalAt+k]
		for p := range s.Seats {
			v.obs[s.LastAt+p*a.Actions+int(to)] = obs[s.LastAt+p*a.Actions+k]
		}
	}
	return v
}

// alike writes an observation and what is said of the co-players, as many numbers of each, as a
// row that does not tell them apart by their places: wherever something is shown of one, each
// number that is said of it is shown, and those of all are added up.
func (a Actor) alike(obs, said []float32) []float64 {
	s, board := a.Sense, a.Height*a.Width*a.Planes
	others, each := s.Seats-1, a.Extra/(s.Seats-1)
	groups := max(1, each)
	of := func(p, g int) float32 { // number g of co-player p
		if each == 0 {
			return 1
		}
		if at := p*each + g; at < len(said) {
			return said[at]
		}
		return 0
	}
	planes := 1 + groups + a.Planes - s.Seats
	merged := make([]float32, 0, a.Height*a.Width*planes)
	for cell := range a.Height * a.Width {
		here, sums := obs[cell*a.Planes:(cell+1)*a.Planes], make([]float32, groups)
		for p := range others {
			for g := range sums {
				sums[g] += here[1+p] * of(p, g)
			}
		}
		merged = append(append(append(merged, here[0]), sums...), here[s.Seats:]...)
	}
	rest, more := obs[board:], []float32(nil)
	if s.LastAt >= 0 {
		last := obs[s.LastAt+a.Actions:]
		rest, more = obs[board:s.LastAt+a.Actions], make([]float32, groups*a.Actions)
		for p := range others {
			for k := range a.Actions {
				for g := range groups {
					more[g*a.Actions+k] += last[p*a.Actions+k] * of(p, g)
				}
			}
		}
	}
	all := make([]float32, each)
	for p := range others {
		for g := range all {
			all[g] += of(p, g)
		}
	}
	row := around(a.Frame, a.Height, a.Width, planes, merged)
	for _, part := range [][]float32{rest, more, all} {
		row = append(row, Wide(part)...)
	}
	return row
}

// acts gives each row of logits back the game's own actions: those that it looked at turned.
func (t *Tape) acts(logits *Mat, views [][]int32) *Mat {
	if !slices.ContainsFunc(views, func(v []int32) bool { return v != nil }) {
		return logits
	}
	return t.gather(logits.Rows, logits.Cols, func(put func(*Mat, int, int, int)) {
		for i, acts := range views {
			for k := range logits.Cols {
				at := k
				if acts != nil {
					at = int(acts[k])
				}
				put(logits, i, at, at+1)
			}
		}
	})
}

// walks is how far everyone walks, one-hot, from 0 to height and width, the last of which stands
// for all beyond. For each plane of things, of the two nearest to oneself: one's own distance,
// everybody else's, which moves lead nearer, and how many steps are left on arrival; then for
// every co-player, of the thing nearest to it, its distance, one's own, and the moves that lead
// there. Of equally near things the first on the board counts, for a co-player the one that is
// nearest to oneself. Where co-players are not told apart theirs are added up.
func (a Actor) walks(obs []float32) (row []float64) {
	s, span, cells := a.Sense, a.Height+a.Width, a.Height*a.Width
	others := s.Seats - 1
	if s.Unordered {
		others = 1
	}
	shown := func(plane int) (list []int) {
		for cell := range cells {
			if obs[cell*a.Planes+plane] != 0 {
				list = append(list, cell)
			}
		}
		return list
	}
	blocked := make([]bool, cells)
	if s.Block >= s.Seats {
		for _, cell := range shown(s.Block) {
			blocked[cell] = true
		}
	}
	beside := func(cell, d int) int { // -1: it cannot be entered
		y, x := cell/a.Width+moves[d][0], cell%a.Width+moves[d][1]
		if y < 0 || y >= a.Height || x < 0 || x >= a.Width || blocked[y*a.Width+x] {
			return -1
		}
		return y*a.Width + x
	}
	from := func(cell int) []int { // the fewest steps to every cell, by rounds
		far := make([]int, cells)
		for i := range far {
			far[i] = frame.Far
		}
		far[cell] = 0
		for round := range cells {
			for at := range far {
				for d := 0; d < 4 && far[at] == round; d++ {
					if to := beside(at, d); to >= 0 && far[to] > round+1 {
						far[to] = round + 1
					}
				}
			}
		}
		return far
	}
	var dist [][]int // of everyone; nil: not on the board
	for p := range max(1, s.Seats) {
		if at := shown(p); len(at) > 0 {
			dist = append(dist, from(at[len(at)-1]))
		} else {
			dist = append(dist, nil)
		}
	}
	hot := func(dst []float64, d int) { dst[min(d, span-1)]++ }
	leads := func(dst []float64, to int) {
		me := slices.Index(dist[0], 0)
		for d := range 4 {
			if at := beside(me, d); at >= 0 && from(at)[to] < dist[0][to] {
				dst[d]++
			}
		}
	}
	place := func(p, each int) int { // where what is said of co-player p begins
		if s.Unordered {
			return 0
		}
		return (p - 1) * each
	}
	for _, plane := range s.Things(a.Planes) {
		thing, about := (2+others)*span+4, 2*span+4
		part := make([]float64, frame.Nearest*thing+others*about)
		if row = append(row, part...); dist[0] == nil {
			continue
		}
		part = row[len(row)-len(part):]
		things := shown(plane)
		slices.SortStableFunc(things, func(x, y int) int { return dist[0][x] - dist[0][y] })
		for i, to := range things[:min(frame.Nearest, len(things))] {
			one := part[i*thing:]
			hot(one, dist[0][to])
			for p := 1; p < s.Seats; p++ {
				if dist[p] != nil {
					hot(one[span+place(p, span):], dist[p][to])
				}
			}
			leads(one[(1+others)*span:], to)
			if s.TimeAt >= 0 && s.Horizon > 0 {
				left := int(float64(s.Horizon)*(1-float64(obs[s.TimeAt]))+0.5) - dist[0][to]
				hot(one[(1+others)*span+4:], max(0, left))
			}
		}
		for p := 1; p < s.Seats && len(things) > 0; p++ {
			if dist[p] == nil {
				continue
			}
			to := slices.MinFunc(things, func(x, y int) int { return dist[p][x] - dist[p][y] })
			one := part[frame.Nearest*thing+place(p, about):]
			hot(one, dist[p][to])
			hot(one[span:], dist[0][to])
			leads(one[2*span:], to)
		}
	}
	return row
}

// Defined reports whether rows of such observations are defined here.
func (a Actor) Defined() bool { return !a.Sense.On() || a.Frame != frame.Board }
