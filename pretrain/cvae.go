package pretrain

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"hop/dataset"
	"hop/field"
	"hop/game"
	"hop/model/cvae"
	"hop/model/vae"
	"hop/nn"
	"hop/rng"
	"hop/runlog"
)

// CVAEConfig says how the inference of subgoals is learnt from recorded episodes.
type CVAEConfig struct {
	Model    cvae.Config      `yaml:"model"`
	Learn    cvae.LearnConfig `yaml:"learn"`
	Selector string           `yaml:"selector" doc:"which of the states an agent reached next was its subgoal: the one of the highest or of the lowest value" oneof:"optimistic|conservative"`
	Horizon  int              `yaml:"horizon" doc:"how many states ahead a subgoal lies at most" unit:"steps" range:"1..1000"`
	Value    string           `yaml:"value" doc:"what a state is worth to the selector: returns: what the agent did earn from there on; learnt: what a network expects of any agent there" oneof:"returns|learnt"`
	ValueNet cvae.ValueConfig `yaml:"value_net"`
	Gamma    float64          `yaml:"gamma" doc:"discount of the return that serves as a state's value" range:"0<..1"`
	Epochs   int              `yaml:"epochs" doc:"times the sequences are gone through at most" range:"1..10000"`
	Patience int              `yaml:"patience" doc:"stop after so many epochs without a better held-out KL; 0: never" range:"0.."`
	Gate     int              `yaml:"gate" doc:"judge g as a planner with this gate would use it: neutral, zeros, unless the agent is within so many cells of something it could want; -1: always inferred" unit:"cells" range:"-1..1000"`
}

// DefaultCVAE returns OMG's horizon and weights.
func DefaultCVAE() CVAEConfig {
	return CVAEConfig{Model: cvae.Default(), Learn: cvae.DefaultLearn(), Selector: string(cvae.Optimistic), Horizon: cvae.Horizon, Value: "returns", ValueNet: cvae.DefaultValue(), Gamma: 0.95, Epochs: 8, Patience: 3, Gate: -1}
}

// Validate returns everything that is wrong, joined.
func (c CVAEConfig) Validate() error {
	return errors.Join(field.Check(c), field.At(c.Model.Validate(), "model", nil), field.At(c.ValueNet.Validate(), "value_net", nil))
}

// CVAE is the training of subgoal inference on a dataset, towards the codes of a
// VAE that stays as it is. With the VAE's seed, it learns from the same episodes.
type CVAE struct {
	cfg   CVAEConfig
	key   rng.Key
	data  *dataset.Data
	vae   *vae.Model
	codes *nn.Params
	parts [3]pretrainPart
	seqs  [3]*cvae.Sequences
	worth *stateValues
	learn *cvae.Learner
	order []int
	course
}

// NewCVAE prepares a run at its start.
func NewCVAE(cfg CVAEConfig, data *dataset.Data, m *vae.Model, codes *nn.Params, seed uint64) (*CVAE, error) {
	cfg.Model.Dim = m.Width()
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
	c := &CVAE{cfg: cfg, key: rng.New(seed), data: data, vae: m, codes: codes}
	model, p, err := cvae.New(cfg.Model, cvae.Input{Input: in.Input, Seats: in.Agents, Actions: in.Actions}, c.key.Child("cvae"))
	if err != nil {
		return nil, err
	}
	c.parts = splitParts(data, c.key)
	longest := 0
	for i := range c.parts {
		if c.seqs[i] = c.sequences(model, &c.parts[i]); c.seqs[i].Len() == 0 {
			return nil, fmt.Errorf("pretrain: %d episodes are too few to learn from, choose by and judge by; collect more", data.Episodes)
		}
	}
	if c.worth, err = c.values(); err != nil {
		return nil, err
	}
	for i := range c.parts {
		c.subgoals(i)
		for k := range c.seqs[i].Len() {
			longest = max(longest, c.seqs[i].Steps(k))
		}
	}
	n := c.seqs[0].Len()
	steps := cfg.Epochs * ((n + cfg.Learn.Batch - 1) / cfg.Learn.Batch)
	if c.learn, err = cvae.NewLearner(model, p, cfg.Learn, longest, steps, c.key.Child("learn")); err != nil {
		return nil, field.At(err, "learn", nil)
	}
	c.order, c.course = make([]int, n), newCourse("cvae", "inference of subgoals", cfg.Epochs, cfg.Patience, p)
	return c, nil
}

// discreteLogVar is the spread of a discrete code's probabilities, as the target
// of an inference by normal distributions: a deviation of 0.14.
const discreteLogVar = -4

// sequences puts a part into the model's form.
func (c *CVAE) sequences(m *cvae.Model, part *pretrainPart) *cvae.Sequences {
	d := c.data
	s := m.Sequences()
	obs, last := make([]float32, d.ObsLen()), make([]int32, m.Seats)
	for _, q := range part.seqs {
		for row := q.Lo; row < q.Hi; row++ {
			d.Observation(row, obs)
			for k := range last {
				last[k] = int32(d.Last[row*m.Seats+k])
			}
			s.Add(obs, last)
		}
		s.End()
	}
	return s
}

// subgoals gives every row of a part the code of the state that the selector
// finds for it.
func (c *CVAE) subgoals(i int) {
	part, s, dim := &c.parts[i], c.seqs[i], c.vae.Width()
	part.vae = vaeRows(c.vae, c.data, part.rows)
	var mu, logvar []float32
	inBatches(c.vae, part.vae, func(ws *vae.Work, _ int) {
		ws.Encode(c.codes)
		n := ws.X.Rows() * dim
		if c.vae.Discrete > 0 {
			mu, logvar = append(mu, ws.Class.P[:n]...), append(logvar, slices.Repeat([]float32{discreteLogVar}, n)...)
			return
		}
		mu, logvar = append(mu, ws.Mu[:n]...), append(logvar, ws.LogVar[:n]...)
	})
	for k := range s.Len() {
		for row := s.Lo[k]; row < s.Lo[k+1]; row++ {
			goal := c.pick(row, s.Lo[k+1], c.worth.of[i])
			s.Mu = append(s.Mu, mu[goal*dim:(goal+1)*dim]...)
			s.LogVar = append(s.LogVar, logvar[goal*dim:(goal+1)*dim]...)
		}
	}
}

// pick returns the subgoal of a row whose sequence ends before row hi.
func (c *CVAE) pick(row, hi int, value []float32) int {
	return cvae.Selector(c.cfg.Selector).Pick(row, hi, c.cfg.Horizon, func(r int) float32 { return value[r] })
}

// Model returns the model and its weights: the best ones after Run.
func (c *CVAE) Model() (*cvae.Model, *nn.Params) { return c.learn.Model, c.learn.Params }

// Run learns until the epochs are over, the held-out KL stops falling or ctx ends,
// in which case it returns ctx's error; whole epochs are saved. It ends with the
// best weights in place.
func (c *CVAE) Run(ctx context.Context, run *runlog.Run, watch func(epoch, epochs int, learn, held map[string]float64)) error {
	return c.run(ctx, run, lessons{
		params: c.learn.Params, metric: "cvae",
		pass: func(ctx context.Context) (measured, error) {
			terms, err := c.pass(ctx)
			return measured{terms, c.seqs[0].Rows()}, err
		},
		held: func() (measured, float64) {
			terms := c.held(1)
			return measured{terms, c.seqs[1].Rows()}, terms["kl"]
		},
		save: func() ([]byte, error) {
			return pack(&c.course, c.cfg.Model, c.learn.Model.Input, c.learn.Params, c.learn)
		},
	}, watch)
}

// pass goes through the sequences once.
func (c *CVAE) pass(ctx context.Context) (map[string]float64, error) {
	r := c.key.Child("epoch", c.epoch).Rand()
	c.learn.Order(c.order, c.seqs[0], &r)
	n := c.cfg.Learn.Batch
	batches := make([]int, (len(c.order)+n-1)/n)
	r.Perm(batches)
	var sum cvae.Terms
	for _, b := range batches {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t, err := c.learn.Step(c.seqs[0], c.order[b*n:min((b+1)*n, len(c.order))])
		if err != nil {
			return nil, fmt.Errorf("pretrain: epoch %d: %w", c.epoch+1, err)
		}
		sum = sum.Plus(t)
	}
	return map[string]float64{"feature": sum.Feature.Mean(), "kl": sum.KL.Mean(), "mix": c.learn.Mix()}, nil
}

// goals calls do for every row of a part with the inferred distribution of its
// goal, row counted within the part.
func (c *CVAE) goals(part int, do func(row int, mu, logvar []float32)) {
	m, p := c.Model()
	s := c.seqs[part]
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

// held returns the KL between what is inferred and the subgoal's code, and how far
// their means are apart beside how far those of chance are.
func (c *CVAE) held(part int) map[string]float64 {
	m, s := c.learn.Model, c.seqs[part]
	kl, square, spread := 0., 0., 0.
	mean := make([]float64, m.Dim)
	for i, v := range s.Mu {
		mean[i%m.Dim] += float64(v) / float64(s.Rows())
	}
	c.goals(part, func(row int, mu, logvar []float32) {
		for d := range mu {
			pm, pv := float64(s.Mu[row*m.Dim+d]), float64(s.LogVar[row*m.Dim+d])
			e := float64(mu[d]) - pm
			kl += 0.5 * (pv - float64(logvar[d]) + (math.Exp(float64(logvar[d]))+e*e)/math.Exp(pv) - 1)
			square += e * e
			spread += (pm - mean[d]) * (pm - mean[d])
		}
	})
	return map[string]float64{"kl": kl / float64(s.Rows()), "explained": 1 - square/spread}
}

// Resume goes back to a checkpoint of the same run.
func (c *CVAE) Resume(body []byte, epoch int64) error {
	return unpack[cvae.Config, cvae.Input](&c.course, body, epoch, c.learn.Params, c.learn)
}

// LoadCVAE returns the model of a run's folder with its best weights.
func LoadCVAE(dir string) (*cvae.Model, *nn.Params, error) { return load(dir, "cvae", cvae.New) }

// Judge measures the best weights; g is the dataset's game.
func (c *CVAE) Judge(g game.Game) (*CVAEScore, error) {
	s := &CVAEScore{Rows: c.seqs[2].Rows(), Terms: c.held(2), Epochs: c.epoch, BestEpoch: c.bestAt, past: c.past, goals: c.data.Layout.Goals}
	learn, _ := c.inferred(0)
	held, open := c.inferred(2)
	s.Open = open
	s.codes, s.Active, s.Width = held, vae.Active(held), held.Dim
	if goals := len(c.data.Layout.Goals); goals > 1 {
		score := vae.FitProbe(learn, goals).Score(held)
		s.Probe, s.Majority, s.Info, s.ProbeRows = score.Accuracy, score.Majority, score.Info, score.N
		var err error
		if s.ProbeLimit, _, err = historyLimit(c.data, g, c.parts[0].rows, c.parts[2].rows); err != nil {
			return nil, err
		}
		s.ByStep, s.LimitByStep, err = c.bySteps(g, learn, held)
		if err != nil {
			return nil, err
		}
	}
	c.hits(s, held)
	s.Value = c.worth.judge(c)
	s.sound = soundOf(c.data, &c.parts[0]).learnt(&c.course, c.learn.Params, "kl")
	s.Left = s.sound.left
	return s, nil
}

// inferred returns the means of the goals of a part, with the goals reached, and
// the share of rows at which the gate is open.
func (c *CVAE) inferred(part int) (vae.Codes, float64) {
	out := vae.Codes{Dim: c.learn.Dim, Z: make([]float32, c.seqs[part].Rows()*c.learn.Dim)}
	c.goals(part, func(row int, mu, _ []float32) { copy(out.Z[row*out.Dim:], mu) })
	gate := vae.Gate{Layout: c.vae.Input.Input, Distance: c.cfg.Gate}
	for i, plane := range c.data.Layout.Planes {
		if slices.Contains(c.data.Layout.Goals, plane) {
			gate.Prey = append(gate.Prey, i)
		}
	}
	obs, open := make([]float32, c.data.ObsLen()), 0.
	for i, row := range c.parts[part].rows {
		out.Label = append(out.Label, int(c.data.Goal[row]))
		c.data.Observation(int(row), obs)
		open += share(gate.Apply(out.Z[i*out.Dim:(i+1)*out.Dim], obs))
	}
	return out, open / float64(max(len(out.Label), 1))
}
