package dataset

import (
	"context"
	"fmt"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
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
