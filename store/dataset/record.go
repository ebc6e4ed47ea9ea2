package dataset

import (
	"context"
	"fmt"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/npz"
	"github.com/hop-marl/hop/num/rng"
)

// Players returns players of the whole team, [worker][agent], who play env
// n < lanes.
type Players func(workers, lanes int) ([][]rollout.Player, error)

// Kinds returns which of the population plays each agent in a lane's episode of a
// number, counted from 0, a view. It is asked after the window in which that began.
type Kinds func(lane, episode int) []int8

const (
	lanes     = 32 // copies of the game that players play side by side; part of the bytes
	recordLen = 64 // steps of a window
)

// record plays episodes with the Config's players and adds them in the order in
// which they end: by window, then lane. Those that are still going on when there
// are enough rows are left out.
func (c *collector) record(ctx context.Context) error {
	c.m.Shards = nil // players may remember what they did, so all is played anew
	c.m.sum()
	envs, err := rollout.New(rollout.Config{Game: c.cfg.Game, Envs: lanes, Key: rng.New(c.cfg.Seed).Child("record"), Workers: c.cfg.Workers})
	if err != nil {
		return err
	}
	players, err := c.cfg.Players(envs.Workers, lanes)
	if err != nil {
		return err
	}
	rec := newRecorder(c)
	ro := batch.New(envs.Shape(recordLen, c.cfg.Given))
	life := make([]lifeOf, lanes)
	for episode, rows := 0, 0; rows < c.m.Wanted; {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("dataset: recording into %s: stopped; the same call begins anew: %w", c.dir, err)
		}
		if err := envs.Collect(ro, players); err != nil {
			return err
		}
		for n := range lanes {
			if err := rec.lane(ro, n, func(played *Columns) error {
				for _, played := range life[n].whole(played, max(c.m.Life, 1)) {
					if rows >= c.m.Wanted {
						return nil
					}
					for i := range played.Episode {
						played.Episode[i] = int32(episode)
					}
					episode, rows = episode+1, rows+played.rows()
					if err := c.add(&played, episode-1); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				return err
			}
		}
		if c.cfg.Progress != nil {
			c.cfg.Progress(rows, episode)
		}
	}
	return c.flush()
}

// lifeOf keeps the episodes of a lane until those of a life are together, so that they
// have numbers in a row.
type lifeOf struct {
	kept []Columns
	n    int
}

// whole takes in an episode and returns all of its life with the last of them, views
// until the next call; nothing before.
func (l *lifeOf) whole(played *Columns, episodes int) []Columns {
	if l.n == len(l.kept) {
		l.kept = append(l.kept, Columns{})
	}
	l.kept[l.n].truncate()
	l.kept[l.n].append(played)
	if l.n++; l.n < episodes {
		return nil
	}
	l.n = 0
	return l.kept[:episodes]
}

// recorder turns windows into rows.
type recorder struct {
	scribe
	kinds Kinds
	open  []openEpisode
	whole Columns
}

// openEpisode is what has been played of a lane's episode.
type openEpisode struct {
	t      int
	number int       // of the lane's episode
	kind   []int8    // [A] index of each agent in the manifest's bots
	agents []Columns // [A]
	last   []int8    // [n] by seat
}

func newRecorder(c *collector) *recorder {
	n := c.m.Layout.Seats
	r := &recorder{scribe: newScribe(c.cfg, c.m), kinds: c.cfg.Kinds, open: make([]openEpisode, lanes)}
	if r.kinds == nil {
		team := make([]int8, n)
		c.cfg.teamOf(c.m.Bots, n)(0, team)
		r.kinds = func(int, int) []int8 { return team }
	}
	for i := range r.open {
		r.open[i] = openEpisode{number: -1, agents: make([]Columns, n), last: make([]int8, n)}
	}
	return r
}

// lane adds a window's steps of one copy, and calls done for every episode that
// ended, whose rows are valid until the next.
func (r *recorder) lane(ro *batch.Rollout, n int, done func(*Columns) error) error {
	o, seats := &r.open[n], r.layout.Seats
	actions, rewards := make([]int8, seats), make([]float32, seats)
	alive, next := make([]bool, seats), make([]bool, seats)
	for t := range ro.Steps {
		if ro.Start[ro.Moment(t, n)] {
			o.t = 0
			o.number++
			o.kind = r.kinds(n, o.number)
			for a := range o.agents {
				o.agents[a].truncate()
				o.last[a] = int8(game.NoAction)
			}
		}
		acts, goes := false, false
		for a := range agent.ID(seats) {
			s := int(ro.Seat[ro.Slot(a, t, n)])
			alive[s] = ro.Alive[ro.Slot(a, t, n)]
			actions[s], rewards[s] = int8(ro.Action[ro.Step(a, t, n)]), ro.Reward[ro.Step(a, t, n)]
			acts = acts || alive[s]
		}
		if !acts {
			continue // the step after an episode's end only resets
		}
		for a := range agent.ID(seats) {
			i := ro.Slot(a, t+1, n)
			next[ro.Seat[i]] = ro.Alive[i]
			goes = goes || ro.Alive[i]
		}
		for a := range agent.ID(seats) {
			if !ro.Alive[ro.Slot(a, t, n)] {
				continue
			}
			if err := r.row(o, ro, a, t, n, actions, rewards, alive, next, !goes); err != nil {
				return err
			}
		}
		copy(o.last, actions)
		o.t++
		if goes {
			continue
		}
		r.whole.truncate()
		for a := range o.agents {
			o.agents[a].hindsight()
			r.whole.append(&o.agents[a])
		}
		if err := done(&r.whole); err != nil {
			return err
		}
	}
	return nil
}

// row appends agent a's step from slot t; slices by seat.
func (r *recorder) row(o *openEpisode, ro *batch.Rollout, a agent.ID, t, n int, actions []int8, rewards []float32, alive, next []bool,
	over bool) error {
	c, slot, after, step := &o.agents[a], ro.Slot(a, t, n), ro.Slot(a, t+1, n), ro.Step(a, t, n)
	copy(r.obs, ro.ObsAt(slot))
	if err := r.before(c, moment{o.t, ro.LegalAt(slot), alive}, 0, int(a), int(ro.Seat[slot]), o.kind[a], o.last); err != nil {
		return err
	}
	copy(r.obs, ro.ObsAt(after))
	end := ro.End[step]
	if ro.Alive[after] {
		end = batch.Going // a window's cut is none of the episode's
	}
	return r.after(c, moment{o.t + 1, ro.LegalAt(after), next}, actions, rewards, end, over, ro.Reached[step])
}

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
	series
}

// series is a column's slice, whatever it holds.
type series interface {
	truncate()
	append(src series)
	array() any // for a file
	take(f npz.File, c column, rows int) error
}

// slice is a series of numbers or bools; ends that of how steps ended.
type (
	slice[T npz.Elem] struct{ p *[]T }
	ends              struct{ p *[]batch.End }
)

func of[T npz.Elem](p *[]T) series { return slice[T]{p} }

func (s slice[T]) truncate()         { *s.p = (*s.p)[:0] }
func (s slice[T]) append(src series) { *s.p = append(*s.p, *src.(slice[T]).p...) }
func (s slice[T]) array() any        { return *s.p }

func (s slice[T]) take(f npz.File, c column, rows int) (err error) {
	*s.p, err = array[T](f, c, rows)
	return err
}

func (s ends) truncate()         { *s.p = (*s.p)[:0] }
func (s ends) append(src series) { *s.p = append(*s.p, *src.(ends).p...) }

func (s ends) array() any {
	out := make([]uint8, len(*s.p))
	for i, e := range *s.p {
		out[i] = uint8(e)
	}
	return out
}

func (s ends) take(f npz.File, c column, rows int) error {
	codes, err := array[uint8](f, c, rows)
	*s.p = make([]batch.End, len(codes))
	for i, e := range codes {
		(*s.p)[i] = batch.End(e)
	}
	return err
}

// all returns every column.
func (c *Columns) all() []series {
	return []series{
		of(&c.Obs), of(&c.Features), of(&c.Legal), of(&c.T), of(&c.Last), of(&c.Alive), of(&c.Action), of(&c.Joint), of(&c.Reward),
		of(&c.Rewards), of(&c.NextObs), of(&c.NextFeat), of(&c.NextLegal), of(&c.NextAlive), ends{&c.End}, of(&c.Over), of(&c.Goal),
		of(&c.Episode), of(&c.Agent), of(&c.Seat), of(&c.Bot),
	}
}

// list returns the columns in the order of the file. A game without planes has
// its features under the name obs.
func (c *Columns) list(l *Layout) []column {
	n, k := []int{l.Seats}, []int{len(l.Actions)}
	planes, one := []int{l.Height, l.Width, len(l.Planes)}, []int{}
	seen, next := []column{{"obs", planes, of(&c.Obs)}}, []column{{"next_obs", planes, of(&c.NextObs)}}
	switch {
	case len(l.Planes) == 0:
		seen, next = []column{{"obs", []int{l.Features}, of(&c.Features)}}, []column{{"next_obs", []int{l.Features}, of(&c.NextFeat)}}
	case l.Features > 0:
		seen = append(seen, column{"features", []int{l.Features}, of(&c.Features)})
		next = append(next, column{"next_features", []int{l.Features}, of(&c.NextFeat)})
	}
	cols := append(seen,
		column{"legal", k, of(&c.Legal)}, column{"t", one, of(&c.T)}, column{"last", n, of(&c.Last)}, column{"alive", n, of(&c.Alive)},
		column{"action", one, of(&c.Action)}, column{"joint", n, of(&c.Joint)},
		column{"reward", one, of(&c.Reward)}, column{"rewards", n, of(&c.Rewards)})
	cols = append(cols, next...)
	return append(cols,
		column{"next_legal", k, of(&c.NextLegal)}, column{"next_alive", n, of(&c.NextAlive)},
		column{"end", one, ends{&c.End}}, column{"over", one, of(&c.Over)},
		column{"goal", one, of(&c.Goal)}, column{"episode", one, of(&c.Episode)}, column{"agent", one, of(&c.Agent)},
		column{"seat", one, of(&c.Seat)}, column{"bot", one, of(&c.Bot)})
}

// rows returns the number of rows.
func (c *Columns) rows() int { return len(c.Episode) }

// truncate drops all rows and keeps the memory.
func (c *Columns) truncate() {
	for _, s := range c.all() {
		s.truncate()
	}
}

// append appends all rows of src.
func (c *Columns) append(src *Columns) {
	from := src.all()
	for i, s := range c.all() {
		s.append(from[i])
	}
}

// arrays returns the columns as arrays of a file, views except for End.
func (c *Columns) arrays(l *Layout) []npz.Array {
	var out []npz.Array
	for _, col := range c.list(l) {
		out = append(out, npz.Array{Name: col.name, Shape: append([]int{c.rows()}, col.dims...), Data: col.array()})
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
		Height: l.Height, Width: l.Width, Planes: l.Planes, Owned: l.Owned, Features: l.Features,
		Legal: l.Legal, Time: l.Time, Last: l.Last,
	}
}

func (l *Layout) planesLen() int { return l.Height * l.Width * len(l.Planes) }
