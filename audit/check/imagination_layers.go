package check

import (
	"math"
	"slices"

	"hop/audit/reference"
	"hop/batch"
	"hop/model/world"
	"hop/nn"
)

// Layers compares what a world model computes with what its layers come to in
// float64.
type Layers struct {
	asked int
	wrong map[string]int     // steps, by what differs
	off   map[string]float64 // by how much at most
}

func (c *Layers) begin() { c.wrong, c.off = map[string]int{}, map[string]float64{} }

// layerRows is how many steps a model is asked to predict again.
const layerRows = 192

// near is how far a probability or an expected reward may be from its reference.
const predictionSlack = 1e-4

// Ask lets the model predict played steps.
func (c *Layers) Ask(m *world.Model, p *nn.Params, ro *batch.Rollout) {
	c.begin()
	w := WorldOf(m, p)
	all, _ := w.Steps(ro)
	var deeds []reference.Transition
	for i := 0; i < len(all) && len(deeds) < layerRows; i += max(len(all)/layerRows, 1) {
		deeds = append(deeds, all[i])
	}
	n, rows, board := m.Agents, len(deeds), m.Height*m.Width*m.Planes
	var obs []float32
	var joint []int32
	for _, d := range deeds {
		obs, joint = append(obs, d.Obs...), append(joint, d.Joint...)
	}
	next := world.Next{Over: make([]bool, rows), Planes: make([]float32, rows*board)}
	for range n {
		next.Obs = append(next.Obs, make([]float32, rows*m.Len()))
		next.Reward = append(next.Reward, make([]float32, rows))
		next.Mean = append(next.Mean, make([]float32, rows))
		next.Gone = append(next.Gone, make([]float32, rows))
		next.End = append(next.End, make([]bool, rows))
		next.Legal = append(next.Legal, make([]bool, rows*m.Actions))
	}
	m.Work().Step(p, &next, obs, joint, rows)
	for i, d := range deeds {
		f := w.Predict(d.Obs, d.Joint)
		seen := map[string]bool{}
		far := func(what string, by float64) {
			if by > predictionSlack || math.IsNaN(by) {
				seen[what] = true
				c.off[what] = max(c.off[what], by)
			}
		}
		if f.Margin > reference.Tie { // else what follows from it may differ
			for j, v := range f.Planes {
				what := "things"
				if j%m.Planes < n {
					what = "moves"
				}
				far(what, math.Abs(v-float64(next.Planes[i*board+j])))
			}
			if f.Over != next.Over[i] {
				far("ends of episodes", 1)
			}
			for a := range n {
				far("rewards", math.Abs(f.Mean[a]-float64(next.Mean[a][i]))/max(1, math.Abs(f.Mean[a])))
				far("rewards", math.Abs(f.Reward[a]-float64(next.Reward[a][i]))/max(1, math.Abs(f.Reward[a])))
				far("exits", math.Abs(f.Gone[a]-float64(next.Gone[a][i])))
				if f.End[a] != next.End[a][i] {
					far("exits", 1)
				}
				if !slices.Equal(f.Legal[a], next.Legal[a][i*m.Actions:(i+1)*m.Actions]) {
					far("masks", 1)
				}
				if !slices.Equal(w.View(f, d.Joint, a), next.Obs[a][i*m.Len():(i+1)*m.Len()]) {
					far("observations", 1)
				}
			}
		}
		c.asked++
		for what := range seen {
			c.wrong[what]++
		}
	}
}
