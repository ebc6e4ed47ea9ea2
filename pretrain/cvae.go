package pretrain

import (
	"context"
	"encoding/json"
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
	"hop/safetensors"
)

// CVAEConfig says how the inference of subgoals is learnt from recorded episodes.
type CVAEConfig struct {
	Model    cvae.Config      `yaml:"model"`
	Learn    cvae.LearnConfig `yaml:"learn"`
	Selector string           `yaml:"selector" doc:"which of the states an agent reached next was its subgoal: the one of the highest or of the lowest value" oneof:"optimistic|conservative"`
	Horizon  int              `yaml:"horizon" doc:"how many states ahead a subgoal lies at most" unit:"steps" range:"1..1000"`
	Gamma    float64          `yaml:"gamma" doc:"discount of the recorded return that serves as a state's value" range:"0<..1"`
	Epochs   int              `yaml:"epochs" doc:"times the sequences are gone through at most" range:"1..10000"`
	Patience int              `yaml:"patience" doc:"stop after so many epochs without a better held-out KL; 0: never" range:"0.."`
}

// DefaultCVAE returns OMG's horizon and weights.
func DefaultCVAE() CVAEConfig {
	return CVAEConfig{Model: cvae.Default(), Learn: cvae.DefaultLearn(), Selector: string(cvae.Optimistic), Horizon: cvae.Horizon, Gamma: 0.95, Epochs: 8, Patience: 3}
}

// Validate returns everything that is wrong, joined.
func (c CVAEConfig) Validate() error {
	return errors.Join(field.Check(c), field.At(c.Model.Validate(), "model", nil))
}

// CVAE is the training of subgoal inference on a dataset, towards the codes of a
// VAE that stays as it is. With the VAE's seed, it learns from the same episodes.
type CVAE struct {
	cfg    CVAEConfig
	key    rng.Key
	data   *dataset.Data
	vae    *vae.Model
	codes  *nn.Params
	parts  [3]pretrainPart
	seqs   [3]*cvae.Sequences
	learn  *cvae.Learner
	order  []int
	epoch  int
	best   float64
	bestAt int
	bestW  []float32
	past   []vaeEpoch
}

// NewCVAE prepares a run at its start.
func NewCVAE(cfg CVAEConfig, data *dataset.Data, m *vae.Model, codes *nn.Params, seed uint64) (*CVAE, error) {
	if m.Discrete > 0 {
		return nil, errors.New("pretrain: subgoals are inferred as normal distributions, but this VAE's goals are discrete; use one trained without --discrete")
	}
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
	c := &CVAE{cfg: cfg, key: rng.New(seed), data: data, vae: m, codes: codes, best: math.Inf(1)}
	model, p, err := cvae.New(cfg.Model, cvae.Input{Input: in.Input, Seats: in.Agents, Actions: in.Actions}, c.key.Child("cvae"))
	if err != nil {
		return nil, err
	}
	c.parts = splitParts(data, c.key)
	longest := 0
	for i := range c.parts {
		c.seqs[i] = c.sequences(model, &c.parts[i])
		if c.seqs[i].Len() == 0 {
			return nil, fmt.Errorf("pretrain: %d episodes are too few to learn from, choose by and judge by; collect more", data.Episodes)
		}
		for k := range c.seqs[i].Len() {
			longest = max(longest, c.seqs[i].Steps(k))
		}
	}
	n := c.seqs[0].Len()
	steps := cfg.Epochs * ((n + cfg.Learn.Batch - 1) / cfg.Learn.Batch)
	if c.learn, err = cvae.NewLearner(model, p, cfg.Learn, longest, steps, c.key.Child("learn")); err != nil {
		return nil, field.At(err, "learn", nil)
	}
	c.order, c.bestW = make([]int, n), slices.Clone(p.W)
	return c, nil
}

// sequences puts a part into the model's form, with the code of the subgoal that
// the selector finds for every row.
func (c *CVAE) sequences(m *cvae.Model, part *pretrainPart) *cvae.Sequences {
	d := c.data
	part.vae = vaeRows(c.vae, d, part.rows)
	var mu, logvar []float32
	inBatches(c.vae, part.vae, func(ws *vae.Work, _ int) {
		ws.Encode(c.codes)
		n := ws.X.Rows() * c.vae.Width()
		mu, logvar = append(mu, ws.Mu[:n]...), append(logvar, ws.LogVar[:n]...)
	})
	s, dim := m.Sequences(), c.vae.Width()
	obs, last := make([]float32, d.ObsLen()), make([]int32, m.Seats)
	value := make([]float32, len(part.rows))
	at := 0
	for _, q := range part.seqs {
		hi := at + q.Hi - q.Lo
		cvae.Returns(value[at:hi], d.Reward[q.Lo:q.Hi], float32(c.cfg.Gamma))
		for row := q.Lo; row < q.Hi; row++ {
			d.Observation(row, obs)
			for k := range last {
				last[k] = int32(d.Last[row*m.Seats+k])
			}
			s.Add(obs, last)
			goal := cvae.Selector(c.cfg.Selector).Pick(at+row-q.Lo, hi, c.cfg.Horizon, func(r int) float32 { return value[r] })
			s.Mu = append(s.Mu, mu[goal*dim:(goal+1)*dim]...)
			s.LogVar = append(s.LogVar, logvar[goal*dim:(goal+1)*dim]...)
		}
		s.End()
		at = hi
	}
	return s
}

// Model returns the model and its weights: the best ones after Run.
func (c *CVAE) Model() (*cvae.Model, *nn.Params) { return c.learn.Model, c.learn.Params }

// Run learns until the epochs are over, the held-out KL stops falling or ctx ends,
// in which case it returns ctx's error; whole epochs are saved. It ends with the
// best weights in place.
func (c *CVAE) Run(ctx context.Context, run *runlog.Run, watch func(epoch, epochs int, learn, held map[string]float64)) error {
	for c.epoch < c.cfg.Epochs && (c.cfg.Patience == 0 || c.epoch-c.bestAt < c.cfg.Patience) {
		learnt, err := c.pass(ctx)
		if err != nil {
			return err
		}
		held := c.held(1)
		c.epoch++
		if o := held["kl"]; o < c.best {
			c.best, c.bestAt = o, c.epoch
			copy(c.bestW, c.learn.Params.W)
		}
		c.past = append(c.past, vaeEpoch{learnt, held})
		var rows []runlog.Row
		for _, part := range []struct {
			name string
			of   map[string]float64
			n    int
		}{{"learn/", learnt, c.seqs[0].Rows()}, {"held/", held, c.seqs[1].Rows()}} {
			for _, name := range sortedKeys(part.of) {
				rows = append(rows, runlog.Row{Step: int64(c.epoch), Name: "cvae/" + part.name + name, Agent: -1, Value: part.of[name], N: part.n})
			}
		}
		if err := run.Log(rows); err != nil {
			return err
		}
		if err := c.save(run); err != nil {
			return err
		}
		if watch != nil {
			watch(c.epoch, c.cfg.Epochs, learnt, held)
		}
	}
	copy(c.learn.Params.W, c.bestW)
	return nil
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

// cvaeMeta is what a checkpoint says about its model.
type cvaeMeta struct {
	Config cvae.Config
	Input  cvae.Input
	Best   float64
	BestAt int
	Past   []vaeEpoch
}

func (c *CVAE) save(run *runlog.Run) error {
	meta, err := json.Marshal(cvaeMeta{c.cfg.Model, c.learn.Model.Input, c.best, c.bestAt, c.past})
	if err != nil {
		return err
	}
	f := &safetensors.File{Meta: map[string]string{"cvae": string(meta)}}
	c.learn.Save(f, "now/")
	saveAs(f, "best/", c.learn.Params, c.bestW)
	body, err := f.AppendBinary(nil)
	if err != nil {
		return err
	}
	return run.Checkpoint(int64(c.epoch), body, -c.best, runlog.Keep{Last: 2})
}

// Resume goes back to a checkpoint of the same run.
func (c *CVAE) Resume(body []byte, epoch int64) error {
	f, meta, err := openCVAE(body)
	if err == nil {
		if err = c.learn.Params.Load(f, "best/"); err == nil {
			copy(c.bestW, c.learn.Params.W)
			err = c.learn.Load(f, "now/")
		}
	}
	if err != nil {
		return fmt.Errorf("pretrain: resuming the inference of subgoals: %w", err)
	}
	c.epoch, c.best, c.bestAt, c.past = int(epoch), meta.Best, meta.BestAt, meta.Past
	return nil
}

func openCVAE(body []byte) (*safetensors.File, cvaeMeta, error) {
	var meta cvaeMeta
	f, err := safetensors.Parse(body)
	if err != nil {
		return nil, meta, err
	}
	if err := json.Unmarshal([]byte(f.Meta["cvae"]), &meta); err != nil {
		return nil, meta, fmt.Errorf("the checkpoint is not of an inference of subgoals: %w", err)
	}
	return f, meta, nil
}

// LoadCVAE returns the model of a run's folder with its best weights.
func LoadCVAE(dir string) (*cvae.Model, *nn.Params, error) {
	body, _, err := runlog.Last(dir)
	if err != nil {
		return nil, nil, err
	}
	f, meta, err := openCVAE(body)
	if err != nil {
		return nil, nil, fmt.Errorf("pretrain: loading the inference of subgoals of %s: %w; train one with hop pretrain cvae", dir, err)
	}
	m, p, err := cvae.New(meta.Config, meta.Input, rng.Key{})
	if err == nil {
		err = p.Load(f, "best/")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("pretrain: loading the inference of subgoals of %s: %w", dir, err)
	}
	return m, p, nil
}

// Judge measures the best weights; g is the dataset's game.
func (c *CVAE) Judge(g game.Game) (*CVAEScore, error) {
	s := &CVAEScore{Rows: c.seqs[2].Rows(), Terms: c.held(2), Epochs: c.epoch, BestEpoch: c.bestAt, past: c.past, goals: c.data.Layout.Goals}
	learn, held := c.inferred(0), c.inferred(2)
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
	return s, nil
}

// inferred returns the means of the goals of a part, with the goals reached.
func (c *CVAE) inferred(part int) vae.Codes {
	out := vae.Codes{Dim: c.learn.Dim, Z: make([]float32, c.seqs[part].Rows()*c.learn.Dim)}
	c.goals(part, func(row int, mu, _ []float32) { copy(out.Z[row*out.Dim:], mu) })
	for _, row := range c.parts[part].rows {
		out.Label = append(out.Label, int(c.data.Goal[row]))
	}
	return out
}
