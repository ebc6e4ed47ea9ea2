package pretrain

import (
	"context"
	"errors"
	"fmt"

	"hop/dataset"
	"hop/field"
	"hop/model/vae"
	"hop/nn"
	"hop/rng"
	"hop/runlog"
)

// VAEConfig says how codes of states are learnt from recorded steps.
type VAEConfig struct {
	Model    vae.Config      `yaml:"model"`
	Learn    vae.LearnConfig `yaml:"learn"`
	Ahead    int             `yaml:"ahead" doc:"loss b: z also has to help predict the agent's actions up to so many steps later, each as often; 0: the present one only, as in the notes" range:"0..100"`
	Epochs   int             `yaml:"epochs" doc:"times the rows are gone through at most" range:"1..10000"`
	Patience int             `yaml:"patience" doc:"stop after so many epochs without a better held-out objective; 0: never" range:"0.."`
}

// DefaultVAE returns the settings of docs/opponents.md for loss a or b. Loss A
// needs width and epochs to tell all agents' cells apart; loss B fits the rows it
// learns from within a few.
func DefaultVAE(loss string) VAEConfig {
	c := VAEConfig{Model: vae.Default(), Learn: vae.DefaultLearn(), Epochs: 10, Patience: 4}
	c.Model.Loss, c.Model.Hidden = loss, []int{512, 256}
	if loss == "b" {
		c.Model.Hidden, c.Model.Outcome, c.Ahead = []int{256, 128}, 0.5, 5
		c.Epochs, c.Learn.LR = 6, 1e-3
	}
	return c
}

// Validate returns everything that is wrong, joined.
func (c VAEConfig) Validate() error {
	return errors.Join(field.Check(c), field.At(c.Model.Validate(), "model", nil))
}

// VAE is the training of codes of states on a dataset: 85 % of the episodes to
// learn from, 5 % to choose the weights by, 10 % to judge them by.
type VAE struct {
	cfg   VAEConfig
	key   rng.Key
	data  *dataset.Data
	parts [3]pretrainPart // learn, choose, judge
	learn *vae.Learner
	order []int
	course
}

// pretrainPart is one part of the data in the model's form.
type pretrainPart struct {
	rows []int32
	seqs []dataset.Sequence
	last []int32 // of each row, the last row of its sequence
	vae  *vae.Rows
}

// NewVAE prepares a run at its start.
func NewVAE(cfg VAEConfig, data *dataset.Data, seed uint64) (*VAE, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	v := &VAE{cfg: cfg, key: rng.New(seed), data: data}
	in, err := vaeInput(data)
	if err != nil {
		return nil, err
	}
	m, p, err := vae.New(cfg.Model, in, v.key.Child("init"))
	if err != nil {
		return nil, fmt.Errorf("pretrain: codes of this data's states: %w", err)
	}
	v.parts = splitParts(data, v.key)
	for i := range v.parts {
		v.parts[i].vae = vaeRows(m, data, v.parts[i].rows)
		v.parts[i].outcomes()
		if v.parts[i].vae.Len() == 0 {
			return nil, fmt.Errorf("pretrain: %d episodes are too few to learn from, choose by and judge by; collect more", data.Episodes)
		}
	}
	n := v.parts[0].vae.Len()
	steps := cfg.Epochs * ((n + cfg.Learn.Batch - 1) / cfg.Learn.Batch)
	if v.learn, err = vae.NewLearner(m, p, cfg.Learn, steps, v.key.Child("learn")); err != nil {
		return nil, field.At(err, "learn", nil)
	}
	v.order, v.course = make([]int, n), newCourse("vae", "code of states", cfg.Epochs, cfg.Patience, p)
	return v, nil
}

// vaeInput reads off the dataset what the model sees. The first planes of a game
// on a board are its agents', one each, oneself first.
func vaeInput(d *dataset.Data) (vae.Input, error) {
	l := d.Layout
	if len(l.Planes) < l.Seats || l.Height == 0 {
		return vae.Input{}, errors.New("pretrain: a code of states needs a board with a plane for each agent, which this dataset's game has not; choose a game on a board")
	}
	in := vae.Input{Agents: l.Seats, Actions: len(l.Actions)}
	in.Height, in.Input.Width, in.Planes = l.Height, l.Width, len(l.Planes)
	in.Rest = d.ObsLen() - l.Height*l.Width*len(l.Planes)
	return in, nil
}

// splitParts deals whole episodes to three parts.
func splitParts(d *dataset.Data, key rng.Key) (parts [3]pretrainPart) {
	r := key.Child("split").Rand()
	first, rest := d.SplitByEpisode(0.85, &r)
	parts[0].rows, parts[0].seqs = first.Rows, first.Sequences
	for _, q := range rest.Sequences {
		to := &parts[2]
		if q.Episode%3 == 0 {
			to = &parts[1]
		}
		to.seqs = append(to.seqs, q)
		for row := q.Lo; row < q.Hi; row++ {
			to.rows = append(to.rows, int32(row))
		}
	}
	for i := range parts {
		part := &parts[i]
		for _, q := range part.seqs {
			end := len(part.last) + q.Hi - q.Lo - 1
			for range q.Hi - q.Lo {
				part.last = append(part.last, int32(end))
			}
		}
	}
	return parts
}

// vaeRows puts rows into the model's form. A dataset has only rows of agents that
// were alive.
func vaeRows(m *vae.Model, d *dataset.Data, pick []int32) *vae.Rows {
	rows, obs, k := m.Rows(), make([]float32, d.ObsLen()), len(d.Layout.Actions)
	for _, i := range pick {
		d.Observation(int(i), obs)
		rows.Add(obs, d.Legal[int(i)*k:(int(i)+1)*k], int32(d.Action[i]))
	}
	return rows
}

// outcomes tells every row its agent's last action.
func (p *pretrainPart) outcomes() {
	for i := range p.vae.Outcome {
		p.vae.Outcome[i] = p.vae.Action[p.last[i]]
	}
}

// Model returns the model and its weights: the best ones after Run.
func (v *VAE) Model() (*vae.Model, *nn.Params) { return v.learn.Model, v.learn.Params }

// Run learns until the epochs are over, the held-out objective stops falling or
// ctx ends, in which case it returns ctx's error; whole epochs are saved. It ends
// with the best weights in place.
func (v *VAE) Run(ctx context.Context, run *runlog.Run, watch func(epoch, epochs int, learn, held map[string]float64)) error {
	return v.run(ctx, run, lessons{
		params: v.learn.Params, metric: "vae_" + v.cfg.Model.Loss,
		pass: func(ctx context.Context) (measured, error) {
			t, err := v.pass(ctx)
			return measured{v.named(t), t.KL.Rows}, err
		},
		held: func() (measured, float64) {
			t := v.terms(v.parts[1].vae)
			return measured{v.named(t), t.KL.Rows}, v.objective(t)
		},
		save: func() ([]byte, error) {
			return pack(&v.course, v.cfg.Model, v.learn.Model.Input, v.learn.Params, v.learn)
		},
	}, watch)
}

// pass goes through the rows once.
func (v *VAE) pass(ctx context.Context) (vae.Terms, error) {
	r := v.key.Child("epoch", v.epoch).Rand()
	r.Perm(v.order)
	var sum vae.Terms
	ahead := make([]int, len(v.order))
	for i, at := range v.order {
		ahead[i] = at + r.IntN(1+min(v.cfg.Ahead, int(v.parts[0].last[at])-at))
	}
	for lo := 0; lo < len(v.order); lo += v.cfg.Learn.Batch {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		hi := min(lo+v.cfg.Learn.Batch, len(v.order))
		t, err := v.learn.Step(v.parts[0].vae, v.order[lo:hi], ahead[lo:hi])
		if err != nil {
			return sum, fmt.Errorf("pretrain: epoch %d: %w", v.epoch+1, err)
		}
		sum = sum.Plus(t)
	}
	return sum, nil
}

// inBatches fills a workspace with the rows, a batch at a time.
func inBatches(m *vae.Model, rows *vae.Rows, do func(ws *vae.Work, first int)) {
	const batch = 512
	ws := m.Work(batch)
	for lo := 0; lo < rows.Len(); lo += batch {
		ws.Reset()
		for i := lo; i < min(lo+batch, rows.Len()); i++ {
			ws.Add(rows, i)
		}
		do(ws, lo)
	}
}

// terms returns the losses of rows that are not learnt from.
func (v *VAE) terms(rows *vae.Rows) vae.Terms {
	var sum vae.Terms
	inBatches(v.learn.Model, rows, func(ws *vae.Work, _ int) { sum = sum.Plus(ws.Judge(v.learn.Params)) })
	return sum
}

// objective is what the weights are chosen by: the reconstruction in loss A; in
// loss B the action's cross-entropy and, where z is asked for it, the last
// action's, which z learns by heart sooner.
func (v *VAE) objective(t vae.Terms) float64 {
	switch {
	case v.cfg.Model.Loss == "a":
		return t.Cells.Mean() + t.Bits.Mean()
	case v.cfg.Model.Outcome > 0:
		return t.Action.Mean() + v.cfg.Model.Outcome*t.Outcome.Mean()
	}
	return t.Action.Mean()
}

// named gives every term its own name. In loss B the decoder reads along, so its
// terms are called readout there: they are no part of the loss of z.
func (v *VAE) named(t vae.Terms) map[string]float64 {
	out := map[string]float64{"kl": t.KL.Mean(), "kl_weight": v.learn.KLWeight()}
	if v.cfg.Model.Discrete > 0 {
		out["blur"] = t.Blur.Mean()
	}
	name := "reconstruction"
	if v.cfg.Model.Loss == "b" {
		name = "readout"
		out["action"] = t.Action.Mean()
		if v.cfg.Model.Outcome > 0 {
			out["outcome"] = t.Outcome.Mean()
		}
	}
	out[name+"_agents"], out[name+"_things"] = t.Cells.Mean(), t.Bits.Mean()
	return out
}

// Resume goes back to a checkpoint of the same run.
func (v *VAE) Resume(body []byte, epoch int64) error {
	return unpack[vae.Config, vae.Input](&v.course, body, epoch, v.learn.Params, v.learn)
}

// LoadVAE returns the model of a run's folder with its best weights.
func LoadVAE(dir string) (*vae.Model, *nn.Params, error) { return load(dir, "vae", vae.New) }
