package search

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/hop-marl/hop/num/rng"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// golden is a recorded search, replayed by a network that reads the record.
type golden struct {
	Action int       `json:"action"`
	Visit  int       `json:"visit"`
	Value  float64   `json:"value_view"`
	Raw    float64   `json:"raw_value_view"`
	Reward float64   `json:"reward"`
	Prior  float64   `json:"prior"`
	Index  int       `json:"evaluation_index"`
	Kids   []*golden `json:"child_stats"`
}

// recorded is Dynamics, Prior and Others in one: slots point into the record.
type recorded struct {
	at    []*golden
	order []*golden
	t     *testing.T
}

func (g *recorded) Root(_, slot int32) (uint32, uint64) {
	return 1<<len(g.at[0].Kids) - 1, 0
}

func (g *recorded) Expand(leaves []Leaf, _ []int32, _ []rng.Rand) {
	for i := range leaves {
		l := &leaves[i]
		kid := g.at[l.From].Kids[l.Action]
		if len(kid.Kids) == 0 {
			g.t.Fatalf("simulation %d expands action %d of the node of simulation %d, which the record never does", len(g.order), l.Action,
				g.at[l.From].Index)
		}
		g.at[l.To] = kid
		l.Reward, l.Legal = float32(kid.Reward), 1<<len(kid.Kids)-1
	}
}

func (g *recorded) Eval(logits, value []float32, qs []Query) {
	n := g.at[qs[0].Slot]
	g.order = append(g.order, n)
	value[0] = float32(n.Raw)
	for k, kid := range n.Kids {
		logits[k] = float32(math.Log(kid.Prior))
	}
}

func (*recorded) Goals(int32, *rng.Rand)            {}
func (*recorded) Draw([]int32, []Query, []rng.Rand) {}

func TestSearchRepeatsARecordedSearch(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "mctx_muzero_qtransform_tree.json"))
	must(t, err)
	var file struct {
		Tree   *golden `json:"tree"`
		Config struct {
			Discount float64 `json:"discount"`
		} `json:"env_config"`
	}
	must(t, json.Unmarshal(text, &file))
	c := Config{
		Kind: "tree", Trees: 1, Sims: file.Tree.Visit - 1, Resample: "child", C: 1.25, CBase: 19652, Norm: "node", Unvisited: "min",
		Discount: file.Config.Discount, NoiseA: 1, Act: "visits",
	}
	f, err := New(c, len(file.Tree.Kids), 0, 1, 1)
	must(t, err)
	g := &recorded{at: make([]*golden, f.Slots()), t: t}
	g.at[0] = file.Tree
	f.Search(g, g, g, make([]rng.Rand, 1))
	worst := 0.
	for i, n := range g.order {
		if n.Index != i {
			t.Errorf("evaluation %d was the record's %d", i, n.Index)
		}
	}
	for slot, n := range g.at {
		if n == nil {
			continue
		}
		got := f.nodes[slot]
		if int(got.visits) != n.Visit {
			t.Errorf("node of evaluation %d: %v visits, want %d", n.Index, got.visits, n.Visit)
		}
		worst = max(worst, math.Abs(float64(got.mean)-n.Value))
	}
	if len(g.order) != file.Tree.Visit || worst > 1e-5 {
		t.Errorf("%d evaluations, want %d; values differ by up to %v", len(g.order), file.Tree.Visit, worst)
	}
	t.Logf("%d evaluations, values within %.1e", len(g.order), worst)
}
