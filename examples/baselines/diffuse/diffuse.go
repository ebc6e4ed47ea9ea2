// Package diffuse plans by diffusion in place of a tree: a denoiser over the joint plans of all
// agents for the next eight steps, learnt from recorded play (Janner et al. 2022; of actions that
// have names, Austin et al. 2021, with a mask as noise).
//
// A plan is an action for each agent and step, or that it is gone. The denoiser reads what the
// agent sees, how much it is to earn from here on, and a plan of which a share is hidden, and says
// what stands where something is hidden. A plan is drawn by hiding all of it and uncovering it
// in rounds. In one round all is drawn at once, each by itself: imitation, no diffusion.
package diffuse

import (
	"math"

	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// Steps is how far a plan goes.
const Steps = 8

// What an agent is to earn from here on.
const (
	Anything = iota
	Nothing
	Little // below Much
	Plenty
	levels
)

// Much is the least that counts as Plenty.
const Much = 2

// Model is a denoiser.
type Model struct {
	Params *nn.Params
	Tokens int // of a plan: agents by Steps, by agent
	kinds  int // what stands in a token: an action, or gone; hidden is one more, in what is read
	obs    int

	trunk nn.MLP
	out   nn.Dense

	// Memory for rows at a time.
	rows    int
	x       f32.Sparse
	ws      *nn.MLPWork
	logits  nn.Logits
	dlogits []float32
	cat     *nn.Categorical
	target  []int32
	counts  []bool // [rows][Tokens] hidden
}

// New returns a denoiser for so many agents and actions, drawn from key, and memory for so many
// rows.
func New(obs, agents, actions int, hidden []int, rows int, key rng.Key) *Model {
	m := &Model{Params: &nn.Params{}, Tokens: agents * Steps, kinds: actions + 1, obs: obs, rows: rows}
	m.trunk = m.Params.MLP("trunk", nn.ReLU, append([]int{m.width()}, hidden...)...)
	m.out = m.Params.Dense("out", hidden[len(hidden)-1], m.Tokens*m.kinds, nn.None, nn.Orthogonal(0.01))
	m.Params.Init(key)
	m.ws, m.cat = m.trunk.Work(rows), nn.NewCategorical(m.kinds, rows*m.Tokens)
	m.logits, m.dlogits = make(nn.Logits, rows*m.Tokens*m.kinds), make([]float32, rows*m.Tokens*m.kinds)
	m.target, m.counts = make([]int32, rows*m.Tokens), make([]bool, rows*m.Tokens)
	return m
}

// Gone is the token of who has left.
func (m *Model) Gone() int32 { return int32(m.kinds - 1) }

// Hidden stands in a plan where it is not known.
func (m *Model) Hidden() int32 { return int32(m.kinds) }

func (m *Model) width() int { return m.obs + levels + 1 + m.Tokens*(m.kinds+1) }

// add appends a row to what is read.
func (m *Model) add(obs []float32, level int, plan []int32) {
	for i, v := range obs {
		if v != 0 {
			m.x.AppendEntry(int32(i), v)
		}
	}
	at, hidden := int32(m.obs), 0
	m.x.AppendEntry(at+int32(level), 1)
	for _, k := range plan {
		if k == m.Hidden() {
			hidden++
		}
	}
	m.x.AppendEntry(at+levels, float32(hidden)/float32(len(plan)))
	at += levels + 1
	for i, k := range plan {
		m.x.AppendEntry(at+int32(i*(m.kinds+1))+k, 1)
	}
	m.x.EndRow()
}

// forward computes what stands where, for the rows that were added.
func (m *Model) forward() {
	n := m.x.Rows()
	m.trunk.ForwardSparse(m.Params, m.ws, &m.x)
	m.out.Forward(m.Params, m.logits[:n*m.Tokens*m.kinds], m.ws.Y, n)
	m.cat.Set(m.logits[:n*m.Tokens*m.kinds], nil, n*m.Tokens)
}

// Row is a step of recorded play: what an agent saw, what it earned from there on, and what all
// did next, by place.
type Row struct {
	Obs   []float32
	Level int
	Plan  []int32
}

// Noise hides each token of a plan with a probability that is drawn for the plan, and one at
// least; and forgets what was earned in a fifth of the rows.
func (m *Model) Noise(dst []int32, row *Row, r *rng.Rand) (level int) {
	share, hides := r.Float64(), false
	for i, k := range row.Plan {
		if dst[i] = k; r.Float64() < share {
			dst[i], hides = m.Hidden(), true
		}
	}
	if !hides {
		dst[r.IntN(len(dst))] = m.Hidden()
	}
	if level = row.Level; r.Float64() < 0.2 {
		level = Anything
	}
	return level
}

// Gradient adds the gradient of the mean cross-entropy of what is hidden in the plans given, a
// plan with noise for each of the rows, and returns the loss.
func (m *Model) Gradient(rows []*Row, noisy [][]int32, levels []int) nn.Loss {
	m.x.Reset(m.width())
	total := 0.
	for i, row := range rows {
		m.add(row.Obs, levels[i], noisy[i])
		for k, v := range noisy[i] {
			at := i*m.Tokens + k
			if m.target[at], m.counts[at] = row.Plan[k], v == m.Hidden(); m.counts[at] {
				total++
			}
		}
	}
	m.forward()
	n := len(rows)
	d := m.dlogits[:n*m.Tokens*m.kinds]
	clear(d)
	loss := m.cat.CrossEntropy(d, m.target[:n*m.Tokens], nil, nn.Rows{N: n * m.Tokens, Alive: m.counts, Scale: 1, Total: total})
	m.out.Backward(m.Params, m.ws.DY, d, m.ws.Y, m.logits, n)
	m.trunk.BackwardSparse(m.Params, m.ws, &m.x)
	return loss
}

// Learn takes so many gradient steps on rows drawn from data and returns the mean loss of the
// last tenth.
func (m *Model) Learn(data []Row, steps int, r *rng.Rand) (float64, error) {
	opt := nn.NewAdam(m.Params, nn.AdamConfig{Eps: 1e-5})
	rows, noisy, level := make([]*Row, m.rows), make([][]int32, m.rows), make([]int, m.rows)
	for i := range noisy {
		noisy[i] = make([]int32, m.Tokens)
	}
	var last nn.Loss
	for step := range steps {
		for i := range rows {
			rows[i] = &data[r.IntN(len(data))]
			level[i] = m.Noise(noisy[i], rows[i], r)
		}
		loss := m.Gradient(rows, noisy, level)
		if step >= steps*9/10 {
			last = last.Plus(loss)
		}
		rate := 0.5 * (1 + math.Cos(math.Pi*float64(step)/float64(steps)))
		if _, err := opt.Step(0.001*(0.05+0.95*rate), 1); err != nil {
			return 0, err
		}
	}
	return last.Mean(), nil
}

// Draw draws plans, at most as many as there is memory for, in so many rounds: in each an equal
// part of what is hidden still, at random places. legal says which actions may stand first.
func (m *Model) Draw(plans [][]int32, obs []float32, level, rounds int, legal []bool, r *rng.Rand) {
	for _, plan := range plans {
		for i := range plan {
			plan[i] = m.Hidden()
		}
	}
	for round := range rounds {
		m.x.Reset(m.width())
		for _, plan := range plans {
			m.add(obs, level, plan)
		}
		m.forward()
		for p, plan := range plans {
			m.uncover(plan, p, rounds-round, legal, r)
		}
	}
}

// uncover draws a part of what is hidden in plan p: the last of so many parts all of it.
func (m *Model) uncover(plan []int32, p, parts int, legal []bool, r *rng.Rand) {
	hidden := 0
	for _, k := range plan {
		if k == m.Hidden() {
			hidden++
		}
	}
	for i, left := 0, (hidden+parts-1)/parts; i < len(plan) && left > 0; i++ {
		if plan[i] != m.Hidden() {
			continue
		}
		if r.Float64() < float64(left)/float64(hidden) {
			plan[i] = m.token(p*m.Tokens+i, i == 0, legal, r)
			left--
		}
		hidden--
	}
}

// token draws what stands in a token; in the own first one a legal action.
func (m *Model) token(row int, first bool, legal []bool, r *rng.Rand) int32 {
	if !first || legal == nil {
		return m.cat.Sample(row, r)
	}
	_, p := m.cat.Row(row)
	allowed := make([]float32, len(legal))
	for k, ok := range legal {
		if ok {
			allowed[k] = p[k] + 1e-9
		}
	}
	return rng.Pick(allowed, r.Float32())
}
