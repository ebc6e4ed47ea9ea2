package pretrain

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/model/cvae"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/dataset"
)

// CVAEConfig says how the inference of subgoals is learnt from recorded episodes.
type CVAEConfig struct {
	Model    cvae.Config      `yaml:"model"`
	Learn    cvae.LearnConfig `yaml:"learn"`
	Selector string           `yaml:"selector" doc:"which of the states an agent reached next was its subgoal: the one of the highest or of the lowest value; all of them, in no order; or all up to its end, the sooner the more" oneof:"optimistic|conservative|set|trajectory"`
	Horizon  int              `yaml:"horizon" doc:"how many states ahead a subgoal lies at most" unit:"steps" range:"1..1000"`
	Value    string           `yaml:"value" doc:"what a state is worth to the selector: returns: what the agent did earn from there on; learnt: what a network expects of any agent there" oneof:"returns|learnt"`
	ValueNet cvae.ValueConfig `yaml:"value_net"`
	Gamma    float64          `yaml:"gamma" doc:"discount of the return that serves as a state's value" range:"0<..1"`
	Epochs   int              `yaml:"epochs" doc:"times the sequences are gone through at most" range:"1..10000"`
	Patience int              `yaml:"patience" doc:"stop after so many epochs without a better held-out KL, or InfoNCE; 0: never" range:"0.."`
	Gate     int              `yaml:"gate" doc:"score g as a planner with this gate would use it: neutral, zeros, unless the agent is within so many cells of something it could want; -1: always inferred" unit:"cells" range:"-1..1000"`
}

// DefaultCVAE returns OMG's horizon and weights.
func DefaultCVAE() CVAEConfig {
	return CVAEConfig{Model: cvae.Default(), Learn: cvae.DefaultLearn(), Selector: string(cvae.Optimistic), Horizon: cvae.Horizon,
		Value: "returns", ValueNet: cvae.DefaultValue(), Gamma: 0.95, Epochs: 8, Patience: 3, Gate: -1}
}

// Validate returns everything that is wrong, joined.
func (c CVAEConfig) Validate() error {
	return errors.Join(config.Check(c), config.At(c.Model.Validate(), "model", nil), config.At(c.ValueNet.Validate(), "value_net", nil))
}

// CVAE is the training of subgoal inference on a dataset, towards the codes of a
// VAE that stays as it is. With the VAE's seed, it learns from the same episodes.
type CVAE struct {
	*Training
	Config  CVAEConfig
	Data    *dataset.Data
	VAE     *vae.Model
	Codes   *nn.Params
	Parts   [3]Part // to learn from, to choose by, to score
	Seqs    [3]*cvae.Sequences
	Values  *Values
	Learner *cvae.Learner
	key     rng.Key
	order   []int
}

// NewCVAE prepares a run at its start.
func NewCVAE(cfg CVAEConfig, data *dataset.Data, m *vae.Model, codes *nn.Params, seed uint64) (*CVAE, error) {
	cfg.Model.Dim, cfg.Model.Classes = m.Width(), m.Discrete
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	in, err := vaeInput(data)
	if err != nil {
		return nil, err
	}
	if in != m.Input {
		return nil, fmt.Errorf("pretrain: the VAE reads %+v, the dataset has %+v; use a VAE trained on this game", m.Input, in)
	}
	c := &CVAE{Config: cfg, key: rng.New(seed), Data: data, VAE: m, Codes: codes}
	reads := cvae.Input{Input: in.Input, Seats: in.Agents, Actions: in.Actions}
	model, p, err := cvae.New(cfg.Model, reads, c.key.Child("cvae"))
	if err != nil {
		return nil, err
	}
	c.Parts = splitParts(data, c.key)
	longest := 0
	for i := range c.Parts {
		if c.Seqs[i] = c.sequences(model, &c.Parts[i]); c.Seqs[i].Len() == 0 {
			return nil, tooFew(data)
		}
	}
	if c.Values, err = c.values(); err != nil {
		return nil, err
	}
	for i := range c.Parts {
		c.subgoals(i)
		for k := range c.Seqs[i].Len() {
			longest = max(longest, c.Seqs[i].Steps(k))
		}
	}
	n := c.Seqs[0].Len()
	steps := cfg.Epochs * ((n + cfg.Learn.Batch - 1) / cfg.Learn.Batch)
	if c.Learner, err = cvae.NewLearner(model, p, cfg.Learn, longest, steps, c.key.Child("learn")); err != nil {
		return nil, config.At(err, "learn", nil)
	}
	c.order = make([]int, n)
	c.Training = newTraining(settings{
		kind: "cvae", metrics: [2]string{"cvae/learn/", "cvae/held/"}, epochs: cfg.Epochs, patience: cfg.Patience, rows: c.Seqs[0].Rows(),
		config: cfg.Model, input: reads, params: p, learner: c.Learner, epoch: c,
	})
	return c, nil
}

// sequences puts a part into the model's form.
func (c *CVAE) sequences(m *cvae.Model, part *Part) *cvae.Sequences {
	s, obs := m.Sequences(), make([]float32, c.Data.ObsLen())
	for _, q := range part.Seqs {
		addSequence(s, m, c.Data, q, obs)
	}
	return s
}

// addSequence adds one sequence of a dataset; obs is scratch.
func addSequence(s *cvae.Sequences, m *cvae.Model, d *dataset.Data, q dataset.Sequence, obs []float32) {
	last := make([]int32, m.Seats)
	for row := q.Lo; row < q.Hi; row++ {
		d.Observation(row, obs)
		for k := range last {
			last[k] = int32(d.Last[row*m.Seats+k])
		}
		s.Add(obs, last)
	}
	s.End()
}

// subgoals gives every row of a part the code of the state that the selector
// finds for it.
func (c *CVAE) subgoals(i int) {
	part, s, dim := &c.Parts[i], c.Seqs[i], c.VAE.Width()
	part.States = vaeRows(c.VAE, c.Data, part.Rows)
	var mu, logvar []float32
	c.VAE.Each(part.States, func(ws *vae.Work) {
		ws.Encode(c.Codes)
		n := ws.X.Rows() * dim
		if c.VAE.Discrete > 0 {
			mu, logvar = append(mu, ws.Class.P[:n]...), append(logvar, make([]float32, n)...)
			return
		}
		mu, logvar = append(mu, ws.Mu[:n]...), append(logvar, ws.LogVar[:n]...)
	})
	s.Mu, s.LogVar = make([]float32, s.Rows()*dim), make([]float32, s.Rows()*dim)
	value := func(row int) float32 { return c.Values.Of[i][row] }
	for k := range s.Len() {
		for row := s.Lo[k]; row < s.Lo[k+1]; row++ {
			at := row * dim
			cvae.Selector(c.Config.Selector).Goal(s.Mu[at:at+dim], s.LogVar[at:at+dim], row, s.Lo[k+1], c.Config.Horizon, value, mu, logvar)
		}
	}
}

// Pick returns the subgoal of a row whose sequence ends before row hi.
func (c *CVAE) Pick(row, hi int, value []float32) int {
	return cvae.Selector(c.Config.Selector).Pick(row, hi, c.Config.Horizon, func(r int) float32 { return value[r] })
}

// pass goes through the sequences once.
func (c *CVAE) pass(step func(rows int) error) ([]agent.Stat, error) {
	r := c.key.Child("epoch", c.Epoch).Rand()
	c.Learner.Order(c.order, c.Seqs[0], &r)
	n := c.Config.Learn.Batch
	batches := make([]int, (len(c.order)+n-1)/n)
	r.Perm(batches)
	var sum cvae.Terms
	for _, b := range batches {
		if err := step(sum.KL.Rows); err != nil {
			return nil, err
		}
		t, err := c.Learner.Step(c.Seqs[0], c.order[b*n:min((b+1)*n, len(c.order))])
		if err != nil {
			return nil, fmt.Errorf("pretrain: epoch %d: %w", c.Epoch+1, err)
		}
		sum = sum.Plus(t)
	}
	rows := c.Seqs[0].Rows()
	return []agent.Stat{{Name: "feature", Value: sum.Feature.Mean(), N: rows}, {Name: c.Config.Learn.Loss, Value: sum.KL.Mean(), N: rows},
		{Name: "mix", Value: c.Learner.Weights(c.Learner.Steps()).Mix, N: rows}}, nil
}

// Goals calls do for every row of a part with the inferred distribution of its
// goal, row counted within the part.
func (c *CVAE) Goals(part int, do func(row int, mu, logvar []float32)) {
	m, p, s := c.Learner.Model, c.Learner.Params, c.Seqs[part]
	longest := 0
	for k := range s.Len() {
		longest = max(longest, s.Steps(k))
	}
	const batch = 32
	ws, pick := m.Work(batch*longest), make([]int, 0, batch)
	for lo := 0; lo < s.Len(); lo += batch {
		pick = pick[:0]
		for i := lo; i < min(lo+batch, s.Len()); i++ {
			pick = append(pick, i)
		}
		ws.Load(s, pick)
		ws.Forward(p)
		for n, i := range pick {
			for t := range s.Steps(i) {
				at := ws.Row(t, n) * m.Dim
				do(s.Lo[i]+t, ws.Mu[at:at+m.Dim], ws.LogVar[at:at+m.Dim])
			}
		}
	}
}

// Held returns the loss of Learn.Loss last: the KL between what is inferred and the subgoal's code, and how far
// their means are apart beside how far those of chance are.
func (c *CVAE) Held(part int) []agent.Stat {
	m, s := c.Learner.Model, c.Seqs[part]
	kl, square, spread := 0., 0., 0.
	mean := make([]float64, m.Dim)
	for i, v := range s.Mu {
		mean[i%m.Dim] += float64(v) / float64(s.Rows())
	}
	means, logvars := make([]float32, len(s.Mu)), make([]float32, len(s.Mu))
	c.Goals(part, func(row int, mu, logvar []float32) {
		copy(means[row*m.Dim:], mu)
		copy(logvars[row*m.Dim:], logvar)
		if m.Classes > 0 {
			kl += m.KL(mu, s.Mu[row*m.Dim:(row+1)*m.Dim])
		}
		for d := range mu {
			pm, pv := float64(s.Mu[row*m.Dim+d]), float64(s.LogVar[row*m.Dim+d])
			e := float64(mu[d]) - pm
			if m.Classes == 0 {
				kl += 0.5 * (pv - float64(logvar[d]) + (math.Exp(float64(logvar[d]))+e*e)/math.Exp(pv) - 1)
			}
			square += e * e
			spread += (pm - mean[d]) * (pm - mean[d])
		}
	})
	stats := []agent.Stat{{Name: "explained", Value: 1 - square/spread, N: s.Rows()}, {Name: "kl", Value: kl / float64(s.Rows()), N: s.Rows()}}
	if c.Config.Learn.Loss == "nce" {
		stats = append(stats, agent.Stat{Name: "nce", Value: m.Contrast(means, logvars, s.Mu), N: s.Rows()})
	}
	return stats
}

// held scores the weights on the sequences to choose by.
func (c *CVAE) held(string) ([]agent.Stat, float64, error) {
	terms := c.Held(1)
	return terms, terms[len(terms)-1].Value, nil
}

// Values are what the selector goes by: a number for every row of every part.
type Values struct {
	Of     [3][]float32
	Earned [3][]float32 // the recorded returns
	Learnt bool         // Of is what a network expects; else it is Earned
	Epochs []float64    // share of the variance of returns that was explained on the rows to choose by
}

// values computes the recorded returns and, if so set, teaches a network to
// expect them. It depends on the seed and the data alone, so that a resumed run
// finds the same.
func (c *CVAE) values() (*Values, error) {
	v := &Values{Learnt: c.Config.Value == "learnt"}
	for i := range c.Parts {
		v.Earned[i] = make([]float32, len(c.Parts[i].Rows))
		at := 0
		for _, q := range c.Parts[i].Seqs {
			hi := at + q.Hi - q.Lo
			cvae.Returns(v.Earned[i][at:hi], c.Data.Reward[q.Lo:q.Hi], float32(c.Config.Gamma))
			at = hi
		}
		v.Of[i] = v.Earned[i]
	}
	if !v.Learnt {
		return v, nil
	}
	net, err := cvae.NewValue(c.Config.ValueNet, c.Seqs[0].X.Cols, c.key.Child("value").Child("init"))
	if err != nil {
		return nil, config.At(err, "value_net", nil)
	}
	for i := range v.Of {
		v.Of[i] = make([]float32, len(v.Earned[i]))
	}
	best, weights := math.Inf(-1), slices.Clone(net.Params.W)
	r := c.key.Child("value").Child("order").Rand()
	err = net.Learn(&c.Seqs[0].X, v.Earned[0], &r, func(float64) error {
		net.Of(v.Of[1], &c.Seqs[1].X)
		e := Explained(v.Of[1], v.Earned[1])
		if v.Epochs = append(v.Epochs, e); e > best {
			best = e
			copy(weights, net.Params.W)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	copy(net.Params.W, weights)
	for i := range v.Of {
		net.Of(v.Of[i], &c.Seqs[i].X)
	}
	return v, nil
}

// Explained returns the share of the variance of want that got accounts for.
func Explained(got, want []float32) float64 {
	mean, square, spread := 0., 0., 0.
	for _, w := range want {
		mean += float64(w) / float64(len(want))
	}
	for i, w := range want {
		square += float64(got[i]-w) * float64(got[i]-w)
		spread += (float64(w) - mean) * (float64(w) - mean)
	}
	return 1 - square/max(spread, 1e-12)
}
