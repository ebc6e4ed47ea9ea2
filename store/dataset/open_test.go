package dataset_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/dataset"
)

// small is one shard of a few rows.
func small(t testing.TB) dataset.Config {
	cfg := toys(t)
	cfg.Rows = 12
	return cfg
}

// A flipped bit and a shorter file are refused with their name, or (in the
// manifest: white space, the case of a key) change nothing. Some 150 places a file.
func TestAlteredAndTruncatedFilesAreRefused(t *testing.T) {
	cfg := small(t)
	collect(t, cfg)
	want := open(t, cfg.Dir)
	for name, content := range files(t, cfg.Dir) {
		path := filepath.Join(cfg.Dir, name)
		try := func(where string, b []byte, harmless bool) {
			t.Helper()
			must(t, os.WriteFile(path, b, 0o666))
			d, err := dataset.Open(cfg.Dir)
			if err == nil && harmless && reflect.DeepEqual(d, want) {
				return
			}
			wantError(t, where, err, name, "collect again")
		}
		step := 1 + len(content)/150
		for i := 0; i < len(content); i += step {
			b := []byte(content)
			b[i] ^= 1 << (i / step % 8)
			try(fmt.Sprintf("%s, byte %d flipped", name, i), b, name == "manifest.json")
			if i/step%3 == 0 {
				try(fmt.Sprintf("%s, cut to %d bytes", name, i), []byte(content[:i]), false)
			}
			if t.Failed() {
				return
			}
		}
		try(name+", a byte more", []byte(content+"x"), false)
		must(t, os.Remove(path))
		_, err := dataset.Open(cfg.Dir)
		wantError(t, name+" removed", err, name)
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s removed: got error %v, want it to wrap %q", name, err, fs.ErrNotExist)
		}
		must(t, os.WriteFile(path, []byte(content), 0o666))
	}
}

func TestNoDatasetIsRefused(t *testing.T) {
	cfg := hunts(t)
	_, err := dataset.Open(filepath.Join(cfg.Dir, "nowhere"))
	wantError(t, "no folder", err, "holds no dataset", "collect")
}

func TestASplitNeverPartsAnEpisode(t *testing.T) {
	d := hunted(t)
	for _, c := range []struct {
		frac  float64
		first int
	}{{0, 0}, {1, d.Episodes}, {0.8, (d.Episodes*8 + 5) / 10}, {0.5, (d.Episodes + 1) / 2}, {1e-9, 1}, {1 - 1e-9, d.Episodes - 1}} {
		r := rng.New(5).Rand()
		first, second := d.SplitByEpisode(c.frac, &r)
		side := map[int32]int{}
		total := 0
		for i, p := range []dataset.Part{first, second} {
			var rows []int32
			for _, q := range p.Sequences {
				for row := q.Lo; row < q.Hi; row++ {
					rows = append(rows, int32(row))
				}
			}
			if !slices.Equal(rows, p.Rows) || !slices.IsSorted(rows) {
				t.Fatalf("%v: part %d's sequences are not its rows, or not in order", c.frac, i)
			}
			for _, row := range rows {
				e := d.Episode[row]
				if was, ok := side[e]; ok && was != i {
					t.Fatalf("%v: episode %d is in both parts", c.frac, e)
				}
				side[e] = i
			}
			total += len(rows)
		}
		n := 0
		for _, s := range side {
			if s == 0 {
				n++
			}
		}
		if total != d.Len() || len(side) != d.Episodes || n != c.first {
			t.Errorf("%v: %d rows and %d episodes, %d in the first part; want %d, %d, %d", c.frac, total, len(side), n, d.Len(), d.Episodes, c.first)
		}
		r = rng.New(5).Rand()
		if again, _ := d.SplitByEpisode(c.frac, &r); !reflect.DeepEqual(again, first) {
			t.Errorf("%v: the same stream gives another split", c.frac)
		}
		r = rng.New(6).Rand()
		if other, _ := d.SplitByEpisode(c.frac, &r); c.frac == 0.5 && reflect.DeepEqual(other, first) {
			t.Errorf("%v: another stream gives the same split", c.frac)
		}
	}
}

func TestSequencesAreAgentsLivesInOrder(t *testing.T) {
	d := hunted(t)
	at := 0
	agents := map[int]int{}
	for i, q := range d.Sequences {
		if q.Lo != at || q.Hi <= q.Lo {
			t.Fatalf("sequence %d is rows %d to %d, want it to start at %d", i, q.Lo, q.Hi, at)
		}
		for row := q.Lo; row < q.Hi; row++ {
			if int(d.Episode[row]) != q.Episode || int(d.Agent[row]) != int(q.Agent) || int(d.T[row]) != row-q.Lo {
				t.Fatalf("row %d (episode %d, agent %d, t %d) is in %+v", row, d.Episode[row], d.Agent[row], d.T[row], q)
			}
		}
		agents[q.Episode]++
		at = q.Hi
	}
	if at != d.Len() || len(agents) != d.Episodes {
		t.Errorf("sequences end at row %d and have %d episodes, want %d and %d", at, len(agents), d.Len(), d.Episodes)
	}
	for e, n := range agents {
		if n != 4 {
			t.Errorf("episode %d has %d sequences, want one an agent, 4", e, n)
		}
	}
}

func TestObservationDoesNotAllocate(t *testing.T) {
	d := hunted(t)
	dst := make([]float32, d.ObsLen())
	if n := testing.AllocsPerRun(100, func() {
		d.Observation(17, dst)
		d.NextObservation(17, dst)
	}); n != 0 {
		t.Errorf("observations allocate %v times, want 0", n)
	}
}

// script follows the first snippet of docs/data.md.
const script = `
l = manifest["layout"]
rows, n, k = manifest["rows"], l["seats"], len(l["actions"])
shape = dict(t=(), action=(), reward=(), end=(), over=(), goal=(), episode=(), agent=(), seat=(), bot=(),
    legal=(k,), next_legal=(k,), last=(n,), joint=(n,), rewards=(n,), alive=(n,), next_alive=(n,),
    obs=(l["height"], l["width"], len(l["planes"])), next_obs=(l["height"], l["width"], len(l["planes"])))
dtype = dict(t="i2", action="i1", reward="f4", end="u1", over="?", goal="i1", episode="i4", agent="i1", seat="i1", bot="i1",
    legal="?", next_legal="?", last="i1", joint="i1", rewards="f4", alive="?", next_alive="?", obs="u1", next_obs="u1")
assert set(data) == set(shape), data.keys()
for c in shape:
    assert data[c].shape == (rows,) + shape[c] and data[c].dtype == np.dtype(dtype[c]), (c, data[c].shape, data[c].dtype)
assert np.bincount(data["action"], minlength=k).tolist() == manifest["action_counts"]
assert len(np.unique(data["episode"])) == manifest["episodes"]
print(rows, *(float(np.dot(data[c].reshape(rows, -1).astype("f8").sum(1), np.arange(1, rows + 1))) for c in sorted(shape)))
`

func TestNumpyReadsTheSameValues(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here: that numpy reads datasets is not tested")
	}
	if exec.Command(python, "-c", "import numpy").Run() != nil {
		t.Skip("no numpy here: that numpy reads datasets is not tested")
	}
	page, err := os.ReadFile(filepath.Join("../..", "docs", "data.md"))
	must(t, err)
	_, snippet, found := strings.Cut(strings.ReplaceAll(string(page), "\r", ""), "```python\n")
	snippet, _, ended := strings.Cut(snippet, "```\n")
	if !found || !ended {
		t.Fatal("docs/data.md has no Python snippet")
	}
	cfg := hunts(t)
	collect(t, cfg)
	d := open(t, cfg.Dir)
	cmd := exec.Command(python, "-c", snippet+script)
	cmd.Dir = t.TempDir()
	if err := os.Rename(cfg.Dir, filepath.Join(cmd.Dir, "data")); err != nil { // the snippet opens data/
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("numpy: %v\n%s", err, out)
	}
	want := []float64{float64(d.Len())}
	add := func(xs any) {
		v := reflect.ValueOf(xs)
		w, sum := v.Len()/d.Len(), 0.
		for i := range v.Len() {
			x := v.Index(i)
			f := 0.
			switch {
			case x.Kind() == reflect.Bool && x.Bool():
				f = 1
			case x.CanInt():
				f = float64(x.Int())
			case x.CanUint():
				f = float64(x.Uint())
			case x.CanFloat():
				f = x.Float()
			}
			sum += f * float64(i/w+1)
		}
		want = append(want, sum)
	}
	for _, xs := range []any{
		d.Action, d.Agent, d.Alive, d.Bot, d.End, d.Episode, d.Goal, d.Joint, d.Last, d.Legal, d.NextAlive, d.NextLegal, d.NextObs,
		d.Obs, d.Over, d.Reward, d.Rewards, d.Seat, d.T,
	} {
		add(xs)
	}
	words := strings.Fields(string(out))
	if len(words) != len(want) {
		t.Fatalf("numpy printed %q, want %d numbers", out, len(want))
	}
	for i, w := range words {
		if got, err := strconv.ParseFloat(w, 64); err != nil || got < want[i]-1e-6*max(1, want[i]) || got > want[i]+1e-6*max(1, want[i]) {
			t.Errorf("number %d: numpy has %s, Go %v", i, w, want[i])
		}
	}
}

func ExampleCollect() {
	g, err := staghunt.New(staghunt.Default())
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "hunts")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	m, err := dataset.Collect(context.Background(), dataset.Config{
		Game: g, GameSpec: map[string]any{"name": "staghunt", "size": 4},
		Mix: []string{"ns", "nh"}, Rows: 1000, Seed: 7, Dir: dir,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := dataset.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := rng.New(1).Rand()
	train, test := d.SplitByEpisode(0.8, &r)
	obs := make([]float32, d.ObsLen())
	d.Observation(int(train.Rows[0]), obs)
	fmt.Println(m.Rows >= 1000, len(train.Rows)+len(test.Rows) == m.Rows, len(obs))
	// Output: true true 148
}
