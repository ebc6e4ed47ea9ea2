package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/npz"
	"github.com/hop-marl/hop/num/rng"
)

// Data is an opened dataset: its manifest, its columns, and where each agent's
// episodes lie. It is read only and safe for concurrent use.
type Data struct {
	Manifest
	Columns
	Sequences []Sequence // in the order of the rows
}

// Sequence is one agent's rows in one episode, in order of time, without gaps:
// rows Lo to Hi-1.
type Sequence struct {
	Episode int
	Agent   agent.ID
	Lo, Hi  int
}

// Part is some of a dataset's episodes.
type Part struct {
	Rows      []int32    // indices of rows, ascending
	Sequences []Sequence // the same rows, by agent and episode
}

// ErrNone is what errors are that say that there is no dataset in a folder.
var ErrNone = errors.New("holds no dataset")

// Open reads a dataset and checks all of it.
func Open(dir string) (*Data, error) {
	m, err := load(filepath.Join(dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		if _, partial := os.Stat(filepath.Join(dir, partialFile)); partial == nil {
			return nil, fmt.Errorf("dataset: %s is not finished; run the same collect again to go on: %w", dir, err)
		}
		return nil, fmt.Errorf("dataset: %s %w: it has no %s (%w); make one with hop collect", dir, ErrNone, manifestFile, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	if len(m.Shards) == 0 {
		return nil, fmt.Errorf("dataset: %s lists no shards; %s", filepath.Join(dir, manifestFile), anew)
	}
	d := &Data{Manifest: *m}
	for i := range m.Shards {
		if err := d.read(dir, &m.Shards[i]); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// read appends one shard.
func (d *Data) read(dir string, s *Shard) error {
	path := filepath.Join(dir, s.File)
	bad := func(format string, a ...any) error {
		return fmt.Errorf("dataset: reading %s: "+format+"; "+anew, append([]any{path}, a...)...)
	}
	b, err := disk.Read(path, maxShard)
	if err != nil {
		return bad("%w", err)
	}
	if h := sha256.Sum256(b); hex.EncodeToString(h[:]) != s.SHA256 {
		return bad("its SHA-256 is %x, %s has %s: one of them was altered, cut short, or is of another dataset", h, manifestFile, s.SHA256)
	}
	f, err := npz.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return bad("%w", err)
	}
	var c Columns
	cols := c.list(&d.Layout)
	if len(f) != len(cols) {
		return bad("%d arrays, want %d", len(f), len(cols))
	}
	for _, col := range cols {
		if err := col.take(f, col, s.Rows); err != nil {
			return bad("%w", err)
		}
	}
	sequences, err := c.sequences(s)
	if err == nil {
		err = c.check(&d.Manifest, s)
	}
	if err != nil {
		return bad("%w", err)
	}
	at := d.rows()
	for _, q := range sequences {
		q.Lo += at
		q.Hi += at
		d.Sequences = append(d.Sequences, q)
	}
	d.append(&c)
	return nil
}

// array returns the array of a column's name.
func array[T npz.Elem](f npz.File, c column, rows int) ([]T, error) {
	data, shape, err := npz.Get[T](f, c.name, 1+len(c.dims))
	if err != nil {
		return nil, err
	}
	if shape[0] != rows {
		return nil, fmt.Errorf("array %q has %d rows, want %d", c.name, shape[0], rows)
	}
	for i, d := range c.dims {
		if shape[1+i] != d {
			return nil, fmt.Errorf("array %q has shape %v, want %v after the rows", c.name, shape, c.dims)
		}
	}
	return data, nil
}

// sequences returns the runs of one episode and agent, and refuses rows that
// are not sorted by episode, agent and time without gaps.
func (c *Columns) sequences(s *Shard) ([]Sequence, error) {
	var out []Sequence
	episodes := 0
	for i, e := range c.Episode {
		t, a := c.T[i], c.Agent[i]
		if i > 0 && e == c.Episode[i-1] && a == c.Agent[i-1] && t == c.T[i-1]+1 && c.End[i-1] == batch.Going && !c.Over[i-1] {
			out[len(out)-1].Hi = i + 1
			continue
		}
		fresh := i == 0 || e != c.Episode[i-1]
		if fresh {
			if int(e) != s.FirstEpisode+episodes {
				return nil, fmt.Errorf("row %d is of episode %d, want %d", i, e, s.FirstEpisode+episodes)
			}
			episodes++
		}
		if t != 0 || a < 0 || !fresh && a <= c.Agent[i-1] || i > 0 && c.End[i-1] == batch.Going {
			return nil, fmt.Errorf("row %d (episode %d, agent %d, t %d) is out of order", i, e, a, t)
		}
		out = append(out, Sequence{int(e), agent.ID(a), i, i + 1})
	}
	if episodes != s.Episodes {
		return nil, fmt.Errorf("%d episodes, the manifest has %d", episodes, s.Episodes)
	}
	if c.End[len(c.End)-1] == batch.Going {
		return nil, errors.New("the last row's episode is not finished")
	}
	return out, nil
}

// check refuses numbers that cannot be.
func (c *Columns) check(m *Manifest, s *Shard) error {
	l := &m.Layout
	n, k := l.Seats, len(l.Actions)
	counts := make([]int, k)
	for i := range c.Episode {
		bad := func(what string, value any) error {
			return fmt.Errorf("row %d: %s is %v, which cannot be", i, what, value)
		}
		action, legal := c.Action[i], cut(c.Legal, k, i)
		joint, alive, rewards := cut(c.Joint, n, i), cut(c.Alive, n, i), cut(c.Rewards, n, i)
		switch {
		case action < 0 || int(action) >= k || !legal[action]:
			return bad("action", action)
		case joint[0] != action || !alive[0] || math.Float32bits(rewards[0]) != math.Float32bits(c.Reward[i]):
			return bad("the first of joint, alive, rewards", []any{joint[0], alive[0], rewards[0]})
		case c.T[i] < 0 || int(c.T[i]) >= l.Horizon:
			return bad("t", c.T[i])
		case int(c.Agent[i]) >= n:
			return bad("agent", c.Agent[i])
		case c.Seat[i] < 0 || int(c.Seat[i]) >= n:
			return bad("seat", c.Seat[i])
		case c.Bot[i] < 0 || int(c.Bot[i]) >= len(m.Bots):
			return bad("bot", c.Bot[i])
		case c.Goal[i] < game.NoGoal || int(c.Goal[i]) >= len(l.Goals):
			return bad("goal", c.Goal[i])
		case c.End[i] > batch.Cut || c.Over[i] && c.End[i] == batch.Going || cut(c.NextAlive, n, i)[0] != (c.End[i] == batch.Going):
			return bad("end", c.End[i])
		}
		counts[action]++
		last := cut(c.Last, n, i)
		for o, a := range joint {
			if a < -1 || int(a) >= k || a >= 0 != alive[o] {
				return bad("joint", joint)
			}
			if b := last[o]; b < -1 || int(b) >= k {
				return bad("last", last)
			}
		}
	}
	for name, planes := range map[string][]uint8{"obs": c.Obs, "next_obs": c.NextObs} {
		for i, x := range planes {
			if x > 1 {
				return fmt.Errorf("row %d: %s has a %d, want 0 or 1", i/l.planesLen(), name, x)
			}
		}
	}
	for a, got := range counts {
		if got != s.ActionCounts[a] {
			return fmt.Errorf("action %d was played %d times, the manifest has %d", a, got, s.ActionCounts[a])
		}
	}
	return nil
}

// Len returns the number of rows.
func (d *Data) Len() int { return d.rows() }

// ObsLen returns the length of an observation.
func (d *Data) ObsLen() int { return d.Layout.Obs().Len() }

// Observation writes what the row's agent saw before acting, exactly as the
// game's Observe wrote it. It panics if dst has not length ObsLen.
func (d *Data) Observation(row int, dst []float32) { d.observation(&d.Layout, row, dst) }

// NextObservation writes what the row's agent saw after the step, also if it
// had just left. It panics if dst has not length ObsLen.
func (d *Data) NextObservation(row int, dst []float32) { d.nextObservation(&d.Layout, row, dst) }

// SplitByEpisode deals whole episodes to two parts, the fraction frac of them to
// the first: rows of one episode know each other, so a split by row would leak.
// With two episodes or more and 0 < frac < 1, neither part is empty. It panics
// unless frac is between 0 and 1.
func (d *Data) SplitByEpisode(frac float64, r *rng.Rand) (first, second Part) {
	if !(frac >= 0 && frac <= 1) {
		panic("dataset: the fraction of a split must be between 0 and 1")
	}
	n := d.Episodes
	k := int(math.Round(frac * float64(n)))
	if frac > 0 && frac < 1 && n > 1 {
		k = min(max(k, 1), n-1)
	}
	order, inFirst := make([]int, n), make([]bool, n)
	r.Perm(order)
	for _, e := range order[:k] {
		inFirst[e] = true
	}
	for _, q := range d.Sequences {
		p := &second
		if inFirst[q.Episode] {
			p = &first
		}
		p.Sequences = append(p.Sequences, q)
		for row := q.Lo; row < q.Hi; row++ {
			p.Rows = append(p.Rows, int32(row))
		}
	}
	return first, second
}
