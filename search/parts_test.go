package search

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/rng"
)

// several is a toy that starts each decision elsewhere and has nothing to decide in one of
// them.
type several struct {
	*toy
	trees, idle int
}

func (g several) Root(tree, slot int32) (uint32, uint64) {
	env := int(tree) / g.trees
	g.at[slot] = env + 1
	if env == g.idle {
		return 0, 0
	}
	return 0b11, uint64(env) + 3
}

// asked returns whom one part asks: networks with small caches, or scripts, each with its own
// memory.
func asked(f *Forest, part *Forest, nets bool) Asked {
	g := several{trees: f.Trees, idle: 1, toy: &toy{actions: 2, others: 2, moves: 2,
		next: func(s int, a int32, o []int32, r *rng.Rand) (int, float32, bool) {
			next := s*2 + int(a^o[0]&o[1]) + r.IntN(3)
			return next%64 + 1, float32(o[0])/4 + float32(s%7)/3, next > 120
		},
		value:  func(s int) float32 { return float32(s%13) / 7 },
		logits: func(s int, dst []float32) { dst[0], dst[1] = float32(s%5)/3, 0.1 },
	}}
	g.at, g.batches = make([]int, part.Slots()), make([]int, 0, 1<<16)
	if !nets {
		return Asked{g, quiet{g.toy}, g}
	}
	own, other := &fake{toy: g.toy}, &fake{toy: g.toy}
	nc := NetConfig{Observer: own, Net: own, ObsLen: 1, Actions: 2, Rows: part.Group(), Log: 4}
	p := NewNetPrior(nc)
	nc.Net = other
	o := NewNetOthers(OthersConfig{NetConfig: nc, Beliefs: halves{}, Others: 2, Trees: f.Trees, Envs: f.Envs, Vectors: other})
	return Asked{g, p, o}
}

// quiet is a toy that does not count.
type quiet struct{ *toy }

func (q quiet) Eval(logits, value []float32, qs []Query) {
	q.batches = q.batches[:0]
	q.toy.Eval(logits, value, qs)
}

// shared prepares a search on so many workers, and returns one that makes it.
func shared(t *testing.T, c Config, pool *cores.Pool, group int, nets bool) (*Forest, func() []rng.Rand) {
	t.Helper()
	f, err := New(c, 2, 2, 3, group)
	must(t, err)
	all := []Asked{asked(f, f, nets)}
	f.Trace()
	start := rng.New(1).Rands("search", 3*c.Trees)
	rs := slices.Clone(start)
	return f, func() []rng.Rand {
		copy(rs, start)
		for parts := f.Parts(pool.Workers(), 3); len(all) < parts; {
			all = append(all, asked(f, f.Part(), nets))
		}
		f.SearchOn(pool, all, rs)
		return rs
	}
}

// What a search finds is the same, bit for bit, on any number of workers: with networks and
// with scripts, all trees at once or in groups, and where one of the decisions has nothing to
// decide. So are what it costs, what it leaves of the streams, and its lines.
func TestNumbersDoNotDependOnWorkers(t *testing.T) {
	noisy, paper := Default(), Paper()
	noisy.NoiseEps, noisy.Act, paper.Resample = 0.25, "mixed", "root"
	for name, c := range map[string]Config{"default": Default(), "noisy": noisy, "paper": Paper(), "root": paper} {
		c.Trees, c.Sims = 7, 100
		for _, nets := range []bool{false, true} {
			for _, group := range []int{8, 21} {
				var want string
				for _, workers := range []int{1, 2, 3, 7} {
					pool := cores.New(workers, nil)
					pool.Open()
					f, search := shared(t, c, pool, group, nets)
					search()
					rs := search() // once more: with caches that are not empty
					pool.Close()
					if got := f.Parts(workers, 3); got != workers {
						t.Fatalf("%d parts on %d workers", got, workers)
					}
					f.Count.Rounds = 0 // parts have rounds of their own
					got := fmt.Sprint(f.Policy, f.Q, f.Visits, f.Value, f.Prior, f.Count, rs, f.Line(0, 5), f.Line(2, 5))
					if workers == 1 {
						want = got
						if f.Visits[0]+f.Visits[1] != 700 || f.Visits[2]+f.Visits[3] != 0 || f.Value[1] != 0 || f.Prior[2]+f.Policy[2] != 0 {
							t.Fatalf("%s: visits %v, prior %v, want 700 in the first decision and none in the second", name, f.Visits, f.Prior)
						}
					}
					if got != want {
						t.Errorf("%s, networks %v, groups of %d: on %d workers\n%s\nwant\n%s", name, nets, group, workers, got, want)
					}
				}
			}
		}
	}
}

// A search is cut where that is worth it, and only there.
func TestOnlyLargeSearchesAreCut(t *testing.T) {
	for _, c := range []struct {
		trees, sims, decisions, workers, want int
		hashed                                bool
	}{
		{20, 100, 1, 1, 1, false}, {20, 100, 1, 4, 4, false}, {20, 99, 1, 4, 1, false}, {20, 99, 2, 4, 4, false},
		{3, 1000, 1, 8, 3, false}, {3, 1000, 2, 8, 6, false}, {1, 10000, 1, 8, 1, false}, {4, 10000, 1, 8, 1, true},
	} {
		cfg := Default()
		cfg.Trees, cfg.Sims, cfg.Hashed = c.trees, c.sims, c.hashed
		f, err := New(cfg, 2, 1, 2, 64)
		must(t, err)
		if got := f.Parts(c.workers, c.decisions); got != c.want {
			t.Errorf("%+v: %d parts", c, got)
		}
		if f.Journal = (&Journal{}); f.Parts(c.workers, c.decisions) != 1 {
			t.Errorf("%+v: cut though a journal is written", c)
		}
	}
}

// Parts take no allocation, write a whole journal when one is wanted, and say where their time
// went.
func TestSharedSearchesAllocateNothingAndAccountForAll(t *testing.T) {
	pool := cores.New(3, nil)
	pool.Open()
	defer pool.Close()
	c := Default()
	c.Trees, c.Sims = 7, 100
	f, search := shared(t, c, pool, 21, true)
	search()
	f.Count = Count{}
	if n := testing.AllocsPerRun(5, func() { search() }); n != 0 {
		t.Errorf("a shared search allocates %v times, want 0", n)
	}
	if f.Count.Sims != 6*1400 || f.Count.Leaves == 0 || f.Count.Steps == 0 || f.Count.Rounds < 600 {
		t.Errorf("six searches cost %+v, want 8400 simulations", f.Count)
	}
	from := time.Now()
	f.Clock = func() time.Duration { return time.Since(from) }
	search()
	took, s := time.Since(from), f.Spent
	if sum := s.Select + s.Others + s.Dynamics + s.Leaf + s.Backup; min(s.Select, s.Others, s.Dynamics, s.Leaf, s.Backup) <= 0 || sum > took {
		t.Errorf("of %v the phases are %+v, want all of them, and no more", took, s)
	}
	f.Clock = nil
	q := slices.Clone(f.Q)
	f.Journal = &Journal{}
	search()
	log := 0
	for _, tree := range f.Journal.Grown {
		log += len(tree.Log)
	}
	if !reflect.DeepEqual(q, f.Journal.Q) || log < 1400*2 {
		t.Errorf("the journal has %d entries and Q %v, want Q %v", log, f.Journal.Q, q)
	}
}
