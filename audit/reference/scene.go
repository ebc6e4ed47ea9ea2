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

// Defined reports whether rows of such observations are defined here: walking distances are not.
func (a Actor) Defined() bool { return !a.Sense.Distances && (!a.Sense.On() || a.Frame != frame.Board) }
