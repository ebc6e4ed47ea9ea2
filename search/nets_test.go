package search

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/num/rng"
)

// At one depth of a tree everyone meets the same draws of the co-players;
// otherwise different nodes meet different ones.
func TestRandomNumbersAreCommonToADepth(t *testing.T) {
	for _, mode := range []string{"depth", "child"} {
		seen := map[int]map[int32]bool{}
		g := &toy{actions: 3, others: 1, moves: 1000, next: func(s int, _ int32, o []int32, _ *rng.Rand) (int, float32, bool) {
			if seen[s] == nil {
				seen[s] = map[int32]bool{}
			}
			seen[s][o[0]] = true
			return s + 1, 0, false
		}}
		c := Default()
		c.Resample, c.Trees = mode, 1
		g.search(t, c, 1, 1)
		for depth := range 2 {
			if one := len(seen[depth]) == 1; one != (mode == "depth") {
				t.Errorf("%s: %d different draws at depth %d", mode, len(seen[depth]), depth)
			}
		}
		if seen[0] != nil && mode == "depth" && seen[1] != nil {
			for o := range seen[0] {
				if seen[1][o] {
					t.Errorf("depths 0 and 1 share their draw %d of 1000", o)
				}
			}
		}
	}
}

// fake is an observer and a network over toy states: the observation is the
// state, logits and value are functions of it and of the goal.
type fake struct {
	*toy
	rows          []float32
	goal          []float32
	logits, value []float32
	asked         int
}

func (n *fake) Observe(dst []float32, _, slot int32, place int) {
	dst[0] = float32(n.at[slot]*10 + place)
}
func (n *fake) Legal(_, slot int32, place int) uint32 { return 0b11 }
func (n *fake) Add(obs, goal []float32) {
	n.rows = append(n.rows, obs[0])
	x := float32(0)
	if goal != nil {
		x = goal[0]
	}
	n.goal = append(n.goal, x)
}

func (n *fake) Run() ([]float32, []float32) {
	n.logits, n.value = n.logits[:0], n.value[:0]
	for i, x := range n.rows {
		n.asked++
		n.logits = append(n.logits, x/50+n.goal[i], 0.3)
		n.value = append(n.value, 1/(1+x))
	}
	n.rows, n.goal = n.rows[:0], n.goal[:0]
	return n.logits, n.value
}

func (n *fake) Vector(_ int32, other int, goal int32) []float32 { return vectors[goal] }

var vectors = [][]float32{{-1}, {2}}

type halves struct{}

func (halves) Draw(dst []int32, _ int, r *rng.Rand) {
	for j := range dst {
		dst[j] = int32(r.IntN(2))
	}
}

func netSearch(t *testing.T, log, group int) (*Forest, int, func()) {
	g := &toy{actions: 2, others: 2, moves: 2, next: func(s int, a int32, o []int32, _ *rng.Rand) (int, float32, bool) {
		s = s*2 + int(a^o[0]&o[1])
		return s%64 + 1, float32(o[0]) / 4, s > 300
	}}
	c := Default()
	f, err := New(c, 2, 2, 2, group)
	must(t, err)
	g.at, g.start = make([]int, f.Slots()), 1
	own, other := &fake{toy: g}, &fake{toy: g}
	nc := NetConfig{Observer: own, Net: own, ObsLen: 1, Actions: 2, Rows: group, Log: log}
	p := NewNetPrior(nc)
	nc.Net = other
	o := NewNetOthers(OthersConfig{NetConfig: nc, Beliefs: halves{}, Others: 2, Trees: c.Trees, Envs: 2, Vectors: other})
	run := func() { f.Search(g, p, o, rng.New(1).Rands("search", 2*c.Trees)) }
	run()
	return f, own.asked + other.asked, run
}

func TestCachesChangeNothingButTheWork(t *testing.T) {
	want, most, _ := netSearch(t, 0, 1)
	for _, log := range []int{3, 12} {
		for _, group := range []int{1, 16} {
			got, asked, _ := netSearch(t, log, group)
			if !slices.Equal(got.Q, want.Q) || !slices.Equal(got.Visits, want.Visits) {
				t.Errorf("2^%d rows, groups of %d: Q %v, want %v", log, group, got.Q, want.Q)
			}
			if log == 12 && asked > most/4 {
				t.Errorf("groups of %d: %d rows asked of %d without a cache", group, asked, most)
			}
		}
	}
}

// walk is one on the numbers from 0: with state 3 slots on, an action less is legal.
type walk struct{ asked []int32 }

func (l *walk) Observe(dst []float32, _, slot int32, _ int) { dst[0] = float32(slot) }

func (l *walk) Legal(_, slot int32, _ int) uint32 { return [4]uint32{0b011, 0b111, 0b110, 0b100}[slot] }

func (l *walk) Add(obs, _ []float32) { l.asked = append(l.asked, int32(obs[0])) }

func (l *walk) Run() (logits, _ []float32) {
	for _, slot := range l.asked {
		logits = append(logits, float32(slot), 1, 0)
	}
	return logits, nil
}

// Who is far does in all of a tree what the network says at its root, so far as that is legal there.
func TestWhoIsFarActsAsAtTheRoot(t *testing.T) {
	for _, log := range []int{0, 8} {
		l := &walk{}
		nc := NetConfig{Observer: l, Net: l, ObsLen: 1, Actions: 3, Rows: 1, Log: log}
		o := NewNetOthers(OthersConfig{NetConfig: nc, Beliefs: halves{}, Others: 2, Most: 1, Trees: 1, Envs: 1,
			Far: func(_ int32, other int) bool { return other == 1 }})
		const draws = 4000
		rs := []rng.Rand{rng.New(1).Rand()}
		for slot, want := range [4][2][3]float64{
			{{0.269, 0.731, 0}, {0.269, 0.731, 0}}, // the root, where they differ in nothing
			{{0.422, 0.422, 0.155}, {0.269, 0.731, 0}},
			{{0, 0.731, 0.269}, {0, 1, 0}},
			{{0, 0, 1}, {0, 0, 1}}, // nothing that was legal at the root is
		} {
			var count [2][3]float64
			for range draws {
				l.asked = l.asked[:0]
				var dst [2]int32
				q := Query{Slot: int32(slot), Key: uint64(2*slot + 1), Depth: int32(min(slot, 1))}
				o.Draw(dst[:], []Query{q}, rs)
				for j, a := range dst {
					count[j][a] += 1. / draws
				}
			}
			for j := range count {
				for a, p := range count[j] {
					if math.Abs(p-want[j][a]) > 0.04 {
						t.Errorf("state %d: co-player %d plays %.3f, want %.3f", slot, j, count[j], want[j])
						break
					}
				}
			}
		}
	}
}
