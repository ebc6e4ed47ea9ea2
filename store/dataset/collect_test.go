package dataset_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/dataset"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func collect(t testing.TB, cfg dataset.Config) dataset.Manifest {
	t.Helper()
	m, err := dataset.Collect(context.Background(), cfg)
	must(t, err)
	return m
}

func open(t testing.TB, dir string) *dataset.Data {
	t.Helper()
	d, err := dataset.Open(dir)
	must(t, err)
	return d
}

// row is everything about one step, as a player of the game by hand sees it.
type row struct {
	Obs, Next                             []float32
	Legal, NextLegal, Alive, NextAlive    []bool
	Last, Joint                           []int8
	Rewards                               []float32
	Reward                                float32
	Episode, Agent, Seat, T, Action, Goal int
	End                                   batch.End
	Over                                  bool
	Bot                                   string
}

// byHand plays an episode without package dataset, rows sorted by agent, then time.
func byHand(t *testing.T, g game.Game, seed uint64, episode int, team []string) []row {
	n := g.Spec().Seats
	key := rng.New(seed).Child("episode", episode)
	rules, deal := key.Child("rules").Rand(), key.Child("deal").Rand()
	seat, act := make([]int, n), make([]rng.Rand, n)
	deal.Perm(seat)
	for a := range act {
		act[a] = key.Child("act", a).Rand()
	}
	return fromStreams(t, g, episode, team, seat, &rules, act)
}

// fromStreams plays an episode of bots on those seats, which draw from act.
func fromStreams(t *testing.T, g game.Game, episode int, team []string, seat []int, rules *rng.Rand, act []rng.Rand) []row {
	spec := g.Spec()
	n := spec.Seats
	bots := make([]game.Bot, n)
	for a, name := range team {
		var err error
		if bots[a], err = game.NewBot(g, name); err != nil {
			t.Fatal(err)
		}
	}
	st := g.New()
	st.Reset(rules)
	look := func(s int) (obs []float32, legal, alive []bool) {
		obs, legal, alive = make([]float32, spec.Obs.Len()), make([]bool, len(spec.Actions)), make([]bool, n)
		st.Observe(game.Seat(s), obs)
		st.Legal(game.Seat(s), legal)
		for i := range alive {
			alive[i] = st.Alive(game.Seat((s + i) % n))
		}
		return obs, legal, alive
	}
	byAgent := make([][]row, n)
	reached := make([][]int, n)
	last := slices.Repeat([]int8{-1}, n)
	for time := 0; !st.Over(); time++ {
		actions, rewards := slices.Repeat([]int32{game.NoAction}, n), make([]float32, n)
		acted := make([]bool, n)
		for a, s := range seat {
			if !st.Alive(game.Seat(s)) {
				continue
			}
			acted[a] = true
			r := row{Episode: episode, Agent: a, Seat: s, T: time, Bot: team[a]}
			r.Obs, r.Legal, r.Alive = look(s)
			for i := range n {
				r.Last = append(r.Last, last[(s+i)%n])
			}
			actions[s] = bots[a].Act(st, game.Seat(s), &act[a])
			byAgent[a] = append(byAgent[a], r)
		}
		st.Step(actions, rewards, rules)
		for a, s := range seat {
			if !acted[a] {
				continue
			}
			r := &byAgent[a][len(byAgent[a])-1]
			r.Next, r.NextLegal, r.NextAlive = look(s)
			r.Action, r.Reward, r.Over = int(actions[s]), rewards[s], st.Over()
			for i := range n {
				r.Joint = append(r.Joint, int8(actions[(s+i)%n]))
				r.Rewards = append(r.Rewards, rewards[(s+i)%n])
			}
			if !st.Alive(game.Seat(s)) {
				r.End = batch.Exited
				if l, ok := st.(game.Limited); ok && l.Cut() {
					r.End = batch.Cut
				}
			}
			reached[a] = append(reached[a], st.(game.Goaler).Reached(game.Seat(s)))
		}
		for s := range last {
			last[s] = int8(actions[s])
		}
	}
	var out []row
	for a := range byAgent {
		for i := range byAgent[a] {
			r := byAgent[a][i]
			r.Goal = game.NoGoal
			for _, g := range reached[a][i:] { // the first from here on
				if g != game.NoGoal {
					r.Goal = g
					break
				}
			}
			out = append(out, r)
		}
	}
	return out
}

func read(d *dataset.Data, i int) row {
	n, k := d.Layout.Seats, len(d.Layout.Actions)
	r := row{
		Obs: make([]float32, d.ObsLen()), Next: make([]float32, d.ObsLen()),
		Legal: d.Legal[i*k : i*k+k], NextLegal: d.NextLegal[i*k : i*k+k], Alive: d.Alive[i*n : i*n+n], NextAlive: d.NextAlive[i*n : i*n+n],
		Last: d.Last[i*n : i*n+n], Joint: d.Joint[i*n : i*n+n], Rewards: d.Rewards[i*n : i*n+n], Reward: d.Reward[i],
		Episode: int(d.Episode[i]), Agent: int(d.Agent[i]), Seat: int(d.Seat[i]), T: int(d.T[i]), Action: int(d.Action[i]), Goal: int(d.Goal[i]),
		End: d.End[i], Over: d.Over[i], Bot: d.Bots[d.Bot[i]],
	}
	d.Observation(i, r.Obs)
	d.NextObservation(i, r.Next)
	return r
}

// Every column of every row, and the observations rebuilt from them bit for
// bit, are those of the same episodes played by hand.
func TestRowsAreThoseOfPlayByHand(t *testing.T) {
	block, spec := stagHunt(t, func(c *staghunt.Config) { c.Size, c.Blocks, c.Horizon = 6, 3, 12 })
	for name, cfg := range map[string]dataset.Config{
		"staghunt mix":         hunts(t),
		"staghunt with blocks": {Game: block, GameSpec: spec, Team: []string{"ns", "random", "nh", "ns"}, Rows: 300, Seed: 1, Dir: t.TempDir()},
		"toy":                  toys(t),
		"toy without planes": {Game: toy{horizon: 5, features: true}, GameSpec: map[string]any{"name": "toy"},
			Mix: []string{"random", "random"}, Rows: 100, Dir: t.TempDir()},
	} {
		m := collect(t, cfg)
		d := open(t, cfg.Dir)
		if !reflect.DeepEqual(d.Manifest, m) {
			t.Errorf("%s: opened manifest\n%+v\nwant\n%+v", name, d.Manifest, m)
		}
		i, before := 0, 0
		counts := make([]int, len(m.ActionCounts))
		ends := map[batch.End]int{}
		for e := range m.Episodes {
			before = i
			team := cfg.Team
			if len(cfg.Mix) > 0 { // teams of 0..n of the first, the rest the second, in turn
				n := cfg.Game.Spec().Seats
				team = append(slices.Repeat(cfg.Mix[:1], e%(n+1)), slices.Repeat(cfg.Mix[1:], n-e%(n+1))...)
			}
			for _, want := range byHand(t, cfg.Game, cfg.Seed, e, team) {
				if i >= d.Len() {
					t.Fatalf("%s: only %d rows", name, i)
				}
				if got := read(d, i); !reflect.DeepEqual(got, want) {
					t.Fatalf("%s: row %d\ngot  %+v\nwant %+v", name, i, got, want)
				}
				counts[want.Action]++
				ends[want.End]++
				i++
			}
		}
		if i != d.Len() || d.Len() != m.Rows || m.Rows < cfg.Rows || before >= cfg.Rows {
			t.Errorf("%s: %d rows played, %d read, %d in the manifest, %d without the last episode; %d were wanted", name, i, d.Len(), m.Rows,
				before, cfg.Rows)
		}
		if !reflect.DeepEqual(counts, m.ActionCounts) {
			t.Errorf("%s: action counts %v, want %v", name, m.ActionCounts, counts)
		}
		if cut := strings.HasPrefix(name, "toy"); (ends[batch.Cut] > 0) != cut || ends[batch.Exited] == 0 {
			t.Errorf("%s: ends %v, want exits, and cuts only by an outside limit", name, ends)
		}
	}
}

// The goal of a row is the prey that its agent caught later, and the true type
// is not the goal: ns takes a hare once no stag is left.
func TestGoalIsWhatWasReachedNext(t *testing.T) {
	d := hunted(t)
	seen := map[[2]int]int{}
	for _, q := range d.Sequences {
		want := int8(game.NoGoal)
		if last := q.Hi - 1; d.Reward[last] > 0 {
			want = int8(d.Action[last]) - staghunt.HuntStag
		}
		for i := q.Lo; i < q.Hi; i++ {
			if d.Goal[i] != want {
				t.Fatalf("row %d: goal %d, want %d", i, d.Goal[i], want)
			}
		}
		seen[[2]int{int(d.Bot[q.Lo]), int(want)}]++
	}
	for _, k := range [][2]int{{0, staghunt.GoalStag}, {0, staghunt.GoalHare}, {1, staghunt.GoalHare}, {0, game.NoGoal}} {
		if seen[k] == 0 {
			t.Errorf("no %s with goal %d among %v", d.Bots[k[0]], k[1], seen)
		}
	}
}

// files returns the content of a folder by name.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if e.Name() == "lock" {
			continue // it says only who is writing
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		out[e.Name()] = string(b)
	}
	return out
}

func sameFiles(t *testing.T, where string, got, want map[string]string) {
	t.Helper()
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: %s differs or is missing", where, name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s should not be there", where, name)
		}
	}
}

func TestBytesDoNotDependOnWorkers(t *testing.T) {
	var want map[string]string
	for _, workers := range []int{1, 2, 3, 8, 0} {
		cfg := hunts(t)
		cfg.Workers = workers
		m := collect(t, cfg)
		got := files(t, cfg.Dir)
		if want == nil {
			want = got
			if len(m.Shards) < 3 {
				t.Fatalf("%d shards, want several", len(m.Shards))
			}
		}
		for _, s := range m.Shards {
			if s.Rows > cfg.ShardRows {
				t.Errorf("%s has %d rows, want at most %d", s.File, s.Rows, cfg.ShardRows)
			}
		}
		sameFiles(t, "workers", got, want)
	}
}

// stopAt collects until some rows were played, then cancels.
func stopAt(t *testing.T, cfg dataset.Config, rows int) error {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	cfg.Workers = 1
	cfg.Progress = func(r, _ int) {
		if r >= rows {
			stop()
		}
	}
	_, err := dataset.Collect(ctx, cfg)
	return err
}

func TestInterruptedCollectionGoesOnToTheSameBytes(t *testing.T) {
	whole := hunts(t)
	whole.Rows = 4000
	collect(t, whole)
	want := files(t, whole.Dir)
	cfg := whole
	cfg.Dir = t.TempDir()
	for _, rows := range []int{1, 600, 1500, 1501, 3000} {
		err := stopAt(t, cfg, rows)
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "goes on") {
			t.Fatalf("stopped at %d rows: got error %v, want a cancelled context and how to go on", rows, err)
		}
		if _, err := dataset.Open(cfg.Dir); err == nil || !strings.Contains(err.Error(), "not finished") {
			t.Errorf("stopped at %d rows: Open says %v, want that it is not finished", rows, err)
		}
		got := files(t, cfg.Dir)
		for name := range got {
			if name != "partial.json" && got[name] != want[name] {
				t.Errorf("stopped at %d rows: %s is there and not as in a whole run", rows, name)
			}
		}
	}
	if n := len(files(t, cfg.Dir)); n < 4 {
		t.Fatalf("%d files before the last call, want several shards kept", n)
	}
	kept, err := os.Stat(filepath.Join(cfg.Dir, "shard-00000.npz"))
	must(t, err)
	for _, half := range []string{".part-123", ".part-4"} { // as kill -9 leaves them
		must(t, os.WriteFile(filepath.Join(cfg.Dir, half), []byte("half"), 0o666))
	}
	collect(t, cfg)
	sameFiles(t, "resumed", files(t, cfg.Dir), want)
	if now, err := os.Stat(filepath.Join(cfg.Dir, "shard-00000.npz")); err != nil || !os.SameFile(now, kept) {
		t.Errorf("the first shard was written again (%v)", err)
	}

	manifest, err := os.Stat(filepath.Join(cfg.Dir, "manifest.json"))
	must(t, err)
	again := collect(t, cfg) // finished: checked and returned
	sameFiles(t, "again", files(t, cfg.Dir), want)
	if now, err := os.Stat(filepath.Join(cfg.Dir, "manifest.json")); err != nil || !os.SameFile(now, manifest) {
		t.Errorf("a finished dataset was written again (%v)", err)
	}
	if d := open(t, cfg.Dir); !reflect.DeepEqual(d.Manifest, again) {
		t.Errorf("the manifest of a finished dataset is\n%+v\nwant\n%+v", again, d.Manifest)
	}
}

// A shard that was damaged or lost is made anew, whether the collection was
// finished or not.
func TestDamagedShardsAreMadeAnew(t *testing.T) {
	whole := hunts(t)
	whole.Rows, whole.ShardRows = 4000, 800
	collect(t, whole)
	want := files(t, whole.Dir)
	for name, harm := range map[string]func(path string) error{
		"altered": func(path string) error {
			b := []byte(want["shard-00001.npz"])
			b[len(b)/2] ^= 1
			return os.WriteFile(path, b, 0o666)
		},
		"truncated": func(path string) error { return os.Truncate(path, 1000) },
		"removed":   os.Remove,
	} {
		for _, finished := range []bool{true, false} {
			cfg := whole
			cfg.Dir = t.TempDir()
			if finished {
				collect(t, cfg)
			} else if err := stopAt(t, cfg, 2000); err == nil {
				t.Fatal("not stopped")
			}
			must(t, harm(filepath.Join(cfg.Dir, "shard-00001.npz")))
			if finished {
				_, err := dataset.Open(cfg.Dir)
				wantError(t, name, err, "shard-00001.npz", "collect again")
			}
			collect(t, cfg)
			sameFiles(t, name, files(t, cfg.Dir), want)
		}
	}
}

func wantError(t *testing.T, where string, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error, want one with %q", where, words)
		return
	}
	for _, w := range append(words, "dataset: ") {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: got %q, want it to say %q", where, err, w)
		}
	}
}

// Two at once would write each other's files: the second one is told who is there.
func TestASecondCollectionIntoAFolderIsRefused(t *testing.T) {
	cfg := hunts(t)
	var second error
	cfg.Progress = func(int, int) {
		if second == nil {
			other := cfg
			other.Progress = nil
			_, second = dataset.Collect(context.Background(), other)
		}
	}
	collect(t, cfg)
	wantError(t, "the second", second, fmt.Sprintf("process %d,", os.Getpid()), cfg.Dir, "stop it")
}

func TestProgressGrowsToTheEnd(t *testing.T) {
	cfg := hunts(t)
	cfg.Dir = filepath.Join(cfg.Dir, "new [folder]")
	cfg.Workers = 1
	cfg.Rows = 3000
	rows, episodes, calls := 0, 0, 0
	cfg.Progress = func(r, e int) {
		if r <= rows || e <= episodes {
			t.Errorf("progress went from %d rows, %d episodes to %d, %d", rows, episodes, r, e)
		}
		rows, episodes, calls = r, e, calls+1
	}
	m := collect(t, cfg)
	if calls < 3 || rows != m.Rows || episodes != m.Episodes {
		t.Errorf("%d calls, the last with %d rows and %d episodes, want %d and %d", calls, rows, episodes, m.Rows, m.Episodes)
	}
	if bytes.Contains([]byte(files(t, cfg.Dir)["manifest.json"]), []byte("null")) {
		t.Error("the manifest has nulls")
	}
}

func BenchmarkCollect(b *testing.B) {
	g, spec := stagHunt(b, nil)
	for b.Loop() {
		cfg := dataset.Config{Game: g, GameSpec: spec, Mix: []string{"ns", "nh"}, Rows: 107_000, Seed: 7, Dir: b.TempDir()}
		collect(b, cfg)
	}
}

func BenchmarkOpen(b *testing.B) {
	g, spec := stagHunt(b, nil)
	cfg := dataset.Config{Game: g, GameSpec: spec, Mix: []string{"ns", "nh"}, Rows: 107_000, Seed: 7, Dir: b.TempDir()}
	collect(b, cfg)
	for b.Loop() {
		open(b, cfg.Dir)
	}
}
