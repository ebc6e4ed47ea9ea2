package check

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
)

// maze is a small game of states that are numbers, thousands for the time: what
// follows, what it pays and where it ends are functions of the state and the joint
// action.
type maze struct{ at []uint64 }

const mazeActions, mazeOthers = 4, 2

func hash(x ...uint64) uint64 {
	h := uint64(1)
	for _, v := range x {
		h = (h ^ v) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}

func key(s uint64) uint64 { return hash(s, 9) | 1 }

func shareOf(h uint64) float32 { return float32(h>>40) / (1 << 24) }

func (m *maze) legal(s uint64) uint32 { return uint32(hash(s, 1)>>20)&0xf | 1<<(s%mazeActions) }

func (m *maze) Root(tree, slot int32) (uint32, uint64) {
	m.at[slot] = uint64(tree)/3 + 1
	return m.legal(m.at[slot]), key(m.at[slot])
}

func (m *maze) Expand(leaves []search.Leaf, others []int32, _ []rng.Rand) {
	for i := range leaves {
		l := &leaves[i]
		m.at[l.To], l.Reward, l.Over = m.step(m.at[l.From], l.Action, others[i*mazeOthers:(i+1)*mazeOthers])
		if !l.Over {
			l.Legal, l.Key = m.legal(m.at[l.To]), key(m.at[l.To])
		}
	}
}

func (m *maze) step(s uint64, a int32, others []int32) (to uint64, r float32, over bool) {
	h := hash(s, uint64(a), uint64(others[0]), uint64(others[1]))
	return s/1000*1000 + 1000 + h%20, shareOf(hash(h, 2)) * 2, h>>50&7 == 0
}

func (m *maze) Eval(logits, value []float32, qs []search.Query) {
	for i, q := range qs {
		for k := range mazeActions {
			logits[i*mazeActions+k] = 3 * shareOf(hash(q.Key, 3, uint64(k)))
		}
		value[i] = 2*shareOf(hash(q.Key, 4)) - 1
	}
}

func (m *maze) Goals(_ int32, r *rng.Rand) { r.Uint64() }

func (m *maze) Draw(dst []int32, qs []search.Query, rs []rng.Rand) {
	for i, q := range qs {
		for j := range mazeOthers {
			dst[i*mazeOthers+j] = int32(rs[q.Tree].IntN(3))
		}
	}
}

// journal lets a forest search two decisions of three trees.
func journal(t *testing.T, c search.Config) *search.Journal {
	t.Helper()
	f, err := search.New(c, mazeActions, mazeOthers, 2, 64)
	if err != nil {
		t.Fatal(err)
	}
	f.Journal = &search.Journal{}
	m := &maze{make([]uint64, f.Slots())}
	f.Search(m, m, m, rng.New(5).Rands("tree", 2*f.Trees))
	return f.Journal
}

func config(edit func(c *search.Config)) search.Config {
	c := search.Default()
	c.Trees, c.Sims = 3, 40
	edit(&c)
	return c
}

// Every setting of a search is what the twin makes of it.
func TestTreesAreWhatTheirSimulationsMakeThem(t *testing.T) {
	tried := 0
	for i, norm := range []string{"none", "node", "tree"} {
		for _, untried := range []string{"zero", "node", "min"} {
			for j, resample := range []string{"child", "node", "root", "depth"} {
				for _, all := range []bool{true, false} {
					c := config(func(c *search.Config) {
						c.Norm, c.Unvisited, c.Resample, c.VisitAll = norm, untried, resample, all
						c.PlusOne = (i+j)%2 == 0
						c.Act = []string{"q", "prior", "most", "visits", "softmax", "mixed"}[(i+2*j)%6]
						c.Depth = []int{0, 3, 0}[i]
						c.CBase = []float64{0, 30, 0, 0}[j]
						c.Hashed = tried%7 == 3
						c.NoiseEps = []float64{0, 0, 0.25}[tried%3]
						c.NoiseA = 0.5
					})
					tried++
					r := regrow(journal(t, c))
					if r.Sims != 2*3*40 || r.Choices < r.Sims {
						t.Errorf("%+v: %d simulations and %d choices", c, r.Sims, r.Choices)
					}
					for _, w := range r.Wrongs {
						t.Errorf("%+v: %s: %s", c, w.What, w.Says)
					}
				}
			}
		}
	}
	for _, kind := range []string{"onestep", "none"} {
		for _, w := range regrow(journal(t, config(func(c *search.Config) { c.Kind = kind }))).Wrongs {
			t.Errorf("%s: %s", kind, w.Says)
		}
	}
}

// entries calls f with every entry of a kind.
func entries(j *search.Journal, what int, f func(e *search.Entry)) {
	for i := range j.Grown {
		for at := range j.Grown[i].Log {
			if e := &j.Grown[i].Log[at]; e.What == what {
				f(e)
			}
		}
	}
}

// A journal of a search that did otherwise is told from a right one, and where.
func TestSlipsOfASearchAreNamed(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(j *search.Journal)
		what string
		says string
	}{
		{"an end is worth something", func(j *search.Journal) {
			over := map[string]bool{}
			entries(j, search.Played, func(e *search.Entry) { over[fmt.Sprint(e.Leaf.Tree, e.Leaf.To)] = e.Leaf.Over })
			for i := range j.Grown {
				for at := range j.Grown[i].Log {
					if e := &j.Grown[i].Log[at]; e.What == search.Backed && over[fmt.Sprint(i, e.At)] {
						e.Value = 0.5
					}
				}
			}
		}, "valued", "reaches an end backs up 0.5"},
		{"another leaf's value", func(j *search.Journal) {
			entries(j, search.Backed, func(e *search.Entry) {
				if e.Value != 0 {
					e.Value++
				}
			})
		}, "valued", "evaluated to"},
		{"another reward on the path", func(j *search.Journal) {
			entries(j, search.Backed, func(e *search.Entry) { e.Path[0].Reward = 7 })
		}, "stepped", "a reward of 7"},
		{"another settings' discount", func(j *search.Journal) { j.Discount = 0.9 }, "backed", "without the discount"},
		{"Q scaled by other bounds", func(j *search.Journal) { j.Norm = "none" }, "chosen", "whose score is"},
		{"kept actions are drawn anew", func(j *search.Journal) { j.Resample = "node" }, "resampled", "drawn once and kept"},
		{"actions of another draw", func(j *search.Journal) {
			entries(j, search.Played, func(e *search.Entry) { e.Joint = []int32{9, 9} })
		}, "resampled", "play [9 9]"},
		{"visits of the other decision", func(j *search.Journal) {
			slices.Reverse(j.Visits)
		}, "added", "visits"},
		{"the lowest Q is played", func(j *search.Journal) {
			clear(j.Policy)
			worst := 0
			for k := range j.Actions {
				if j.Visits[k] > 0 && j.Q[k] < j.Q[worst] || j.Visits[worst] == 0 {
					worst = k
				}
			}
			j.Policy[worst] = 1
			j.Policy[j.Actions] = 1
		}, "decided", "decision 0 is for action"},
		{"a mixed policy without the prior", func(j *search.Journal) {
			j.Act, j.Beta = "mixed", 2
			for at := 0; at < len(j.Policy); at += j.Actions {
				q, tried := j.Q[at:at+j.Actions], uint32(0)
				for k, n := range j.Visits[at : at+j.Actions] {
					if n > 0 {
						tried |= 1 << k
					}
				}
				for k, p := range softly(q, tried, 2) {
					j.Policy[at+k] = float32(p)
				}
			}
		}, "decided", "it is what comes of Q without the prior"},
		{"all on one action where the policy is mixed", func(j *search.Journal) { j.Act = "mixed" }, "decided", "act mixed makes it"},
		{"noise where none is set", func(j *search.Journal) {
			for i := range j.Grown {
				j.Grown[i].Noised[0] += 0.1
			}
		}, "noised", "prior"},
		{"a simulation too few", func(j *search.Journal) {
			log := &j.Grown[0].Log
			*log = (*log)[:len(*log)-1]
		}, "asked", "39 simulations"},
		{"one stream for two draws", func(j *search.Journal) {
			var first *search.Entry
			entries(j, search.Drew, func(e *search.Entry) {
				if first == nil {
					first = e
				}
				e.Rand = first.Rand
			})
		}, "resampled", "one stream twice"},
	} {
		j := journal(t, config(func(s *search.Config) {
			s.Resample = "child"
			if strings.Contains(c.name, "discount") {
				s.Discount = 1
			}
		}))
		c.edit(j)
		r := regrow(j)
		found := false
		for _, w := range r.Wrongs {
			found = found || w.What == c.what && strings.Contains(w.Says, c.says)
		}
		if !found {
			t.Errorf("%s: found %+v, want %s with %q", c.name, r.Wrongs, c.what, c.says)
		}
	}
}

// One step ahead, the root's Q are draws around the exact expectation over the
// co-players' actions, and come as near to it as their number says.
func TestOneStepAheadIsExpectimax(t *testing.T) {
	c := config(func(c *search.Config) { c.Kind, c.Trees, c.Resample = "onestep", 900, "node" })
	f, err := search.New(c, mazeActions, mazeOthers, 1, 900)
	if err != nil {
		t.Fatal(err)
	}
	m := &maze{make([]uint64, f.Slots())}
	one := struct {
		search.Dynamics
		*maze
	}{rootOf{m, 7}, m}
	f.Search(one.Dynamics, m, m, rng.New(6).Rands("tree", c.Trees))
	v, logits := make([]float32, 1), make([]float32, mazeActions)
	for k := range int32(mazeActions) {
		if m.legal(7)>>k&1 == 0 {
			continue
		}
		sum, square := 0., 0.
		for a := range int32(3) {
			for b := range int32(3) {
				to, r, over := m.step(7, k, []int32{a, b})
				x := float64(r)
				if !over {
					m.Eval(logits, v, []search.Query{{Key: key(to)}})
					x += c.Discount * float64(v[0])
				}
				sum += x / 9
				square += x * x / 9
			}
		}
		se := math.Sqrt((square - sum*sum) / float64(c.Trees))
		if d := math.Abs(float64(f.Q[k]) - sum); d > 5*se {
			t.Errorf("action %d: Q is %.4f, expectimax %.4f ± %.4f", k, f.Q[k], sum, se)
		}
	}
}

// rootOf starts every tree in one state.
type rootOf struct {
	*maze
	state uint64
}

func (r rootOf) Root(_, slot int32) (uint32, uint64) {
	r.at[slot] = r.state
	return r.legal(r.state), key(r.state)
}
