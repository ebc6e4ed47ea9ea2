package dataset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/npz"
	"github.com/hop-marl/hop/num/rng"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tiny returns the manifest and the columns of a small dataset of one shard.
func tiny(t testing.TB) (Manifest, Columns) {
	t.Helper()
	g := gametest.New(t, staghunt.New, staghunt.Default())
	dir := t.TempDir()
	m, err := Collect(context.Background(), Config{
		Game: g, GameSpec: map[string]any{"name": "staghunt"}, Mix: []string{"ns", "nh"}, Rows: 60, Seed: 1, Dir: dir, Workers: 1,
	})
	must(t, err)
	d, err := Open(dir)
	must(t, err)
	return m, d.Columns
}

// forge writes a dataset of one shard whose hashes are all right.
func forge(t testing.TB, dir string, m Manifest, shard []byte) {
	t.Helper()
	if len(m.Shards) == 1 {
		h := sha256.Sum256(shard)
		m.Shards = append([]Shard(nil), m.Shards...)
		m.Shards[0].SHA256 = hex.EncodeToString(h[:])
		if len(m.Shards[0].ActionCounts) == len(m.Layout.Actions) {
			m.sum()
		}
	}
	m.Checksum = m.checksum()
	b, err := json.Marshal(m)
	if err != nil {
		t.Skip()
	}
	for name, b := range map[string][]byte{manifestFile: b, shardName(0): shard} {
		must(t, os.WriteFile(filepath.Join(dir, name), b, 0o666))
	}
}

func shardOf(t testing.TB, arrays []npz.Array) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, npz.Write(&b, arrays))
	return b.Bytes()
}

// Numbers that cannot be are refused even where every hash is right.
func TestForgedContentIsRefused(t *testing.T) {
	m, good := tiny(t)
	last := len(good.End) - 1
	for name, c := range map[string]struct {
		forge func(*Manifest, *Columns)
		want  string
	}{
		"nothing":           {func(*Manifest, *Columns) {}, ""},
		"action too large":  {func(_ *Manifest, c *Columns) { c.Action[3] = 7 }, "row 3: action is 7"},
		"action negative":   {func(_ *Manifest, c *Columns) { c.Action[3] = -1 }, "row 3: action"},
		"illegal action":    {func(_ *Manifest, c *Columns) { clear(c.Legal[14:21]) }, "row 2: action"},
		"joint":             {func(_ *Manifest, c *Columns) { c.Joint[1] = 9 }, "row 0: joint"},
		"joint of the gone": {func(_ *Manifest, c *Columns) { c.Alive[1] = !c.Alive[1] }, "row 0: joint"},
		"joint not ego-first": {func(_ *Manifest, c *Columns) { c.Joint[0] = 4; c.Action[0] = 3; c.Legal[3] = true },
			"row 0: the first of joint"},
		"rewards":           {func(_ *Manifest, c *Columns) { c.Rewards[0] = 3 }, "row 0: the first of joint"},
		"last":              {func(_ *Manifest, c *Columns) { c.Last[4] = -2 }, "row 1: last"},
		"last large":        {func(_ *Manifest, c *Columns) { c.Last[4] = 7 }, "row 1: last"},
		"time":              {func(_ *Manifest, c *Columns) { c.T[1] = 5 }, "row 1 (episode 0, agent 0, t 5) is out of order"},
		"negative time":     {func(_ *Manifest, c *Columns) { c.T[0] = -1 }, "out of order"},
		"time past horizon": {func(m *Manifest, _ *Columns) { m.Layout.Horizon = 1 }, "t is 1"},
		"agent":             {func(_ *Manifest, c *Columns) { fill(c.Agent, 4) }, "out of order"},
		"agent large": {func(_ *Manifest, c *Columns) {
			c.Agent[last] = 4
			c.T[last] = 0
			c.End[last-1] = batch.Exited
			c.NextAlive[4*last-4] = false
		}, "agent is 4"},
		"seat":                  {func(_ *Manifest, c *Columns) { c.Seat[2] = 4 }, "row 2: seat"},
		"bot":                   {func(_ *Manifest, c *Columns) { c.Bot[2] = 2 }, "row 2: bot"},
		"goal":                  {func(_ *Manifest, c *Columns) { c.Goal[2] = 2 }, "row 2: goal"},
		"end code":              {func(_ *Manifest, c *Columns) { c.End[last] = 3 }, "end is 3"},
		"end and alive":         {func(_ *Manifest, c *Columns) { c.NextAlive[0] = false }, "row 0: end"},
		"over but going":        {func(_ *Manifest, c *Columns) { c.Over[0] = true }, "out of order"},
		"exit in the middle":    {func(_ *Manifest, c *Columns) { c.End[0] = batch.Exited }, "out of order"},
		"unfinished":            {func(_ *Manifest, c *Columns) { c.End[last] = batch.Going }, "not finished"},
		"episode":               {func(_ *Manifest, c *Columns) { fill(c.Episode, 1) }, "episode 1, want 0"},
		"plane":                 {func(_ *Manifest, c *Columns) { c.Obs[200] = 2 }, "row 1: obs has a 2"},
		"next plane":            {func(_ *Manifest, c *Columns) { c.NextObs[0] = 255 }, "row 0: next_obs has a 255"},
		"fewer rows":            {func(m *Manifest, _ *Columns) { m.Shards[0].Rows-- }, "rows"},
		"fewer episodes":        {func(m *Manifest, _ *Columns) { m.Shards[0].Episodes-- }, "episodes, the manifest has"},
		"another first":         {func(m *Manifest, _ *Columns) { m.Shards[0].FirstEpisode = 1 }, "cannot be"},
		"counts":                {func(m *Manifest, _ *Columns) { m.Shards[0].ActionCounts[0]++ }, "action 0 was played"},
		"totals":                {func(m *Manifest, _ *Columns) { m.Shards[0].ActionCounts = nil }, "action counts"},
		"another file":          {func(m *Manifest, _ *Columns) { m.Shards[0].File = "../shard-00000.npz" }, "is called"},
		"no shards":             {func(m *Manifest, _ *Columns) { m.Shards = nil; m.sum() }, "no shards"},
		"seats":                 {func(m *Manifest, _ *Columns) { m.Layout.Seats, m.Layout.Last = 3, 3 }, "want [3]"},
		"no seats":              {func(m *Manifest, _ *Columns) { m.Layout.Seats = 0 }, "layout.seats is 0"},
		"board":                 {func(m *Manifest, _ *Columns) { m.Layout.Height = -1 }, "layout.height"},
		"actions":               {func(m *Manifest, _ *Columns) { m.Layout.Actions = nil }, "layout.actions"},
		"last without a mask":   {func(m *Manifest, _ *Columns) { m.Layout.Legal = 0 }, "layout.last"},
		"mask":                  {func(m *Manifest, _ *Columns) { m.Layout.Legal = 3 }, "layout.legal"},
		"two times":             {func(m *Manifest, _ *Columns) { m.Layout.Time = 2 }, "layout.time"},
		"features":              {func(m *Manifest, _ *Columns) { m.Layout.Features = 3 }, "arrays, want"},
		"horizon":               {func(m *Manifest, _ *Columns) { m.Layout.Horizon = 0 }, "layout.horizon"},
		"a newer format":        {func(m *Manifest, _ *Columns) { m.Format = 2 }, "format is 2"},
		"no bots":               {func(m *Manifest, _ *Columns) { m.Bots = nil }, "0 bots"},
		"a game that is a list": {func(m *Manifest, _ *Columns) { m.Game = json.RawMessage(`[1]`) }, "not a JSON object"},
	} {
		var cols Columns
		cols.append(&good)
		forged := m
		forged.Shards = append([]Shard(nil), m.Shards...)
		forged.Shards[0].ActionCounts = append([]int(nil), m.Shards[0].ActionCounts...)
		c.forge(&forged, &cols)
		dir := t.TempDir()
		forge(t, dir, forged, shardOf(t, cols.arrays(&m.Layout)))
		_, err := Open(dir)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "dataset: ") {
			t.Errorf("%s: got error %v, want one with %q", name, err, c.want)
		}
	}
}

func fill[T any](xs []T, x T) {
	for i := range xs {
		xs[i] = x
	}
}

// use reads everything that an opened dataset offers.
func use(d *Data) {
	obs := make([]float32, d.ObsLen())
	for row := range d.Len() {
		d.Observation(row, obs)
		d.NextObservation(row, obs)
	}
	r := rng.New(1).Rand()
	d.SplitByEpisode(0.5, &r)
}

// Any shard with the right hash is read or refused; nothing panics, and what is
// read can be used.
func FuzzShard(f *testing.F) {
	m, c := tiny(f)
	good := shardOf(f, c.arrays(&m.Layout))
	f.Add(uint32(0), []byte{}, uint32(0))
	f.Add(uint32(40), []byte{1, 2}, uint32(7))
	for at := uint32(0); at < 512; at += 31 { // sizes of all kinds, where a zip's and an array's header have them
		f.Add(at, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, uint32(0))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, at uint32, bytes []byte, cut uint32) { // not a whole shard: short inputs are soon made shorter
		shard := slices.Clone(good)
		copy(shard[int(at)%len(shard):], bytes)
		forge(t, dir, m, shard[:len(shard)-int(cut)%len(shard)])
		if d, err := Open(dir); err == nil {
			use(d)
		}
	})
}

// The same, for the numbers inside: byte at of a column is set to value.
func FuzzColumns(f *testing.F) {
	m, good := tiny(f)
	n := len(good.list(&m.Layout))
	for i := range n {
		f.Add(uint8(i), uint32(i*i), uint8(1))
		f.Add(uint8(i), uint32(0), uint8(255))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, column uint8, at uint32, value uint8) {
		var c Columns
		c.append(&good)
		arrays := c.arrays(&m.Layout)
		a := &arrays[int(column)%n]
		switch xs := a.Data.(type) {
		case []uint8:
			xs[int(at)%len(xs)] = value
		case []int8:
			xs[int(at)%len(xs)] = int8(value)
		case []int16:
			xs[int(at)%len(xs)] = int16(value) << (at >> 28)
		case []int32:
			xs[int(at)%len(xs)] = int32(value) << (at >> 27)
		case []float32:
			xs[int(at)%len(xs)] = float32(value)
		case []bool:
			xs[int(at)%len(xs)] = value&1 != 0
		}
		forge(t, dir, m, shardOf(t, arrays))
		if d, err := Open(dir); err == nil {
			use(d)
		}
	})
}

// Any manifest with the right checksum is read or refused.
func FuzzManifest(f *testing.F) {
	m, c := tiny(f)
	shard := shardOf(f, c.arrays(&m.Layout))
	add := func(change func(*Manifest)) {
		x := m
		x.Shards = append([]Shard(nil), m.Shards...)
		change(&x)
		b, err := json.Marshal(x)
		must(f, err)
		f.Add(b)
	}
	add(func(*Manifest) {})
	add(func(m *Manifest) { m.Shards[0].Rows = 1 << 40 })
	add(func(m *Manifest) { m.Layout.Height, m.Layout.Width = 1<<31, 1<<31 })
	add(func(m *Manifest) { m.Layout.Planes = nil })
	add(func(m *Manifest) { m.Layout.Goals, m.Bots = nil, []string{"x"} })
	add(func(m *Manifest) {
		m.Game = json.RawMessage(`{"name": "python", "env": "os:system", "kwargs": "{\"command\": \"true\"}", "python": "/bin/true"}`)
	})
	add(func(m *Manifest) { m.Game = json.RawMessage(`{"name": "staghunt", "size": 1e999, "stag_pays": "NaN"}`) })
	add(func(m *Manifest) { m.Bots = []string{"../../../etc/passwd#0", "/dev/zero#0@1", "--out=/tmp/x"} })
	f.Add([]byte(`{"game": ` + strings.Repeat(`{"a":`, 9_000) + `1` + strings.Repeat(`}`, 9_000) + `}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Manifest
		if json.Unmarshal(b, &m) != nil {
			t.Skip()
		}
		forge(t, dir, m, shard)
		if d, err := Open(dir); err == nil {
			use(d)
		}
	})
}
