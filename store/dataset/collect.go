// Package dataset keeps rows of played episodes on disk: numpy files of bounded
// size and a manifest that says what they hold and how they were made.
//
// A row is one agent's step while it was alive; seats that have left have no
// rows. Every episode is played from streams of its own, named by the seed and
// its number, so the same Config gives the same bytes for any number of workers
// and however often collecting was interrupted. Agents that have learnt play in
// lanes instead, since they may remember episodes; an interrupted recording of
// them begins anew.
//
// Files appear whole or not at all. The manifest comes last, so a folder with a
// manifest is finished; without, Collect goes on after the last whole file. Open
// trusts nothing: it checks every hash, shape and number, and what it refuses it
// names, with what to do. An observation read back is the one that was seen, bit
// for bit. Where seats have a view, rows show the whole board all the same: whoever
// learns from them hides what it would not have seen.
package dataset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/npz"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/runlog"
)

// Config says what to collect. Exactly one of Mix, Among, Team and Population must be set.
type Config struct {
	Game     game.Game
	GameSpec map[string]any // "name" and the game's resolved parameters, for the manifest
	Mix      []string       // two bots: episode e has e mod (n+1) of the first, the rest of the second
	Among    []string       // or some bots: each agent is any of them
	Team     []string       // or n bots: the same team in every episode
	Life     int            // episodes that a team stays together before the next one; 0: one
	Players  Players        // plays instead of bots, if not nil; Team or Population then names its members
	Kinds    Kinds          // with a Population: who plays each agent
	Given    int            // numbers that players are given about their co-players, beside what they see
	// Population names the kinds of Players that teams are made of, anew each episode.
	Population []string
	Rows       int    // stop at the first whole episode that reaches it
	Seed       uint64 //
	Dir        string // made if it is not there

	ShardRows int                      // the most rows a file may have; 0: 32768, or one episode if that is longer
	Workers   int                      // 0: one a core; changes nothing but the time taken
	Build     runlog.Build             // of the program, for the manifest
	Accept    bool                     // goes on with what another build began
	Progress  func(rows, episodes int) // called now and then; may be nil
}

const (
	defaultShard = 1 << 15
	roundLen     = 32 // episodes a worker plays before the results are joined
)

// manifest returns the manifest without results, or all that is wrong.
func (c *Config) manifest() (*Manifest, error) {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf("dataset: "+format, a...)) }
	if c.Game == nil {
		return nil, errors.New("dataset: Config.Game is not set")
	}
	spec := c.Game.Spec()
	m := &Manifest{
		Format: Format, Version: c.Build.Version, Builds: []runlog.Build{c.Build}, Seed: c.Seed, Mix: c.Mix, Team: c.Team,
		Among: c.Among, Life: c.Life, Population: c.Population, Wanted: c.Rows, ShardRows: c.ShardRows, Layout: layoutOf(spec),
	}
	if _, ok := game.WholeOf(c.Game); !ok {
		bad("game.view is %d, want 0: %s cannot be shown whole where seats see a part of it", spec.View, spec.Name)
	}
	if spec.View > 0 && c.Players != nil {
		bad("game.view is %d, want 0 where agents are recorded: rows are of whole boards, and what agents with a view saw of them is not kept",
			spec.View)
	}
	if err := m.Layout.check(); err != nil {
		bad("%s cannot be stored: %w", spec.Name, err)
	}
	if c.Life < 0 || c.Life > 1<<20 {
		bad("a life is of %d episodes, want 1 to %d", c.Life, 1<<20)
	}
	if c.Dir == "" {
		bad("no folder to write to")
	}
	if c.Rows < 1 || c.Rows > 1<<31-1 {
		bad("rows is %d, want 1 to %d", c.Rows, 1<<31-1)
	}
	longest := spec.Horizon * spec.Seats
	if m.ShardRows == 0 {
		m.ShardRows = max(defaultShard, longest)
	}
	if m.ShardRows < longest {
		bad("shard_rows is %d, want at least %d, the longest episode", c.ShardRows, longest)
	}
	if name, _ := c.GameSpec["name"].(string); name != spec.Name {
		bad("the game's spec is called %q, the game %q", name, spec.Name)
	}
	var err error
	if m.Game, err = json.Marshal(c.GameSpec); err != nil {
		bad("the game's spec cannot be written: %w", err)
	}
	names := c.Team
	switch {
	case len(c.Population) > 0 && (len(c.Mix)+len(c.Among)+len(c.Team) > 0 || c.Players == nil || c.Kinds == nil):
		bad("a population needs players and their kinds, and no mix or team")
	case len(c.Population) > 0:
		names = c.Population
	case len(c.Among) > 0 && (len(c.Mix)+len(c.Team) > 0 || c.Players != nil):
		bad("among is for bots alone, without a mix or a team")
	case len(c.Among) > 0:
		names = c.Among
	case (len(c.Mix) == 0) == (len(c.Team) == 0):
		bad("want either a mix of two bots, a team of %d, or some bots to be among", spec.Seats)
	case len(c.Mix) > 0 && len(c.Mix) != 2:
		bad("mix is %v, want two bots", c.Mix)
	case len(c.Mix) > 0 && c.Players != nil:
		bad("players were given, but a mix is of bots; name the players with Team")
	case len(c.Mix) > 0:
		names = c.Mix
	case len(c.Team) != spec.Seats:
		bad("team is %v, want a bot for each of the %d seats", c.Team, spec.Seats)
	}
	for _, name := range names {
		if slices.Contains(m.Bots, name) {
			continue
		}
		if c.Players == nil {
			if _, err := game.NewBot(c.Game, name); err != nil {
				bad("%w", err)
			}
		}
		m.Bots = append(m.Bots, name)
	}
	if len(m.Bots) > math.MaxInt8 {
		bad("among are %d kinds of players, want at most %d: which of them a row is of is a byte", len(m.Bots), math.MaxInt8)
	}
	return m, errors.Join(errs...)
}

// teamOf returns the function that says which bot each agent is in an episode.
func (c *Config) teamOf(bots []string, n int) func(episode int, dst []int8) {
	index := func(name string) int8 { return int8(slices.Index(bots, name)) }
	life, among := max(c.Life, 1), rng.New(c.Seed).Child("among")
	return func(episode int, dst []int8) {
		team := episode / life
		r := among.Child("team", team).Rand()
		for a := range dst {
			switch {
			case len(c.Among) > 0:
				dst[a] = index(c.Among[r.IntN(len(c.Among))])
			case len(c.Team) > 0:
				dst[a] = index(c.Team[a])
			case a < team%(n+1):
				dst[a] = index(c.Mix[0])
			default:
				dst[a] = index(c.Mix[1])
			}
		}
	}
}

// Collect plays episodes until there are Rows rows, and returns the manifest. If
// the folder holds the whole files of an earlier, interrupted call with the same
// Config, it goes on from there; a finished dataset of the same Config is
// checked and returned; anything else in the folder is an error.
func Collect(ctx context.Context, cfg Config) (Manifest, error) {
	m, err := cfg.manifest()
	if err != nil {
		return Manifest{}, err
	}
	if err := disk.Make(cfg.Dir); err != nil {
		return Manifest{}, fmt.Errorf("dataset: making the folder: %w", err)
	}
	lock, err := disk.Lock(cfg.Dir)
	if err != nil {
		return Manifest{}, fmt.Errorf("dataset: %w", err)
	}
	defer lock.Close()
	finished, err := resume(cfg.Dir, m, cfg.Accept)
	if err != nil || finished {
		return *m, err
	}
	c := collector{cfg: &cfg, m: m, dir: cfg.Dir}
	if cfg.Workers <= 0 {
		c.cfg.Workers = runtime.GOMAXPROCS(0)
	}
	work := c.run
	if cfg.Players != nil {
		work = c.record
	}
	if err := work(ctx); err != nil {
		return *m, err
	}
	if err := m.save(filepath.Join(cfg.Dir, manifestFile)); err != nil {
		return *m, err
	}
	m.Checksum = m.checksum()
	if err := disk.Remove(filepath.Join(cfg.Dir, partialFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return *m, fmt.Errorf("dataset: tidying up: %w", err)
	}
	return *m, nil
}

// resume adds to m the shards that are already there and whole. It reports
// whether the dataset is finished.
func resume(dir string, m *Manifest, accept bool) (finished bool, err error) {
	for _, file := range []string{manifestFile, partialFile} {
		old, err := load(filepath.Join(dir, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		if faults := old.sameMaking(m); len(faults) > 0 {
			return false, fmt.Errorf("dataset: %s holds another dataset (%s): %s. Choose another folder, or remove this one", dir, file,
				strings.Join(faults, "; "))
		}
		if err := old.takeOver(m, accept); err != nil {
			return false, fmt.Errorf("dataset: %s (%s): %w", dir, file, err)
		}
		for _, s := range old.Shards {
			b, err := disk.Read(filepath.Join(dir, s.File), maxShard)
			if h := sha256.Sum256(b); err != nil || hex.EncodeToString(h[:]) != s.SHA256 {
				break // this one and all after it are made anew
			}
			m.Shards = append(m.Shards, s)
		}
		m.sum()
		if finished := file == manifestFile && len(m.Shards) == len(old.Shards); finished {
			*m = *old
			return true, nil
		}
		return false, tidy(dir)
	}
	files, err := disk.Match(dir, "shard-*.npz")
	if err != nil {
		return false, fmt.Errorf("dataset: looking into the folder: %w", err)
	}
	if len(files) > 0 {
		return false, fmt.Errorf("dataset: %s holds %s but neither %s nor %s; choose another folder, or remove this one", dir,
			filepath.Base(files[0]), manifestFile, partialFile)
	}
	m.sum()
	return false, errors.Join(tidy(dir), m.save(filepath.Join(dir, partialFile)))
}

// tidy removes what a killed call left half written.
func tidy(dir string) error {
	if err := disk.Sweep(dir); err != nil {
		return fmt.Errorf("dataset: removing half-written files: %w", err)
	}
	return nil
}

// collector is a running Collect.
type collector struct {
	cfg   *Config
	m     *Manifest
	dir   string
	shard Columns
	open  Shard // what is known of the shard that is being filled
}

func (c *collector) run(ctx context.Context) error {
	workers := c.cfg.Workers
	players := make([]*player, workers)
	for w := range players {
		players[w] = newPlayer(c.cfg, c.m)
	}
	played, errs := make([]Columns, workers*roundLen), make([]error, workers*roundLen)
	rows, episode := c.m.Rows, c.m.Episodes
	for rows < c.m.Wanted {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("dataset: collecting into %s: stopped, %d rows are kept; the same call again goes on from there: %w", c.dir, c.m.Rows,
				err)
		}
		var wg sync.WaitGroup
		for w, p := range players {
			wg.Go(func() {
				for i := w * roundLen; i < (w+1)*roundLen; i++ {
					errs[i] = p.play(episode+i, &played[i])
				}
			})
		}
		wg.Wait()
		for i := range played {
			if errs[i] != nil {
				return errs[i]
			}
			if err := c.add(&played[i], episode+i); err != nil {
				return err
			}
			if rows += played[i].rows(); rows >= c.m.Wanted {
				break
			}
		}
		episode += len(played)
		if c.cfg.Progress != nil {
			c.cfg.Progress(rows, c.m.Episodes+c.open.Episodes)
		}
	}
	return c.flush()
}

// add appends an episode to the open shard, or to a new one if it is full.
func (c *collector) add(episode *Columns, number int) error {
	if c.shard.rows()+episode.rows() > c.m.ShardRows {
		if err := c.flush(); err != nil {
			return err
		}
	}
	if c.open.Episodes == 0 {
		c.open = Shard{File: shardName(len(c.m.Shards)), FirstEpisode: number, ActionCounts: make([]int, len(c.m.Layout.Actions))}
	}
	c.open.Episodes++
	for _, k := range episode.Action {
		c.open.ActionCounts[k]++
	}
	c.shard.append(episode)
	return nil
}

// flush writes the open shard, then the list of shards.
func (c *collector) flush() error {
	if c.open.Episodes == 0 {
		return nil
	}
	var b bytes.Buffer
	path, err := filepath.Join(c.dir, c.open.File), npz.Write(&b, c.shard.arrays(&c.m.Layout))
	if err == nil {
		err = disk.Write(path, b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("dataset: writing %s: %w", path, err)
	}
	h := sha256.Sum256(b.Bytes())
	c.open.Rows, c.open.SHA256 = c.shard.rows(), hex.EncodeToString(h[:])
	c.m.Shards = append(c.m.Shards, c.open)
	c.m.sum()
	c.open = Shard{}
	c.shard.truncate()
	return c.m.save(filepath.Join(c.dir, partialFile))
}
