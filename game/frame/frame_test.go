package frame_test

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/num/f32"
)

var in = frame.Input{Height: 3, Width: 4, Planes: 4, Rest: 5, Extra: 2}

// encode returns the columns of one row.
func encode(kind string, obs, extra []float32) []int32 {
	f := frame.New(kind, in)
	var s f32.Sparse
	s.Reset(f.Cols)
	f.Encoder().Add(&s, obs, extra)
	return s.Idx
}

// Moving the whole scene leaves the ego planes as they are.
func TestEgoFrameIsRelative(t *testing.T) {
	at := func(y, x, plane int) int { return (y*4+x)*4 + plane }
	scene := func(kind string, dy, dx int) []int32 {
		obs := make([]float32, in.Len())
		obs[at(0+dy, 0+dx, 0)] = 1 // oneself
		obs[at(1+dy, 1+dx, 2)] = 1 // down and right of it
		obs[at(0+dy, 1+dx, 3)] = 1
		var planes []int32
		for _, i := range encode(kind, obs, make([]float32, in.Extra)) {
			if i < 5*7*3 || i >= 5*7*3+3+4 { // all but where oneself is
				planes = append(planes, i)
			}
		}
		slices.Sort(planes)
		return planes
	}
	for kind, want := range map[string]int{frame.Ego: 2, frame.Egof: 6} {
		if a, b := scene(kind, 0, 0), scene(kind, 1, 2); !slices.Equal(a, b) || len(a) != want {
			t.Errorf("%s: the same scene in two places: %v and %v, want the same %d", kind, a, b, want)
		}
	}
}

// No two numbers of an observation share a column, in any frame.
func TestFramesKeepNumbersApart(t *testing.T) {
	for _, kind := range []string{frame.Board, frame.Ego, frame.Egof} {
		seen := map[int32]int{}
		for i := range in.Len() + in.Extra {
			if i < 48 && kind != frame.Board {
				continue // offsets from oneself overlap on purpose
			}
			obs, extra := make([]float32, in.Len()), make([]float32, in.Extra)
			if i < in.Len() {
				obs[i] = 1
			} else {
				extra[i-in.Len()] = 1
			}
			cols := encode(kind, obs, extra)
			if len(cols) != 1 {
				t.Errorf("%s: number %d has %d columns, want 1", kind, i, len(cols))
			}
			for _, col := range cols {
				if was, taken := seen[col]; taken {
					t.Errorf("%s: numbers %d and %d share column %d", kind, was, i, col)
				}
				seen[col] = i
			}
		}
	}
}

// Different scenes have different rows: with one thing besides oneself, every
// pair of places is told apart.
func TestFramesKeepScenesApart(t *testing.T) {
	for _, kind := range []string{frame.Board, frame.Ego, frame.Egof} {
		seen := map[string]bool{}
		for me := range 12 {
			for thing := range 12 * 3 {
				obs := make([]float32, in.Len())
				obs[me*4] = 1
				obs[thing/3*4+1+thing%3] = 1
				cols := encode(kind, obs, make([]float32, in.Extra))
				slices.Sort(cols)
				key := ""
				for _, c := range cols {
					key += string(rune(c)) + ","
				}
				if seen[key] {
					t.Fatalf("%s: two scenes have the columns %v", kind, cols)
				}
				seen[key] = true
			}
		}
	}
}
