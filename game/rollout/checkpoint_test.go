package rollout_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"reflect"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
)

func save(t testing.TB, e *rollout.Envs) []byte {
	t.Helper()
	b, err := e.AppendBinary([]byte("before"))
	must(t, err)
	return bytes.TrimPrefix(b, []byte("before"))
}

// Windows of one step put a checkpoint at every slot: mid-episode, after some
// have left, at an episode's last slot, and at its first.
func TestLoadedEnvsGoOnByteForByte(t *testing.T) {
	for name, g := range map[string]game.Game{
		"toy": toy{seats: 3, horizon: 4}, "toy with a limit": toy{seats: 3, horizon: 3, limit: true},
		"staghunt": stagHunt(t, func(c *staghunt.Config) { c.Horizon = 12 }),
	} {
		agents := g.Spec().Seats
		cfg := rollout.Config{Game: g, Envs: 3, Key: rng.New(21), Workers: 1}
		for _, steps := range []int{1, 4} {
			e := envs(t, cfg)
			ro := batch.New(e.Shape(steps, 1))
			for window := range 40 {
				if window > 0 || steps > 1 {
					e.Collect(ro, drawers(1, agents))
				}
				saved := save(t, e)
				other := cfg
				other.Key = rng.New(99) // nothing may come from the key
				resumed := envs(t, other)
				fresh := batch.New(ro.Shape)
				resumed.Collect(fresh, drawers(1, agents))
				if err := resumed.UnmarshalBinary(saved); err != nil {
					t.Fatalf("%s, window %d: %v", name, window, err)
				}
				if again := save(t, resumed); !bytes.Equal(again, saved) {
					t.Fatalf("%s, window %d: saving what was loaded gives other bytes", name, window)
				}
				if window%8 != 0 {
					continue
				}
				// The original goes on in its old rollout, the resumed in its own.
				old := copyOf(ro)
				for range 3 {
					clear(old.Target) // drawer adds to what is there
					clear(fresh.Target)
					e.Collect(old, drawers(1, agents))
					resumed.Collect(fresh, drawers(1, agents))
					if field := differs(fresh, old); field != "" {
						t.Fatalf("%s, window %d of %d steps: %s differs after loading", name, window, steps, field)
					}
					if got, want := resumed.Episodes(), e.Episodes(); len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
						t.Fatalf("%s, window %d: episodes %v after loading, want %v", name, window, got, want)
					}
				}
				ro = old
			}
		}
	}
}

func TestDamagedEnvsAreRefused(t *testing.T) {
	cfg := rollout.Config{Game: toy{seats: 3, horizon: 6}, Envs: 2, Key: rng.New(22), Workers: 1}
	e := envs(t, cfg)
	e.Collect(batch.New(e.Shape(3, 0)), drawers(1, 3))
	saved := save(t, e)
	target := envs(t, cfg)
	for i := range saved {
		if err := target.UnmarshalBinary(saved[:i]); err == nil {
			t.Fatalf("the first %d of %d bytes were loaded", i, len(saved))
		}
		for bit := range 8 {
			b := bytes.Clone(saved)
			b[i] ^= 1 << bit
			if err := target.UnmarshalBinary(b); err == nil {
				t.Fatalf("bit %d of byte %d flipped: loaded", bit, i)
			}
		}
	}
	if err := target.UnmarshalBinary(append(bytes.Clone(saved), 0)); err == nil {
		t.Error("a byte too many: loaded")
	}
	if err := target.UnmarshalBinary(saved); err != nil {
		t.Errorf("after all that, the good bytes: %v", err)
	}
}

func TestEnvsOfAnotherGameAreRefused(t *testing.T) {
	cfg := func(g game.Game, n int) rollout.Config {
		return rollout.Config{Game: g, Envs: n, Key: rng.New(23), Workers: 1}
	}
	e := envs(t, cfg(toy{seats: 4, horizon: 6}, 2))
	e.Collect(batch.New(e.Shape(3, 0)), drawers(1, 4))
	saved := save(t, e)
	hunt := envs(t, cfg(stagHunt(t, nil), 2))
	hunt.Collect(batch.New(hunt.Shape(3, 0)), drawers(1, 4))
	hunted := save(t, hunt)
	for name, c := range map[string]struct {
		e     *rollout.Envs
		saved []byte
		want  string
	}{
		"more envs":         {envs(t, cfg(toy{seats: 4, horizon: 6}, 3)), saved, `saved were 2 envs of "toy"`},
		"fewer seats":       {envs(t, cfg(toy{seats: 3, horizon: 6}, 2)), saved, "with 4 seats"},
		"another game":      {hunt, saved, `of "staghunt"`},
		"a shorter horizon": {envs(t, cfg(toy{seats: 4, horizon: 1}, 2)), saved, "do not fit"},
		"a hidden parameter": {envs(t, cfg(toy{seats: 4, horizon: 6, hares: 1}, 2)), saved,
			"another position"},
		"a larger board": {envs(t, cfg(stagHunt(t, func(c *staghunt.Config) { c.Size = 5 }), 2)), hunted, "spec of the saved run"},
		"one more stag":  {envs(t, cfg(stagHunt(t, func(c *staghunt.Config) { c.Stags = 2 }), 2)), hunted, "spec of the saved run"},
		"other bytes":    {hunt, []byte("a file that is something else"), "no saved envs"},
		"no bytes":       {hunt, nil, "damaged"},
	} {
		err := c.e.UnmarshalBinary(c.saved)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "rollout: ") {
			t.Errorf("%s: got error %v, want one with %q", name, err, c.want)
		}
	}
}

// Bytes with a right checksum but any content never make the loader panic, and
// what it accepts can be played and saved again to the same bytes.
func FuzzUnmarshalBinary(f *testing.F) {
	cfg := rollout.Config{Game: toy{seats: 2, horizon: 4}, Envs: 2, Key: rng.New(24), Workers: 1}
	e := envs(f, cfg)
	ro := batch.New(e.Shape(1, 0))
	for range 6 {
		b := save(f, e)
		f.Add(b[:len(b)-4])
		e.Collect(ro, drawers(1, 2))
	}
	f.Add([]byte("hopenvs1\xff\xff\xff\xff"))
	f.Add([]byte("hopenvs1\x03\x00\x00\x00toy\x02\x00\x00\x00\x02\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = binary.LittleEndian.AppendUint32(bytes.Clone(b), crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
		e := envs(t, cfg)
		if err := e.UnmarshalBinary(b); err != nil {
			return
		}
		if again := save(t, e); !bytes.Equal(again, b) {
			t.Fatalf("loaded %x, saved %x", b, again)
		}
		e.Collect(batch.New(e.Shape(9, 0)), drawers(1, 2))
	})
}
