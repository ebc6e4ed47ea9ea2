package dataset

import (
	"hop/batch"
	"hop/game"
	"hop/npz"
)

// Columns are the rows of played episodes, one flat slice a column. Ego-first
// means: the row's seat, then the next seats in order, wrapping.
type Columns struct {
	Obs       []uint8     // [rows][H][W][C] planes, 0 or 1
	Features  []float32   // [rows][F] the observation's other numbers
	Legal     []bool      // [rows][K] own mask
	T         []int16     // [rows] steps played before this one
	Last      []int8      // [rows][n] previous joint action, ego-first; -1 none
	Alive     []bool      // [rows][n] who may act, ego-first
	Action    []int8      // [rows]
	Joint     []int8      // [rows][n] this step's joint action, ego-first; -1 for seats that have left
	Reward    []float32   // [rows]
	Rewards   []float32   // [rows][n] ego-first
	NextObs   []uint8     // [rows][H][W][C] after the step, also for a seat that has just left
	NextFeat  []float32   // [rows][F]
	NextLegal []bool      // [rows][K] all false once left
	NextAlive []bool      // [rows][n] ego-first
	End       []batch.End // [rows] how the step ended for the row's agent
	Over      []bool      // [rows] the episode is over after the step
	Goal      []int8      // [rows] the goal reached next, from this row on; -1 none
	Episode   []int32     // [rows]
	Agent     []int8      // [rows] member of the team
	Seat      []int8      // [rows] place in the game
	Bot       []int8      // [rows] index into the manifest's bots: the agent's true type
}

// column is a column's name in the file, the shape of one row, and its slice.
type column struct {
	name string
	dims []int
	data any // pointer to the slice
}

// list returns the columns in the order of the file. A game without planes has
// its features under the name obs.
func (c *Columns) list(l *Layout) []column {
	n, k := []int{l.Seats}, []int{len(l.Actions)}
	planes, one := []int{l.Height, l.Width, len(l.Planes)}, []int{}
	seen, next := []column{{"obs", planes, &c.Obs}}, []column{{"next_obs", planes, &c.NextObs}}
	switch {
	case len(l.Planes) == 0:
		seen, next = []column{{"obs", []int{l.Features}, &c.Features}}, []column{{"next_obs", []int{l.Features}, &c.NextFeat}}
	case l.Features > 0:
		seen = append(seen, column{"features", []int{l.Features}, &c.Features})
		next = append(next, column{"next_features", []int{l.Features}, &c.NextFeat})
	}
	cols := append(seen,
		column{"legal", k, &c.Legal}, column{"t", one, &c.T}, column{"last", n, &c.Last}, column{"alive", n, &c.Alive},
		column{"action", one, &c.Action}, column{"joint", n, &c.Joint}, column{"reward", one, &c.Reward}, column{"rewards", n, &c.Rewards})
	cols = append(cols, next...)
	return append(cols,
		column{"next_legal", k, &c.NextLegal}, column{"next_alive", n, &c.NextAlive}, column{"end", one, &c.End}, column{"over", one, &c.Over},
		column{"goal", one, &c.Goal}, column{"episode", one, &c.Episode}, column{"agent", one, &c.Agent},
		column{"seat", one, &c.Seat}, column{"bot", one, &c.Bot})
}

// rows returns the number of rows.
func (c *Columns) rows() int { return len(c.Episode) }

// truncate drops all rows and keeps the memory.
func (c *Columns) truncate() {
	c.Obs = c.Obs[:0]
	c.Features = c.Features[:0]
	c.Legal = c.Legal[:0]
	c.T = c.T[:0]
	c.Last = c.Last[:0]
	c.Alive = c.Alive[:0]
	c.Action = c.Action[:0]
	c.Joint = c.Joint[:0]
	c.Reward = c.Reward[:0]
	c.Rewards = c.Rewards[:0]
	c.NextObs = c.NextObs[:0]
	c.NextFeat = c.NextFeat[:0]
	c.NextLegal = c.NextLegal[:0]
	c.NextAlive = c.NextAlive[:0]
	c.End = c.End[:0]
	c.Over = c.Over[:0]
	c.Goal = c.Goal[:0]
	c.Episode = c.Episode[:0]
	c.Agent = c.Agent[:0]
	c.Seat = c.Seat[:0]
	c.Bot = c.Bot[:0]
}

// append appends all rows of src.
func (c *Columns) append(src *Columns) {
	c.Obs = append(c.Obs, src.Obs...)
	c.Features = append(c.Features, src.Features...)
	c.Legal = append(c.Legal, src.Legal...)
	c.T = append(c.T, src.T...)
	c.Last = append(c.Last, src.Last...)
	c.Alive = append(c.Alive, src.Alive...)
	c.Action = append(c.Action, src.Action...)
	c.Joint = append(c.Joint, src.Joint...)
	c.Reward = append(c.Reward, src.Reward...)
	c.Rewards = append(c.Rewards, src.Rewards...)
	c.NextObs = append(c.NextObs, src.NextObs...)
	c.NextFeat = append(c.NextFeat, src.NextFeat...)
	c.NextLegal = append(c.NextLegal, src.NextLegal...)
	c.NextAlive = append(c.NextAlive, src.NextAlive...)
	c.End = append(c.End, src.End...)
	c.Over = append(c.Over, src.Over...)
	c.Goal = append(c.Goal, src.Goal...)
	c.Episode = append(c.Episode, src.Episode...)
	c.Agent = append(c.Agent, src.Agent...)
	c.Seat = append(c.Seat, src.Seat...)
	c.Bot = append(c.Bot, src.Bot...)
}

// arrays returns the columns as arrays of a file, views except for End.
func (c *Columns) arrays(l *Layout) []npz.Array {
	var out []npz.Array
	for _, col := range c.list(l) {
		a := npz.Array{Name: col.name, Shape: append([]int{c.rows()}, col.dims...)}
		switch d := col.data.(type) {
		case *[]uint8:
			a.Data = *d
		case *[]int8:
			a.Data = *d
		case *[]int16:
			a.Data = *d
		case *[]int32:
			a.Data = *d
		case *[]float32:
			a.Data = *d
		case *[]bool:
			a.Data = *d
		case *[]batch.End:
			end := make([]uint8, len(*d))
			for i, e := range *d {
				end[i] = uint8(e)
			}
			a.Data = end
		}
		out = append(out, a)
	}
	return out
}

// planesOf and nextPlanesOf return a row's planes, views.
func (c *Columns) planesOf(l *Layout, row int) []uint8 { return cut(c.Obs, l.planesLen(), row) }

func (c *Columns) nextPlanesOf(l *Layout, row int) []uint8 { return cut(c.NextObs, l.planesLen(), row) }

// cut returns row's part of a flat slice with w elements a row.
func cut[T any](xs []T, w, row int) []T { return xs[row*w : (row+1)*w : (row+1)*w] }

// observation writes the row's observation as game.State.Observe did.
func (c *Columns) observation(l *Layout, row int, dst []float32) {
	l.decode(dst, c.planesOf(l, row), cut(c.Features, l.Features, row), cut(c.Legal, len(l.Actions), row),
		int(c.T[row]), cut(c.Last, l.Seats, row))
}

// nextObservation writes what the row's seat saw after the step.
func (c *Columns) nextObservation(l *Layout, row int, dst []float32) {
	l.decode(dst, c.nextPlanesOf(l, row), cut(c.NextFeat, l.Features, row), cut(c.NextLegal, len(l.Actions), row),
		int(c.T[row])+1, cut(c.Joint, l.Seats, row))
}

// decode puts an observation together from its parts; last is ego-first.
func (l *Layout) decode(dst []float32, planes []uint8, features []float32, legal []bool, t int, last []int8) {
	obs := l.Obs()
	if len(dst) != obs.Len() {
		panic("dataset: dst has not the length of an observation")
	}
	for i, p := range planes {
		dst[i] = float32(p)
	}
	copy(dst[obs.FeaturesAt():], features)
	clear(dst[obs.LegalAt():])
	obs.Tail(dst, 0, legal, t, l.Horizon, last)
}

// Obs returns the game's own layout.
func (l *Layout) Obs() game.Layout {
	return game.Layout{
		Height: l.Height, Width: l.Width, Planes: l.Planes, Features: l.Features,
		Legal: l.Legal, Time: l.Time, Last: l.Last,
	}
}

func (l *Layout) planesLen() int { return l.Height * l.Width * len(l.Planes) }
